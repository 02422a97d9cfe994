// What moves data, three objects that name each other: the worker receives, probes, progresses and waits; its
// endpoints send, put, get and do atomics; regions are what these reach, through keys.
#ifndef STRIA_API_WORKER_HPP
#define STRIA_API_WORKER_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stria/api/context.hpp"
#include "stria/api/layout.hpp"
#include "stria/api/request.hpp"

namespace stria::api {

/// A progress engine with its matching queues.
class Worker {
 public:
  explicit Worker(const Context& context, stria_thread_mode_t mode = STRIA_THREAD_SINGLE) {
    stria_worker_params_t params{};
    params.size = sizeof params;
    params.thread_mode = mode;
    stria_worker_t* out = nullptr;
    check(stria_worker_open(context.get(), &params, &out), "stria_worker_open");
    handle_.reset(out);
  }

  /// Unique in the job, never 0.
  std::uint64_t id() const noexcept { return stria_worker_id(get()); }
  /// What a peer opens an endpoint with.
  std::vector<std::byte> address() const {
    std::vector<std::byte> bytes(STRIA_ADDRESS_MAX);
    std::size_t size = bytes.size();
    check(stria_worker_address(get(), bytes.data(), &size), "stria_worker_address");
    bytes.resize(size);
    return bytes;
  }
  /// A descriptor that becomes readable when something arrives for an armed worker. The worker's.
  int event_fd() const {
    int fd = -1;
    check(stria_worker_event_fd(get(), &fd), "stria_worker_event_fd");
    return fd;
  }
  /// Message counts since the worker was opened.
  Counters counters() const {
    Counters out{};
    out.size = sizeof out;
    check(stria_worker_counters(get(), &out), "stria_worker_counters");
    return out;
  }

  /// Moves everything that can move; returns the events handled, 0 when idle.
  unsigned progress() noexcept { return stria_worker_progress(get()); }
  /// OK: the caller may sleep on event_fd(). NO_RESOURCE: progress first.
  Status arm() noexcept { return stria_worker_arm(get()); }
  /// Sleeps until something was handled (OK) or timeout_ms passed (IN_PROGRESS); -1: no limit.
  Status wait(int timeout_ms) noexcept { return stria_worker_wait(get(), timeout_ms); }
  /// Progresses until the request ended; returns its outcome.
  Status wait(Request& request, Info* info = nullptr) noexcept {
    if (!request.started_) return request.test(info);
    return stria_request_wait(get(), &request.request_, info);
  }

  /// Starts a receive into `memory`.
  Status recv(const Memory& memory, const Match& match, Request& request,
              const RecvOptions& options = {}) noexcept;
  /// Receives into `memory` and waits for the end: the outcome, the details in *info. The shortest way to
  /// receive. Not inside a callback of this worker.
  Status recv_wait(const Memory& memory, const Match& match, Info* info = nullptr) noexcept;
  /// Receives a message that mprobe took. A negative answer leaves `message` as it was.
  Status mrecv(Message& message, const Memory& memory, Request& request, const Notify& notify = {}) noexcept;
  /// The first message that matches; it stays queued. Makes no progress.
  std::optional<Info> probe(const Match& match) noexcept;
  /// Takes the first message that matches out of the queue. Makes no progress.
  std::optional<Message> mprobe(const Match& match) noexcept;
  /// Cancels a receive that was not matched: OK, or NO_RESOURCE when it is too late.
  Status cancel(Request& request) noexcept {
    return request.started_ ? stria_request_cancel(get(), &request.request_) : STRIA_ERR_NO_RESOURCE;
  }
  stria_worker_t* get() const noexcept { return handle_.get(); }

 private:
  detail::Handle<stria_worker_t, stria_worker_close> handle_;
};

/// Registered memory that peers of a worker reach through its key. Deregistered with the object.
class Region {
 public:
  /// `access`: STRIA_ACCESS_* bits.
  Region(const Worker& worker, const Memory& memory, unsigned access) {
    stria_region_t* out = nullptr;
    check(stria_region_register(worker.get(), memory.base, memory.layout, memory.count, access, &out),
          "stria_region_register");
    handle_.reset(out);
  }
  /// The bytes a peer opens a Key with.
  std::vector<std::byte> key() const {
    std::vector<std::byte> bytes(STRIA_KEY_MAX);
    std::size_t size = bytes.size();
    check(stria_region_key(get(), bytes.data(), &size), "stria_region_key");
    bytes.resize(size);
    return bytes;
  }
  stria_region_t* get() const noexcept { return handle_.get(); }

 private:
  detail::Handle<stria_region_t, stria_region_deregister> handle_;
};

/// What reaches a peer's region over one endpoint.
class Key {
 public:
  Key(const Endpoint& endpoint, std::span<const std::byte> packed);
  stria_key_t* get() const noexcept { return handle_.get(); }

