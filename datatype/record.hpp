// Record: a repeated element of few runs, written out as a list of moves, so that an array of records is
// copied without a walk over the tree for each element. There are two ways to copy an array:
//
//   moves      for as many records as stay in the first-level cache, one strided loop for each move
//   permuting  where a record spans at most 64 bytes: a vector register holds one record or more, and one
//              permutation of its bytes packs or unpacks them all
//
// Both ways change the order in which bytes are written, which is only allowed where no byte is written
// twice; Record::disjoint_count says for how many records that holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "datatype/address.hpp"

namespace stria::datatype {

struct Node;

/// One run of a record. Offsets and length are in bytes.
struct Move {
  std::int64_t memory;  ///< relative to the record's first byte in typemap order
  std::int64_t stream;  ///< relative to the record's first byte in the packed stream
  std::int64_t bytes;
};

/// How to permute as many whole records as fit a vector of 64 bytes that begins at their lowest byte.
struct Permutation {
  std::int64_t records = 0;       ///< records in a vector; 0: not possible, or it does not pay
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
  std::int64_t bytes = 0;  ///< packed size of one record
  /// Up to so many consecutive records of the array certainly overlap neither each other nor themselves.
  std::int64_t disjoint_count = 0;
  /// Records that the loops of all moves copy before the next records are begun, so that their cache lines
  /// stay in the cache meanwhile.
  std::int64_t stretch = 0;
  Permutation permutation;

  std::size_t memory() const noexcept { return sizeof(Record) + moves.size() * sizeof(Move); }
};

/// Most moves of a record.
inline constexpr std::int64_t kRecordMoves = 32;

/// The record of an element that is repeated `stride` bytes apart. Null where the walk over the tree is as
/// good: an element of no bytes or of more than kRecordMoves runs, or a plain block for which no permutation
/// pays.
std::unique_ptr<const Record> make_record(const Node& element, std::int64_t stride);
/// The record of an element that a list repeats. `distance` is the least difference between the places of
/// neighbouring elements of the list, negative where the places do not ascend. Null for a plain block or for
/// more than kRecordMoves runs. The record never has a permutation.
std::unique_ptr<const Record> make_listed_record(const Node& element, std::int64_t distance);

}  // namespace stria::datatype
