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

// Most payload bytes that are copied: a copy is cheaper than a list of runs.
constexpr std::uint32_t kCopied = 4096;
/// How many bytes of a long record of short blocks are packed before they go to the system.
constexpr std::size_t kPackedPart = 12288;
/// Most payload bytes of a record that waits for others. For a longer one a system call of its own costs less
/// than the time in which the receiver has nothing to do.
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
  check_deadline(socket);
  const bool is_short = record.head.bytes <= kHeldRecordMost;
  if (!is_short || !when.waits || late_.is_shared()) take_back();
  if (is_broken_) return Status::peer_failed;
  Status status = Status::ok;
  if (waits_for_room_) {
    status = append(record) ? Status::ok : Status::no_resource;
  } else if (is_short && when.waits) {
    status = hold(socket, record, when.keeper);
  } else if (record.head.bytes > kCopied && record.front.empty() &&
             (record.rest.layout == nullptr || transport::mean_block(record.rest) >= kGatheredRun)) {
    status = write(socket, record);
  } else if (record.head.bytes > kPackedPart && record.front.empty()) {
    status = pack_in_parts(socket, record);
  } else {
    status = append_or_push(socket, record);
  }
  if (status == Status::ok) ++count_;
  return status;
}

/// Has a record wait for others, or sends it together with those that wait.
Status Outgoing::hold(const UniqueFd& socket, const Record& record, KernelQueue* keeper) noexcept {
  if (late_.is_armed()) {
    if (join(record)) {
      if (!late_.is_armed()) push(socket);
      return Status::ok;
    }
    take_back();
    padded_bytes_ = std::min(2 * padded_bytes_, kHeldMost);
    return append_or_push(socket, record);
  }
  if (!append(record)) return refuse(socket);
  const bool waits = keeper == nullptr ? queue_.held().size() < kHeldMost : arm(socket, *keeper);
  if (!waits) push(socket);
  return Status::ok;
}

/// Adds a record to those that the kernel sends at the deadline. False: it does not fit.
bool Outgoing::join(const Record& record) noexcept {
  const std::span<std::byte> room = padded_.room(record.bytes());
  if (room.data() == nullptr) return false;
  record.write_payload(room.data());
  padded_.add(record.head);
  queue_.added(record.bytes());
  if (late_.has_passed()) end_deadline(record.bytes());
  return true;
}

/// Sets a deadline, at which the kernel sends what waits and what has joined it. False: there is no room, or
/// the kernel takes no more.
bool Outgoing::arm(const UniqueFd& socket, KernelQueue& keeper) noexcept {
  // Behind the place there has to be room for what end_deadline() sends once more.
  constexpr std::size_t kAgain = 2 * sizeof(RecordHead) + sizeof(std::uint64_t) + kHeldRecordMost;
  const std::size_t used = queue_.held().size();
  const std::size_t length = std::max(padded_bytes_, used + sizeof(RecordHead));
  if (length > kHeldMost || queue_.room(length - used + kAgain).empty()) return false;
  const std::span<const std::byte> held = queue_.held();
  padded_.begin({const_cast<std::byte*>(held.data()), length}, used);
  return late_.arm(keeper, socket, {held.data(), length}, delay_);
}

/// Ends the deadline. The buffer then holds what is to be sent behind what the kernel has sent. `last` > 0:
/// the last record, of `last` bytes, was added while the deadline passed, so the kernel has sent a part of
/// either the record, or of the padding that the record has replaced. In both cases the rest of the place is
/// sent as it lies there, and the record once more behind it, with its index, by which the peer knows whether
/// it has the record.
void Outgoing::end_deadline(std::size_t last) noexcept {
  const auto [sent, error] = late_.end();
  if (error != 0) static_cast<void>(failed(error));
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
    const std::uint64_t at = retained_.end() + used - last;
    if (!retained_.holds(unsure_from_) || unsure_to_ == 0) unsure_from_ = at;
    unsure_to_ = at + PaddedRecords::kDecisive;
  }
  retained_.add(queue_.held().first(sent));
  queue_.drop(sent);
}

bool Outgoing::send_nothing(const UniqueFd& socket) noexcept {
  take_back();
  if (!append({{0, RecordKind::padding, {}}, {}, {}})) return false;
  push(socket);
  return true;
}

void Outgoing::take_back() noexcept {
  if (!late_.is_armed()) return;
  late_.take_back();
  end_deadline(0);
}

void Outgoing::check_deadline(const UniqueFd& socket) noexcept {
  if (!late_.is_armed() || !late_.has_passed()) return;
  end_deadline(0);
  push(socket);
}

/// Adds a record to what waits, and sends all of it.
Status Outgoing::append_or_push(const UniqueFd& socket, const Record& record) noexcept {
  if (!append(record)) return refuse(socket);
  push(socket);
  return Status::ok;
}

/// Sends what waits: there is no room for another record, so that nothing is left to wait for.
Status Outgoing::refuse(const UniqueFd& socket) noexcept {
  push(socket);
  return Status::no_resource;
}

/// Packs a long record of short blocks a part at a time, and hands each part to the system before it packs
/// the next: the receiver unpacks one part meanwhile. What the system has no room for waits. Only for a
/// record without front.
Status Outgoing::pack_in_parts(const UniqueFd& socket, const Record& record) noexcept {
  if (queue_.room(record.bytes()).empty()) return refuse(socket);
  for (std::size_t at = 0; at < record.bytes();) {
    const std::size_t end = waits_for_room_ ? record.bytes() : std::min(at + kPackedPart, record.bytes());
    // There is room, as was asked above, unless there is no memory at all. Half a record breaks the stream.
    is_broken_ = !append_part(record, at, end);
    if (is_broken_) return Status::peer_failed;
    if (!waits_for_room_) push(socket);
    at = end;
  }
  return Status::ok;
}

