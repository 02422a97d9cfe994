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

}  // namespace

/// What of the record is behind its first `from` bytes goes into the buffer. False: there is no room.
bool Outgoing::stage(const RecordHead& head, const transport::Payload& payload, std::size_t from) noexcept {
  const std::size_t all = sizeof head + head.bytes;
  const std::span<std::byte> room = queue_.room(all - from);
  if (room.empty()) return false;
  const std::size_t of_head = from < sizeof head ? sizeof head - from : 0;
  if (of_head > 0) std::memcpy(room.data(), reinterpret_cast<const std::byte*>(&head) + from, of_head);
  const std::size_t done = from > sizeof head ? from - sizeof head : 0;
  transport::pack(transport::slice(payload, done, head.bytes - done), room.data() + of_head);
  queue_.added(all - from);
  return true;
}

Status Outgoing::send(const UniqueFd& socket, const transport::Header& header,
                      const transport::Payload& payload) noexcept {
  const RecordHead head{static_cast<std::uint32_t>(payload.length), RecordKind::packet, header};
  const bool waits = !queue_.is_empty();
  const bool gathers = payload.layout == nullptr || transport::mean_block(payload) >= kGatheredRun;
  if (!waits && head.bytes > kCopied && gathers) return write(socket, head, payload);
  if (!stage(head, payload, 0)) return Status::no_resource;
  return !waits && flush(socket) == Status::peer_failed ? Status::peer_failed : Status::ok;
}

Status Outgoing::send_short(const UniqueFd& socket, RecordKind kind, const transport::Header& header,
                            std::span<const std::byte> first, std::span<const std::byte> second) noexcept {
  const bool waits = !queue_.is_empty();
  if (!hold(kind, header, first, second)) return Status::no_resource;
  return !waits && flush(socket) == Status::peer_failed ? Status::peer_failed : Status::ok;
}

bool Outgoing::hold(RecordKind kind, const transport::Header& header, std::span<const std::byte> first,
                    std::span<const std::byte> second) noexcept {
  const std::size_t bytes = first.size() + second.size();
  const RecordHead head{static_cast<std::uint32_t>(bytes), kind, header};
  const std::span<std::byte> room = queue_.room(sizeof head + bytes);
  if (room.empty()) return false;
  std::memcpy(room.data(), &head, sizeof head);
  std::copy(second.begin(), second.end(), std::copy(first.begin(), first.end(), room.data() + sizeof head));
  queue_.added(sizeof head + bytes);
  return true;
}

Status Outgoing::write(const UniqueFd& socket, const RecordHead& head,
                       const transport::Payload& payload) noexcept {
  std::array<iovec, 1 + kRunsMost> runs;
  runs[0] = {const_cast<RecordHead*>(&head), sizeof head};
  std::int64_t covered = 0;
  const std::size_t count = services_.iovecs(&payload, runs.data() + 1, kRunsMost, &covered);
  msghdr message{};
  message.msg_iov = runs.data();
  message.msg_iovlen = 1 + count;
  const ssize_t sent = ::sendmsg(socket.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0) return is_full(errno) ? Status::no_resource : Status::peer_failed;
  if (static_cast<std::size_t>(sent) == sizeof head + head.bytes) return Status::ok;
  // The queue is empty, and has room for a record unless there is no memory at all: half a record is no use.
  return stage(head, payload, static_cast<std::size_t>(sent)) ? Status::ok : Status::peer_failed;
}

Status Outgoing::flush(const UniqueFd& socket) noexcept {
  while (!queue_.is_empty()) {
    const auto held = queue_.held();
    const ssize_t sent = ::send(socket.get(), held.data(), held.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) return is_full(errno) ? Status::no_resource : Status::peer_failed;
    queue_.drop(static_cast<std::size_t>(sent));
  }
  return Status::ok;
}

}  // namespace stria::tcp
