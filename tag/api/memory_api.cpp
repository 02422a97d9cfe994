// stria.h: regions, keys, put, get and atomics.
#include <cstring>

#include "tag/api/convert.hpp"
#include "transport/atomic_word.hpp"

using namespace stria;
using namespace stria::tag;

namespace {

void append(std::vector<std::byte>& out, const void* data, std::size_t bytes) {
  const auto* begin = static_cast<const std::byte*>(data);
  out.insert(out.end(), begin, begin + bytes);
}

stria_status_t start(RequestKind kind, stria_endpoint_t* handle, const stria_rma_t* rma,
                     stria_request_t* request) {
  const char* name = kind == RequestKind::put ? "stria_put" : "stria_get";
  if (any_null(handle, rma, request)) [[unlikely]]
    return refuse_null(name, {{"endpoint", handle}, {"rma", rma}, {"request", request}});
  if (rma->key == nullptr) [[unlikely]]
    return refuse_null(name, {{"key", rma->key}});
  if (lacks_memory(rma->base, rma->layout, rma->count)) [[unlikely]]
    return refuse(Status::invalid, "{}: base is NULL, but there are {} bytes and no layout", name,
                  rma->count);
  Endpoint& endpoint = *as_endpoint(handle);
  const Locked lock(*endpoint.worker);
  const Status status = endpoint.worker->rma(kind, *endpoint.peer, *rma, request);
  if (status == Status::access_error) [[unlikely]]
    return refuse(status, "{}: the key does not allow {} {} at offset {} of its region", name, rma->count,
                  rma->layout == nullptr ? "bytes" : "instances", rma->remote_offset);
  if (status == Status::invalid) [[unlikely]]
    return refuse(status, "{}: count and layout describe no memory of 64 bits", name);
  if (status == Status::peer_failed) [[unlikely]]
    return refuse(status, "{}: the peer is gone", name);
  return transport::to_c(status);
}

}  // namespace

extern "C" {

stria_status_t stria_region_register(stria_worker_t* handle, void* base, const stria_layout_t* layout,
                                     uint64_t count, unsigned access, stria_region_t** out) {
  return at_boundary([&] {
    if (any_null(handle, out))
      return refuse_null("stria_region_register", {{"worker", handle}, {"out", out}});
    *out = nullptr;
    if (lacks_memory(base, layout, count))
      return refuse(Status::invalid,
                    "stria_region_register: base is NULL, but there are {} bytes and no layout", count);
    const Locked lock(*as_worker(handle));
    auto region = as_worker(handle)->register_region(base, layout, count, access);
    if (!region) return refuse(region.error());
    *out = reinterpret_cast<stria_region_t*>(*region);
    return STRIA_OK;
  });
}

stria_status_t stria_region_deregister(stria_region_t* handle) {
  if (handle == nullptr) return STRIA_OK;
  auto* region = reinterpret_cast<Region*>(handle);
  Worker& worker = *region->worker;
  const Locked lock(worker);
  worker.deregister_region(region);
  return STRIA_OK;
}

stria_status_t stria_region_key(const stria_region_t* handle, void* buffer, size_t* bytes) {
  return at_boundary([&] {
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
      const std::string_view name = region.worker->provider_name(i);
      if (key.bytes == 0 || packed.size() + 2 + name.size() + key.bytes > STRIA_KEY_MAX) continue;
      packed.push_back(static_cast<std::byte>(name.size()));
      append(packed, name.data(), name.size());
      packed.push_back(static_cast<std::byte>(key.bytes));
      append(packed, key.data, key.bytes);
      ++head.parts;
    }
    std::memcpy(packed.data(), &head, sizeof(head));
    const std::size_t room = *bytes;
    *bytes = packed.size();
    if (room < packed.size())
      return refuse(Status::invalid, "room for {} bytes, the key has {}", room, packed.size());
    if (buffer == nullptr) return refuse_null("stria_region_key", {{"buffer", buffer}});
    std::memcpy(buffer, packed.data(), packed.size());
    return STRIA_OK;
  });
}