/// Copies the bytes [from, end) of a record, of which its head is the beginning, into the buffer. Only for a
/// record without front. False: there is no room.
bool Outgoing::append_part(const Record& record, std::size_t from, std::size_t end) noexcept {
  const std::span<std::byte> room = queue_.room(end - from);
  if (room.empty()) return false;
  const std::size_t of_head = from < sizeof(RecordHead) ? sizeof(RecordHead) - from : 0;
  if (of_head > 0) std::memcpy(room.data(), reinterpret_cast<const std::byte*>(&record.head) + from, of_head);
  const std::size_t done = from + of_head - sizeof(RecordHead);
  transport::pack(transport::slice(record.rest, done, end - from - of_head), room.data() + of_head);
  queue_.added(end - from);
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

/// Sends what waits, and behind it a record out of the caller's memory.
Status Outgoing::write(const UniqueFd& socket, const Record& record) noexcept {
  if (!may_send(socket)) return append(record) ? Status::ok : Status::no_resource;
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
  if (got < 0) static_cast<void>(failed(errno));
  const std::size_t sent = got < 0 ? 0 : static_cast<std::size_t>(got);
  const std::size_t of_held = std::min(sent, held.size());
  const std::size_t of_record = sent - of_held;
  retained_.add(held.first(of_held));
  if (of_held > 0) queue_.drop(of_held);
  retain(socket, record, of_record);
  waits_for_room_ = is_down_ || (of_record < record.bytes() && (!queue_.is_empty() || of_record > 0));
  if (of_record == 0) return Status::no_resource;
  if (of_record == record.bytes()) return Status::ok;
  // The queue is empty, and has room for the rest unless there is no memory at all. Without it the stream is
  // broken.
  is_broken_ = !append_part(record, of_record, record.bytes());
  return is_broken_ ? Status::peer_failed : Status::ok;
}

/// Retains the first `bytes` bytes of a record, which were sent. If all was acknowledged when the system was
/// last asked, the network takes little time, and most of a long record is with the peer by now and need not
/// be copied. Otherwise asking again is not worth its time.
void Outgoing::retain(const UniqueFd& socket, const Record& record, std::size_t bytes) noexcept {
  if (bytes == 0) return;
  std::size_t from = 0;
  if (is_near_ && trusts_) {
    const std::size_t left = unacknowledged(socket);
    is_near_ = left == 0;
    from = bytes - std::min(left, bytes);
    if (from > 0) retained_.skip(from);
  }
  const std::span<const std::byte> head(reinterpret_cast<const std::byte*>(&record.head), sizeof record.head);
  if (from < head.size()) {
    const std::size_t to = std::min(bytes, head.size());
    retained_.add(head.subspan(from, to - from));
    from = to;
  }
  if (from < bytes) retained_.add(transport::slice(record.rest, from - head.size(), bytes - from));
}

/// Whether more may be sent. False: the peer's system has to acknowledge something first.
bool Outgoing::may_send(const UniqueFd& socket) noexcept {
  if (retained_.is_worth_asking() || !retained_.has_room()) forget_acknowledged(socket);
  waits_for_room_ = !retained_.has_room();
  return !waits_for_room_;
}

void Outgoing::forget_acknowledged(const UniqueFd& socket) noexcept {
  if (is_down_ || !trusts_) return;
  const std::size_t left = unacknowledged(socket);
  is_near_ = left == 0;
  retained_.acknowledged_but(left);
}

/// Notes that a send has failed with `error`. What was not sent waits: for room, or for another connection.
Status Outgoing::failed(int error) noexcept {
  waits_for_room_ = true;
  if (is_full(error)) return Status::no_resource;
  is_down_ = true;
  was_reset_ = was_reset_ || is_reset(error);
  found_silence_ = found_silence_ || is_silence(error);
  return Status::peer_failed;
}

/// Sends all that waits, as far as there is room.
void Outgoing::push(const UniqueFd& socket) noexcept {
  static_cast<void>(flush(socket));
}

Status Outgoing::flush(const UniqueFd& socket) noexcept {
  take_back();
  if (is_broken_) static_cast<void>(::shutdown(socket.get(), SHUT_RDWR));  // the receiving side sees the end
  if (is_broken_ || is_down_) return Status::peer_failed;
  for (;;) {
    const std::span<const std::byte> again = retained_.to_repeat();
    const std::span<const std::byte> bytes = again.empty() ? queue_.held() : again;
    if (bytes.empty()) break;
    if (again.empty() && !may_send(socket)) return Status::no_resource;
    const ssize_t got = ::send(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (got < 0) return failed(errno);
    const auto sent = static_cast<std::size_t>(got);
    if (again.empty()) {
      retained_.add(bytes.first(sent));
      queue_.drop(sent);
    } else {
      retained_.repeated(sent);
    }
  }
  waits_for_room_ = false;
  return Status::ok;
}

bool Outgoing::go_on_behind(std::uint64_t position) noexcept {
  const bool is_unsure = unsure_from_ < position && position < unsure_to_;
  if (is_broken_ || is_unsure || !retained_.go_back(position)) return false;
  is_down_ = was_reset_ = found_silence_ = false;
  return true;
}

}  // namespace stria::tcp
