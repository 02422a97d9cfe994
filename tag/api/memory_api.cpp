// stria.h: regions, keys, puts, gets and atomics.
#include <cstring>

#include "tag/api/convert.hpp"
#include "tag/api/waiting.hpp"
#include "transport/atomic_word.hpp"

using namespace stria;
using namespace stria::tag;

namespace {

void append(std::vector<std::byte>& out, const void* data, std::size_t bytes) {
  const auto* begin = static_cast<const std::byte*>(data);
  out.insert(out.end(), begin, begin + bytes);
}

/// Refuses a key of another worker than the one that the endpoint leads to; OK: the key is of that worker.
stria_status_t check_key(const char* function, const RemoteKey& key, const Endpoint& endpoint) noexcept {
  if (key.head.owner == endpoint.peer->worker_id) [[likely]]
    return STRIA_OK;
  return refuse(Status::invalid, "{}: the key is of worker {:#x}, the endpoint leads to {:#x}", function,
                key.head.owner, endpoint.peer->worker_id);
}

/// A right to a region's memory (STRIA_ACCESS_*), and its name in stria.h.
struct Right {
  unsigned bit;
  const char* name;
};
constexpr Right kMayRead{STRIA_ACCESS_REMOTE_READ, "STRIA_ACCESS_REMOTE_READ"};
constexpr Right kMayWrite{STRIA_ACCESS_REMOTE_WRITE, "STRIA_ACCESS_REMOTE_WRITE"};
constexpr Right kMayChange{STRIA_ACCESS_REMOTE_ATOMIC, "STRIA_ACCESS_REMOTE_ATOMIC"};

/// Refuses an access to `bytes` bytes at `offset`, which needs `right`, and says what of the key forbids it.
[[gnu::cold]] stria_status_t refuse_access(const char* function, const KeyHead& key, const Right& right,
                                           std::uint64_t bytes, std::uint64_t offset) noexcept {
  constexpr Status kStatus = Status::access_error;
  if ((key.access & right.bit) == 0)
    return refuse(kStatus, "{}: the region was registered without {}", function, right.name);
  if (bytes > key.length || offset > key.length - bytes)
    return refuse(kStatus, "{}: {} bytes at offset {} are not inside the region, which has {} bytes",
                  function, bytes, offset, key.length);
  return refuse(kStatus,
                "{}: worker {:#x} does not know the key any more; its region was deregistered, or its memory "
                "freed",
                function, key.owner);
}

/// The bytes of the packed stream of `count` instances; without a layout, `count` bytes.
std::uint64_t bytes_of(const stria_layout_t* layout, std::uint64_t count) noexcept {
  return layout == nullptr ? count : count * static_cast<std::uint64_t>(layout->value.size());
}

stria_status_t start(RequestKind kind, const char* name, stria_endpoint_t* handle, const stria_rma_t* rma,
                     stria_request_t* request) noexcept {
  if (any_null(handle, rma, request)) [[unlikely]]
    return refuse_null(name, {{"endpoint", handle}, {"rma", rma}, {"request", request}});
  if (rma->key == nullptr) [[unlikely]]
    return refuse_null(name, {{"key", rma->key}});
  if (lacks_memory(rma->base, rma->layout, rma->count)) [[unlikely]]
    return no_memory(name, rma->layout, rma->count);
  Endpoint& endpoint = *as_endpoint(handle);
  const auto& key = *reinterpret_cast<const RemoteKey*>(rma->key);
  if (const stria_status_t wrong = check_key(name, key, endpoint); wrong != STRIA_OK) [[unlikely]]
    return wrong;
  const Locked lock(*endpoint.worker);
  const Status status = endpoint.worker->remote().rma(kind, *endpoint.peer, *rma, request);
  const std::uint64_t bytes = bytes_of(rma->layout, rma->count);
  if (status == Status::ok)
    Request::make_ended(request, {STRIA_OK, 0, 0, bytes, bytes, endpoint.peer->worker_id});
  if (status == Status::access_error) [[unlikely]] {
    if (claim_last_error(status)) return transport::to_c(status);  // connecting failed, and left its reason
    return refuse_access(name, key.head, kind == RequestKind::get ? kMayRead : kMayWrite, bytes,
                         rma->remote_offset);
  }
  return answer(status, name, endpoint.peer);
}

stria_status_t start_and_wait(RequestKind kind, const char* name, stria_endpoint_t* handle,
                              const stria_rma_t* rma) noexcept {
  if (any_null(handle, rma)) [[unlikely]]
    return refuse_null(name, {{"endpoint", handle}, {"rma", rma}});
  Worker& worker = *as_endpoint(handle)->worker;
  if (const stria_status_t wrong = check_wait(name, worker, rma->callback); wrong != STRIA_OK) [[unlikely]]
    return wrong;
  stria_request_t request;
  return finish(start(kind, name, handle, rma, &request), worker, request, nullptr);
}

stria_status_t start_atomic(const char* name, stria_endpoint_t* handle, const stria_atomic_t* atomic,
                            stria_request_t* request) noexcept {
  if (any_null(handle, atomic, request)) [[unlikely]]
    return refuse_null(name, {{"endpoint", handle}, {"atomic", atomic}, {"request", request}});
  if (atomic->size != sizeof(*atomic)) [[unlikely]]
    return refuse(Status::invalid, "{}: size is {}, stria_atomic_t has {}", name, atomic->size,
                  sizeof(*atomic));
  if (any_null(atomic->key, atomic->result)) [[unlikely]]
    return refuse_null(name, {{"key", atomic->key}, {"result", atomic->result}});
  if (!transport::is_atomic_op(static_cast<std::uint32_t>(atomic->op))) [[unlikely]]
    return refuse(Status::invalid, "{}: op {} is no STRIA_ATOMIC_*", name, static_cast<int>(atomic->op));
  if (atomic->remote_offset % transport::kWordBytes != 0) [[unlikely]]
    return refuse(Status::invalid, "{}: offset {} is no multiple of 8", name, atomic->remote_offset);
  Endpoint& endpoint = *as_endpoint(handle);
  const auto& key = *reinterpret_cast<const RemoteKey*>(atomic->key);
  if (const stria_status_t wrong = check_key(name, key, endpoint); wrong != STRIA_OK) [[unlikely]]
    return wrong;
  const Locked lock(*endpoint.worker);
  const Status status = endpoint.worker->remote().atomic(*endpoint.peer, *atomic, request);
  constexpr std::uint64_t kBytes = transport::kWordBytes;
  if (status < Status::ok && claim_last_error(status)) [[unlikely]]
    return transport::to_c(status);  // connecting failed, and left its reason
  switch (status) {
    case Status::ok:
      Request::make_ended(request, {STRIA_OK, 0, 0, kBytes, kBytes, endpoint.peer->worker_id});
      return STRIA_OK;
    case Status::access_error:
      return refuse_access(name, key.head, kMayChange, kBytes, atomic->remote_offset);
    case Status::invalid:
      return refuse(status, "{}: the word at offset {} is misaligned in memory, or lies in pieces", name,
                    atomic->remote_offset);
    case Status::unsupported:
      return refuse(status, "{}: an adapter performs the region's atomics, and this link has none", name);
    default:
      return answer(status, name, endpoint.peer);
  }
}

}  // namespace

