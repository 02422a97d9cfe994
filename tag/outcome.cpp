// Says why an operation failed, in words. The text is made from the request when its outcome is asked for, so
// that a failure costs nothing before.
#include "tag/last_error.hpp"
#include "tag/request.hpp"
#include "transport/services.hpp"

namespace stria::tag {
namespace {

struct Words {
  const char* what;
  const char* peer;
};
Words words_of(RequestKind kind) noexcept {
  switch (kind) {
    case RequestKind::send:
      return {"a send", "to"};
    case RequestKind::recv:
      return {"a receive", "from"};
    case RequestKind::put:
      return {"a put", "to"};
    case RequestKind::get:
      return {"a get", "from"};
    case RequestKind::atomic:
      return {"an atomic", "on"};
  }
  return {"an operation", "with"};
}

const char* reason_of(Status status, RequestKind kind, bool closed) noexcept {
  const bool atomic = kind == RequestKind::atomic;
  switch (status) {
    case Status::peer_failed:
      return "that worker is gone; its process died, or it was closed";
    case Status::cancelled:
      return closed ? "the worker that it was started on was closed before it ended"
                    : "it was cancelled by stria_request_cancel()";
    case Status::access_error:
      return "the owner does not know the key any more; its region was deregistered, or its memory freed";
    case Status::invalid:
      return atomic ? "the word's 8 bytes lie apart in the region's memory, or at no multiple of 8"
                    : "the other side broke the protocol; the log has the details";
    case Status::unsupported:
      return atomic ? "an adapter performs the region's atomics, and this worker has none that can"
                    : "no path between the two workers can do it";
    case Status::unreachable:
      return "no path leads there any more";
    default:
      return "the system, or the path between the two workers, failed; the log has the reason";
  }
}

}  // namespace

stria_status_t explain_outcome(const Request& request) noexcept {
  const stria_info_t& info = request.info;
  const Status status = transport::from_c(info.status);
  if (status == Status::truncated) {
    format_last_error(
        status,
        "a message of {} bytes (tag {:#x}) from worker {:#x} came for a receive of {} bytes, which has "
        "the beginning of it",
        info.length, info.tag, info.source, info.received);
    return info.status;
  }
  const Failure failure = request.body.failure;
  const Words words = words_of(request.kind);
  const char* reason = reason_of(status, request.kind, failure.closed);
  if (failure.peer == 0)
    format_last_error(status, "{}: {}", words.what, reason);
  else
    format_last_error(status, "{} {} worker {:#x}: {}", words.what, words.peer, failure.peer, reason);
  return info.status;
}

}  // namespace stria::tag
