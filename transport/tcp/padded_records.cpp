#include "transport/tcp/padded_records.hpp"

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
  pad(used);
}

/// From there on there is one record that means nothing, or the end of the place.
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

void PaddedRecords::add(const RecordHead& head) noexcept {
  const std::size_t behind = used_ + sizeof head + head.bytes;
  pad(behind);  // inside the padding that is there still
  store_head(place_.data() + used_, head);
  used_ = behind;
}

}  // namespace stria::tcp
