#include "transport/uct/link.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "transport/uct/ends.hpp"
#include "transport/uct/moves.hpp"
#include "transport/uct/zcopy.hpp"

namespace stria::uct {
namespace {

constexpr std::size_t kLoopMost = 64;  // most packets of the device to itself that wait in Shared::loop
// Room for the header and payload of a short packet: Limits::short_max is at most 1024 (interface.cpp).
constexpr std::size_t kShortRoom = 1024 + sizeof(transport::Header);

/// What pack_packet() writes into UCX's buffer.
struct Packed {
  std::uint64_t prefix;
  const transport::Header& header;
  const transport::Payload& payload;
  const stria_services_t& services;
};

std::size_t pack_packet(void* out, void* arg) noexcept {
  const Packed& packet = *static_cast<const Packed*>(arg);
  auto* const to = static_cast<std::byte*>(out);
  std::memcpy(to, &packet.prefix, sizeof packet.prefix);
  std::memcpy(to + sizeof packet.prefix, &packet.header, sizeof packet.header);
  if (packet.payload.length > 0) packet.services.pack(&packet.payload, to + kOverhead);
  return kOverhead + static_cast<std::size_t>(packet.payload.length);
}

/// What pack_message() writes into UCX's buffer: a control message.
struct Message {
  const void* data;
  std::size_t bytes;
};

std::size_t pack_message(void* out, void* arg) noexcept {
  const Message& message = *static_cast<const Message*>(arg);
  std::memcpy(out, message.data, message.bytes);
  return message.bytes;
}

/// What pack_closing() writes into UCX's buffer: a packet that ends a key of the receiver.
struct Closing {
  std::uint64_t prefix;
  const transport::Header& header;
  ClosedKey closed;
  const void* payload;
  std::size_t bytes;
};

std::size_t pack_closing(void* out, void* arg) noexcept {
  const Closing& packet = *static_cast<const Closing*>(arg);
  auto* at = static_cast<std::byte*>(out);
  const auto put = [&at](const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(at, from, bytes);
    at += bytes;
  };
  put(&packet.prefix, sizeof packet.prefix);
  put(&packet.header, sizeof packet.header);
  put(&packet.closed, sizeof packet.closed);
  put(packet.payload, packet.bytes);
  return static_cast<std::size_t>(at - static_cast<std::byte*>(out));
}

/// The status of uct_ep_am_bcopy, which returns the packed bytes or a negative status.
ucs_status_t status_of(ssize_t packed) noexcept {
  return packed >= 0 ? UCS_OK : static_cast<ucs_status_t>(packed);
}

constexpr std::uint8_t number(Am id) noexcept {
  return static_cast<std::uint8_t>(id);
}

}  // namespace

void Shared::notify() const noexcept {
  constexpr std::uint64_t kOne = 1;
  if (armed && wakeup) static_cast<void>(::write(wakeup.get(), &kOne, sizeof kOne));
}

Status Link::can_send() const noexcept {
  if (dying) return Status::peer_failed;
  return is_up() ? Status::ok : Status::no_resource;
}

/// Turns the status of a send into the link's answer. An error other than lack of room ends the link.
Status Link::answer(ucs_status_t status) noexcept {
  is_full_ = status == UCS_ERR_NO_RESOURCE;
  if (status == UCS_OK) return Status::ok;
  return is_full_ ? Status::no_resource : fail(status);
}

Status Link::fail(ucs_status_t status) noexcept {
  broken = true;
  shared_.ends->fail(*this, Status::peer_failed, ucs_status_string(status));
  return Status::peer_failed;
}

/// Adds a packet of the device to itself to Shared::loop, and returns the place for its payload of `bytes`
/// bytes; null: the loop is full, or out of memory.
std::byte* Link::append_to_loop(Am id, const transport::Header& header, std::size_t bytes) noexcept {
  is_full_ = shared_.loop.count() >= kLoopMost;
  std::byte* const to = is_full_ ? nullptr : shared_.loop.append(id, kOverhead + bytes);
  if (to == nullptr) return nullptr;
  const std::uint64_t prefix = own_prefix_.bits();
  std::memcpy(to, &prefix, sizeof prefix);
  std::memcpy(to + sizeof prefix, &header, sizeof header);
  shared_.notify();
  return to + kOverhead;
}

Status Link::pio_send(const transport::Header& header, const void* payload, std::uint32_t bytes) noexcept {
  if (const Status can = can_send(); can != Status::ok) return can;
  if (is_own_) {
    std::byte* const to = append_to_loop(Am::short_packet, header, bytes);
    if (to == nullptr) return Status::no_resource;
    if (bytes > 0) std::memcpy(to, payload, bytes);
    return Status::ok;
  }
  std::array<std::byte, kShortRoom> packet;  // NOLINT(cppcoreguidelines-pro-type-member-init): written below
  store_header(packet.data(), header);
  if (bytes > 0) std::memcpy(packet.data() + sizeof header, payload, bytes);
  return answer(uct_ep_am_short(endpoint, number(Am::short_packet), peer_prefix_.bits(), packet.data(),
                                static_cast<unsigned>(sizeof header + bytes)));
}

Status Link::eager_send(const transport::Header& header, const transport::Payload& payload) noexcept {
  if (const Status can = can_send(); can != Status::ok) return can;
  if (is_own_) {
    std::byte* const to = append_to_loop(Am::buffered, header, static_cast<std::size_t>(payload.length));
    if (to == nullptr) return Status::no_resource;
    if (payload.length > 0) shared_.services->pack(&payload, to);
    return Status::ok;
  }
  if (payload.length > std::int64_t{shared_.limits.copied_max}) return send_packed(header, payload);
  Packed packet{peer_prefix_.bits(), header, payload, *shared_.services};
  return answer(status_of(uct_ep_am_bcopy(endpoint, number(Am::buffered), pack_packet, &packet, 0)));
}

/// Sends a payload that is longer than a buffer of UCX out of the link's own buffer.
Status Link::send_packed(const transport::Header& header, const transport::Payload& payload) noexcept {
  if (pack_buffer == nullptr) pack_buffer = PackBuffer::make();
  if (pack_buffer == nullptr || !pack_buffer->is_free()) return answer(UCS_ERR_NO_RESOURCE);
  shared_.services->pack(&payload, pack_buffer->memory());
  const uct_iov_t run{pack_buffer->memory(), static_cast<std::size_t>(payload.length), UCT_MEM_HANDLE_NULL, 0,
                      1};
  const Status sent = send_out_of(header, &run, 1, pack_buffer->begin());
  if (sent == Status::in_progress) return Status::ok;
  pack_buffer->end();
  return sent;
}

Status Link::zcopy_send(const transport::Header& header, const transport::Payload& payload,
                        transport::Completion* completion) noexcept {
  // Shorter payloads are copied, because zcopy would cost more. Unit: bytes.
  constexpr std::int64_t kWorthIt = 2048;
  if (zcopy_max() == 0) return Status::unsupported;
  if (is_own_ || (payload.length < kWorthIt && payload.length <= std::int64_t{shared_.limits.eager_max}))
    return eager_send(header, payload);
  if (const Status can = can_send(); can != Status::ok) return can;
  return send_out_of_memory(shared_, *this, header, payload, completion);
}

Status Link::send_out_of(const transport::Header& header, const uct_iov_t* runs, std::size_t count,
                         uct_completion_t* completion) noexcept {
  std::array<std::byte, kOverhead> front;  // NOLINT(cppcoreguidelines-pro-type-member-init): written below
  const std::uint64_t prefix = peer_prefix_.bits();
  std::memcpy(front.data(), &prefix, sizeof prefix);
  std::memcpy(front.data() + sizeof prefix, &header, sizeof header);
  const ucs_status_t status =
      uct_ep_am_zcopy(endpoint, number(Am::buffered), front.data(), static_cast<unsigned>(front.size()), runs,
                      count, 0, completion);
  return status == UCS_INPROGRESS ? Status::in_progress : answer(status);
}

Status Link::get(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
                 transport::Completion* completion) noexcept {
  return shared_.moves->start(*this, {false, local, key, offset, completion, nullptr});
}

Status Link::put(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
                 transport::Completion* completion) noexcept {
  return shared_.moves->start(*this, {true, local, key, offset, completion, nullptr});
}

Status Link::get_finish(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
                        const transport::Header& header, transport::Completion* completion) noexcept {
  return shared_.moves->start(*this, {false, local, key, offset, completion, &header});
}

Status Link::atomic(const transport::Atomic& atomic, const transport::Key& key,
                    transport::Completion* completion) noexcept {
  return shared_.moves->start_atomic(*this, atomic, key, completion);
}

Status Link::send_invalidate(const transport::Header& header, const void* payload, std::uint32_t bytes,
                             const transport::Key& key) noexcept {
  if (!shared_.limits.keys) return Status::unsupported;
  KeyContent content;
  if (!read_key(key, shared_.interface->domain().key_bytes(), content)) return Status::access_error;
  return send_closing(header, payload, bytes, content.tail.name);
}

Status Link::send_closing(const transport::Header& header, const void* payload, std::uint32_t bytes,
                          std::uint32_t key_name) noexcept {
  if (const Status can = can_send(); can != Status::ok) return can;
  if (is_own_) {
    std::byte* const to = append_to_loop(Am::closing, header, sizeof(ClosedKey) + bytes);
    if (to == nullptr) return Status::no_resource;
    const ClosedKey closed{key_name, 0};
    std::memcpy(to, &closed, sizeof closed);
    if (bytes > 0) std::memcpy(to + sizeof closed, payload, bytes);
    return Status::ok;
  }
  Closing packet{peer_prefix_.bits(), header, {key_name, 0}, payload, bytes};
  return answer(status_of(uct_ep_am_bcopy(endpoint, number(Am::closing), pack_closing, &packet, 0)));
}

void Link::release(std::uint64_t keep) noexcept {
  shared_.kept.release(keep);
  if (--kept == 0 && retired) shared_.ends->forget(*this);
}

Status Link::send_control(const void* message, std::size_t bytes) noexcept {
  if (broken) return Status::peer_failed;
  Message one{message, bytes};
  const ucs_status_t status =
      status_of(uct_ep_am_bcopy(endpoint, number(Am::control), pack_message, &one, 0));
  return status == UCS_ERR_NO_RESOURCE ? Status::no_resource : answer(status);
}

void Link::limits(transport::LinkLimits& out) const noexcept {
  const Limits& device = shared_.limits;
  out = {};
  out.eager_max = std::min(device.eager_max, peer_.eager_bytes);
  out.pio_max = std::min(device.short_max, peer_.eager_bytes);
  out.zcopy_max = zcopy_max();
  out.can_get = out.offload = device.keys ? 1 : 0;
  out.can_put = device.puts ? 1 : 0;
  out.can_atomic = device.atomics ? 1 : 0;
  const bool takes = is_up() && !is_full_ && !dying;
  out.pio_credits =
      takes && out.pio_max > 0 ? out.pio_max + static_cast<std::uint32_t>(sizeof(transport::Header)) : 0;
  out.latency_ns = device.latency_ns;
  out.path = shared_.path.c_str();
  out.fallback = "";
}

}  // namespace stria::uct
