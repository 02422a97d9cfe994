// Request: an operation of the application, built in the memory the caller gave (stria_request_t). What it is
// doing decides which part of the body is alive: a posted receive, one half of a rendezvous (also a send
// that waits for room), or an access to remote memory. The body comes last: a receive that is posted and
// matched touches three lines.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/cache_line.hpp"
#include "base/intrusive_list.hpp"
#include "rndv/atomics.hpp"
#include "rndv/operation.hpp"
#include "stria/stria.h"
#include "tag/one_sided.hpp"
#include "tag/posted_queue.hpp"

namespace stria::tag {

class Activity;
struct Peer;
struct Unexpected;

enum class RequestKind : std::uint8_t { send, recv, put, get, atomic };
enum class RequestState : std::uint8_t {
  posted,   ///< a receive in the posted queue
  pending,  ///< a send in its peer's backlog
  active,   ///< in the hands of the rendezvous engine or of the provider, or a put, get or atomic that waits
  done,
};

/// What stays of an operation that failed, beside its request's info.
struct Failure {
  std::uint64_t peer;  ///< the other worker's id; 0: none was named
  bool closed;         ///< its own worker was being closed
};

/// A receive whose message lies where it arrived (LateReceives).
struct LateRecv : ListNode {
  Unexpected* entry = nullptr;
  stria_payload_t memory{};
};

struct Request {
  Activity* owner;  ///< of the worker that it was started on
  Peer* peer;       ///< null for a receive from any source that was not matched
  stria_callback_t callback;
  void* user;
  stria_info_t info;
  std::atomic<RequestState> state;
  RequestKind kind;
  bool synchronous;
  union Body {
    Body() noexcept {}
    PostedRecv posted;
    rndv::SendOp send;
    rndv::RecvOp recv;
    RmaOp rma;
    rndv::AtomicOp atomic;
    LateRecv late;
    Failure failure;  ///< done, with another status than ok and truncated
  } body;

  static Request* make(stria_request_t* memory, Activity* owner, RequestKind kind, stria_callback_t callback,
                       void* user) noexcept {
    auto* request = new (memory) Request;
    request->owner = owner;
    request->peer = nullptr;
    request->callback = callback;
    request->user = user;
    request->info = stria_info_t{};
    request->kind = kind;
    request->synchronous = false;
    return request;
  }
  /// A receive that goes to the posted queue; what tells its outcome is set when it ends, and what it is
  /// matched on by the caller.
  static Request* make_posted(stria_request_t* memory, Activity* owner, const stria_recv_t& recv) noexcept {
    auto* request = new (memory) Request;
    request->owner = owner;
    request->peer = nullptr;
    request->callback = recv.callback;
    request->user = recv.user;
    request->state.store(RequestState::posted, std::memory_order_relaxed);
    request->kind = RequestKind::recv;
    request->synchronous = false;
    new (&request->body.posted) PostedRecv;
    return request;
  }
  /// An operation that ended well where it began: nothing but its outcome is there, and that it is done.
  static void make_ended(stria_request_t* memory, const stria_info_t& outcome) noexcept;
  /// The request whose body a part is.
  template <class Part>
  static Request* of(Part& part) noexcept;
  stria_request_t* handle() noexcept { return reinterpret_cast<stria_request_t*>(this); }

  rndv::SendOp& make_send() noexcept { return *new (&body.send) rndv::SendOp; }
  rndv::RecvOp& make_recv() noexcept { return *new (&body.recv) rndv::RecvOp; }
  RmaOp& make_rma() noexcept { return *new (&body.rma) RmaOp; }
  rndv::AtomicOp& make_atomic() noexcept { return *new (&body.atomic) rndv::AtomicOp; }
  LateRecv& make_late() noexcept { return *new (&body.late) LateRecv; }
};

/// Field by field, each as wide as it was stored: base/words.hpp.
inline void copy_info(stria_info_t& to, const stria_info_t& from) noexcept {
  to.status = from.status;
  to.immediate = from.immediate;
  to.tag = from.tag;
  to.length = from.length;
  to.received = from.received;
  to.source = from.source;
}

inline void Request::make_ended(stria_request_t* memory, const stria_info_t& outcome) noexcept {
  auto* request = reinterpret_cast<Request*>(memory);
  copy_info(request->info, outcome);
  request->state.store(RequestState::done, std::memory_order_relaxed);
}

/// Makes stria_last_error() of this thread tell why the operation failed. It is done, with another status
/// than ok, which is answered. Its worker may be gone.
[[gnu::cold, gnu::noinline]] stria_status_t explain_outcome(const Request& request) noexcept;

/// Where the body is; the class has a standard layout but for its atomic, which GCC warns of.
inline constexpr std::size_t kRequestBody = sizeof(Request) - sizeof(Request::Body);

template <class Part>
Request* Request::of(Part& part) noexcept {
  return reinterpret_cast<Request*>(reinterpret_cast<std::byte*>(&part) - kRequestBody);
}
static_assert(sizeof(Request) <= sizeof(stria_request_t), "STRIA_REQUEST_SIZE is part of the ABI");
static_assert(sizeof(Request) <= 4 * kCacheLine && alignof(Request) <= STRIA_REQUEST_ALIGN);
// A contiguous receive that is posted, matched and completed touches three lines of a request that begins at
// a line: whose it is and how it ended; the end of that and what matching looks at; the memory it waits with.
static_assert(kRequestBody >= kCacheLine && kRequestBody + offsetof(PostedRecv, ignore) <= 2 * kCacheLine,
              "what matching looks at is one line");
static_assert(kRequestBody + sizeof(PostedRecv) <= 3 * kCacheLine,
              "docs/cycles.md: three lines a posted receive");

}  // namespace stria::tag
