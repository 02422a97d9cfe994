// A place of fixed length with records at its front, and behind them one record of padding that fills the
// rest.
//
//   | record | record | padding ...................... |      and after one more:
//   | record | record | record | padding ............. |
//
// The whole place consists of records between any two instructions of the thread that adds to it. So the
// kernel, which works in that thread, may send the place at any time.
#pragma once

#include <cstddef>
#include <span>

#include "transport/tcp/record.hpp"

namespace stria::tcp {

class PaddedRecords {
 public:
  /// Bytes at the front of a record's head that say what the record is. They change by one store.
  static constexpr std::size_t kDecisive = offsetof(RecordHead, header);
  /// Sets the place. Its first `used` bytes are records, and behind them is room for one more head.
  void begin(std::span<std::byte> place, std::size_t used) noexcept;
  /// Where the payload of a record goes. `bytes`: of the whole record, with its head. data() is null: the
  /// record does not fit.
  std::span<std::byte> room(std::size_t bytes) noexcept;
  /// Adds the record whose payload was written to room(). The kernel may send the record from now on.
  void add(const RecordHead& head) noexcept;
  /// Repairs the place after the kernel has sent its first `sent` bytes while the last record, of `last`
  /// bytes, was added: the kernel has sent either a part of the record, or of the padding that the record has
  /// replaced. The rest of the place becomes right behind either; the record may turn into padding by that.
  /// False: no rest is right behind both.
  bool mend(std::size_t last, std::size_t sent) noexcept;
  std::size_t used() const noexcept { return used_; }
  std::size_t length() const noexcept { return place_.size(); }

 private:
  void pad(std::size_t from) noexcept;

  std::span<std::byte> place_;
  std::size_t used_ = 0;
};

}  // namespace stria::tcp