 private:
  detail::Handle<stria_key_t, stria_key_close> handle_;
};

/// What a send says besides its memory and tag.
struct SendOptions {
  std::uint32_t immediate = 0;
  bool synchronous = false;  ///< completes only after the receiver matched it
  Notify notify{};
};

/// What an atomic does to a word of 64 bits; what it was before is the result.
struct FetchAdd {
  std::uint64_t operand;
};
struct CompareSwap {
  std::uint64_t expected;
  std::uint64_t wanted;  ///< stored where the word is `expected`
};

/// A worker's way to one remote worker.
class Endpoint {
 public:
  Endpoint(const Worker& worker, std::span<const std::byte> address,
           stria_endpoint_class_t endpoint_class = STRIA_CLASS_DEFAULT, void* user = nullptr) {
    stria_endpoint_params_t params{};
    params.size = sizeof params;
    params.address = address.data();
    params.address_bytes = address.size();
    params.endpoint_class = endpoint_class;
    params.user = user;
    stria_endpoint_t* out = nullptr;
    check(stria_endpoint_open(worker.get(), &params, &out), "stria_endpoint_open");
    handle_.reset(out);
  }
  /// Connects now instead of with the first message.
  Status connect() noexcept { return stria_endpoint_connect(get()); }
  /// Peer, path, why no better one, window and limits.
  EndpointState state() const {
    EndpointState out{};
    out.size = sizeof out;
    check(stria_endpoint_info(get(), &out), "stria_endpoint_info");
    return out;
  }
  /// Starts a send of `memory`.
  Status send(const ConstMemory& memory, std::uint64_t tag, Request& request,
              const SendOptions& options = {}) noexcept {
    const stria_send_t send = send_of(memory, tag, options);
    return request.started(stria_send(get(), &send, &request.request_));
  }
  /// Sends `memory` at once, or does nothing and answers NO_RESOURCE; see STRIA_SEND_IMMEDIATE. Needs no
  /// request, and no callback comes.
  Status send_now(const ConstMemory& memory, std::uint64_t tag, std::uint32_t immediate = 0) noexcept {
    stria_send_t send = send_of(memory, tag, {.immediate = immediate});
    send.flags = STRIA_SEND_IMMEDIATE;
    return stria_send(get(), &send, nullptr);
  }
  /// Sends `memory` and waits for the end: the outcome. `options` names no callback. This and the other calls
  /// that wait make progress of the endpoint's worker, so they are not for a callback of it.
  Status send_wait(const ConstMemory& memory, std::uint64_t tag, const SendOptions& options = {}) noexcept {
    const stria_send_t send = send_of(memory, tag, options);
    return stria_send_wait(get(), &send);
  }
  /// Writes `memory` into the peer's region from byte `remote_offset` of its packed stream on.
  Status put(const ConstMemory& memory, const Key& key, std::uint64_t remote_offset, Request& request,
             const Notify& notify = {}) noexcept {
    const stria_rma_t rma = put_of(memory, key, remote_offset, notify);
    return request.started(stria_put(get(), &rma, &request.request_));
  }
  /// As put, and waits for the end: the outcome.
  Status put_wait(const ConstMemory& memory, const Key& key, std::uint64_t remote_offset) noexcept {
    const stria_rma_t rma = put_of(memory, key, remote_offset, {});
    return stria_put_wait(get(), &rma);
  }
  /// Reads the peer's region from byte `remote_offset` of its packed stream on into `memory`.
  Status get(const Memory& memory, const Key& key, std::uint64_t remote_offset, Request& request,
             const Notify& notify = {}) noexcept {
    const stria_rma_t rma = rma_of(memory.base, memory.layout, memory.count, key, remote_offset, notify);
    return request.started(stria_get(get(), &rma, &request.request_));
  }
  /// As get, and waits for the end: the outcome.
  Status get_wait(const Memory& memory, const Key& key, std::uint64_t remote_offset) noexcept {
    const stria_rma_t rma = rma_of(memory.base, memory.layout, memory.count, key, remote_offset, {});
    return stria_get_wait(get(), &rma);
  }
  /// Adds to the word at byte `remote_offset` of the peer's region. `before` gets what it was, when the
  /// request ended with OK; it stays in place until then.
  Status fetch_add(const Key& key, std::uint64_t remote_offset, std::uint64_t operand, std::uint64_t& before,
                   Request& request, const Notify& notify = {}) noexcept {
    const stria_atomic_t atomic = atomic_of(FetchAdd{operand}, key, remote_offset, before, notify);
    return request.started(stria_atomic(get(), &atomic, &request.request_));
  }
  /// Stores `wanted` there if the word is `expected`; it was when `before` is.
  Status compare_swap(const Key& key, std::uint64_t remote_offset, std::uint64_t expected,
                      std::uint64_t wanted, std::uint64_t& before, Request& request,
                      const Notify& notify = {}) noexcept {
    const stria_atomic_t atomic =
        atomic_of(CompareSwap{expected, wanted}, key, remote_offset, before, notify);
    return request.started(stria_atomic(get(), &atomic, &request.request_));
  }
  /// Does `what`, a FetchAdd or a CompareSwap, and waits for the end: the outcome.
  template <class What>
  Status atomic_wait(const What& what, const Key& key, std::uint64_t remote_offset,
                     std::uint64_t& before) noexcept {
    const stria_atomic_t atomic = atomic_of(what, key, remote_offset, before, {});
    return stria_atomic_wait(get(), &atomic);
  }
  stria_endpoint_t* get() const noexcept { return handle_.get(); }

