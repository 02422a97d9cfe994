// stria for C++20: ownership, spans and exceptions around stria.h, and nothing else. Header only; a program
// links against libstria alone, as one in C does.
//
// Namespace: stria::api. The library's own namespace stria has a Status, an Error and a Layout of its own,
// which are not installed; a namespace apart lets one program (a test, say) see both without a clash. Users
// may shorten it:
//     namespace st = stria::api;
//
// Errors: setup (constructors, builders, address(), key()) throws Error. The data path (send, recv, put, get,
// test, wait, progress) is noexcept and answers Status: OK, IN_PROGRESS, or negative when nothing was
// started. Lifetimes: objects end in the reverse order of their making (context > worker > endpoint, region >
// key). Memory and layouts of an operation, and its Request, stay in place until its completion was seen.
// Threads: as stria.h says; the wrappers add no lock.
#ifndef STRIA_STRIA_HPP
#define STRIA_STRIA_HPP

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "stria/stria.h"

namespace stria::api {

using Status = stria_status_t;
using Info = stria_info_t;
using Bounds = stria_layout_bounds_t;
using Counters = stria_counters_t;
using EndpointState = stria_endpoint_state_t;
using Callback = stria_callback_t;

/// A refused setup call: its status, and the object, limit and value that the library named.
class Error : public std::runtime_error {
 public:
  Error(Status status, const std::string& what) : std::runtime_error(what), status_(status) {}
  Status status() const noexcept { return status_; }

 private:
  Status status_;
};

/// Throws Error when `status` is negative; `call` names what was tried.
inline void check(Status status, const char* call) {
  if (status >= STRIA_OK) return;
  std::string text = std::string(call) + ": " + stria_status_string(status);
  if (const char* reason = stria_last_error(); *reason != '\0') text += std::string(": ") + reason;
  throw Error(status, text);
}

namespace detail {
template <auto Close>
struct Closer {
  template <class T>
  void operator()(T* object) const noexcept {
    static_cast<void>(Close(object));
  }
};
template <class T, auto Close>
using Handle = std::unique_ptr<T, Closer<Close>>;
}  // namespace detail

/// The library's version at run time, "0.1.0".
inline std::string version() {
  return stria_version();
}

// ---- layouts
// --------------------------------------------------------------------------------------------------------

/// A committed description of memory. Copying shares it. Offsets and strides are signed bytes.
class Layout {
 public:
  /// One part of a composite: `count` instances of `layout` at `displacement`.
  struct Part;

  /// `n` contiguous bytes.
  static Layout bytes(std::int64_t n) {
    stria_layout_t* out = nullptr;
    check(stria_layout_bytes(n, &out), "stria_layout_bytes");
    return Layout(out);
  }
  /// The bytes of one T.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  static Layout of() { return bytes(static_cast<std::int64_t>(sizeof(T))); }
  /// `count` children, each one extent after the other.
  static Layout contiguous(std::int64_t count, const Layout& child) {
    stria_layout_t* out = nullptr;
    check(stria_layout_contiguous(count, child.get(), &out), "stria_layout_contiguous");
    return Layout(out);
  }
  /// `count` blocks of `blocklen` children, block starts `stride_bytes` apart.
  static Layout vector(std::int64_t count, std::int64_t blocklen, std::int64_t stride_bytes,
                       const Layout& child) {
    stria_layout_t* out = nullptr;
    check(stria_layout_vector(count, blocklen, stride_bytes, child.get(), &out), "stria_layout_vector");
    return Layout(out);
  }
  /// Block i is blocklens[i] children at displacements_bytes[i]. The spans are equally long.
  static Layout indexed(std::span<const std::int64_t> blocklens,
                        std::span<const std::int64_t> displacements_bytes, const Layout& child) {
    if (blocklens.size() != displacements_bytes.size())
      throw Error(STRIA_ERR_INVALID, "stria_layout_indexed: " + std::to_string(blocklens.size()) +
                                         " block lengths, but " + std::to_string(displacements_bytes.size()) +
                                         " displacements");
    stria_layout_t* out = nullptr;
    check(stria_layout_indexed(static_cast<std::int64_t>(blocklens.size()), blocklens.data(),
                               displacements_bytes.data(), child.get(), &out),
          "stria_layout_indexed");
    return Layout(out);
  }
  /// Different parts behind one another, in the order given.
  static Layout composite(std::span<const Part> parts);
  /// The same memory with another lower bound and extent.
  static Layout resized(const Layout& child, std::int64_t lower_bound, std::int64_t extent) {
    stria_layout_t* out = nullptr;
    check(stria_layout_resized(child.get(), lower_bound, extent, &out), "stria_layout_resized");
    return Layout(out);
  }

