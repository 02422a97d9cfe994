// One function per MPI constructor that repeats a child: it draws the arguments, calls MPI, and writes down
// where the standard puts each copy. Displacements of copies are in bytes throughout.
#include <algorithm>
#include <limits>
#include <utility>

#include "tests/mpi/datatype_random/random_type.hpp"
#include "tests/mpi/datatype_random/typemap.hpp"

namespace mpitest {

struct TypeMaker::Blocks {
  std::vector<int> lengths;          // copies in each block
  std::vector<std::int64_t> places;  // in units
  std::string text;
};

namespace {

// Copies of one child at the given places; explicit bounds are inherited, implicit ones asked for.
void place_copies(RandomType& type, const RandomType& child, std::span<const std::int64_t> at) {
  type.map.reserve(at.size() * child.map.size());
  std::int64_t lower = std::numeric_limits<std::int64_t>::max();
  std::int64_t upper = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t place : at) {
    append(type, child, place);
    lower = std::min(lower, place + child.lower);
    upper = std::max(upper, place + child.upper);
  }
  if (child.marked && !at.empty()) {
    set_bounds(type, lower, upper);
  } else {
    take_bounds(type);
  }
}

std::vector<int> to_int(std::span<const std::int64_t> values) {
  return {values.begin(), values.end()};
}

}  // namespace

std::int64_t TypeMaker::divisor(std::int64_t n) {
  std::vector<std::int64_t> all;
  for (std::int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    all.push_back(d);
    all.push_back(n / d);
  }
  return all[rng_.below(all.size())];
}

std::vector<int> TypeMaker::factors(std::int64_t n, int dimensions) {
  std::vector<int> result;
  for (int i = 1; i < dimensions; ++i) {
    const std::int64_t d = divisor(n);
    result.push_back(static_cast<int>(d));
    n /= d;
  }
  result.push_back(static_cast<int>(n));
  return result;
}

std::int64_t TypeMaker::gap(std::int64_t unit) {
  return spread_ == 0 || rng_.chance(35) ? 0 : rng_.between(0, spread_ * std::max<std::int64_t>(unit, 1));
}

RandomType TypeMaker::replicate(RandomType child, std::int64_t copies) {
  if (rng_.chance(12)) return contiguous(std::move(child), copies);
  switch (rng_.below(10)) {
    case 0:
      return vector(std::move(child), copies, false);
    case 1:
      return vector(std::move(child), copies, true);
    case 2:
      return indexed(std::move(child), copies, false);
    case 3:
      return indexed(std::move(child), copies, true);
    case 4:
      return indexed_block(std::move(child), copies, false);
    case 5:
      return indexed_block(std::move(child), copies, true);
    case 6:
      return struct_of_one(std::move(child), copies);
    case 7:
      return subarray(std::move(child), copies);
    case 8:
      return darray(std::move(child), copies);
    default:
      return transposed(std::move(child), copies);
  }
}

RandomType TypeMaker::contiguous(RandomType child, std::int64_t copies) {
  RandomType type;
  MPI_Type_contiguous(static_cast<int>(copies), child.handle, &type.handle);
  type.text = text("contiguous(", copies, ";", child.text, ")");
  std::vector<std::int64_t> at;
  for (std::int64_t i = 0; i < copies; ++i) at.push_back(i * child.extent());
  place_copies(type, child, at);
  return type;
}

RandomType TypeMaker::vector(RandomType child, std::int64_t copies, bool in_bytes) {
  const std::int64_t length = divisor(copies);
  const std::int64_t count = copies / length;
  const std::int64_t step = in_bytes ? child.extent() : 1;
  std::int64_t stride =
      length * step + (in_bytes ? gap(std::max<std::int64_t>(8, length * step)) : gap(length));
  if (spread_ > 0 && rng_.chance(15)) stride = -stride;
  // Open MPI takes a stride of exactly -1 byte for "the child's own extent": the type itself is wrong,
  // whoever sends it.
  if (stride * (in_bytes ? 1 : child.extent()) == -1) stride = 1;
  RandomType type;
  if (in_bytes) {
    MPI_Type_create_hvector(static_cast<int>(count), static_cast<int>(length), stride, child.handle,
                            &type.handle);
  } else {
    MPI_Type_vector(static_cast<int>(count), static_cast<int>(length), static_cast<int>(stride), child.handle,
                    &type.handle);
  }
  type.text = text(in_bytes ? "hvector(" : "vector(", count, ",", length, ",", stride, ";", child.text, ")");
  std::vector<std::int64_t> at;
  const std::int64_t stride_bytes = in_bytes ? stride : stride * child.extent();
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = 0; j < length; ++j) at.push_back(i * stride_bytes + j * child.extent());
  }
  place_copies(type, child, at);
  return type;
}

