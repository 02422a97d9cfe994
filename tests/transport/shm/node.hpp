// A shm device under test, driven through the provider's table, with everything that arrived; and processes
// to put devices in.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "datatype/pack.hpp"
#include "stria/provider.h"
#include "transport/hot_ops.hpp"
#include "transport/payload.hpp"
#include "transport/shm/shm.hpp"

namespace stria::shm::test {

using Bytes = std::vector<std::byte>;
using Settings = std::map<std::string, std::string>;

/// A payload that stays where it arrived.
struct Kept {
  std::uint64_t tag;
  std::uint64_t name;
  const std::byte* payload;
  std::uint32_t bytes;

  Bytes copy() const { return {payload, payload + bytes}; }
};

struct Got {
  std::uint64_t from;
  stria_header_t header;
  Bytes payload;
  bool buffered;
  bool in_cell;  ///< these begin at lines, and no record's payload does
  bool grows;    ///< it came while its sender wrote it
  bool is_near;  ///< it says that a near core wrote it
};

inline stria_header_t header(std::uint64_t tag, std::uint32_t immediate = 0) {
  return {1, 2, 3, immediate, tag};
}
inline Bytes pattern(std::uint64_t seed, std::size_t bytes) {
  Bytes out(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    out[i] = static_cast<std::byte>((seed * 131 + i * 7 + (i >> 8)) & 0xff);
  return out;
}
inline stria_payload_t memory(const void* base, std::size_t bytes) {
  const auto length = static_cast<std::int64_t>(bytes);
  return {nullptr, const_cast<void*>(base), length, 0, length};
}

class Node {
 public:
  explicit Node(std::uint64_t worker_id, Settings settings = {}, std::string secret = "test")
      : worker_id_(worker_id), settings_(std::move(settings)) {
    sink_ = {this,
             [](void* self, void* peer, const stria_packet_t* packet) {
               auto& node = *static_cast<Node*>(self);
               const transport::Arrival came = transport::arrival(*packet);
               if (came == transport::Arrival::later) return STRIA_DELIVERED_LATER;
               if (came == transport::Arrival::never) return STRIA_DELIVERED_GO_ON;
               const auto* bytes = static_cast<const std::byte*>(packet->payload);
               if (node.keeps && packet->keep != 0) {
                 node.kept.push_back({packet->header->tag, packet->keep, bytes, packet->bytes});
                 return STRIA_DELIVERED_GO_ON | STRIA_DELIVERED_KEPT;
               }
               const bool at_line = reinterpret_cast<std::uintptr_t>(bytes) % kLine == 0;
               Got one{reinterpret_cast<std::uint64_t>(peer),
                       *packet->header,
                       Bytes(bytes, bytes + packet->bytes),
                       packet->buffered != 0,
                       at_line,
                       (packet->buffered & STRIA_PACKET_ARRIVING) != 0,
                       (packet->buffered & STRIA_PACKET_NEAR) != 0};
               if (node.on_deliver)
                 node.on_deliver(one);
               else
                 node.got.push_back(std::move(one));
               return STRIA_DELIVERED_GO_ON;
             },
             [](void* self, std::uint64_t worker, stria_link_t* link) {
               auto& node = *static_cast<Node*>(self);
               EXPECT_EQ(node.ups.count(worker), 0u) << "a peer came up twice";
               node.ups[worker] = link;
               return reinterpret_cast<void*>(worker);
             },
             [](void* self, void* peer, stria_status_t why) {
               static_cast<Node*>(self)->downs[reinterpret_cast<std::uint64_t>(peer)] =
                   static_cast<Status>(why);
             },
             [](void* self, void*) { ++static_cast<Node*>(self)->changes; },
             [](void*, void*, const stria_header_t*, std::uint32_t, stria_payload_t*) { return 0; }};
    stria_device_params_t params{};
    params.size = sizeof params;
    params.worker_id = worker_id;
    params.job_secret = secret.data();
    params.job_secret_bytes = static_cast<std::uint32_t>(secret.size());
    params.sink = &sink_;
    params.config = [](void* self, const char* name) -> const char* {
      const auto& map = *static_cast<Settings*>(self);
      const auto found = map.find(name);
      if (found != map.end()) return found->second.c_str();
      return std::getenv(name);  // a forced profile (tests/host) stands where a test says nothing
    };
    params.config_self = &settings_;
    char text[512] = {};
    opened = static_cast<Status>(table().open(&params, &device_, text, sizeof text));
    error = text;
  }
  ~Node() { close(0); }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  static const stria_provider_t& table() { return shm_provider(); }
  static const transport::HotOps& ops() {
    static const transport::HotOps made = transport::flatten(table());
    return made;
  }
  void close(int timeout_ms) {
    if (device_ != nullptr) table().close(device_, timeout_ms);
    device_ = nullptr;
  }
  Bytes address() const {
    Bytes out(table().address(device_, nullptr, 0));
    table().address(device_, out.data(), static_cast<std::uint32_t>(out.size()));
    return out;
  }
  /// Null when refused; `error` says why. The cookie is the worker id.
  stria_link_t* connect(const Bytes& to, std::uint64_t worker, bool low_latency = false) {
    char text[512] = {};
    stria_link_t* link = nullptr;
    connected = static_cast<Status>(table().connect(device_, to.data(), static_cast<std::uint32_t>(to.size()),
                                                    reinterpret_cast<void*>(worker), low_latency ? 1 : 0,
                                                    &link, text, sizeof text));
    error = text;
    return link;
  }
  stria_link_t* connect(const Node& to, bool low_latency = false) {
    return connect(to.address(), to.worker_id_, low_latency);
  }
  stria_link_limits_t limits(stria_link_t* link) const {
    stria_link_limits_t out{};
    table().link_limits(link, &out);
    return out;
  }
  Status pio(stria_link_t* link, const stria_header_t& h, const Bytes& data) {
    return static_cast<Status>(
        ops().pio_send(link, &h, data.data(), static_cast<std::uint32_t>(data.size())));
  }
  Status eager(stria_link_t* link, const stria_header_t& h, const Bytes& data) {
    const stria_payload_t payload = memory(data.data(), data.size());
    return static_cast<Status>(ops().eager_send(link, &h, &payload));
  }
  /// The path a size would take, with progress while there is no room.
  Status send(stria_link_t* link, const stria_header_t& h, const Bytes& data, bool use_pio) {
    for (;;) {
      const Status status = use_pio && data.size() <= limits(link).pio_max && limits(link).pio_max > 0
                                ? pio(link, h, data)
                                : eager(link, h, data);
      if (status != Status::no_resource) return status;
      progress();
      ::usleep(1);
    }
  }
  unsigned progress(unsigned budget = 64) { return ops().progress(device_, budget); }
  void check() { table().check(device_); }
  stria_device_t* device() const { return device_; }
  std::uint64_t id() const { return worker_id_; }

  std::vector<Got> got;
  bool keeps = false;  ///< what may stay where it arrived goes to `kept`
  std::vector<Kept> kept;
  std::function<void(const Got&)> on_deliver;
  std::map<std::uint64_t, stria_link_t*> ups;
  std::map<std::uint64_t, Status> downs;
  unsigned changes = 0;  ///< calls of link_changed
  Status opened = Status::invalid, connected = Status::invalid;
  std::string error;

 private:
  std::uint64_t worker_id_;
  Settings settings_;
  stria_sink_t sink_{};
  stria_device_t* device_ = nullptr;
};

/// Repeats `step` until `done`, at most `seconds`.
inline bool until(const std::function<bool()>& done, const std::function<void()>& step, int seconds = 20) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    step();
    ::sched_yield();
  }
  return true;
}

