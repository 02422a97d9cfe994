// Request: an operation of the application, built in the memory that the caller gave (stria_request_t). What
// the operation is doing decides which member of the body is alive: a posted receive, one half of a
// rendezvous (also for a send that waits for room), or an access to remote memory. The body comes last: a
// receive that is posted and matched touches three cache lines.
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

/// What is kept of an operation that failed, beside its request's info.
struct Failure {
  std::uint64_t peer;  ///< the other worker's id; 0: none was named
  bool closed;         ///< the worker that it was started on was being closed
};

/// A receive that waits for the rest of its message, which lies where it arrived (LateReceives).
struct LateRecv : ListNode {
  Unexpected* entry = nullptr;  ///< the message
  stria_payload_t memory{};     ///< of the receive
};

/// A receive whose message a provider is writing into its memory (PlacedReceives).
struct PlacedRecv : ListNode {
  std::uint16_t sequence = 0;  ///< of the message
  std::uint8_t device = 0;     ///< number of the device whose link brings it
  Status why = Status::ok;     ///< or what the peer, which the request names, has failed with
};

struct Request {
  Activity* owner;  ///< the Activity of the worker that the operation was started on
  Peer* peer;       ///< null for a receive from any source that was not matched
  stria_callback_t callback;
  void* user;
  stria_info_t info;
  std::atomic<RequestState> state;
  RequestKind kind;
  bool synchronous;  ///< a send that ends only when it is matched
  union Body {
    Body() noexcept {}
    PostedRecv posted;
    rndv::SendOp send;
    rndv::RecvOp recv;
    RmaOp rma;
    rndv::AtomicOp atomic;
    LateRecv late;
    PlacedRecv placed;
    Failure failure;  ///< of a request that is done, with another status than ok and truncated
  } body;

  /// Makes a request in `memory`; the caller sets the state.
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
  /// Makes the request of a receive that goes to the posted queue. Its info is set when it ends; the caller
  /// sets what the receive is matched on, and its memory.
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
  /// Makes the request of an operation that ended well in the call that started it. Only its outcome, and
  /// that it is done, are set.
  static void make_ended(stria_request_t* memory, const stria_info_t& outcome) noexcept;
  /// The request that has `part` as its body.
  template <class Part>
  static Request* of(Part& part) noexcept;
  stria_request_t* handle() noexcept { return reinterpret_cast<stria_request_t*>(this); }

  rndv::SendOp& make_send() noexcept { return *new (&body.send) rndv::SendOp; }
  rndv::RecvOp& make_recv() noexcept { return *new (&body.recv) rndv::RecvOp; }
  RmaOp& make_rma() noexcept { return *new (&body.rma) RmaOp; }
  rndv::AtomicOp& make_atomic() noexcept { return *new (&body.atomic) rndv::AtomicOp; }
  LateRecv& make_late() noexcept { return *new (&body.late) LateRecv; }
  PlacedRecv& make_placed() noexcept { return *new (&body.placed) PlacedRecv; }
};

/// Copies an info field by field, each as wide as it was stored (base/words.hpp says why).
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

/// Makes stria_last_error() of this thread tell why the operation failed. The request is done, with another
/// status than ok; that status is returned. Its worker may be gone.
[[gnu::cold, gnu::noinline]] stria_status_t explain_outcome(const Request& request) noexcept;

/// Offset of the body. The class has a standard layout but for its atomic, so GCC warns of offsetof().
inline constexpr std::size_t kRequestBody = sizeof(Request) - sizeof(Request::Body);

template <class Part>
Request* Request::of(Part& part) noexcept {
  return reinterpret_cast<Request*>(reinterpret_cast<std::byte*>(&part) - kRequestBody);
}
static_assert(sizeof(Request) <= sizeof(stria_request_t), "STRIA_REQUEST_SIZE is part of the ABI");
static_assert(sizeof(Request) <= 4 * kCacheLine && alignof(Request) <= STRIA_REQUEST_ALIGN);
// A contiguous receive that is posted, matched and completed touches three lines of a request that begins at
// a cache line: the first has the operation's owner and the begin of its info, the second the end of the info
// and what matching looks at, the third the receive's memory.
static_assert(kRequestBody >= kCacheLine && kRequestBody + offsetof(PostedRecv, ignore) <= 2 * kCacheLine,
              "what matching looks at is one line");
static_assert(kRequestBody + sizeof(PostedRecv) <= 3 * kCacheLine,
              "docs/cycles.md: three lines a posted receive");

}  // namespace stria::tag
