#include "tag/api/refusals.hpp"

#include "base/log.hpp"

namespace stria::tag {

stria_status_t refuse(const char* function, const Error& error) noexcept {
  return refuse(error.status, "{}: {}", function, error.context);
}

stria_status_t refuse_null(const char* function, std::initializer_list<Argument> arguments) noexcept {
  for (const Argument& argument : arguments)
    if (argument.value == nullptr) return refuse(Status::invalid, "{}: {} is NULL", function, argument.name);
  return refuse(Status::invalid, "{}: an argument is NULL", function);
}

stria_status_t refuse_inside_callback(const char* function) noexcept {
  return refuse(
      Status::invalid,
      "{}: not allowed inside a callback of the worker, which makes no progress meanwhile; call it after "
      "the callback returned",
      function);
}

stria_status_t refuse_close(const char* function) noexcept {
  const stria_status_t refused = refuse_inside_callback(function);
  log::error("{}", last_error());
  return refused;
}

stria_status_t refuse_callback(const char* function) noexcept {
  return refuse(Status::invalid, "{}: callback must be NULL, as the call itself waits for the end", function);
}

stria_status_t refuse_stranger(const char* function, const char* object, const Worker& worker) noexcept {
  return refuse(Status::invalid, "{}: {} belongs to another worker than {:#x}", function, object,
                worker.id());
}

stria_status_t refuse_closed(const char* function, const char* object) noexcept {
  return refuse(Status::invalid, "{}: {} is closed", function, object);
}

bool is_no_address(const stria_layout_t* layout) noexcept {
  constexpr std::int64_t kFirstAddress = 4096;  // no system maps the first page
  return layout == nullptr || (layout->value.size() != 0 && layout->value.true_lb() < kFirstAddress);
}

stria_status_t no_memory(const char* function, const stria_layout_t* layout, std::uint64_t count) noexcept {
  if (layout == nullptr)
    return refuse(Status::invalid, "{}: base is NULL, but there are {} bytes and no layout", function, count);
  return refuse(Status::invalid, "{}: base is NULL, and the layout begins at {}, which is no address",
                function, layout->value.true_lb());
}

stria_status_t refuse_start(Status status, const char* function, const Peer* peer) noexcept {
  if (claim_last_error(status)) return transport::to_c(status);
  switch (status) {
    case Status::no_resource:
      set_last_error(status, "not possible at once, nothing was started; make progress, and call again");
      break;
    case Status::invalid:
      return refuse(status, "{}: count and layout describe no memory of 64 bits", function);
    case Status::cancelled:
      return refuse(status, "{}: the worker is being closed", function);
    case Status::peer_failed:
      if (peer != nullptr)
        return refuse(status, "{}: worker {:#x} is gone; its process died, or it was closed", function,
                      peer->worker_id);
      return refuse(status, "{}: the other worker is gone; its process died, or it was closed", function);
    default:
      if (peer != nullptr)
        return refuse(status, "{}: the path to worker {:#x} failed ({}); the log has the reason", function,
                      peer->worker_id, to_string(status));
      return refuse(status, "{}: {}; the log has the reason", function, to_string(status));
  }
  return transport::to_c(status);
}

}  // namespace stria::tag