/// A child process that runs `body` with a pipe to and from the parent. Make it before any device.
class Child {
 public:
  explicit Child(const std::function<int(Child&)>& body) {
    int to[2], from[2];
    if (::pipe(to) != 0 || ::pipe(from) != 0) throw std::runtime_error("pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(to[1]), ::close(from[0]);
      in_ = to[0], out_ = from[1];
      ::_exit(body(*this));
    }
    ::close(to[0]), ::close(from[1]);
    in_ = from[0], out_ = to[1];
  }
  ~Child() {
    if (pid_ > 0 && !ended_) kill();
    ::close(in_), ::close(out_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void send(const Bytes& bytes) {
    const auto size = static_cast<std::uint32_t>(bytes.size());
    EXPECT_EQ(::write(out_, &size, sizeof size), static_cast<ssize_t>(sizeof size));
    EXPECT_EQ(::write(out_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  Bytes receive() {
    std::uint32_t size = 0;
    if (::read(in_, &size, sizeof size) != sizeof size) return {};
    Bytes bytes(size);
    EXPECT_EQ(::read(in_, bytes.data(), size), static_cast<ssize_t>(size));
    return bytes;
  }
  bool has_word() const {
    pollfd one{in_, POLLIN, 0};
    return ::poll(&one, 1, 0) > 0;
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    wait();
  }
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    ended_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1;
  bool ended_ = false;
};

}  // namespace stria::shm::test
