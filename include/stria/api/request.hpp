// An operation from its start to its end: what it looks for, how its end is told, and messages on their way
// between a probe and a receive.
#ifndef STRIA_API_REQUEST_HPP
#define STRIA_API_REQUEST_HPP

#include <cassert>
#include <cstdint>
#include <utility>

#include "stria/api/error.hpp"

namespace stria::api {

class Endpoint;
class Worker;

/// An operation in flight. Stays in place (neither copied nor moved) and alive until the operation ended; may
/// be used again afterwards.
class Request {
 public:
  Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request() { assert(!active() && "a request was destroyed before its operation ended"); }

  /// IN_PROGRESS, or the outcome; the details in *info. Of an operation that was not started: what the call
  /// answered, or OK before the first one. Makes no progress.
  Status test(Info* info = nullptr) const noexcept {
    if (started_) return stria_request_test(&request_, info);
    if (info != nullptr) *info = Info{answer_, 0, 0, 0, 0, 0};
    return answer_;
  }
  /// Whether the operation has not ended yet.
  bool active() const noexcept {
    return started_ && stria_request_test(&request_, nullptr) == STRIA_IN_PROGRESS;
  }

 private:
  friend class Worker;
  friend class Endpoint;
  // A call that started nothing leaves the C request untouched: its answer is kept here instead.
  Status started(Status answer) noexcept {
    answer_ = answer;
    started_ = answer >= STRIA_OK;
    return answer;
  }
  stria_request_t request_;  // needs no initialisation
  Status answer_ = STRIA_OK;
  bool started_ = false;
};

/// What a receive or a probe looks for.
struct Match {
  std::uint64_t tag = 0;
  std::uint64_t ignore = 0;          ///< bits of the tag that need not agree
  const Endpoint* source = nullptr;  ///< null: any
};

/// How a completion is told besides test(); see stria_callback_t.
struct Notify {
  Callback callback = nullptr;
  void* user = nullptr;
};

/// What a receive says besides its memory and its match.
struct RecvOptions {
  bool look = false;   ///< STRIA_RECV_LOOK: other receives may end, and call back, in this call
  bool waits = false;  ///< STRIA_RECV_WAITS: besides, the caller does nothing else until the message is there
  Info* info = nullptr;  ///< where a receive that is complete at once leaves its outcome, too
  Notify notify{};
};

/// A message taken out of the queue by Worker::mprobe; Worker::mrecv receives it.
class Message {
 public:
  Message() = default;
  Message(Message&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)), info_(other.info_) {}
  Message& operator=(Message&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(info_, other.info_);
    return *this;
  }
  ~Message() { assert(handle_ == nullptr && "a matched message was not received"); }
  /// Tag, immediate, source and length.
  const Info& info() const noexcept { return info_; }

 private:
  friend class Worker;
  Message(stria_message_t* handle, const Info& info) noexcept : handle_(handle), info_(info) {}
  stria_message_t* handle_ = nullptr;
  Info info_{};
};

}  // namespace stria::api

#endif
