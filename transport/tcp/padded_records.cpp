#include "transport/tcp/padded_records.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace stria::tcp {
namespace {

/// Length and kind of a record. One instruction stores them, wherever they lie.
struct [[gnu::packed, gnu::may_alias]] Decisive {
  std::uint64_t word;
};
static_assert(offsetof(RecordHead, header) == sizeof(Decisive));

void store_head(std::byte* to, const RecordHead& head) noexcept {
  constexpr std::size_t kWord = sizeof(Decisive);
  std::memcpy(to + kWord, reinterpret_cast<const std::byte*>(&head) + kWord, sizeof head - kWord);
  Decisive first;
  std::memcpy(&first, &head, kWord);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // all that the word makes valid is stored before it
  reinterpret_cast<volatile Decisive*>(to)->word = first.word;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace

void PaddedRecords::begin(std::span<std::byte> place, std::size_t used) noexcept {
  place_ = place;
  used_ = used;
  // The padding goes over the network, and other bytes that lie there are not meant for this peer.
  std::fill(place.begin() + static_cast<std::ptrdiff_t>(used), place.end(), std::byte{0});
  pad(used);
}

/// Fills the place from `from` on with one record of padding, unless it is full.
void PaddedRecords::pad(std::size_t from) noexcept {
  if (from == place_.size()) return;
  const std::size_t rest = place_.size() - from - sizeof(RecordHead);
  store_head(place_.data() + from, {static_cast<std::uint32_t>(rest), RecordKind::padding, {}});
}

std::span<std::byte> PaddedRecords::room(std::size_t bytes) noexcept {
  const std::size_t left = place_.size() - used_;
  if (bytes != left && bytes + sizeof(RecordHead) > left) return {};
  return place_.subspan(used_ + sizeof(RecordHead), bytes - sizeof(RecordHead));
}

/// When a part of one head's length and kind was sent, and the rest of the other head followed, the peer
/// would read a record that is none. So the rest makes it padding: its length leads to the end of the record,
/// behind which is padding, or to the end of the place. A length of which half was sent is right only if that
/// half is the same in both.
bool PaddedRecords::mend(std::size_t last, std::size_t sent) noexcept {
  constexpr std::size_t kLength = 2;  // the bytes of a length that may be other than 0
  static_assert(kHeldMost <= 1U << (8 * kLength));
  const std::size_t at = used_ - last;
  const std::size_t of_head = sent - at;
  if (of_head > offsetof(RecordHead, kind)) return true;
  const std::size_t of_padding = place_.size() - at;
  if (of_head < kLength && ((of_padding ^ last) & 0xff) != 0) return false;
  constexpr RecordKind kKind = RecordKind::padding;
  std::memcpy(place_.data() + at + offsetof(RecordHead, kind), &kKind, sizeof kKind);
  return true;
}

void PaddedRecords::add(const RecordHead& head) noexcept {
  const std::size_t behind = used_ + sizeof head + head.bytes;
  pad(behind);  // inside the padding that is still there
  store_head(place_.data() + used_, head);
  used_ = behind;
}

}  // namespace stria::tcp
