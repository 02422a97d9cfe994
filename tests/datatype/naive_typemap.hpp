// The oracle: MPI's definition of a datatype taken literally. A typemap is the list of the displacements of
// all bytes, in order, and of the markers that resizing leaves. Nothing here is shared with the engine under
// test.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace stria::datatype::naive {

struct Typemap {
  std::vector<std::int64_t> bytes;  // displacement of each byte, in typemap order
  std::vector<std::int64_t> lb_markers, ub_markers;

  std::int64_t lb() const {
    if (!lb_markers.empty()) return *std::min_element(lb_markers.begin(), lb_markers.end());
    return true_lb();
  }
  std::int64_t ub() const {
    if (!ub_markers.empty()) return *std::max_element(ub_markers.begin(), ub_markers.end());
    return true_ub();
  }
  std::int64_t extent() const { return ub() - lb(); }
  std::int64_t true_lb() const { return bytes.empty() ? 0 : *std::min_element(bytes.begin(), bytes.end()); }
  std::int64_t true_ub() const {
    return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end()) + 1;
  }
  bool overlaps() const { return std::set<std::int64_t>(bytes.begin(), bytes.end()).size() != bytes.size(); }

  void append(const Typemap& other, std::int64_t shift) {
    for (const std::int64_t b : other.bytes) bytes.push_back(b + shift);
    for (const std::int64_t m : other.lb_markers) lb_markers.push_back(m + shift);
    for (const std::int64_t m : other.ub_markers) ub_markers.push_back(m + shift);
  }
};

inline Typemap run(std::int64_t n) {
  Typemap t;
  for (std::int64_t i = 0; i < n; ++i) t.bytes.push_back(i);
  return t;
}

/// `count` blocks of `blocklen` elements; block i at displacement_of(i).
template <class DisplacementOf>
void append_blocks(Typemap& out, std::int64_t count, std::int64_t blocklen, DisplacementOf displacement_of,
                   const Typemap& child) {
  const std::int64_t extent = child.extent();
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t j = 0; j < blocklen; ++j) out.append(child, displacement_of(i) + j * extent);
}

inline Typemap vector(std::int64_t count, std::int64_t blocklen, std::int64_t stride, const Typemap& child) {
  Typemap t;
  append_blocks(
      t, count, blocklen, [=](std::int64_t i) { return i * stride; }, child);
  return t;
}

inline Typemap resized(const Typemap& child, std::int64_t lb, std::int64_t extent) {
  Typemap t;
  t.bytes = child.bytes;
  t.lb_markers = {lb};
  t.ub_markers = {lb + extent};
  return t;
}

/// The typemap of `count` instances.
inline Typemap instances(std::int64_t count, const Typemap& child) {
  return vector(count, 1, child.extent(), child);
}

}  // namespace stria::datatype::naive
