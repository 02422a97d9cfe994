// stria.h: worker and endpoint.
#include <cstring>
#include <string_view>

#include "base/instructions.hpp"
#include "tag/api/convert.hpp"

using namespace stria;
using namespace stria::tag;

namespace {

/// Apart, so that a worker of one thread does not save registers for it.
[[gnu::noinline]] unsigned progress_shared(Worker& worker) {
  if (!worker.lock().try_lock()) return 0;
  const unsigned handled = worker.progress();
  worker.lock().unlock();
  if (handled == 0) cpu_relax();  // without the lock, or it is taken nearly always while a thread waits
  return handled;
}

/// A link's text, for the thread that asked: the link makes another one when its path changes, which with
/// threads is as soon as the worker's lock is given up. A longer one is cut.
using Text = char[512];
thread_local Text path_text, fallback_text;

const char* keep(std::string_view text, Text& own) noexcept {
  own[text.copy(own, sizeof(own) - 1)] = '\0';
  return own;
}

/// As enumerations come from C, any number may be in them.
template <class E, class... Known>
constexpr bool is_one_of(E value, Known... known) noexcept {
  return ((static_cast<int>(value) == static_cast<int>(known)) || ...);
}

}  // namespace

extern "C" {

stria_status_t stria_worker_open(stria_context_t* context, const stria_worker_params_t* params,
                                 stria_worker_t** out) {
  return at_boundary("stria_worker_open", [&] {
    if (any_null(context, out)) return refuse_null("stria_worker_open", {{"context", context}, {"out", out}});
    *out = nullptr;
    if (params != nullptr && params->size != sizeof(*params))
      return refuse(Status::invalid,
                    "stria_worker_open: size is {}, this library's stria_worker_params_t has {}; set it to "
                    "sizeof(stria_worker_params_t)",
                    params->size, sizeof(*params));
    const stria_thread_mode_t mode = params == nullptr ? STRIA_THREAD_SINGLE : params->thread_mode;
    if (!is_one_of(mode, STRIA_THREAD_SINGLE, STRIA_THREAD_SERIALIZED, STRIA_THREAD_MULTIPLE))
      return refuse(Status::invalid, "stria_worker_open: thread_mode {} is no STRIA_THREAD_*",
                    static_cast<int>(mode));
    auto worker = Worker::open(*as_context(context), mode);
    if (!worker) return refuse("stria_worker_open", worker.error());
    *out = reinterpret_cast<stria_worker_t*>(worker->release());
    return STRIA_OK;
  });
}

stria_status_t stria_worker_close(stria_worker_t* worker) {
  if (worker == nullptr) return STRIA_OK;
  if (as_worker(worker)->inside_callback()) return refuse_close("stria_worker_close");
  // Its last callbacks run in this thread, as their calls see by the lock. It goes with the worker.
  if (WorkerLock& lock = as_worker(worker)->lock(); lock.shared()) lock.lock();
  delete as_worker(worker);
  return STRIA_OK;
}

uint64_t stria_worker_id(const stria_worker_t* worker) {
  if (worker != nullptr) return as_worker(worker)->id();
  static_cast<void>(refuse_null("stria_worker_id", {{"worker", worker}}));
  return 0;
}

stria_status_t stria_worker_address(const stria_worker_t* worker, void* buffer, size_t* bytes) {
  if (any_null(worker, bytes))
    return refuse_null("stria_worker_address", {{"worker", worker}, {"bytes", bytes}});
  const auto& address = as_worker(worker)->address();
  const std::size_t room = *bytes;
  *bytes = address.size();
  if (room < address.size())
    return refuse(Status::invalid, "stria_worker_address: room for {} bytes, the address has {}", room,
                  address.size());
  if (buffer == nullptr) return refuse_null("stria_worker_address", {{"buffer", buffer}});
  std::memcpy(buffer, address.data(), address.size());
  return STRIA_OK;
}

unsigned stria_worker_progress(stria_worker_t* handle) {
  if (handle == nullptr) [[unlikely]] {
    static_cast<void>(refuse_null("stria_worker_progress", {{"worker", handle}}));
    return 0;
  }
  Worker& worker = *as_worker(handle);
  return worker.lock().shared() ? progress_shared(worker) : worker.progress();
}

stria_status_t stria_worker_event_fd(stria_worker_t* handle, int* fd) {
  if (any_null(handle, fd)) return refuse_null("stria_worker_event_fd", {{"worker", handle}, {"fd", fd}});
  const Locked lock(*as_worker(handle));
  *fd = as_worker(handle)->event_fd();
  return *fd >= 0
             ? STRIA_OK
             : refuse(
                   Status::unsupported,
                   "stria_worker_event_fd: a provider in use has no descriptor to sleep on, or the process "
                   "has none left");
}

stria_status_t stria_worker_arm(stria_worker_t* handle) {
  if (handle == nullptr) return refuse_null("stria_worker_arm", {{"worker", handle}});
  const Locked lock(*as_worker(handle));
  const Status status = as_worker(handle)->arm();
  if (status == Status::no_resource)  // the usual answer while something waits: a text without arguments
    set_last_error(status,
                   "stria_worker_arm: something waits to be handled; call stria_worker_progress() first");
  else if (status != Status::ok)
    return refuse(status, "stria_worker_arm: a provider in use cannot sleep ({})", to_string(status));
  return transport::to_c(status);
}

stria_status_t stria_worker_wait(stria_worker_t* handle, int timeout_ms) {
  if (handle == nullptr) return refuse_null("stria_worker_wait", {{"worker", handle}});
  if (as_worker(handle)->inside_callback()) return refuse_inside_callback("stria_worker_wait");
  if (timeout_ms < -1)
    return refuse(Status::invalid, "stria_worker_wait: timeout_ms is {}; -1 means no limit", timeout_ms);
  return transport::to_c(as_worker(handle)->wait(timeout_ms));
}

stria_status_t stria_worker_counters(stria_worker_t* handle, stria_counters_t* out) {
  if (any_null(handle, out)) return refuse_null("stria_worker_counters", {{"worker", handle}, {"out", out}});
  if (out->size != sizeof(*out))
    return refuse(Status::invalid,
                  "stria_worker_counters: size is {}; set it to sizeof(stria_counters_t), {}", out->size,
                  sizeof(*out));
  const Locked lock(*as_worker(handle));
  as_worker(handle)->counters(*out);
  return STRIA_OK;
}

stria_status_t stria_endpoint_open(stria_worker_t* handle, const stria_endpoint_params_t* params,
                                   stria_endpoint_t** out) {
  return at_boundary("stria_endpoint_open", [&] {
    if (any_null(handle, params, out))
      return refuse_null("stria_endpoint_open", {{"worker", handle}, {"params", params}, {"out", out}});
    *out = nullptr;
    if (params->size != sizeof(*params))
      return refuse(
          Status::invalid,
          "stria_endpoint_open: size is {}, this library's stria_endpoint_params_t has {}; set it to "
          "sizeof(stria_endpoint_params_t)",
          params->size, sizeof(*params));
    if (params->address == nullptr) return refuse_null("stria_endpoint_open", {{"address", params->address}});
    if (!is_one_of(params->endpoint_class, STRIA_CLASS_DEFAULT, STRIA_CLASS_LOW_LATENCY))
      return refuse(Status::invalid, "stria_endpoint_open: endpoint_class {} is no STRIA_CLASS_*",
                    static_cast<int>(params->endpoint_class));
    const Locked lock(*as_worker(handle));
    auto endpoint = as_worker(handle)->peers().open(*as_worker(handle), *params);
    if (!endpoint) return refuse("stria_endpoint_open", endpoint.error());
    *out = reinterpret_cast<stria_endpoint_t*>(*endpoint);
    return STRIA_OK;
  });
}

stria_status_t stria_endpoint_connect(stria_endpoint_t* handle) {
  if (handle == nullptr) return refuse_null("stria_endpoint_connect", {{"endpoint", handle}});
  return at_boundary("stria_endpoint_connect", [&] {
    Endpoint& endpoint = *as_endpoint(handle);
    const Locked lock(*endpoint.worker);
    return answer(endpoint.worker->peers().reach(*endpoint.peer), "stria_endpoint_connect", endpoint.peer);
  });
}

stria_status_t stria_endpoint_info(stria_endpoint_t* handle, stria_endpoint_state_t* out) {
  if (any_null(handle, out)) return refuse_null("stria_endpoint_info", {{"endpoint", handle}, {"out", out}});
  if (out->size != sizeof(*out))
    return refuse(Status::invalid,
                  "stria_endpoint_info: size is {}; set it to sizeof(stria_endpoint_state_t), {}", out->size,
                  sizeof(*out));
  Endpoint& endpoint = *as_endpoint(handle);
  const Locked lock(*endpoint.worker);
  endpoint.worker->peers().describe(endpoint, *out);
  out->path = keep(out->path, path_text);
  out->fallback = keep(out->fallback, fallback_text);
  return STRIA_OK;
}

stria_status_t stria_endpoint_close(stria_endpoint_t* handle) {
  if (handle == nullptr) return STRIA_OK;
  Worker* worker = as_endpoint(handle)->worker;
  if (worker == nullptr)
    return refuse(Status::invalid, "stria_endpoint_close: the endpoint is closed already");
  if (worker->inside_callback()) return refuse_close("stria_endpoint_close");
  const Locked lock(*worker);
  worker->peers().close(as_endpoint(handle));
  return STRIA_OK;
}

}  // extern "C"
