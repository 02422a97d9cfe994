#include "transport/tcp/supply.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "transport/payload.hpp"
#include "transport/tcp/socket.hpp"

namespace stria::tcp {

/// What the peer was promised by the head still comes, as it was while the key was valid.
void Supply::Piece::key_ends() noexcept {
  if (head_left == sizeof head) {
    head.refused = 1;
    memory.length = 0;
    return;
  }
  copy.reset(new (std::nothrow) std::byte[static_cast<std::size_t>(memory.length)]);
  is_lost = copy == nullptr;
  if (is_lost) return;
  transport::pack(memory, copy.get());
  memory = {nullptr, copy.get(), memory.length, 0, memory.length};
}

void Supply::Piece::sent(std::size_t bytes) noexcept {
  const auto of_head = std::min<std::size_t>(bytes, head_left);
  head_left -= static_cast<std::uint32_t>(of_head);
  const auto of_memory = static_cast<std::int64_t>(bytes - of_head);
  memory.offset += of_memory;
  memory.length -= of_memory;
}

Supply::Piece* Supply::next() noexcept {
  if (count_ == kPiecesMost) return nullptr;
  Piece& piece = pieces_[(first_ + count_++) % kPiecesMost];
  piece.head_left = sizeof piece.head;
  piece.is_lost = false;
  return &piece;
}

bool Supply::add(Keys& keys, const KeyName& key, const transport::Payload& memory) noexcept {
  Piece* const piece = next();
  if (piece == nullptr) return false;
  piece->head = {0, static_cast<std::uint32_t>(memory.length)};
  piece->memory = memory;
  keys.join(key, *piece);
  return true;
}

bool Supply::refuse(std::uint32_t length) noexcept {
  Piece* const piece = next();
  if (piece == nullptr) return false;
  piece->head = {1, length};
  piece->memory = {};
  return true;
}

bool Supply::packs(const Piece& piece) const noexcept {
  return piece.memory.layout != nullptr && transport::mean_block(piece.memory) < kGatheredRun;
}

Status Supply::send(const UniqueFd& socket, Piece& piece) noexcept {
  std::array<iovec, 1 + kRunsMost> runs;
  std::size_t count = 0;
  if (piece.head_left > 0) {
    auto* const end = reinterpret_cast<std::byte*>(&piece.head + 1);
    runs[count++] = {end - piece.head_left, piece.head_left};
  }
  std::int64_t covered = 0;
  std::unique_ptr<std::byte[]> packed;
  if (packs(piece)) {
    packed = pool_.take();
    if (packed == nullptr) return Status::no_resource;
    covered = std::min(piece.memory.length, static_cast<std::int64_t>(pool_.bytes()));
    transport::pack(transport::slice(piece.memory, 0, static_cast<std::uint64_t>(covered)), packed.get());
    runs[count++] = {packed.get(), static_cast<std::size_t>(covered)};
  } else if (piece.memory.length > 0) {
    count += services_.iovecs(&piece.memory, runs.data() + count, kRunsMost, &covered);
  }
  msghdr message{};
  message.msg_iov = runs.data();
  message.msg_iovlen = count;
  const std::size_t asked = piece.head_left + static_cast<std::size_t>(covered);
  const ssize_t sent = ::sendmsg(socket.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  const int why = errno;
  if (packed != nullptr) pool_.give(std::move(packed));
  if (sent < 0) return is_full(why) ? Status::no_resource : Status::peer_failed;
  piece.sent(static_cast<std::size_t>(sent));
  return static_cast<std::size_t>(sent) == asked ? Status::ok : Status::no_resource;
}

Status Supply::send(const UniqueFd& socket) noexcept {
  while (count_ > 0) {
    Piece& piece = pieces_[first_];
    if (piece.is_lost) return Status::peer_failed;
    const Status status = send(socket, piece);
    if (piece.left() == 0) {
      if (piece.linked()) piece.unlink();
      piece.copy.reset();
      first_ = (first_ + 1) % kPiecesMost;
      --count_;
    }
    if (status != Status::ok) return status;
  }
  return Status::ok;
}

void Supply::drop() noexcept {
  for (Piece& piece : pieces_) {
    if (piece.linked()) piece.unlink();
    piece.copy.reset();
  }
  count_ = 0;
}

}  // namespace stria::tcp