// Cuts `copies` into blocks and gives each a slot; `unit` is how many displacement units one copy takes.
TypeMaker::Blocks TypeMaker::blocks(std::int64_t copies, std::int64_t unit, bool equal_lengths) {
  Blocks b;
  if (equal_lengths) {
    const std::int64_t length = divisor(copies);
    b.lengths.assign(static_cast<std::size_t>(copies / length), static_cast<int>(length));
  } else {
    const std::int64_t longest =
        1 + static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(copies)));
    for (std::int64_t left = copies; left > 0;) {
      if (rng_.chance(5)) b.lengths.push_back(0);
      const std::int64_t length =
          std::min(left, rng_.between(std::min<std::int64_t>(longest, 1 + copies / 256), longest));
      b.lengths.push_back(static_cast<int>(length));
      left -= length;
    }
  }
  std::vector<std::size_t> order(b.lengths.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (rng_.chance(35)) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng_.below(i)]);
  }
  b.places.resize(b.lengths.size());
  std::int64_t cursor = spread_ > 0 && rng_.chance(25) ? rng_.between(-3, 9) * unit : 0;
  const bool regular = rng_.chance(30);  // a strided run in an irregular constructor's clothes
  const std::int64_t regular_gap = gap(unit);
  for (const std::size_t i : order) {
    b.places[i] = cursor;
    cursor += b.lengths[i] * unit + (regular ? regular_gap : gap(unit));
  }
  b.text = text(b.lengths.size(), ":");
  for (std::size_t i = 0; i < std::min<std::size_t>(b.lengths.size(), 12); ++i) {
    b.text += text(" ", b.lengths[i], "@", b.places[i]);
  }
  if (b.lengths.size() > 12) b.text += " ...";
  return b;
}

RandomType TypeMaker::indexed(RandomType child, std::int64_t copies, bool in_bytes) {
  const Blocks b = blocks(copies, in_bytes ? child.extent() : 1, false);
  RandomType type;
  const int count = static_cast<int>(b.lengths.size());
  if (in_bytes) {
    const std::vector<MPI_Aint> places(b.places.begin(), b.places.end());
    MPI_Type_create_hindexed(count, b.lengths.data(), places.data(), child.handle, &type.handle);
  } else {
    MPI_Type_indexed(count, b.lengths.data(), to_int(b.places).data(), child.handle, &type.handle);
  }
  type.text = text(in_bytes ? "hindexed(" : "indexed(", b.text, ";", child.text, ")");
  std::vector<std::int64_t> at;
  for (std::size_t i = 0; i < b.lengths.size(); ++i) {
    const std::int64_t place = in_bytes ? b.places[i] : b.places[i] * child.extent();
    for (int j = 0; j < b.lengths[i]; ++j) at.push_back(place + j * child.extent());
  }
  place_copies(type, child, at);
  return type;
}

RandomType TypeMaker::indexed_block(RandomType child, std::int64_t copies, bool in_bytes) {
  const Blocks b = blocks(copies, in_bytes ? child.extent() : 1, true);
  RandomType type;
  const int count = static_cast<int>(b.lengths.size());
  if (in_bytes) {
    const std::vector<MPI_Aint> places(b.places.begin(), b.places.end());
    MPI_Type_create_hindexed_block(count, b.lengths[0], places.data(), child.handle, &type.handle);
  } else {
    MPI_Type_create_indexed_block(count, b.lengths[0], to_int(b.places).data(), child.handle, &type.handle);
  }
  type.text = text(in_bytes ? "hindexed_block(" : "indexed_block(", b.text, ";", child.text, ")");
  std::vector<std::int64_t> at;
  for (const std::int64_t unit_place : b.places) {
    const std::int64_t place = in_bytes ? unit_place : unit_place * child.extent();
    for (int j = 0; j < b.lengths[0]; ++j) at.push_back(place + j * child.extent());
  }
  place_copies(type, child, at);
  return type;
}

