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

  /// IN_PROGRESS, or the outcome; the details in *info. Makes no progress.
  Status test(Info* info = nullptr) const noexcept {
    Info outcome{posted_, 0, 0, 0, 0, 0};
    if (used_ && stria_request_test(&request_, &outcome) == STRIA_IN_PROGRESS) return STRIA_IN_PROGRESS;
    if (info != nullptr) *info = outcome;
    return outcome.status;
  }
  /// Whether the operation has not ended yet.
  bool active() const noexcept {
    return used_ && stria_request_test(&request_, nullptr) == STRIA_IN_PROGRESS;
  }

 private:
  friend class Worker;
  friend class Endpoint;
  // A send that completed at once leaves the C request untouched: its answer is kept here instead.
  Status started(Status status) noexcept {
    posted_ = status;
    used_ = status == STRIA_IN_PROGRESS;
    return status;
  }
  Status received(Status status) noexcept {
    posted_ = status;
    used_ = status >= STRIA_OK;
    return status;
  }
  stria_request_t request_;  // needs no initialisation
  Status posted_ = STRIA_OK;
  bool used_ = false;
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
