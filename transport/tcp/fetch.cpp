#include "transport/tcp/fetch.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "transport/payload.hpp"
#include "transport/tcp/socket.hpp"

namespace stria::tcp {

void Fetch::expect(const Part& part) noexcept {
  Piece& piece = at(count_++);
  piece.get = part.get;
  piece.offset = part.offset;
  piece.length = static_cast<std::uint32_t>(part.memory.length);
  piece.head_bytes = 0;
  piece.left = part.memory;
  outstanding_ += piece.length;
}

Get& Fetch::take() noexcept {
  const Piece& piece = at(0);
  first_ = (first_ + 1) % kPiecesMost;
  --count_;
  if (filling_ > 0) --filling_;
  outstanding_ -= static_cast<std::uint64_t>(piece.left.length);  // not 0 for a piece that was refused
  return *piece.get;
}

/// What became of the first piece. `idle`: some of it has not come.
Fetch::After Fetch::first_piece() noexcept {
  if (count_ == 0 || at(0).missing_of_head() > 0) return After::idle;
  const Piece& piece = at(0);
  if (piece.head.length != piece.length || piece.head.refused > 1) return After::wrong;
  if (piece.head.refused != 0) {
    if (is_under_way()) queue_->cancel(*this);  // the peer sends nothing behind a refusal
    return After::refused;
  }
  return piece.left.length == 0 ? After::came : After::idle;
}

Fetch::After Fetch::receive(const UniqueFd& socket) noexcept {
  for (bool dry = false;;) {
    const After first = first_piece();
    if (first != After::idle) return first;
    if (is_under_way()) return After::idle;
    if (is_wrong_) return After::wrong;
    if (is_broken_) return After::ended;
    if (dry) break;
    switch (read(socket)) {
      case Read::full:
        break;
      case Read::some:
        dry = true;  // the socket had no more a moment ago
        break;
      case Read::none:
        hand_over(socket);
        return After::idle;
      case Read::ended:
        return After::ended;
      case Read::wrong:
        return After::wrong;
    }
    if (count_ == 0) return After::wrong;  // nothing was requested
  }
  hand_over(socket);
  return After::idle;
}

Fetch::Read Fetch::outcome(ssize_t bytes, std::size_t asked) noexcept {
  if (bytes > 0) return static_cast<std::size_t>(bytes) == asked ? Read::full : Read::some;
  if (bytes < 0 && is_dry(errno)) return Read::none;
  return bytes == 0 || is_end(errno) ? Read::ended : Read::wrong;
}

bool Fetch::unpacks(const Piece& piece) const noexcept {
  return piece.left.layout != nullptr && transport::mean_block(piece.left) < kScatteredRun;
}

void Fetch::came(Piece& piece, std::int64_t bytes) noexcept {
  piece.left.offset += bytes;
  piece.left.length -= bytes;
  outstanding_ -= static_cast<std::uint64_t>(bytes);
}

Fetch::Read Fetch::read(const UniqueFd& socket) noexcept {
  Piece& piece = at(0);  // also where no piece was requested: a byte that comes then is wrong
  if (count_ == 0) piece.head_bytes = 0;
  if (piece.missing_of_head() > 0) return read_head(socket, piece);
  return unpacks(piece) ? read_packed(socket, piece) : read_bytes(socket, piece);
}

/// Reads the head and nothing behind it: the piece may be refused, and then its memory has to stay as it is.
Fetch::Read Fetch::read_head(const UniqueFd& socket, Piece& piece) noexcept {
  const std::size_t asked = piece.missing_of_head();
  const ssize_t got = ::recv(socket.get(), piece.rest_of_head(), asked, MSG_DONTWAIT);
  if (got > 0) piece.head_bytes += static_cast<std::uint32_t>(got);
  has_received_ = has_received_ || got > 0;
  return outcome(got, asked);
}

Fetch::Read Fetch::read_bytes(const UniqueFd& socket, Piece& piece) noexcept {
  std::array<iovec, kRunsMost + 1> runs;
  std::int64_t covered = 0;
  std::size_t count = services_.iovecs(&piece.left, runs.data(), kRunsMost, &covered);
  auto asked = static_cast<std::size_t>(covered);
  Piece* const behind = covered == piece.left.length && count_ > 1 ? &at(1) : nullptr;
  if (behind != nullptr) {  // reads the next piece's head by the same call
    runs[count++] = {behind->rest_of_head(), behind->missing_of_head()};
    asked += behind->missing_of_head();
  }
  msghdr message{};
  message.msg_iov = runs.data();
  message.msg_iovlen = count;
  const ssize_t got = ::recvmsg(socket.get(), &message, MSG_DONTWAIT);
  if (got > 0) {
    const std::int64_t of_memory = std::min<std::int64_t>(got, covered);
    came(piece, of_memory);
    if (behind != nullptr) behind->head_bytes += static_cast<std::uint32_t>(got - of_memory);
  }
  return outcome(got, asked);
}

Fetch::Read Fetch::read_packed(const UniqueFd& socket, Piece& piece) noexcept {
  auto buffer = pool_.take();
  if (buffer == nullptr) return Read::none;
  const std::size_t asked = std::min(static_cast<std::size_t>(piece.left.length), pool_.bytes());
  const ssize_t got = ::recv(socket.get(), buffer.get(), asked, MSG_DONTWAIT);
  const Read read = outcome(got, asked);
  if (got > 0) {
    transport::unpack(transport::slice(piece.left, 0, static_cast<std::uint64_t>(got)), buffer.get());
    came(piece, got);
  }
  pool_.give(std::move(buffer));
  return read;
}

/// What the kernel is to read: for each piece its head, and then its memory. The head is a step of its own:
/// the peer sends nothing behind the head of a piece that it refuses, so that the memory stays as it is.
class Fetch::Plan {
 public:
  explicit Plan(const stria_services_t& services) noexcept : services_(services) {}
  /// Adds a piece. False: no further piece can be added, because there is no room, or because the steps end
  /// within this one.
  bool add(Piece& piece) noexcept {
    const std::size_t of_head = piece.missing_of_head() > 0 ? 1 : 0;
    if (runs_used_ + of_head + kRunsMost > runs_.size()) return false;
    if (of_head > 0) add(&(runs_[runs_used_] = {piece.rest_of_head(), piece.missing_of_head()}), 1, piece);
    if (piece.left.length == 0) return true;
    std::int64_t covered = 0;
    iovec* const runs = &runs_[runs_used_];
    add(runs, services_.iovecs(&piece.left, runs, kRunsMost, &covered), piece);
    return covered == piece.left.length;
  }
  std::span<const KernelQueue::Step> steps() const noexcept { return std::span(steps_).first(count_); }