RandomType TypeMaker::struct_of_one(RandomType child, std::int64_t copies) {
  const Blocks b = blocks(copies, child.extent(), false);
  RandomType type;
  const std::vector<MPI_Aint> places(b.places.begin(), b.places.end());
  const std::vector<MPI_Datatype> handles(b.lengths.size(), child.handle);
  MPI_Type_create_struct(static_cast<int>(b.lengths.size()), b.lengths.data(), places.data(), handles.data(),
                         &type.handle);
  type.text = text("struct(", b.text, ";", child.text, ")");
  std::vector<std::int64_t> at;
  for (std::size_t i = 0; i < b.lengths.size(); ++i) {
    for (int j = 0; j < b.lengths[i]; ++j) at.push_back(b.places[i] + j * child.extent());
  }
  place_copies(type, child, at);
  return type;
}

RandomType TypeMaker::subarray(RandomType child, std::int64_t copies) {
  const int dimensions = static_cast<int>(rng_.between(1, 4));
  const std::vector<int> inner = factors(copies, dimensions);
  std::vector<int> outer(inner);
  std::vector<int> start(inner.size(), 0);
  for (std::size_t i = 0; i < inner.size(); ++i) {
    const auto margin = static_cast<int>(std::min<std::int64_t>(gap(2), inner[i] + 2));
    outer[i] += margin;
    start[i] = static_cast<int>(rng_.below(static_cast<std::uint64_t>(margin) + 1));
  }
  const bool c_order = rng_.chance(50);
  RandomType type;
  MPI_Type_create_subarray(dimensions, outer.data(), inner.data(), start.data(),
                           c_order ? MPI_ORDER_C : MPI_ORDER_FORTRAN, child.handle, &type.handle);
  type.text = "subarray(";
  for (std::size_t i = 0; i < inner.size(); ++i)
    type.text += text(start[i], "+", inner[i], "/", outer[i], " ");
  type.text += text(c_order ? "C" : "F", ";", child.text, ")");

  // Walk the local indices with the fastest dimension innermost.
  std::vector<std::size_t> slow_to_fast;
  for (std::size_t i = 0; i < inner.size(); ++i) slow_to_fast.push_back(c_order ? i : inner.size() - 1 - i);
  std::vector<std::int64_t> at{0};
  std::int64_t whole = 1;
  for (const std::size_t d : slow_to_fast) {
    std::vector<std::int64_t> next;
    for (const std::int64_t base : at) {
      for (int i = 0; i < inner[d]; ++i) next.push_back(base * outer[d] + start[d] + i);
    }
    at.swap(next);
    whole *= outer[d];
  }
  for (std::int64_t& place : at) place *= child.extent();
  for (const std::int64_t place : at) append(type, child, place);
  set_bounds(type, 0, whole * child.extent());
  return type;
}

