// Record: an element of few runs that is repeated, written out as a list of moves, so that an array of
// records is copied without a walk over the tree for each. Two ways to copy it:
//
//   moves      for a stretch of records that stays in the first-level cache, one strided loop a move
//   permuting  records of up to 64 bytes from end to end: a vector holds one or more, and one permutation of
//              its bytes packs or unpacks them all
//
// Both change the order in which bytes are written, which is only allowed where none is written twice;
// `disjoint_count` says up to how many records that holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "datatype/address.hpp"

namespace stria::datatype {

struct Node;

struct Move {
  std::int64_t memory;  ///< relative to the record's first byte in typemap order
  std::int64_t stream;
  std::int64_t bytes;
};

/// As many records as a vector holds: one vector of 64 bytes, which begins at their lowest byte.
struct Permutation {
  std::int64_t records = 0;       ///< 0: none, or it does not pay
  std::int64_t low = 0;           ///< lowest byte, relative to a record's first byte in typemap order; <= 0
  std::int64_t span = 0;          ///< from a record's lowest byte to its highest
  std::int64_t record_bytes = 0;  ///< packed, of one record
  std::int64_t packed_bytes = 0;  ///< of all records in the vector
  std::uint64_t memory_mask = 0;  ///< bytes of the vector that belong to the records
  alignas(64) std::array<std::uint8_t, 64> pack{};    ///< stream byte j is memory byte pack[j]
  alignas(64) std::array<std::uint8_t, 64> unpack{};  ///< memory byte j is stream byte unpack[j]
};

struct Record {
  std::vector<Move> moves;
  std::int64_t bytes = 0;  ///< packed
  /// So many records, one distance apart, do not overlap each other or themselves.
  std::int64_t disjoint_count = 0;
  Permutation permutation;

  std::size_t memory() const noexcept { return sizeof(Record) + moves.size() * sizeof(Move); }
};

inline constexpr std::int64_t kRecordMoves = 32;

/// The record of `element` at this distance; null where the walk over the tree is as good: more than
/// kRecordMoves runs, or a plain block that no permutation serves.
std::unique_ptr<const Record> make_record(const Node& element, std::int64_t stride);
/// For elements at irregular places at least `distance` apart, in ascending order; 0 if that is not known.
std::unique_ptr<const Record> make_listed_record(const Node& element, std::int64_t distance);

}  // namespace stria::datatype
