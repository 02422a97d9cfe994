#include "transport/tcp/outgoing.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "transport/payload.hpp"
#include "transport/tcp/socket.hpp"

namespace stria::tcp {
namespace {

constexpr std::uint32_t kCopied = 4096;  // a copy is cheaper than a list of runs
/// Longer records wait for no others: a call of their own costs less than what the receiver does meanwhile.
constexpr std::uint32_t kHeldRecordMost = 1024;

}  // namespace

void Outgoing::Record::write_payload(std::byte* to) const noexcept {
  transport::pack(rest, std::copy(front.begin(), front.end(), to));
}

Status Outgoing::send(const UniqueFd& socket, const transport::Header& header,
                      const transport::Payload& payload, When when) noexcept {
  const RecordHead head{static_cast<std::uint32_t>(payload.length), RecordKind::packet, header};
  return send(socket, Record{head, {}, payload}, when);
}

Status Outgoing::send(const UniqueFd& socket, const Short& record, When when) noexcept {
  const auto bytes = static_cast<std::int64_t>(record.second.size());
  const RecordHead head{static_cast<std::uint32_t>(record.first.size() + record.second.size()), record.kind,
                        record.header};
  auto* const second = const_cast<std::byte*>(record.second.data());
  return send(socket, Record{head, record.first, {nullptr, second, bytes, 0, bytes}}, when);
}

Status Outgoing::send(const UniqueFd& socket, const Record& record, When when) noexcept {
  Status status = look(socket);
  const bool is_short = record.head.bytes <= kHeldRecordMost;
  if (!is_short || !when.waits || late_.is_shared()) take_back();
  if (status == Status::peer_failed || is_broken_) return Status::peer_failed;
  if (waits_for_room_) {
    status = append(record) ? Status::ok : Status::no_resource;
  } else if (is_short && when.waits) {
    status = hold(socket, record, when.keeper);
  } else if (record.head.bytes > kCopied && record.front.empty() &&
             (record.rest.layout == nullptr || transport::mean_block(record.rest) >= kGatheredRun)) {
    status = write(socket, record);
  } else {
    status = append_or_push(socket, record);
  }
  if (status == Status::ok) ++count_;
  return status;
}

/// The record waits for others, or goes with those that do.
Status Outgoing::hold(const UniqueFd& socket, const Record& record, KernelQueue* keeper) noexcept {
  if (late_.is_armed()) {
    if (join(record)) return late_.is_armed() ? Status::ok : push(socket);
    take_back();
    padded_bytes_ = std::min(2 * padded_bytes_, kHeldMost);
    return append_or_push(socket, record);
  }
  if (!append(record)) return refuse(socket);
  const bool waits = keeper == nullptr ? queue_.held().size() < kHeldMost : arm(socket, *keeper);
  return waits ? Status::ok : push(socket);
}

/// The record is one of those that the kernel sends at the deadline. False: it does not fit.
bool Outgoing::join(const Record& record) noexcept {
  const std::span<std::byte> room = padded_.room(record.bytes());
  if (room.data() == nullptr) return false;
  record.write_payload(room.data());
  padded_.add(record.head);
  queue_.added(record.bytes());
  if (late_.has_passed()) end_deadline(record.bytes());
  return true;
}

/// The kernel sends what waits, and what joins it, at the deadline.
bool Outgoing::arm(const UniqueFd& socket, KernelQueue& keeper) noexcept {
  // Behind the place there has to be room for what end_deadline() says once more.
  constexpr std::size_t kAgain = 2 * sizeof(RecordHead) + sizeof(std::uint64_t) + kHeldRecordMost;
  const std::size_t used = queue_.held().size();
  const std::size_t length = std::max(padded_bytes_, used + sizeof(RecordHead));
  if (length > kHeldMost || queue_.room(length - used + kAgain).empty()) return false;
  const std::span<const std::byte> held = queue_.held();
  padded_.begin({const_cast<std::byte*>(held.data()), length}, used);
  return late_.arm(keeper, socket, {held.data(), length}, delay_);
}

/// The buffer holds what is still to go behind what the kernel has sent. `last` > 0: the last record, of so
/// many bytes, was added while the deadline passed, so either it has gone, or the padding in whose place it
/// was put. In both cases what follows is as it lies there, and the record comes once more, with its index,
/// by which the peer knows whether it has it.
void Outgoing::end_deadline(std::size_t last) noexcept {
  const std::size_t sent = late_.end();
  if (sent == 0) return;
  padded_bytes_ = std::max(padded_bytes_ / 2, kHeldLeast);
  const std::size_t used = padded_.used();
  queue_.added(padded_.length() - used);
  if (last > 0 && sent > used - last) {
    const std::uint64_t index = count_;
    const RecordHead head{sizeof index, RecordKind::again, {}};
    const auto add = [this](const void* from, std::size_t bytes) {
      std::memcpy(queue_.room(bytes).data(), from, bytes);
      queue_.added(bytes);
    };
    add(&head, sizeof head);
    add(&index, sizeof index);
    add(queue_.held().data() + used - last, last);
    is_broken_ = !padded_.mend(last, sent);
  }
  queue_.drop(sent);
}

void Outgoing::take_back() noexcept {
  if (!late_.is_armed()) return;
  late_.take_back();
  end_deadline(0);
}

Status Outgoing::look(const UniqueFd& socket) noexcept {
  if (!late_.is_armed() || !late_.has_passed()) return Status::ok;
  end_deadline(0);
  return push(socket);
}

/// Behind what waits, and all of it to the system.
Status Outgoing::append_or_push(const UniqueFd& socket, const Record& record) noexcept {
  return append(record) ? push(socket) : refuse(socket);
}

/// There is no room for a record; what waits has nothing else to wait for.
Status Outgoing::refuse(const UniqueFd& socket) noexcept {
  return push(socket) == Status::ok ? Status::no_resource : Status::peer_failed;
}

/// What of the record is behind its first `from` bytes goes into the buffer; it has no front. False: there is
/// no room.
bool Outgoing::append_rest(const Record& record, std::size_t from) noexcept {
  const std::span<std::byte> room = queue_.room(record.bytes() - from);
  if (room.empty()) return false;
  const std::size_t of_head = from < sizeof(RecordHead) ? sizeof(RecordHead) - from : 0;
  if (of_head > 0) std::memcpy(room.data(), reinterpret_cast<const std::byte*>(&record.head) + from, of_head);
  const std::size_t done = from > sizeof(RecordHead) ? from - sizeof(RecordHead) : 0;
  transport::pack(transport::slice(record.rest, done, record.head.bytes - done), room.data() + of_head);
  queue_.added(record.bytes() - from);
  return true;
}

bool Outgoing::append(const Record& record) noexcept {
  const std::span<std::byte> room = queue_.room(record.bytes());
  if (room.empty()) return false;
  std::memcpy(room.data(), &record.head, sizeof record.head);
  record.write_payload(room.data() + sizeof record.head);
  queue_.added(record.bytes());
  return true;
}

/// With what waits before it, out of the caller's memory.
Status Outgoing::write(const UniqueFd& socket, const Record& record) noexcept {
  std::array<iovec, 2 + kRunsMost> runs;
  const std::span<const std::byte> held = queue_.held();
  std::size_t count = 0;
  if (!held.empty()) runs[count++] = {const_cast<std::byte*>(held.data()), held.size()};
  runs[count++] = {const_cast<RecordHead*>(&record.head), sizeof record.head};
  std::int64_t covered = 0;
  count += services_.iovecs(&record.rest, runs.data() + count, kRunsMost, &covered);
  msghdr message{};
  message.msg_iov = runs.data();
  message.msg_iovlen = count;
  const ssize_t got = ::sendmsg(socket.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (got < 0 && !is_full(errno)) return Status::peer_failed;
  const std::size_t sent = got < 0 ? 0 : static_cast<std::size_t>(got);
  const std::size_t of_held = std::min(sent, held.size());
  const std::size_t of_record = sent - of_held;
  if (of_held > 0) queue_.drop(of_held);
  waits_for_room_ = of_record < record.bytes() && (!queue_.is_empty() || of_record > 0);
  if (of_record == 0) return Status::no_resource;
  if (of_record == record.bytes()) return Status::ok;
  // The queue is empty, and has room for a record unless there is no memory at all: half a record is no use.
  return append_rest(record, of_record) ? Status::ok : Status::peer_failed;
}

/// PEER_FAILED, or OK: what has not gone waits for room.
Status Outgoing::push(const UniqueFd& socket) noexcept {
  return flush(socket) == Status::peer_failed ? Status::peer_failed : Status::ok;
}

Status Outgoing::flush(const UniqueFd& socket) noexcept {
  take_back();
  if (is_broken_) {  // the receiving side sees the end
    static_cast<void>(::shutdown(socket.get(), SHUT_RDWR));
    return Status::peer_failed;
  }
  while (!queue_.is_empty()) {
    const auto held = queue_.held();
    const ssize_t sent = ::send(socket.get(), held.data(), held.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    waits_for_room_ = sent < 0 && is_full(errno);
    if (sent < 0) return waits_for_room_ ? Status::no_resource : Status::peer_failed;
    queue_.drop(static_cast<std::size_t>(sent));
  }
  waits_for_room_ = false;
  return Status::ok;
}

}  // namespace stria::tcp
