#include "transport/verbs/link.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "base/format.hpp"
#include "transport/verbs/device.hpp"

namespace stria::verbs {

Link::Link(Device& device, std::uint64_t worker) noexcept
    : device_(device),
      worker_(worker),
      half_(static_cast<std::uint16_t>(std::max(1u, device.settings().credits / 2))),
      peer_eager_(device.settings().eager_bytes) {}

void Link::attach(Connection& connection) noexcept {
  const Adapter& adapter = device_.adapter();
  connection_ = &connection;
  connection.link = this;
  poster_.use(connection.id->qp, adapter.builder, adapter.strided ? &*adapter.strided : nullptr,
              device_.counters());
  credits_ = most_credits_ = connection.peer.credits;
  peer_link_ = connection.peer.link;
  peer_eager_ = connection.peer.eager_bytes;
}

void Link::set_echo(Link& link) noexcept {
  echo_ = &link;
  link.origin = this;
}

void Link::part() noexcept {
  if (echo_ != nullptr) echo_->origin = nullptr;
  if (origin != nullptr) origin->echo_ = nullptr;
  echo_ = origin = nullptr;
}

bool Link::has_room(unsigned requests) noexcept {
  if (has_room_now(requests)) [[likely]]
    return true;
  device_.reap();
  return has_room_now(requests);
}

Status Link::can_send() noexcept {
  if (dying) [[unlikely]]
    return Status::peer_failed;
  if (!ready_ && !(has_to_greet() && greet())) return Status::no_resource;
  if (binds_have_to_wait()) return Status::no_resource;
  return credits_ > 0 && has_room(1) ? Status::ok : Status::no_resource;
}

/// rxe does a bind again when something before it was lost, finds the window bound, and sends nothing more
/// nor says anything. So there a bind goes out when nothing is under way, and its packet with it.
bool Link::binds_have_to_wait() noexcept {
  if (chosen_count_ == 0 || !device_.adapter().traits.repeats_binds) return false;
  binds_wait_ = true;
  if (!idle()) device_.reap();
  binds_wait_ = !idle();
  return binds_wait_;
}

Prefix Link::next_prefix(PacketKind kind) noexcept {
  const Prefix prefix{owed_, kind, control_seen_ ? std::uint8_t{1} : std::uint8_t{0}, peer_link_};
  owed_ = 0;
  control_seen_ = false;
  return prefix;
}

Status Link::post(ibv_send_wr* requests, const Entry* entries, unsigned count, bool signal) noexcept {
  ibv_send_wr together[kMostChosen + kMostChain];
  unsigned before = 0, strided = 0;
  const bool acknowledges_all = device_.adapter().traits.repeats_binds;
  const bool zero_based = device_.adapter().traits.zero_based;
  if (chosen_count_ > 0 && (!acknowledges_all || idle())) {
    for (; before < chosen_count_; ++before) {
      Window& window = *chosen_[before];
      ibv_send_wr& request = together[before];
      request = {};
      window.posted = true;
      if (window.strided != nullptr) {
        request.opcode = Poster::kFill;
        ++strided;
        continue;
      }
      request.opcode = IBV_WR_BIND_MW;
      request.bind_mw.mw = window.mw;
      request.bind_mw.rkey = window.rkey;
      const unsigned rights =
          window.rights | (is_from_zero(window.rights, zero_based) ? unsigned{IBV_ACCESS_ZERO_BASED} : 0u);
      request.bind_mw.bind_info = {window.region->mr, window.span.begin, window.span.bytes, rights};
    }
    device_.counters().windows_bound += before;
    device_.counters().strided_keys += strided;
    chosen_count_ = 0;
    binds_wait_ = false;  // whatever they left with
    if (count > 0) std::memcpy(&together[before], requests, count * sizeof *requests);
    requests = together;
  }
  const unsigned all = before + count;
  for (unsigned i = 0; i < all; ++i) {
    requests[i].wr_id = Device::request_id(connection_->number, head_ + i);
    ring_[(head_ + i) & kMask] = i < before ? Entry{} : entries[i - before];
  }
  unsignalled_ += all;
  if (device_.completes_singly()) {
    for (unsigned i = 0; i < all; ++i) requests[i].send_flags |= IBV_SEND_SIGNALED;
    unsignalled_ = 0;
  } else if (signal || acknowledges_all || unsignalled_ >= kSendDepth / 4) {
    requests[all - 1].send_flags |= IBV_SEND_SIGNALED;
    unsignalled_ = 0;
  }
  head_ += all;
  const int error = poster_.post(requests, all, chosen_.data());
  for (unsigned i = 0; i < before; ++i) {
    if (requests[i].opcode == Poster::kFill) continue;
    // The library takes the new key over only for windows that it binds itself.
    ibv_mw* const mw = requests[i].bind_mw.mw;
    mw->rkey = requests[i].bind_mw.rkey;
  }
  if (error == 0) [[likely]]
    return Status::ok;
  // They stay in the ring, and what is flushed behind them says that all before it was done.
  for (unsigned i = 0; i < count; ++i)
    if (entries[i].move != nullptr) entries[i].move->status = Status::peer_failed;
  device_.fail(*this, Status::io_error, fmt::format("posting a work request: {}", std::strerror(error)));
  return Status::peer_failed;
}

Status Link::send_short(PacketKind kind, const transport::Header& header, const void* payload,
                        std::uint32_t bytes, const KeyContent* closes) noexcept {
  const Prefix prefix = next_prefix(kind);
  std::byte packet[kHeadBytes + kMostShort];
  std::memcpy(packet, &prefix, sizeof prefix);
  std::memcpy(packet + sizeof prefix, &header, sizeof header);
  if (bytes > 0) std::memcpy(packet + kHeadBytes, payload, bytes);
  ibv_sge piece{reinterpret_cast<std::uint64_t>(packet), kHeadBytes + bytes, 0};
  ibv_send_wr request{};
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = closes == nullptr ? IBV_WR_SEND : IBV_WR_SEND_WITH_INV;
  request.send_flags = IBV_SEND_INLINE;
  if (closes != nullptr) request.invalidate_rkey = closes->rkey;
  --credits_;
  const Entry entry{};
  return post(&request, &entry, 1, false);
}

Status Link::send_slot(PacketKind kind, const transport::Header& header, const transport::Payload& payload,
                       const KeyContent* closes) noexcept {
  SendSlots& slots = device_.slots();
  std::uint32_t slot = slots.take();
  if (slot == SendSlots::kNone) {
    device_.reap();
    slot = slots.take();
    if (slot == SendSlots::kNone) return Status::no_resource;
  }
  const Prefix prefix = next_prefix(kind);
  std::byte* const at = slots.at(slot);
  std::memcpy(at, &prefix, sizeof prefix);
  std::memcpy(at + sizeof prefix, &header, sizeof header);
  if (payload.length > 0) device_.services().pack(&payload, at + kHeadBytes);
  ibv_sge piece{reinterpret_cast<std::uint64_t>(at), kHeadBytes + static_cast<std::uint32_t>(payload.length),
                slots.lkey()};
  ibv_send_wr request{};
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = closes == nullptr ? IBV_WR_SEND : IBV_WR_SEND_WITH_INV;
  if (closes != nullptr) request.invalidate_rkey = closes->rkey;
  --credits_;
  const Entry entry{Doing::slot, slot, nullptr};
  return post(&request, &entry, 1, slots.is_low());
}

Status Link::pio_send(const transport::Header& header, const void* payload, std::uint32_t bytes) noexcept {
  if (device_.pio_max() == 0) return Status::unsupported;
  const Status can = can_send();
  if (can != Status::ok) return can;
  return send_short(PacketKind::pio, header, payload, bytes, nullptr);
}

Status Link::eager_send(const transport::Header& header, const transport::Payload& payload) noexcept {
  const Status can = can_send();
  if (can != Status::ok) return can;
  const auto bytes = static_cast<std::uint32_t>(payload.length);
  if (device_.pio_max() != 0 && bytes <= device_.pio_max()) {  // needs no slot
    std::byte gathered[kMostShort];
    if (bytes > 0) device_.services().pack(&payload, gathered);
    return send_short(PacketKind::buffered, header, gathered, bytes, nullptr);
  }
  return send_slot(PacketKind::buffered, header, payload, nullptr);
}

Status Link::send_invalidate(const transport::Header& header, const void* payload, std::uint32_t bytes,
                             const transport::Key& key) noexcept {
  if (!device_.sends_invalidate()) return Status::unsupported;
  KeyContent data;
  if (!read_key(key, data)) return Status::access_error;
  if (!ends_by_message(data.kind)) return Status::unsupported;
  const Status can = can_send();
  if (can != Status::ok) return can;
  if (device_.pio_max() != 0 && bytes <= device_.pio_max())
    return send_short(PacketKind::closing, header, payload, bytes, &data);
  return send_slot(PacketKind::closing, header,
                   {nullptr, const_cast<void*>(payload), bytes, 0, static_cast<std::int64_t>(bytes)}, &data);
}

Status Link::send_prefix(PacketKind kind) noexcept {
  Prefix prefix = next_prefix(kind);
  ibv_sge piece{reinterpret_cast<std::uint64_t>(&prefix), sizeof prefix, 0};
  ibv_send_wr request{};
  Entry entry{};
  if (device_.pio_max() != 0) {
    request.send_flags = IBV_SEND_INLINE;
  } else {
    SendSlots& slots = device_.slots();
    const std::uint32_t slot = slots.take();
    if (slot == SendSlots::kNone) {
      owed_ = prefix.credits;
      control_seen_ = prefix.control != 0;
      return Status::no_resource;
    }
    std::memcpy(slots.at(slot), &prefix, sizeof prefix);
    piece = {reinterpret_cast<std::uint64_t>(slots.at(slot)), sizeof prefix, slots.lkey()};
    entry = {Doing::slot, slot, nullptr};
  }
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  return post(&request, &entry, 1, entry.doing == Doing::slot && device_.slots().is_low());
}

bool Link::greet() noexcept {
  if (dying || send_prefix(PacketKind::greeting) != Status::ok) return false;
  ready_ = true;
  return true;
}

// siw answers a connection before it takes the socket over, and nobody wakes it for what arrives in between:
// that lies there until more comes. The peer waits for it, and so perhaps do we for the peer.
void Link::greet_again(std::uint64_t now_ms) noexcept {
  constexpr std::uint64_t kPatienceMs = 100;
  if (heard_ || dying || !ready_ || !connection_->asked || greetings_ == kMoreGreetings ||
      !device_.adapter().traits.iwarp)
    return;
  if (greeted_ms_ == 0) greeted_ms_ = now_ms;
  if (now_ms - greeted_ms_ < kPatienceMs || !has_room(1)) return;
  greeted_ms_ = now_ms;
  ++greetings_;
  static_cast<void>(send_prefix(PacketKind::greeting));
}

bool Link::settle() noexcept {
  if (idle()) return true;
  if (unsignalled_ > 0 && has_room(1)) static_cast<void>(send_nothing());
  return false;
}

bool Link::return_credits() noexcept {
  if (dying || !ready_ || owed_ < half_ || control_out_) return true;
  if (!has_room(1)) return false;
  control_out_ = true;
  const Status sent = send_prefix(PacketKind::credit);
  if (sent == Status::no_resource) {
    control_out_ = false;
    return false;
  }
  ++device_.counters().credit_packets;
  return true;
}

bool Link::take(const Prefix& prefix) noexcept {
  if (prefix.credits > most_credits_ - credits_) return false;
  heard_ = true;
  credits_ = static_cast<std::uint16_t>(credits_ + prefix.credits);
  if (prefix.control != 0) control_out_ = false;
  if (prefix.kind == PacketKind::greeting) ready_ = true;
  if (prefix.kind == PacketKind::credit) control_seen_ = true;
  return true;
}

void Link::complete(std::uint32_t sequence, ibv_wc_status status) noexcept {
  // A sequence that is not under way can only be a completion of an earlier use of the number.
  if (sequence - tail_ >= head_ - tail_) return;
  if (device_.completes_singly()) {
    Entry& entry = ring_[sequence & kMask];
    if (entry.done) return;
    entry.done = true;
    const Entry ended = entry;
    while (tail_ != head_ && ring_[tail_ & kMask].done) ++tail_;
    end(ended, status);
    return;
  }
  while (tail_ != sequence + 1) {
    const Entry entry = ring_[tail_ & kMask];
    const ibv_wc_status how = tail_ == sequence ? status : IBV_WC_SUCCESS;
    ++tail_;
    end(entry, how);
  }
}

void Link::end(const Entry& entry, ibv_wc_status status) noexcept {
  if (entry.doing == Doing::slot) device_.slots().give(entry.slot);
  if (entry.doing == Doing::move) piece_done(*entry.move, status);
}

void Link::flush() noexcept {
  if (flushed_ || idle()) return;
  chosen_count_ = 0;
  if (!has_room(1)) return;
  flushed_ = true;
  if (send_nothing() == Status::ok) return;
  // Nothing can be posted in error (siw): what had to be flushed has been, when it got there.
  device_.reap();
  abandon();
}

void Link::abandon() noexcept {
  while (!idle()) complete(tail_, IBV_WC_WR_FLUSH_ERR);
}

/// Waits for the adapter, and not for ever.
template <class Done>
void Link::await(Done done) noexcept {
  constexpr unsigned kSpins = 64;
  std::uint64_t until = 0;
  for (unsigned spins = 0; !dying && !done(); ++spins) {
    device_.reap();
    if (spins < kSpins) continue;
    const std::uint64_t now = now_ms();
    if (until == 0) until = now + device_.longest_silence_ms();
    if (now > until)
      device_.fail(*this, Status::peer_failed, "the adapter does not complete an invalidation");
    ::sched_yield();
  }
}

Status Link::choose(Window& window) noexcept {
  if (dying) return Status::peer_failed;
  if (chosen_count_ == kMostChosen) {
    if (!ready_ || binds_have_to_wait() || !has_room(0)) return Status::no_resource;
    const Status posted = post(nullptr, nullptr, 0, false);
    if (posted != Status::ok) return posted;
  }
  chosen_[chosen_count_++] = &window;
  windows_.push_back(&window);
  if (origin == nullptr) return Status::ok;
  // Packets to ourselves go by the other queue pair: be sure.
  if (!ready_ || binds_have_to_wait() || !has_room(0)) {
    withdraw(window);
    window.unlink();
    return Status::no_resource;
  }
  const Status posted = post(nullptr, nullptr, 0, true);
  if (posted == Status::ok) await([this] { return idle(); });
  return dying ? Status::peer_failed : posted;
}

bool Link::withdraw(Window& window) noexcept {
  const auto end = chosen_.begin() + chosen_count_;
  const auto at = std::find(chosen_.begin(), end, &window);
  if (at == end) return false;
  std::move(at + 1, end, at);
  --chosen_count_;
  binds_wait_ = binds_wait_ && chosen_count_ > 0;
  return true;
}

/// Waits for the adapter: the key is dead on return. A link that dies meanwhile takes its windows with it.
Status Link::end_window(Window& window) noexcept {
  await([this] { return has_room(1); });
  if (dying) return Status::peer_failed;
  ibv_send_wr request{};
  request.opcode = IBV_WR_LOCAL_INV;
  request.invalidate_rkey = window.rkey;
  const Entry entry{};
  const Status posted = post(&request, &entry, 1, true);
  const std::uint32_t last = head_;
  if (posted == Status::ok) await([&] { return static_cast<std::int32_t>(last - tail_) <= 0; });
  return dying ? Status::peer_failed : posted;
}

/// A write of no bytes needs no key, and is acknowledged like any other.
Status Link::send_nothing() noexcept {
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_WRITE;
  const Entry entry{};
  return post(&request, &entry, 1, true);
}

bool Link::probe(std::uint64_t now_ms) noexcept {
  if (dying || !is_attached()) return true;
  if (has_to_greet()) {  // there was no room for it
    greet();
    return true;
  }
  if (!ready_) {
    // A peer that connected greets when it has our answer; until then its adapter may drop what it is asked.
    // One that has not after so long would have given up, or is gone.
    if (waits_ms_ == 0) waits_ms_ = now_ms;
    const std::uint64_t waited = now_ms - waits_ms_, patience = device_.settings().connect_ms;
    if (waited <= patience) return true;
    if (device_.adapter().traits.iwarp) return waited <= patience + device_.longest_silence_ms();
  }
  const std::uint64_t limit = device_.longest_silence_ms();
  if (asked_ && now_ms - looked_ms_ < limit / 64) return true;
  // Only what was under way at the look before, and still is, went unanswered. Of the time between two looks
  // no more than half the limit counts: a process or a guest that was stopped must not blame its peer for
  // that.
  const bool unanswered = asked_ && tail_ == seen_tail_;
  silent_ms_ = unanswered ? silent_ms_ + std::min(now_ms - looked_ms_, limit / 2) : 0;
  looked_ms_ = now_ms;
  seen_tail_ = tail_;
  // siw never completes a write of nothing; there a dead peer is TCP's to notice. Elsewhere a doorbell also
  // wakes an adapter that left its queue (rxe, when what it waits for comes while it goes to sleep).
  const bool can_ask = !device_.adapter().traits.iwarp && has_room(1);
  if (can_ask && (idle() || unanswered))
    static_cast<void>(send_nothing());
  else
    static_cast<void>(settle());
  asked_ = !idle();
  return silent_ms_ <= limit;
}

void Link::limits(transport::LinkLimits& out) noexcept {
  out = {};
  out.pio_max = device_.pio_max();
  out.eager_max = std::min(device_.settings().eager_bytes, peer_eager_);
  out.can_get = 1;
  out.can_put = device_.can_put() ? 1 : 0;
  out.can_atomic = device_.has_atomics() ? 1 : 0;
  out.offload = 1;
  out.gathers = device_.adapter().strided ? 1 : 0;
  out.pio_credits = ready_ && !dying ? credits_ * device_.pio_mtu() : 0;
  out.low_latency = 0;
  out.path = device_.path();
  out.fallback = "";
}

}  // namespace stria::verbs
