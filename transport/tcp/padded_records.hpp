// Records at the front of a place of fixed length, and behind them one that means nothing and fills the rest.
//
//   | record | record | padding ...................... |      and after one more:
//   | record | record | record | padding ............. |
//
// The whole place is records between any two instructions of the thread that adds to it, so that the kernel,
// which works in that thread, may send it at any time.
#pragma once

#include <cstddef>
#include <span>

#include "transport/tcp/record.hpp"

namespace stria::tcp {

class PaddedRecords {
 public:
  /// The front of a record's head, which says what the record is, and changes at once.
  static constexpr std::size_t kDecisive = offsetof(RecordHead, header);
  /// `place` begins with `used` bytes of records, and has room for the head of one more.
  void begin(std::span<std::byte> place, std::size_t used) noexcept;
  /// Where the payload of a record of so many bytes goes, head included; empty: the record does not fit.
  std::span<std::byte> room(std::size_t bytes) noexcept;
  /// The payload is there: the record is one of them from now on.
  void add(const RecordHead& head) noexcept;
  /// The first `sent` bytes of the place went while the last record, of `last` bytes, was added: with it, or
  /// with the padding in whose place it was put. Makes the rest of the place right behind both; the record
  /// may be padding then. False: nothing would be right.
  bool mend(std::size_t last, std::size_t sent) noexcept;
  std::size_t used() const noexcept { return used_; }
  std::size_t length() const noexcept { return place_.size(); }

 private:
  void pad(std::size_t from) noexcept;

  std::span<std::byte> place_;
  std::size_t used_ = 0;
};

}  // namespace stria::tcp
