#include "transport/tcp/fetch.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "transport/payload.hpp"
#include "transport/tcp/socket.hpp"

namespace stria::tcp {

void Fetch::expect(Get& get, const transport::Payload& memory) noexcept {
  Piece& piece = pieces_[(first_ + count_++) % kPiecesMost];
  piece = {&get, static_cast<std::uint32_t>(memory.length), memory};
  outstanding_ += piece.length;
}

Get& Fetch::take() noexcept {
  const Piece& piece = pieces_[first_];
  first_ = (first_ + 1) % kPiecesMost;
  --count_;
  outstanding_ -= piece.length;
  head_ = next_;
  next_.bytes = 0;
  return *piece.get;
}

Fetch::After Fetch::receive(const UniqueFd& socket) noexcept {
  for (bool dry = false;;) {
    if (count_ > 0 && head_.missing() == 0) {
      const Piece& piece = pieces_[first_];
      if (head_.head.length != piece.length || head_.head.refused > 1) return After::wrong;
      if (head_.head.refused != 0) return After::refused;
      if (piece.left.length == 0) return After::came;
    }
    if (dry) return After::idle;
    switch (read(socket)) {
      case Read::full:
        break;
      case Read::some:
        dry = true;  // there was no more a moment ago
        break;
      case Read::none:
        return After::idle;
      case Read::ended:
        return After::ended;
    }
    if (count_ == 0) return After::wrong;  // nothing was requested
  }
}

Fetch::Read Fetch::outcome(ssize_t bytes, std::size_t asked) noexcept {
  if (bytes > 0) return static_cast<std::size_t>(bytes) == asked ? Read::full : Read::some;
  return bytes < 0 && is_dry(errno) ? Read::none : Read::ended;
}

Fetch::Read Fetch::read(const UniqueFd& socket) noexcept {
  if (head_.missing() > 0) return read_head(socket);
  const transport::Payload& left = pieces_[first_].left;
  return left.layout != nullptr && transport::mean_block(left) < kScatteredRun ? read_packed(socket)
                                                                               : read_bytes(socket);
}

/// Not more than the head: the piece may be refused, and then its memory stays as it is.
Fetch::Read Fetch::read_head(const UniqueFd& socket) noexcept {
  const std::size_t asked = head_.missing();
  const ssize_t got = ::recv(socket.get(), head_.rest(), asked, MSG_DONTWAIT);
  if (got > 0) head_.bytes += static_cast<std::uint32_t>(got);
  return outcome(got, asked);
}

Fetch::Read Fetch::read_bytes(const UniqueFd& socket) noexcept {
  transport::Payload& left = pieces_[first_].left;
  std::array<iovec, kRunsMost + 1> runs;
  std::int64_t covered = 0;
  std::size_t count = services_.iovecs(&left, runs.data(), kRunsMost, &covered);
  auto asked = static_cast<std::size_t>(covered);
  if (covered == left.length) {  // and the next head, in the same call
    runs[count++] = {next_.rest(), next_.missing()};
    asked += next_.missing();
  }
  msghdr message{};
  message.msg_iov = runs.data();
  message.msg_iovlen = count;
  const ssize_t got = ::recvmsg(socket.get(), &message, MSG_DONTWAIT);
  if (got > 0) {
    const std::int64_t of_memory = std::min<std::int64_t>(got, covered);
    left.offset += of_memory;
    left.length -= of_memory;
    next_.bytes += static_cast<std::uint32_t>(got - of_memory);
  }
  return outcome(got, asked);
}

Fetch::Read Fetch::read_packed(const UniqueFd& socket) noexcept {
  transport::Payload& left = pieces_[first_].left;
  auto buffer = pool_.take();
  if (buffer == nullptr) return Read::none;
  const std::size_t asked = std::min(static_cast<std::size_t>(left.length), pool_.bytes());
  const ssize_t got = ::recv(socket.get(), buffer.get(), asked, MSG_DONTWAIT);
  const Read read = outcome(got, asked);
  if (got > 0) {
    transport::unpack(transport::slice(left, 0, static_cast<std::uint64_t>(got)), buffer.get());
    left.offset += got;
    left.length -= got;
  }
  pool_.give(std::move(buffer));
  return read;
}

}  // namespace stria::tcp
