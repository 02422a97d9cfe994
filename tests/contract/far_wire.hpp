// How a device that lives in another process, perhaps on another host, is driven by a test: each call of the
// provider's table is a request and a reply on one TCP connection. An upcall comes while a request is under
// way and is answered before that goes on, so that calls from inside it nest as in one process:
//
//   test                    request progress ──►  far device
//                        ◄── upcall deliver
//     from inside it         request send ──►
//                        ◄── reply
//                           returned ──►
//                        ◄── reply
//
// Memory that the far device registers is mirrored: before each frame that asks or answers, a side says what
// changed in its copy. Both processes run the same build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "stria/provider.h"

namespace stria::contract::far {

enum class Frame : std::uint8_t { request, reply, upcall, returned, memory };
enum class Call : std::uint8_t {
  open,
  close,
  capabilities,
  address,
  connect,
  limits,
  check,
  progress,
  arm,
  pio_send,
  eager_send,
  send_invalidate,
  fast_register,
  invalidate,
  get,
  put,
  atomic,
  die,  ///< by SIGKILL, without an answer
};
enum class Upcall : std::uint8_t { deliver, peer_up, link_down, link_changed, done };

/// One frame: values behind each other, read in the order in which they were added.
class Message {
 public:
  Message() = default;
  explicit Message(Frame frame) { add(frame); }
  Message(Frame frame, Call call) : Message(frame) { add(call); }
  explicit Message(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

  template <class T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    append(&value, sizeof value);
  }
  void add_bytes(const void* data, std::size_t bytes) {
    add<std::uint64_t>(bytes);
    append(data, bytes);
  }
  void add_text(const char* text) { add_bytes(text, std::strlen(text)); }
  template <class T>
  T take() {
    T value{};
    std::memcpy(&value, next(sizeof value), sizeof value);
    return value;
  }
  std::vector<std::byte> take_bytes() {
    const auto bytes = take<std::uint64_t>();
    const std::byte* at = next(bytes);
    return {at, at + bytes};
  }
  std::string take_text() {
    const std::vector<std::byte> bytes = take_bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  void append(const void* data, std::size_t bytes) {
    if (bytes == 0) return;
    bytes_.resize(bytes_.size() + bytes);
    std::memcpy(bytes_.data() + bytes_.size() - bytes, data, bytes);
  }
  const std::byte* next(std::uint64_t bytes) {
    if (bytes > bytes_.size() - at_) throw std::runtime_error("a frame of the far device is too short");
    at_ += bytes;
    return bytes_.data() + at_ - bytes;
  }
  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;
};

/// A connected socket; throws when the other side is gone, or silent for long.
class Channel {
 public:
  explicit Channel(int fd);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  void send(const Message& message);
  Message receive();
  int fd() const { return fd_; }

 private:
  int fd_;
};

/// A copy lies as the original does, from the last multiple of this on.
inline constexpr std::uintptr_t kAlignment = 16;

/// Memory of which both sides have a copy, and what the copies were when they last agreed.
struct Mirror {
  std::uint32_t id = 0;
  std::byte* at = nullptr;
  std::vector<std::byte> agreed;
  stria_provider_key_t key{};
};
void send_changes(Channel& channel, std::list<Mirror>& mirrors);
void take_change(Message& message, std::list<Mirror>& mirrors);
/// The key has ended: nobody looks at its memory any more.
void forget(std::list<Mirror>& mirrors, const stria_provider_key_t& key);

/// A socket that listens at `port` (0: any, told in `port`); connects to one. They throw.
int listen_at(std::uint16_t& port);
int connect_to(const std::string& host, std::uint16_t port);

}  // namespace stria::contract::far
