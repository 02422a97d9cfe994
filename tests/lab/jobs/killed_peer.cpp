// What becomes of operations that are under way when the peer's process is killed, at the library as its
// users have it, over whatever providers are configured: each ends in bounded time, with PEER_FAILED unless
// it was complete, and the worker goes on.
//   lab_killed_peer serve PORT       a peer for each connection, in a process of its own
//   lab_killed_peer meet HOST PORT   one situation after the other: starts operations that name such a peer,
//                                    has it kill itself by SIGKILL, and waits for their ends
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "stria/stria.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kLong = 64u << 20;  // under way for seconds in a guest
constexpr std::size_t kRegion = kLong / 8;
constexpr double kLimitSeconds = 40;

void need(bool good, const std::string& what) {
  if (!good) throw std::runtime_error(what + ": " + std::strerror(errno));
}
void need(stria_status_t status, const char* what) {
  if (status < STRIA_OK)
    throw std::runtime_error(std::string(what) + ": " + stria_status_string(status) + ": " +
                             stria_last_error());
}

/// What the two processes tell each other beside the library.
class Wire {
 public:
  explicit Wire(int fd) : fd_(fd) {}
  ~Wire() { ::close(fd_); }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  void say(const std::vector<char>& bytes) const {
    const auto length = static_cast<std::uint32_t>(bytes.size());
    need(::send(fd_, &length, sizeof length, MSG_NOSIGNAL) == ssize_t{sizeof length}, "send");
    need(::send(fd_, bytes.data(), length, MSG_NOSIGNAL) == ssize_t{length}, "send");
  }
  std::vector<char> hear() const {
    std::uint32_t length = 0;
    need(::recv(fd_, &length, sizeof length, MSG_WAITALL) == ssize_t{sizeof length}, "receive");
    std::vector<char> bytes(length);
    need(::recv(fd_, bytes.data(), length, MSG_WAITALL) == ssize_t{length}, "receive");
    return bytes;
  }
  /// Something came, or the other process has ended. `waits`: until then.
  bool has_news(bool waits) const {
    char one = 0;
    return ::recv(fd_, &one, 1, MSG_PEEK | (waits ? 0 : MSG_DONTWAIT)) >= 0 || errno != EAGAIN;
  }

 private:
  int fd_;
};

