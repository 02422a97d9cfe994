#include "transport/tcp/supply.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "transport/payload.hpp"
#include "transport/tcp/socket.hpp"

namespace stria::tcp {
/// The key has ended. What the head has promised is still sent, as it was while the key was valid. Most keys
/// end when the peer has all of the piece; then the kernel goes on with the pieces behind it.
void Supply::Piece::key_ends() noexcept {
  owner->update();
  if (left() == 0) return;
  owner->take_back();
  if (head_left == sizeof head) {
    head.refused = 1;
    memory = {};  // drops the layout, too, which is the caller's again
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

Supply::Piece* Supply::append() noexcept {
  if (count_ == kRoom) return nullptr;
  Piece& piece = at(count_++);
  piece.owner = this;
  piece.head_left = sizeof piece.head;
  piece.is_lost = false;
  return &piece;
}

void Supply::pop() noexcept {
  Piece& piece = at(0);
  if (piece.linked()) piece.unlink();
  piece.copy.reset();
  first_ = (first_ + 1) % kRoom;
  --count_;
  if (sending_ > 0) --sending_;
}

bool Supply::add(Keys& keys, const KeyName& key, const transport::Payload& memory) noexcept {
  Piece* const piece = append();
  if (piece == nullptr) return false;
  piece->head = {0, static_cast<std::uint32_t>(memory.length)};
  piece->memory = memory;
  keys.join(key, *piece);
  return true;
}

bool Supply::refuse(std::uint32_t length) noexcept {
  Piece* const piece = append();
  if (piece == nullptr) return false;
  piece->head = {1, length};
  piece->memory = {};
  return true;
}

bool Supply::packs(const Piece& piece) const noexcept {
  return piece.memory.layout != nullptr && transport::mean_block(piece.memory) < kGatheredRun;
}

/// Describes what of the piece is sent by one call: its head, and at most `most` bytes of its memory,
/// unpacked. `covered`: bytes of the memory. Returns the number of runs, at most 1 + kRunsMost.
std::size_t Supply::describe(Piece& piece, std::int64_t most, iovec* runs,
                             std::int64_t& covered) const noexcept {
  std::size_t count = 0;
  if (piece.head_left > 0) {
    auto* const end = reinterpret_cast<std::byte*>(&piece.head + 1);
    runs[count++] = {end - piece.head_left, piece.head_left};
  }
  covered = 0;
  if (piece.memory.length == 0 || most == 0) return count;
  const auto bytes = static_cast<std::uint64_t>(std::min(piece.memory.length, most));
  const transport::Payload part = transport::slice(piece.memory, 0, bytes);
  return count + services_.iovecs(&part, runs + count, kRunsMost, &covered);
}

Status Supply::send(const UniqueFd& socket, Piece& piece) noexcept {
  std::array<iovec, 1 + kRunsMost> runs;
  std::int64_t covered = 0;
  std::unique_ptr<std::byte[]> packed;
  const bool is_packed = packs(piece);
  std::size_t count = describe(piece, is_packed ? 0 : piece.memory.length, runs.data(), covered);
  if (is_packed) {
    packed = pool_.take();
    if (packed == nullptr) return Status::no_resource;
    covered = std::min(piece.memory.length, static_cast<std::int64_t>(pool_.bytes()));
    transport::pack(transport::slice(piece.memory, 0, static_cast<std::uint64_t>(covered)), packed.get());
    runs[count++] = {packed.get(), static_cast<std::size_t>(covered)};
  }
  msghdr message{};
  message.msg_iov = runs.data();
  message.msg_iovlen = count;
  const std::size_t asked = piece.head_left + static_cast<std::size_t>(covered);
  const ssize_t sent = ::sendmsg(socket.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  const int why = errno;
  if (packed != nullptr) pool_.give(std::move(packed));
  if (sent < 0 && is_full(why)) return Status::no_resource;
  if (sent < 0) return is_end(why) ? Status::peer_failed : Status::io_error;
  piece.sent(static_cast<std::size_t>(sent));
  return static_cast<std::size_t>(sent) == asked ? Status::ok : Status::no_resource;
}

/// Has the kernel send the first piece and those behind it. False: it is not asked, or takes none.
bool Supply::hand_over(const UniqueFd& socket) noexcept {
  if (queue_ == nullptr || (count_ == 1 && at(0).left() < kHandedOver)) return false;
  std::array<iovec, kRunsOfKernel> runs;
  std::array<KernelQueue::Step, kPiecesOfKernel> steps;
  std::size_t used = 0, count = 0;
  for (std::int64_t covered = 0; count < std::min(count_, kPiecesOfKernel);) {
    Piece& piece = at(static_cast<std::uint32_t>(count));
    // Nothing may be sent behind a piece that is refused, and the kernel would send what is behind it.
    if (used + 1 + kRunsMost > runs.size() || packs(piece) || piece.head.refused != 0) break;
    const std::size_t of_piece = describe(piece, piece.memory.length, &runs[used], covered);
    steps[count++] = {{&runs[used], of_piece}, &piece.header};
    used += of_piece;
    if (covered < piece.memory.length) break;
  }
  sending_ = 0;
  return count > 0 && queue_->send(socket, std::span(steps).first(count), *this);
}

void Supply::step_has_ended(int result) noexcept {
  if (result == -ECANCELED || is_full(-result)) return;
  if (result <= 0) {
    is_broken_ = true;
    is_wrong_ = !is_end(-result);
    return;
  }
  while (at(sending_).left() == 0) ++sending_;
  at(sending_).sent(static_cast<std::size_t>(result));
}

/// Counts what the kernel has sent.
void Supply::update() noexcept {
  if (is_under_way()) queue_->update();
}

/// Stops the kernel, which touches no memory of a piece any more on return.
void Supply::take_back() noexcept {
  if (is_under_way()) queue_->cancel(*this);
}

Status Supply::send(const UniqueFd& socket) noexcept {
  while (count_ > 0) {
    Piece& piece = at(0);
    if (piece.left() == 0) {
      is_paused_ = is_paused_ || piece.head.refused != 0;
      pop();
      continue;
    }
    if (is_under_way() || is_paused_) return Status::ok;
    if (is_wrong_) return Status::io_error;
    if (is_broken_ || piece.is_lost) return Status::peer_failed;
    const Status status = send(socket, piece);
    if (status == Status::no_resource && hand_over(socket)) return Status::ok;
    if (status != Status::ok) return status;
  }
  return Status::ok;
}

void Supply::drop() noexcept {
  take_back();
  if (linked()) unlink();
  while (count_ > 0) pop();
  is_broken_ = is_wrong_ = is_paused_ = false;
}

}  // namespace stria::tcp