  Layout(const Layout& other) : handle_(stria_layout_retain(other.get())) {}
  Layout(Layout&&) noexcept = default;
  Layout& operator=(const Layout& other) {
    if (this != &other) handle_.reset(stria_layout_retain(other.get()));
    return *this;
  }
  Layout& operator=(Layout&&) noexcept = default;
  ~Layout() = default;

  /// Size, extent, true extent and number of contiguous blocks of one instance.
  Bounds bounds() const {
    Bounds out{};
    check(stria_layout_bounds(get(), &out), "stria_layout_bounds");
    return out;
  }
  /// The tree and its figures as text for people.
  std::string dump() const {
    std::string text(stria_layout_dump(get(), nullptr, 0), '\0');
    const std::size_t needed = stria_layout_dump(get(), text.data(), text.size());
    text.resize(std::min(needed, text.size()));
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
  }
  /// Copies bytes [offset, offset + out.size()) of the packed stream of `count` instances at `base` to `out`.
  Status pack(const void* base, std::int64_t count, std::int64_t offset,
              std::span<std::byte> out) const noexcept {
    return stria_layout_pack(get(), base, count, offset, static_cast<std::int64_t>(out.size()), out.data());
  }
  /// Copies `in` to bytes [offset, offset + in.size()) of the packed stream of `count` instances at `base`.
  Status unpack(void* base, std::int64_t count, std::int64_t offset,
                std::span<const std::byte> in) const noexcept {
    return stria_layout_unpack(get(), base, count, offset, static_cast<std::int64_t>(in.size()), in.data());
  }
  /// The C object; it stays this layout's.
  stria_layout_t* get() const noexcept { return handle_.get(); }

 private:
  explicit Layout(stria_layout_t* handle) noexcept : handle_(handle) {}
  detail::Handle<stria_layout_t, stria_layout_free> handle_;
};

struct Layout::Part {
  std::int64_t count;
  std::int64_t displacement;
  Layout layout;
};

inline Layout Layout::composite(std::span<const Part> parts) {
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> displacements;
  std::vector<const stria_layout_t*> children;
  for (const Part& part : parts) {
    counts.push_back(part.count);
    displacements.push_back(part.displacement);
    children.push_back(part.layout.get());
  }
  stria_layout_t* out = nullptr;
  check(stria_layout_composite(static_cast<std::int64_t>(parts.size()), counts.data(), displacements.data(),
                               children.data(), &out),
        "stria_layout_composite");
  return Layout(out);
}

/// Memory an operation may write: contiguous values, or instances of a layout at a base address. Owns
/// nothing.
struct Memory {
  void* base = nullptr;
  const stria_layout_t* layout = nullptr;
  std::uint64_t count = 0;  ///< instances, or bytes without a layout

  Memory() = default;
  /// `instances` of `shape`, offset 0 of the first one at `address`.
  Memory(void* address, const Layout& shape, std::uint64_t instances = 1) noexcept
      : base(address), layout(shape.get()), count(instances) {}
  /// All values of a span, vector or array.
  template <std::ranges::contiguous_range R>
  requires std::ranges::sized_range<R> && std::is_trivially_copyable_v<std::ranges::range_value_t<R>> &&
      (!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>)
          Memory(R&& values) noexcept  // NOLINT(google-explicit-constructor): a vector is memory
      : base(std::ranges::data(values)),
        count(std::ranges::size(values) * sizeof(std::ranges::range_value_t<R>)) {}
};

/// Memory an operation only reads.
struct ConstMemory {
  const void* base = nullptr;
  const stria_layout_t* layout = nullptr;
  std::uint64_t count = 0;  ///< instances, or bytes without a layout

  ConstMemory() = default;
  /// `instances` of `shape`, offset 0 of the first one at `address`.
  ConstMemory(const void* address, const Layout& shape, std::uint64_t instances = 1) noexcept
      : base(address), layout(shape.get()), count(instances) {}
  /// All values of a span, vector or array.
  template <std::ranges::contiguous_range R>
  requires std::ranges::sized_range<R> && std::is_trivially_copyable_v<std::ranges::range_value_t<R>>
  ConstMemory(R&& values)
  noexcept  // NOLINT(google-explicit-constructor): a vector is memory
      : base(std::ranges::data(values)),
        count(std::ranges::size(values) * sizeof(std::ranges::range_value_t<R>)) {}
};

// ---- context, worker
// ------------------------------------------------------------------------------------------------

class Context;

/// Page-aligned memory of a context that peers on this host can load and store directly. Freed with the
/// object.
class Buffer {
 public:
  Buffer(const Context& context, std::uint64_t bytes);
  Buffer(Buffer&& other) noexcept : context_(other.context_), bytes_(std::exchange(other.bytes_, {})) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Buffer() {
    if (bytes_.data() != nullptr) static_cast<void>(stria_mem_free(context_, bytes_.data()));
  }
  std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  stria_context_t* context_;
  std::span<std::byte> bytes_;
};

/// A process's configuration, providers and memory domain.
class Context {
 public:
  /// Processes of one job share `job_secret`; without one, it is derived from the user id.
  explicit Context(std::span<const std::byte> job_secret = {}, const char* name = nullptr) {
    stria_context_params_t params{};
    params.size = sizeof params;
    params.job_secret = job_secret.empty() ? nullptr : job_secret.data();
    params.job_secret_bytes = job_secret.size();
    params.name = name;
    stria_context_t* out = nullptr;
    check(stria_context_open(&params, &out), "stria_context_open");
    handle_.reset(out);
  }
  /// Memory that peers on this host can map.
  Buffer allocate(std::uint64_t bytes) const { return Buffer(*this, bytes); }
  stria_context_t* get() const noexcept { return handle_.get(); }