 private:
  void add(const iovec* runs, std::size_t count, Piece& piece) noexcept {
    steps_[count_++] = {{runs, count}, &piece.header};
    runs_used_ += count;
  }
  const stria_services_t& services_;
  std::array<iovec, kRunsOfKernel> runs_;
  // The head and the memory of each piece.
  std::array<KernelQueue::Step, 2 * std::size_t{kPiecesOfKernel}> steps_;
  std::size_t runs_used_ = 0, count_ = 0;
};

/// Has the kernel read the first piece and those behind it, if much is outstanding.
void Fetch::hand_over(const UniqueFd& socket) noexcept {
  if (queue_ == nullptr || outstanding_ < kHandedOver) return;
  Plan plan(services_);
  for (std::uint32_t i = 0; i < std::min(count_, kPiecesOfKernel) && !unpacks(at(i)); ++i)
    if (!plan.add(at(i))) break;
  filling_ = 0;
  if (!plan.steps().empty()) static_cast<void>(queue_->receive(socket, plan.steps(), *this));
}

void Fetch::step_has_ended(int result) noexcept {
  if (result == -ECANCELED || is_dry(-result)) return;
  if (result <= 0) {
    is_broken_ = true;  // result 0: the peer sends no more
    is_wrong_ = !is_end(-result);
    return;
  }
  has_received_ = true;
  while (at(filling_).missing_of_head() == 0 && at(filling_).left.length == 0) ++filling_;
  Piece& piece = at(filling_);
  if (piece.missing_of_head() > 0)
    piece.head_bytes += static_cast<std::uint32_t>(result);
  else
    came(piece, result);
}

void Fetch::stop() noexcept {
  if (is_under_way()) queue_->cancel(*this);
  if (linked()) unlink();
  is_broken_ = true;
}

Part Fetch::give_back() noexcept {
  const transport::Payload left = at(0).left;
  const std::uint64_t came = at(0).length - static_cast<std::uint64_t>(left.length);
  const std::uint64_t offset = at(0).offset + came;
  return {&take(), offset, left};
}

void Fetch::drop() noexcept {
  stop();
  count_ = 0;
  outstanding_ = 0;
  is_broken_ = is_wrong_ = has_received_ = false;
}

}  // namespace stria::tcp