/// A worker with an endpoint to that of the other process, and what it has under way.
class Side {
 public:
  explicit Side(const Wire& wire) {
    need(stria_context_open(nullptr, &context_), "context");
    need(stria_worker_open(context_, nullptr, &worker), "worker");
    std::vector<char> own(STRIA_ADDRESS_MAX);
    std::size_t bytes = own.size();
    need(stria_worker_address(worker, own.data(), &bytes), "address");
    own.resize(bytes);
    wire.say(own);
    const std::vector<char> other = wire.hear();
    stria_endpoint_params_t params{};
    params.size = sizeof params;
    params.address = other.data();
    params.address_bytes = other.size();
    need(stria_endpoint_open(worker, &params, &peer), "endpoint");
  }
  ~Side() {
    stria_worker_close(worker);
    stria_context_close(context_);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  void send(const void* data, std::size_t bytes, std::uint64_t tag, std::uint32_t flags = 0) {
    const stria_send_t args{data, nullptr, bytes, tag, 0, flags, nullptr, nullptr};
    keep(stria_send(peer, &args, &requests.emplace_back()), "send");
  }
  void recv(void* data, std::size_t bytes, std::uint64_t tag) {
    const stria_recv_t args{data, nullptr, bytes, {peer, tag, 0}, nullptr, nullptr, 0, nullptr};
    keep(stria_recv(worker, &args, &requests.emplace_back()), "recv");
  }
  void access(bool writes, void* data, std::size_t bytes, const stria_key_t* key) {
    const stria_rma_t args{data, nullptr, bytes, key, 0, nullptr, nullptr};
    stria_request_t& request = requests.emplace_back();
    keep(writes ? stria_put(peer, &args, &request) : stria_get(peer, &args, &request), "put or get");
  }
  /// Each has had a message of the other one.
  void greet() {
    long here = 7, there = 0;
    send(&here, sizeof here, 1);
    recv(&there, sizeof there, 1);
    for (stria_request_t& request : requests)
      need(stria_request_wait(worker, &request, nullptr), "a greeting");
    requests.clear();
    if (there != here) throw std::runtime_error("a greeting is wrong");
  }

  stria_worker_t* worker = nullptr;
  stria_endpoint_t* peer = nullptr;
  std::deque<stria_request_t> requests;  // that are active; they do not move

 private:
  void keep(stria_status_t started, const char* what) {
    need(started, what);
    if (started != STRIA_IN_PROGRESS) requests.pop_back();
  }
  stria_context_t* context_ = nullptr;
};

enum Situation : char {
  waits_for_it,        ///< receives name a peer that does nothing
  sends_to_it,         ///< short messages to one that takes none
  receives_long,       ///< in the middle of a long message from it
  sends_long,          ///< in the middle of one to it
  accesses_its_memory  ///< puts and gets of a region
};
constexpr std::array<const char*, 5> kNames = {"receives from an idle peer", "messages to a silent peer",
                                               "a long message from a peer", "a long message to a peer",
                                               "accesses to a peer's memory"};

// ---- the one that is killed ------------------------------------------------------------------------------

[[noreturn]] void be_killed(int fd) {
  const Wire wire(fd);
  const auto situation = static_cast<Situation>(wire.hear().at(0));
  Side side(wire);
  side.greet();
  std::vector<char> memory(kLong, 3);
  if (situation == receives_long) side.send(memory.data(), kLong, 2);
  if (situation == sends_long) side.recv(memory.data(), kLong, 2);
  if (situation == accesses_its_memory) {
    stria_region_t* region = nullptr;
    constexpr unsigned kBoth = STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE;
    need(stria_region_register(side.worker, memory.data(), nullptr, kRegion, kBoth, &region), "region");
    std::vector<char> key(STRIA_KEY_MAX);
    std::size_t bytes = key.size();
    need(stria_region_key(region, key.data(), &bytes), "key");
    key.resize(bytes);
    wire.say(key);
  }
  wire.say({1});  // ready
  const bool silent = situation == sends_to_it;
  while (!wire.has_news(silent)) stria_worker_progress(side.worker);
  ::kill(::getpid(), SIGKILL);
  std::abort();
}

int serve(std::uint16_t port) {
  const int door = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_port = htons(port);
  need(::bind(door, reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0 && ::listen(door, 8) == 0,
       "listen");
  ::signal(SIGCHLD, SIG_IGN);
  std::puts("listening");
  std::fflush(stdout);
  for (;;) {
    const int fd = ::accept4(door, nullptr, nullptr, SOCK_CLOEXEC);
    need(fd >= 0, "accept");
    if (::fork() == 0) be_killed(fd);
    ::close(fd);
  }
}

// ---- the one that goes on --------------------------------------------------------------------------------

int connect_to(const char* host, const char* port) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host, port, &hints, &found) != 0)
    throw std::runtime_error(std::string("no host ") + host);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  need(::connect(fd, found->ai_addr, found->ai_addrlen) == 0, "connect");
  ::freeaddrinfo(found);
  return fd;
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Starts what the situation is about.
void start(Side& side, Situation situation, std::vector<char>& memory, const stria_key_t* key) {
  constexpr int kMessages = 300, kAccesses = 8;
  const auto begin = Clock::now();
  switch (situation) {
    case waits_for_it:
      side.recv(memory.data(), 8, 20);
      side.recv(memory.data() + 8, kRegion, 21);
      break;
    case sends_to_it:
      for (int i = 0; i < kMessages; ++i) side.send(memory.data(), 4000, 20);
      side.send(memory.data(), 8, 21, STRIA_SEND_SYNCHRONOUS);
      break;
    case receives_long:
      side.recv(memory.data(), kLong, 2);
      for (int i = 0; i < 1000000 && memory[0] == 0 && memory[kLong - 1] == 0; ++i)
        stria_worker_progress(side.worker);
      break;
    case sends_long:
      side.send(memory.data(), kLong, 2);
      // Of a message that the peer's adapter gets this side sees nothing move.
      for (unsigned moved = 0; moved < 5 && seconds_since(begin) < 0.1;)
        moved += stria_worker_progress(side.worker);
      break;
    case accesses_its_memory:
      for (int i = 0; i < kAccesses; ++i)
        side.access(i % 2 == 0, memory.data() + static_cast<std::size_t>(i) * kRegion, kRegion, key);
      break;
  }
}