stria_status_t stria_key_open(stria_endpoint_t* endpoint, const void* packed, size_t bytes,
                              stria_key_t** out) {
  return at_boundary([&] {
    if (any_null(endpoint, packed, out))
      return refuse_null("stria_key_open", {{"endpoint", endpoint}, {"packed", packed}, {"out", out}});
    *out = nullptr;
    auto key = std::make_unique<RemoteKey>();
    if (bytes < sizeof(key->head) || bytes > STRIA_KEY_MAX)
      return refuse(Status::invalid, "a key has {} to {} bytes, not {}", sizeof(key->head), STRIA_KEY_MAX,
                    bytes);
    std::memcpy(&key->head, packed, sizeof(key->head));
    if (key->head.version != kKeyVersion)
      return refuse(Status::invalid, "key version {}, this library reads {}", key->head.version, kKeyVersion);
    if (key->head.owner != as_endpoint(endpoint)->peer->worker_id)
      return refuse(Status::invalid, "the key is of worker {:#x}, the endpoint leads to {:#x}",
                    key->head.owner, as_endpoint(endpoint)->peer->worker_id);
    append(key->parts, static_cast<const std::byte*>(packed) + sizeof(key->head), bytes - sizeof(key->head));
    *out = reinterpret_cast<stria_key_t*>(key.release());
    return STRIA_OK;
  });
}

void stria_key_close(stria_key_t* key) {
  delete reinterpret_cast<RemoteKey*>(key);
}

stria_status_t stria_put(stria_endpoint_t* endpoint, const stria_rma_t* rma, stria_request_t* request) {
  return start(RequestKind::put, endpoint, rma, request);
}

stria_status_t stria_get(stria_endpoint_t* endpoint, const stria_rma_t* rma, stria_request_t* request) {
  return start(RequestKind::get, endpoint, rma, request);
}

stria_status_t stria_atomic(stria_endpoint_t* handle, const stria_atomic_t* atomic,
                            stria_request_t* request) {
  if (any_null(handle, atomic, request)) [[unlikely]]
    return refuse_null("stria_atomic", {{"endpoint", handle}, {"atomic", atomic}, {"request", request}});
  if (atomic->size != sizeof(*atomic)) [[unlikely]]
    return refuse(Status::invalid, "stria_atomic: size is {}, stria_atomic_t has {}", atomic->size,
                  sizeof(*atomic));
  if (any_null(atomic->key, atomic->result)) [[unlikely]]
    return refuse_null("stria_atomic", {{"key", atomic->key}, {"result", atomic->result}});
  if (!transport::is_atomic_op(static_cast<std::uint32_t>(atomic->op))) [[unlikely]]
    return refuse(Status::invalid, "stria_atomic: op {} is no STRIA_ATOMIC_*", static_cast<int>(atomic->op));
  if (atomic->remote_offset % transport::kWordBytes != 0) [[unlikely]]
    return refuse(Status::invalid, "stria_atomic: offset {} is no multiple of 8", atomic->remote_offset);
  Endpoint& endpoint = *as_endpoint(handle);
  const Locked lock(*endpoint.worker);
  const Status status = endpoint.worker->atomic(*endpoint.peer, *atomic, request);
  if (status == Status::access_error) [[unlikely]]
    return refuse(status, "stria_atomic: the key does not allow atomics at offset {} of its region",
                  atomic->remote_offset);
  if (status == Status::invalid) [[unlikely]]
    return refuse(status, "stria_atomic: the word at offset {} is misaligned in memory, or lies in pieces",
                  atomic->remote_offset);
  if (status == Status::unsupported) [[unlikely]]
    return refuse(status, "stria_atomic: the region's atomics are an adapter's, and this link has none");
  if (status == Status::peer_failed) [[unlikely]]
    return refuse(status, "stria_atomic: the peer is gone");
  return transport::to_c(status);
}

}  // extern "C"
