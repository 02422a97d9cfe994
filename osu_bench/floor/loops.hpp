// A shape as the plain loops that a person writes to pack it: what a library is held to. A loop is found by
// looking at the contiguous runs of memory in their order:
//
//   plain      one long run                            memcpy
//   strided    runs of one length, equally apart       for (i…) copy(to + i * B, from + i * stride, B)
//   listed     runs of one length, at listed places    for (i…) copy(to + i * B, from + at[i], B)
//   irregular  runs of listed lengths and places       for (i…) for (j < length[i]…) one element
//
// with B a constant of the loop where it is one of the usual lengths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "osu_bench/common/recipe.hpp"

namespace stria::bench {

struct Loop {
  enum class Kind { plain, strided, listed, irregular };
  Kind kind;
  std::int64_t at = 0;      ///< plain, strided: place of the first run
  std::int64_t block = 0;   ///< bytes of a run; not of irregular ones
  std::int64_t stride = 0;  ///< strided
  std::int64_t blocks = 1;
  std::vector<std::int64_t> places = {};   ///< listed, irregular
  std::vector<std::int64_t> lengths = {};  ///< irregular; multiples of `element`
  std::int64_t element = 1;                ///< irregular: 8 where all lengths allow it
};

/// Part of a loop: blocks [first, last), of a plain one bytes.
struct Part {
  std::size_t loop;
  std::int64_t first;
  std::int64_t last;
  std::int64_t bytes;
};

class Loops {
 public:
  explicit Loops(const Recipe& shape);

  /// Where the packed stream can be cut so that no fragment is longer than `most` bytes, or than one block:
  /// ascending ends of fragments.
  std::vector<std::int64_t> cuts(std::int64_t most) const;
  /// The parts of each fragment. Every cut inside a loop other than a plain one must be between two blocks.
  std::vector<std::vector<Part>> fragments(const std::vector<std::int64_t>& cuts) const;

  /// Both answer the bytes moved.
  std::int64_t gather(const std::vector<Part>& parts, const std::byte* base, std::byte* to) const;
  std::int64_t scatter(const std::vector<Part>& parts, const std::byte* from, std::byte* base) const;

  const std::vector<Loop>& all() const { return loops_; }
  bool is_plain() const;

 private:
  std::vector<Loop> loops_;
};

}  // namespace stria::bench
