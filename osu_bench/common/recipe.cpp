#include "osu_bench/common/recipe.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace stria::bench {

Recipe Recipe::contiguous(std::int64_t count, Recipe child) {
  Recipe made(Kind::contiguous);
  made.count_ = count;
  made.stride_ = child.extent();
  made.children_.push_back(std::move(child));
  return made;
}

Recipe Recipe::vector(std::int64_t count, std::int64_t blocklen, std::int64_t stride, Recipe child) {
  Recipe made(Kind::vector);
  made.count_ = count;
  made.blocklen_ = blocklen;
  made.stride_ = stride;
  made.children_.push_back(std::move(child));
  return made;
}

Recipe Recipe::indexed(std::vector<std::int64_t> lengths, std::vector<std::int64_t> displacements,
                       Recipe child) {
  Recipe made(Kind::indexed);
  made.lengths_ = std::move(lengths);
  made.displacements_ = std::move(displacements);
  made.children_.push_back(std::move(child));
  return made;
}

Recipe Recipe::composite(std::vector<std::int64_t> displacements, std::vector<Recipe> children) {
  Recipe made(Kind::composite);
  made.displacements_ = std::move(displacements);
  made.children_ = std::move(children);
  return made;
}

Recipe Recipe::resized(std::int64_t extent, Recipe child) {
  Recipe made(Kind::resized);
  made.stride_ = extent;
  made.children_.push_back(std::move(child));
  return made;
}

std::int64_t Recipe::size() const {
  std::int64_t sum = 0;
  switch (kind_) {
    case Kind::int8:
      return 1;
    case Kind::int32:
    case Kind::float32:
      return 4;
    case Kind::float64:
      return 8;
    case Kind::contiguous:
    case Kind::vector:
      return count_ * blocklen_ * children_[0].size();
    case Kind::indexed:
      for (const std::int64_t length : lengths_) sum += length;
      return sum * children_[0].size();
    case Kind::composite:
      for (const Recipe& child : children_) sum += child.size();
      return sum;
    case Kind::resized:
      return children_[0].size();
  }
  return sum;
}

std::int64_t Recipe::extent() const {
  std::int64_t end = 0;
  switch (kind_) {
    case Kind::int8:
    case Kind::int32:
    case Kind::float32:
    case Kind::float64:
      return size();
    case Kind::contiguous:
    case Kind::vector:
      return (count_ - 1) * stride_ + blocklen_ * children_[0].extent();
    case Kind::indexed:
      for (std::size_t i = 0; i < lengths_.size(); ++i) {
        end = std::max(end, displacements_[i] + lengths_[i] * children_[0].extent());
      }
      return end;
    case Kind::composite:
      for (std::size_t i = 0; i < children_.size(); ++i)
        end = std::max(end, displacements_[i] + children_[i].extent());
      return end;
    case Kind::resized:
      return stride_;
  }
  return end;
}

std::int64_t Recipe::end() const {
  std::int64_t last = 0;
  walk(0, [&](std::int64_t at, std::int64_t bytes) { last = std::max(last, at + bytes); });
  return last;
}

}  // namespace stria::bench