// One process's share of a distributed array, drawn so that the share has exactly `copies` elements.
RandomType TypeMaker::darray(RandomType child, std::int64_t copies) {
  const int dimensions = static_cast<int>(rng_.between(1, 3));
  const std::vector<int> local = factors(copies, dimensions);
  std::vector<int> global(local.size());
  std::vector<int> distribution(local.size());
  std::vector<int> argument(local.size());
  std::vector<int> processes(local.size(), 1);
  std::vector<std::vector<std::int64_t>> owned(local.size());  // global indices of the share, by dimension
  int rank = 0;
  int ranks = 1;
  for (std::size_t d = 0; d < local.size(); ++d) {
    const int n = local[d];
    const int p = spread_ == 0 ? 1 : static_cast<int>(rng_.between(1, 3));
    const int me = static_cast<int>(rng_.below(static_cast<std::uint64_t>(p)));
    const std::uint64_t kind = rng_.below(3);
    if (kind == 0) {  // the whole dimension on every process
      distribution[d] = MPI_DISTRIBUTE_NONE;
      argument[d] = MPI_DISTRIBUTE_DFLT_DARG;
      global[d] = n;
      for (int i = 0; i < n; ++i) owned[d].push_back(i);
    } else if (kind == 1) {  // blocks; the last process may own a short one
      const bool last = me == p - 1;
      const int block = n + (last ? static_cast<int>(gap(2)) : 0);
      distribution[d] = MPI_DISTRIBUTE_BLOCK;
      argument[d] = block;
      processes[d] = p;
      global[d] = last ? block * (p - 1) + n : block * (p - 1) + static_cast<int>(rng_.between(1, block));
      for (int i = 0; i < n; ++i) owned[d].push_back(std::int64_t{me} * block + i);
    } else {  // blocks of k dealt round; the last may be cut
      const int k = static_cast<int>(rng_.between(1, std::min(n, 5)));
      const int rounds = (n + k - 1) / k;
      const int rest = n - (rounds - 1) * k;
      distribution[d] = MPI_DISTRIBUTE_CYCLIC;
      argument[d] = k;
      processes[d] = p;
      global[d] = (rounds - 1) * p * k + me * k + rest;
      if (rest == k) global[d] += static_cast<int>(rng_.between(0, (p - 1 - me) * k));
      for (int i = 0; i < n; ++i) owned[d].push_back((std::int64_t{i / k} * p + me) * k + i % k);
    }
    rank = rank * processes[d] + (processes[d] == 1 ? 0 : me);  // the process grid is row-major, last fastest
    ranks *= processes[d];
  }
  const bool c_order = rng_.chance(50);
  RandomType type;
  MPI_Type_create_darray(ranks, rank, dimensions, global.data(), distribution.data(), argument.data(),
                         processes.data(), c_order ? MPI_ORDER_C : MPI_ORDER_FORTRAN, child.handle,
                         &type.handle);
  type.text = text("darray(", rank, "/", ranks, " ");
  for (std::size_t d = 0; d < local.size(); ++d) {
    const char* kind = distribution[d] == MPI_DISTRIBUTE_NONE    ? "none"
                       : distribution[d] == MPI_DISTRIBUTE_BLOCK ? "block"
                                                                 : "cyclic";
    type.text += text(local[d], "/", global[d], kind, argument[d], "p", processes[d], " ");
  }
  type.text += text(c_order ? "C" : "F", ";", child.text, ")");

  std::vector<std::size_t> slow_to_fast;
  for (std::size_t d = 0; d < local.size(); ++d) slow_to_fast.push_back(c_order ? d : local.size() - 1 - d);
  std::vector<std::int64_t> at{0};
  std::int64_t whole = 1;
  for (const std::size_t d : slow_to_fast) {
    std::vector<std::int64_t> next;
    for (const std::int64_t base : at) {
      for (const std::int64_t index : owned[d]) next.push_back(base * global[d] + index);
    }
    at.swap(next);
    whole *= global[d];
  }
  for (std::int64_t& place : at) place *= child.extent();
  for (const std::int64_t place : at) append(type, child, place);
  set_bounds(type, 0, whole * child.extent());
  return type;
}

// Columns of a matrix, interleaved by resizing: the classic that walks memory against its order.
RandomType TypeMaker::transposed(RandomType child, std::int64_t copies) {
  const std::int64_t rows = divisor(copies);
  const std::int64_t columns = copies / rows;
  const std::int64_t pitch = columns + gap(2);
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Datatype narrow = MPI_DATATYPE_NULL;
  RandomType type;
  MPI_Type_vector(static_cast<int>(rows), 1, static_cast<int>(pitch), child.handle, &column);
  MPI_Type_create_resized(column, child.lower, child.extent(), &narrow);
  MPI_Type_contiguous(static_cast<int>(columns), narrow, &type.handle);
  MPI_Type_free(&column);
  MPI_Type_free(&narrow);
  type.text = text("columns(", rows, "x", columns, "/", pitch, ";", child.text, ")");
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) append(type, child, (i * pitch + j) * child.extent());
  }
  set_bounds(type, child.lower, child.lower + columns * child.extent());
  return type;
}

RandomType TypeMaker::resized(RandomType child) {
  const Span data = span_of(child, 1);
  std::int64_t lower = spread_ == 0 ? data.low : data.low - rng_.between(-4, 24);
  std::int64_t extent = data.high - lower + gap(9);
  if (rng_.chance(12)) extent = rng_.between(1, data.high - data.low);  // instances overlap or interleave
  if (extent < 1) extent = 1;
  if (spread_ == 0) lower = data.low;
  RandomType type;
  MPI_Type_create_resized(child.handle, lower, extent, &type.handle);
  type.text = text("resized(", lower, ",", extent, ";", child.text, ")");
  append(type, child, 0);
  set_bounds(type, lower, lower + extent);
  return type;
}

RandomType TypeMaker::duplicate(RandomType child) {
  RandomType type;
  MPI_Type_dup(child.handle, &type.handle);
  type.text = text("dup(", child.text, ")");
  type.marked = child.marked;
  append(type, child, 0);
  if (child.marked) {
    set_bounds(type, child.lower, child.upper);
  } else {
    take_bounds(type);
  }
  return type;
}

}  // namespace mpitest
