// A description of memory that knows no library: each API under test builds its own type from it, and the
// naive walk over it is the oracle of the payload check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stria::bench {

class Recipe {
 public:
  enum class Kind { int8, int32, float32, float64, contiguous, vector, indexed, composite, resized };

  static Recipe float64() { return Recipe(Kind::float64); }
  static Recipe float32() { return Recipe(Kind::float32); }
  static Recipe int32() { return Recipe(Kind::int32); }
  static Recipe int8() { return Recipe(Kind::int8); }
  static Recipe contiguous(std::int64_t count, Recipe child);
  /// `count` blocks of `blocklen` children, `stride` bytes from one block to the next.
  static Recipe vector(std::int64_t count, std::int64_t blocklen, std::int64_t stride, Recipe child);
  /// Blocks of `lengths` children at `displacements` bytes.
  static Recipe indexed(std::vector<std::int64_t> lengths, std::vector<std::int64_t> displacements,
                        Recipe child);
  /// One of each child, at `displacements` bytes.
  static Recipe composite(std::vector<std::int64_t> displacements, std::vector<Recipe> children);
  /// Lower bound 0 and the given extent.
  static Recipe resized(std::int64_t extent, Recipe child);

  Kind kind() const { return kind_; }
  std::int64_t count() const { return count_; }
  std::int64_t blocklen() const { return blocklen_; }
  /// Bytes: the stride of a vector, the extent of a resized.
  std::int64_t stride() const { return stride_; }
  const std::vector<std::int64_t>& lengths() const { return lengths_; }
  const std::vector<std::int64_t>& displacements() const { return displacements_; }
  const std::vector<Recipe>& children() const { return children_; }

  /// Bytes of data.
  std::int64_t size() const;
  /// Distance of consecutive instances.
  std::int64_t extent() const;
  /// First byte after the last one used, from offset 0 (offsets here are never negative); a resized type may
  /// reach beyond its extent.
  std::int64_t end() const;

  /// Calls visit(offset, bytes) for every primitive in typemap order.
  template <class Visit>
  void walk(std::int64_t at, Visit&& visit) const {
    switch (kind_) {
      case Kind::int8:
      case Kind::int32:
      case Kind::float32:
      case Kind::float64:
        visit(at, size());
        return;
      case Kind::contiguous:
      case Kind::vector: {
        const std::int64_t step = children_[0].extent();
        for (std::int64_t i = 0; i < count_; ++i) {
          for (std::int64_t j = 0; j < blocklen_; ++j) children_[0].walk(at + i * stride_ + j * step, visit);
        }
        return;
      }
      case Kind::indexed: {
        const std::int64_t step = children_[0].extent();
        for (std::size_t i = 0; i < displacements_.size(); ++i) {
          for (std::int64_t j = 0; j < lengths_[i]; ++j)
            children_[0].walk(at + displacements_[i] + j * step, visit);
        }
        return;
      }
      case Kind::composite:
        for (std::size_t i = 0; i < children_.size(); ++i) children_[i].walk(at + displacements_[i], visit);
        return;
      case Kind::resized:
        children_[0].walk(at, visit);
        return;
    }
  }

 private:
  explicit Recipe(Kind kind) : kind_(kind) {}

  Kind kind_;
  std::int64_t count_ = 1;
  std::int64_t blocklen_ = 1;
  std::int64_t stride_ = 0;
  std::vector<std::int64_t> lengths_;
  std::vector<std::int64_t> displacements_;
  std::vector<Recipe> children_;
};

}  // namespace stria::bench