 private:
  static stria_send_t send_of(const ConstMemory& memory, std::uint64_t tag,
                              const SendOptions& options) noexcept {
    const auto flags = options.synchronous ? static_cast<std::uint32_t>(STRIA_SEND_SYNCHRONOUS) : 0u;
    return stria_send_t{memory.base, memory.layout,           memory.count,       tag, options.immediate,
                        flags,       options.notify.callback, options.notify.user};
  }
  static stria_rma_t put_of(const ConstMemory& memory, const Key& key, std::uint64_t remote_offset,
                            const Notify& notify) noexcept {
    void* const base = const_cast<void*>(memory.base);  // a put only reads it
    return rma_of(base, memory.layout, memory.count, key, remote_offset, notify);
  }
  static stria_atomic_t atomic_of(const FetchAdd& what, const Key& key, std::uint64_t remote_offset,
                                  std::uint64_t& before, const Notify& notify) noexcept {
    return {sizeof(stria_atomic_t),
            STRIA_ATOMIC_FETCH_ADD,
            key.get(),
            remote_offset,
            what.operand,
            0,
            &before,
            notify.callback,
            notify.user};
  }
  static stria_atomic_t atomic_of(const CompareSwap& what, const Key& key, std::uint64_t remote_offset,
                                  std::uint64_t& before, const Notify& notify) noexcept {
    return {sizeof(stria_atomic_t),
            STRIA_ATOMIC_COMPARE_SWAP,
            key.get(),
            remote_offset,
            what.wanted,
            what.expected,
            &before,
            notify.callback,
            notify.user};
  }
  static stria_rma_t rma_of(void* base, const stria_layout_t* layout, std::uint64_t count, const Key& key,
                            std::uint64_t remote_offset, const Notify& notify) noexcept {
    return stria_rma_t{base, layout, count, key.get(), remote_offset, notify.callback, notify.user};
  }
  detail::Handle<stria_endpoint_t, stria_endpoint_close> handle_;
};

inline Key::Key(const Endpoint& endpoint, std::span<const std::byte> packed) {
  stria_key_t* out = nullptr;
  check(stria_key_open(endpoint.get(), packed.data(), packed.size(), &out), "stria_key_open");
  handle_.reset(out);
}

namespace detail {
inline stria_match_t to_c(const Match& match) noexcept {
  return stria_match_t{match.source == nullptr ? nullptr : match.source->get(), match.tag, match.ignore};
}
}  // namespace detail

inline Status Worker::recv(const Memory& memory, const Match& match, Request& request,
                           const RecvOptions& options) noexcept {
  const stria_recv_t recv{memory.base,
                          memory.layout,
                          memory.count,
                          detail::to_c(match),
                          options.notify.callback,
                          options.notify.user,
                          (options.look ? STRIA_RECV_LOOK : 0u) | (options.waits ? STRIA_RECV_WAITS : 0u),
                          options.info};
  return request.started(stria_recv(get(), &recv, &request.request_));
}

inline Status Worker::recv_wait(const Memory& memory, const Match& match, Info* info) noexcept {
  const stria_recv_t recv{memory.base, memory.layout, memory.count, detail::to_c(match), nullptr, nullptr,
                          0,           nullptr};
  return stria_recv_wait(get(), &recv, info);
}

inline Status Worker::mrecv(Message& message, const Memory& memory, Request& request,
                            const Notify& notify) noexcept {
  const stria_recv_t recv{memory.base, memory.layout, memory.count, {}, notify.callback, notify.user,
                          0,           nullptr};
  const Status status = request.started(stria_mrecv(get(), message.handle_, &recv, &request.request_));
  if (status >= STRIA_OK) message.handle_ = nullptr;
  return status;
}

inline std::optional<Info> Worker::probe(const Match& match) noexcept {
  const stria_match_t wanted = detail::to_c(match);
  Info info{};
  if (stria_probe(get(), &wanted, &info) != STRIA_OK) return std::nullopt;
  return info;
}

inline std::optional<Message> Worker::mprobe(const Match& match) noexcept {
  const stria_match_t wanted = detail::to_c(match);
  Info info{};
  stria_message_t* taken = nullptr;
  if (stria_mprobe(get(), &wanted, &taken, &info) != STRIA_OK) return std::nullopt;
  return Message(taken, info);
}

}  // namespace stria::api

#endif