extern "C" {

/// Six parameters: those of the published C interface.
stria_status_t stria_region_register(stria_worker_t* handle, void* base, const stria_layout_t* layout,
                                     uint64_t count, unsigned access, stria_region_t** out) {
  return at_boundary("stria_region_register", [&] {
    if (any_null(handle, out))
      return refuse_null("stria_region_register", {{"worker", handle}, {"out", out}});
    *out = nullptr;
    if (lacks_memory(base, layout, count)) return no_memory("stria_region_register", layout, count);
    const Locked lock(*as_worker(handle));
    auto region = as_worker(handle)->regions().add(*as_worker(handle), base, layout, count, access);
    if (!region) return refuse("stria_region_register", region.error());
    *out = reinterpret_cast<stria_region_t*>(*region);
    return STRIA_OK;
  });
}

stria_status_t stria_region_deregister(stria_region_t* handle) {
  if (handle == nullptr) return STRIA_OK;
  auto* region = reinterpret_cast<Region*>(handle);
  Worker& worker = *region->worker;
  if (worker.inside_callback()) return refuse_close("stria_region_deregister");
  const Locked lock(worker);
  worker.deregister_region(region);
  return STRIA_OK;
}

stria_status_t stria_region_key(const stria_region_t* handle, void* buffer, size_t* bytes) {
  return at_boundary("stria_region_key", [&] {
    if (any_null(handle, bytes))
      return refuse_null("stria_region_key", {{"region", handle}, {"bytes", bytes}});
    const auto& region = *reinterpret_cast<const Region*>(handle);
    KeyHead head{.version = kKeyVersion,
                 .parts = 0,
                 .access = static_cast<std::uint8_t>(region.access),
                 .performer = region.performer,
                 .reserved = {},
                 .owner = region.worker->id(),
                 .region = region.id,
                 .length = static_cast<std::uint64_t>(region.memory.length)};
    std::vector<std::byte> packed(sizeof(head));
    for (std::size_t i = 0; i < region.keys.size(); ++i) {
      const stria_provider_key_t& key = region.keys[i];
      const Device& device = region.worker->device(i);
      const std::string_view name = device.name();
      if (key.bytes == 0) continue;
      packed.push_back(static_cast<std::byte>(name.size()));
      append(packed, name.data(), name.size());
      packed.push_back(static_cast<std::byte>(device.index));
      packed.push_back(static_cast<std::byte>(key.bytes));
      append(packed, key.data, key.bytes);
      ++head.parts;
    }
    std::memcpy(packed.data(), &head, sizeof(head));
    const std::size_t room = *bytes;
    *bytes = packed.size();
    if (room < packed.size())
      return refuse(Status::invalid, "stria_region_key: room for {} bytes, the key has {}", room,
                    packed.size());
    if (buffer == nullptr) return refuse_null("stria_region_key", {{"buffer", buffer}});
    std::memcpy(buffer, packed.data(), packed.size());
    return STRIA_OK;
  });
}

stria_status_t stria_key_open(stria_endpoint_t* endpoint, const void* packed, size_t bytes,
                              stria_key_t** out) {
  return at_boundary("stria_key_open", [&] {
    if (any_null(endpoint, packed, out))
      return refuse_null("stria_key_open", {{"endpoint", endpoint}, {"packed", packed}, {"out", out}});
    *out = nullptr;
    auto key = parse_key({static_cast<const std::byte*>(packed), bytes});
    if (!key) return refuse("stria_key_open", key.error());
    if (const stria_status_t wrong = check_key("stria_key_open", *key, *as_endpoint(endpoint));
        wrong != STRIA_OK)
      return wrong;
    as_endpoint(endpoint)->worker->remote().take_up(*key);
    *out = reinterpret_cast<stria_key_t*>(new RemoteKey(*std::move(key)));
    return STRIA_OK;
  });
}

void stria_key_close(stria_key_t* key) {
  delete reinterpret_cast<RemoteKey*>(key);
}

stria_status_t stria_put(stria_endpoint_t* endpoint, const stria_rma_t* rma, stria_request_t* request) {
  return start(RequestKind::put, "stria_put", endpoint, rma, request);
}

stria_status_t stria_get(stria_endpoint_t* endpoint, const stria_rma_t* rma, stria_request_t* request) {
  return start(RequestKind::get, "stria_get", endpoint, rma, request);
}

stria_status_t stria_put_wait(stria_endpoint_t* endpoint, const stria_rma_t* rma) {
  return start_and_wait(RequestKind::put, "stria_put_wait", endpoint, rma);
}

stria_status_t stria_get_wait(stria_endpoint_t* endpoint, const stria_rma_t* rma) {
  return start_and_wait(RequestKind::get, "stria_get_wait", endpoint, rma);
}

stria_status_t stria_atomic(stria_endpoint_t* endpoint, const stria_atomic_t* atomic,
                            stria_request_t* request) {
  return start_atomic("stria_atomic", endpoint, atomic, request);
}

stria_status_t stria_atomic_wait(stria_endpoint_t* endpoint, const stria_atomic_t* atomic) {
  constexpr const char* kName = "stria_atomic_wait";
  if (any_null(endpoint, atomic)) [[unlikely]]
    return refuse_null(kName, {{"endpoint", endpoint}, {"atomic", atomic}});
  Worker& worker = *as_endpoint(endpoint)->worker;
  if (const stria_status_t wrong = check_wait(kName, worker, atomic->callback); wrong != STRIA_OK)
      [[unlikely]]
    return wrong;
  stria_request_t request;
  return finish(start_atomic(kName, endpoint, atomic, &request), worker, request, nullptr);
}

}  // extern "C"
