#include "transport/tcp/incoming.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "transport/payload.hpp"
#include "transport/tcp/socket.hpp"

namespace stria::tcp {
namespace {

/// The least bytes of a payload that are read straight into their place. Fewer are read together with the
/// records behind them, since that saves more system calls than copying them costs.
constexpr std::size_t kPlacedLeast = 8192;

}  // namespace

Incoming::Outcome Incoming::receive(const UniqueFd& socket, void* const& cookie, unsigned budget) noexcept {
  unsigned delivered = 0;
  Read last = Read::full;
  for (;;) {
    for (;;) {
      if (delivered == budget) return {delivered, After::more};
      const Step step = deliver_next(cookie);
      if (step == Step::wrong) return {delivered, After::wrong};
      if (step == Step::needs_bytes) break;
      if (step == Step::handled) continue;
      ++delivered;
      if (step == Step::stop) return {delivered, After::more};
    }
    if (last == Read::some) return {delivered, After::idle};  // the socket had no more a moment ago
    last = read(socket);
    if (last == Read::none) return {delivered, After::idle};
    if (last == Read::lost) return {delivered, After::lost};
    if (last == Read::ended) return {delivered, After::ended};
  }
}

Incoming::Step Incoming::deliver(void* cookie, const std::byte* payload, std::uint32_t bytes,
                                 std::uint32_t how) noexcept {
  const transport::Packet packet{&head_.header, payload, bytes, how, 0};
  has_head_ = asked_ = placed_ = false;
  const std::uint32_t answer = sink_.deliver(sink_.self, cookie, &packet);
  return (answer & STRIA_DELIVERED_GO_ON) != 0 ? Step::delivered : Step::stop;
}

bool Incoming::makes_sense() const noexcept {
  switch (head_.kind) {
    case RecordKind::packet:
      return head_.bytes <= eager_max_ && head_.header.kind != 0;
    case RecordKind::ending:
      return head_.bytes >= sizeof(KeyName) && head_.bytes <= sizeof(KeyName) + eager_max_ &&
             head_.header.kind != 0;
    case RecordKind::request:
      return head_.bytes == sizeof(PieceRequest);
    case RecordKind::resume:
      return head_.bytes == sizeof(Resume);
    case RecordKind::lane_lost:
      return head_.bytes == sizeof(LaneLost);
    case RecordKind::no_bulk:
    case RecordKind::want_bulk:
      return head_.bytes == 0;
    case RecordKind::padding:
      return head_.bytes <= kHeldMost;
    case RecordKind::again:
      return head_.bytes == sizeof(std::uint64_t) && !skips_;
  }
  return false;
}

/// Reads the head of the next record, all of which is in the buffer. False: it makes no sense.
bool Incoming::begin_record() noexcept {
  std::memcpy(&head_, queue_.held().data(), sizeof head_);
  if (!makes_sense()) return false;
  queue_.drop(sizeof head_);
  has_head_ = true;
  if (head_.kind == RecordKind::padding || head_.kind == RecordKind::again) return true;
  if (std::exchange(skips_, false))
    head_.kind = RecordKind::padding;
  else
    ++count_;
  return true;
}

/// Handles the record that precedes one of which the sender does not know whether it was sent before. False:
/// the index makes no sense.
bool Incoming::expect_again(std::span<const std::byte> payload) noexcept {
  std::uint64_t index = 0;
  std::memcpy(&index, payload.data(), sizeof index);
  skips_ = index + 1 == count_;
  return skips_ || index == count_;
}

/// Handles a record that is no plain packet, all of which is in the buffer.
Incoming::Step Incoming::deliver_control(void* cookie) noexcept {
  const std::span<const std::byte> all = queue_.held().first(head_.bytes);
  const bool ends_key = head_.kind == RecordKind::ending;
  if (head_.kind == RecordKind::padding || head_.kind == RecordKind::again) {
    const bool is_right = head_.kind == RecordKind::padding || expect_again(all);
    has_head_ = false;
    queue_.drop(all.size());
    return is_right ? Step::handled : Step::wrong;
  }
  if (!control_.handle(head_.kind, ends_key ? all.first(sizeof(KeyName)) : all)) return Step::wrong;
  Step step = Step::handled;
  if (ends_key)
    step = deliver(cookie, all.data() + sizeof(KeyName),
                   static_cast<std::uint32_t>(all.size() - sizeof(KeyName)), 1);
  has_head_ = false;
  queue_.drop(all.size());
  return step;
}

Incoming::Step Incoming::deliver_next(void* cookie) noexcept {
  if (!has_head_) {
    if (queue_.held().size() < sizeof head_) return Step::needs_bytes;
    if (!begin_record()) return Step::wrong;
  }
  if (placed_) return deliver_placed(cookie);
  const std::span<const std::byte> here = queue_.held();
  if (here.size() >= head_.bytes && head_.kind != RecordKind::packet) return deliver_control(cookie);
  if (here.size() < head_.bytes) {
    const bool is_worth_a_place = head_.bytes - here.size() >= kPlacedLeast;
    if (!asked_ && is_worth_a_place && head_.kind == RecordKind::packet) ask_for_place(cookie);
    return Step::needs_bytes;
  }
  const std::uint32_t bytes = head_.bytes;
  const Step step = deliver(cookie, here.data(), bytes, 1);
  queue_.drop(bytes);
  return step;
}

void Incoming::ask_for_place(void* cookie) noexcept {
  asked_ = true;
  if (sink_.place(sink_.self, cookie, &head_.header, head_.bytes, &place_) == 0) return;
  placed_ = true;
  in_place_ = 0;
  take_from_queue();
}

/// Moves what the buffer has of a placed payload to its place.
void Incoming::take_from_queue() noexcept {
  const std::span<const std::byte> here = queue_.held();
  const auto bytes = std::min<std::size_t>(here.size(), head_.bytes - in_place_);
  if (bytes == 0) return;
  transport::unpack(transport::slice(place_, in_place_, bytes), here.data());
  in_place_ += static_cast<std::uint32_t>(bytes);
  queue_.drop(bytes);
}

Incoming::Step Incoming::deliver_placed(void* cookie) noexcept {
  take_from_queue();
  if (in_place_ < head_.bytes) return Step::needs_bytes;
  return deliver(cookie, nullptr, head_.bytes, 1 | STRIA_PACKET_PLACED);
}

Incoming::Read Incoming::outcome(ssize_t bytes, std::size_t asked) noexcept {
  if (bytes > 0) {
    received_ += static_cast<std::uint64_t>(bytes);
    return static_cast<std::size_t>(bytes) == asked ? Read::full : Read::some;
  }
  if (bytes < 0 && is_dry(errno)) return Read::none;
  found_silence_ = bytes < 0 && is_silence(errno);
  return bytes < 0 && is_reset(errno) ? Read::lost : Read::ended;
}

Incoming::Read Incoming::read(const UniqueFd& socket) noexcept {
  if (placed_ && (place_.layout == nullptr || transport::mean_block(place_) >= kScatteredRun))
    return read_into_place(socket);
  const std::size_t missing = has_head_ && !placed_ ? head_.bytes - queue_.held().size() : 0;
  const std::span<std::byte> room = queue_.room(missing + kReadAhead);
  if (room.empty()) return Read::none;  // no memory: tried again by the next call
  const std::size_t asked = missing + kReadAhead;
  const ssize_t got = ::recv(socket.get(), room.data(), asked, MSG_DONTWAIT);
  const Read out = outcome(got, asked);
  if (got > 0) queue_.added(static_cast<std::size_t>(got));
  queue_.settle();
  return out;
}

Incoming::Read Incoming::read_into_place(const UniqueFd& socket) noexcept {
  std::array<iovec, kRunsMost> runs;
  const transport::Payload rest = transport::slice(place_, in_place_, head_.bytes - in_place_);
  std::int64_t covered = 0;
  msghdr message{};
  message.msg_iov = runs.data();
  message.msg_iovlen = services_.iovecs(&rest, runs.data(), kRunsMost, &covered);
  const ssize_t got = ::recvmsg(socket.get(), &message, MSG_DONTWAIT);
  if (got > 0) in_place_ += static_cast<std::uint32_t>(got);
  return outcome(got, static_cast<std::size_t>(covered));
}

}  // namespace stria::tcp