void meet(const char* host, const char* port, Situation situation) {
  const Wire wire(connect_to(host, port));
  wire.say({situation});
  Side side(wire);
  side.greet();
  std::vector<char> memory(kLong);
  stria_key_t* key = nullptr;
  if (situation == accesses_its_memory) {
    const std::vector<char> packed = wire.hear();
    need(stria_key_open(side.peer, packed.data(), packed.size(), &key), "key");
  }
  while (!wire.has_news(false)) stria_worker_progress(side.worker);
  wire.hear();  // it is ready
  stria_endpoint_state_t state{};
  state.size = sizeof state;
  need(stria_endpoint_info(side.peer, &state), "endpoint");
  const std::string path = std::string(state.provider) + ", " + state.path;
  start(side, situation, memory, key);
  char whoever = 0;
  stria_request_t any;
  const stria_recv_t from_any{&whoever, nullptr, 1, {nullptr, 998, 0}, nullptr, nullptr, 0, nullptr};
  if (stria_recv(side.worker, &from_any, &any) != STRIA_IN_PROGRESS)
    throw std::runtime_error("a receive from any");
  std::size_t open = 0;
  for (const stria_request_t& request : side.requests)
    open += stria_request_test(&request, nullptr) == STRIA_IN_PROGRESS ? 1 : 0;
  if (open == 0) throw std::runtime_error("all is complete before the peer is killed");

  wire.say({1});
  const auto begin = Clock::now();
  std::size_t failed = 0;
  for (const stria_request_t& request : side.requests) {
    stria_info_t info{};
    while (stria_request_test(&request, &info) == STRIA_IN_PROGRESS) {
      stria_worker_wait(side.worker, 100);
      if (seconds_since(begin) > kLimitSeconds)
        throw std::runtime_error("an operation has not ended after 40 s");
    }
    const bool refused = situation == accesses_its_memory && info.status == STRIA_ERR_ACCESS;
    if (info.status == STRIA_OK) continue;
    if (info.status != STRIA_ERR_PEER_FAILED && !refused)
      throw std::runtime_error(std::string("an operation ends with ") + stria_status_string(info.status));
    ++failed;
  }
  if (failed == 0) throw std::runtime_error("no operation ends with an error");
  const double took = seconds_since(begin);
  if (stria_request_test(&any, nullptr) != STRIA_IN_PROGRESS)
    throw std::runtime_error("a receive from any peer has ended, which others could match");
  need(stria_request_cancel(side.worker, &any), "cancel");
  stria_request_t late;
  const stria_send_t again{&whoever, nullptr, 1, 1, 0, 0, nullptr, nullptr};
  if (stria_send(side.peer, &again, &late) != STRIA_ERR_PEER_FAILED)
    throw std::runtime_error("a later send to the peer does not say PEER_FAILED");
  if (key != nullptr) stria_key_close(key);
  std::printf("%s, by %s: %zu operations ended within %.1f s, %zu with an error\n",
              kNames[static_cast<std::size_t>(situation)], path.c_str(), side.requests.size(), took, failed);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  try {
    if (what == "serve" && argc == 3)
      return serve(static_cast<std::uint16_t>(std::strtoul(argv[2], nullptr, 10)));
    if (what == "meet" && argc == 4) {
      for (std::size_t i = 0; i < kNames.size(); ++i) {
        try {
          meet(argv[2], argv[3], static_cast<Situation>(i));
        } catch (const std::exception& error) {
          throw std::runtime_error(std::string(kNames[i]) + ": " + error.what());
        }
      }
      return 0;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lab_killed_peer: %s\n", error.what());
    return 1;
  }
  std::fprintf(stderr, "lab_killed_peer serve PORT | meet HOST PORT\n");
  return 2;
}