 private:
  detail::Handle<stria_context_t, stria_context_close> handle_;
};

inline Buffer::Buffer(const Context& context, std::uint64_t bytes) : context_(context.get()) {
  void* out = nullptr;
  check(stria_mem_alloc(context_, bytes, &out), "stria_mem_alloc");
  bytes_ = {static_cast<std::byte*>(out), static_cast<std::size_t>(bytes)};
}

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

class Endpoint;

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
    if (!request.used_) return request.test(info);
    return stria_request_wait(get(), &request.request_, info);
  }

  /// Starts a receive into `memory`.
  Status recv(const Memory& memory, const Match& match, Request& request, const Notify& notify = {}) noexcept;
  /// Receives a message that mprobe took. A negative answer leaves `message` as it was.
  Status mrecv(Message& message, const Memory& memory, Request& request, const Notify& notify = {}) noexcept;
  /// The first message that matches; it stays queued. Makes no progress.
  std::optional<Info> probe(const Match& match) noexcept;
  /// Takes the first message that matches out of the queue. Makes no progress.
  std::optional<Message> mprobe(const Match& match) noexcept;
  /// Cancels a receive that was not matched: OK, or NO_RESOURCE when it is too late.
  Status cancel(Request& request) noexcept {
    return request.used_ ? stria_request_cancel(get(), &request.request_) : STRIA_ERR_NO_RESOURCE;
  }
  stria_worker_t* get() const noexcept { return handle_.get(); }

 private:
  detail::Handle<stria_worker_t, stria_worker_close> handle_;
};

// ---- remote memory
// --------------------------------------------------------------------------------------------------

/// Registered memory that peers of a worker reach through its key. Deregistered with the object.
class Region {
 public:
  /// `access`: STRIA_ACCESS_REMOTE_READ, STRIA_ACCESS_REMOTE_WRITE or both.
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

// ---- endpoint
// -------------------------------------------------------------------------------------------------------

/// What a send says besides its memory and tag.
struct SendOptions {
  std::uint32_t immediate = 0;
  bool synchronous = false;  ///< completes only after the receiver matched it
  Notify notify{};
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
    stria_send_t send{};
    send.base = memory.base;
    send.layout = memory.layout;
    send.count = memory.count;
    send.tag = tag;
    send.immediate = options.immediate;
    send.flags = options.synchronous ? static_cast<std::uint32_t>(STRIA_SEND_SYNCHRONOUS) : 0;
    send.callback = options.notify.callback;
    send.user = options.notify.user;
    return request.started(stria_send(get(), &send, &request.request_));
  }
  /// Writes `memory` into the peer's region from byte `remote_offset` of its packed stream on.
  Status put(const ConstMemory& memory, const Key& key, std::uint64_t remote_offset, Request& request,
             const Notify& notify = {}) noexcept {
    const stria_rma_t rma =
        rma_of(const_cast<void*>(memory.base), memory.layout, memory.count, key, remote_offset,
               notify);  // a put only reads `base`
    return request.started(stria_put(get(), &rma, &request.request_));
  }
  /// Reads the peer's region from byte `remote_offset` of its packed stream on into `memory`.
  Status get(const Memory& memory, const Key& key, std::uint64_t remote_offset, Request& request,
             const Notify& notify = {}) noexcept {
    const stria_rma_t rma = rma_of(memory.base, memory.layout, memory.count, key, remote_offset, notify);
    return request.started(stria_get(get(), &rma, &request.request_));
  }
  stria_endpoint_t* get() const noexcept { return handle_.get(); }

 private:
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
                           const Notify& notify) noexcept {
  const stria_recv_t recv{memory.base,         memory.layout,   memory.count,
                          detail::to_c(match), notify.callback, notify.user};
  return request.received(stria_recv(get(), &recv, &request.request_));
}

inline Status Worker::mrecv(Message& message, const Memory& memory, Request& request,
                            const Notify& notify) noexcept {
  const stria_recv_t recv{memory.base, memory.layout, memory.count, {}, notify.callback, notify.user};
  const Status status = request.received(stria_mrecv(get(), message.handle_, &recv, &request.request_));
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
