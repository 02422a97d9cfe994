// The recursion: how a signature is cut into repeated and different parts, and the leaves it ends in.
#include "tests/mpi/datatype_random/random_type.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "tests/mpi/datatype_random/typemap.hpp"

namespace mpitest {
namespace {

struct Pair {
  MPI_Datatype handle;
  const char* name;
  MPI_Datatype first;
  MPI_Datatype second;
  std::int64_t second_at;
  std::int64_t extent;
};

template <class First>
struct PairImage {
  First first;
  int second;
};

template <class First>
Pair pair_of(MPI_Datatype handle, const char* name, MPI_Datatype first) {
  return {handle, name, first, MPI_INT, offsetof(PairImage<First>, second), sizeof(PairImage<First>)};
}

std::span<const Pair> pair_types() {
  static const std::array pairs{
      pair_of<float>(MPI_FLOAT_INT, "float_int", MPI_FLOAT),
      pair_of<double>(MPI_DOUBLE_INT, "double_int", MPI_DOUBLE),
      pair_of<long>(MPI_LONG_INT, "long_int", MPI_LONG),
      pair_of<int>(MPI_2INT, "2int", MPI_INT),
      pair_of<short>(MPI_SHORT_INT, "short_int", MPI_SHORT),
      pair_of<long double>(MPI_LONG_DOUBLE_INT, "long_double_int", MPI_LONG_DOUBLE),
  };
  return pairs;
}

// The least p such that the signature repeats with period p (p need not divide its length).
std::size_t period(std::span<const BasicId> s) {
  std::vector<std::size_t> border(s.size(), 0);
  for (std::size_t i = 1, k = 0; i < s.size(); ++i) {
    while (k > 0 && s[i] != s[k]) k = border[k - 1];
    if (s[i] == s[k]) ++k;
    border[i] = k;
  }
  return s.empty() ? 0 : s.size() - border.back();
}

}  // namespace

std::span<const Basic> basic_types() {
  static const std::array basics{
      Basic{MPI_CHAR, "char", 1},
      Basic{MPI_SIGNED_CHAR, "schar", 1},
      Basic{MPI_UNSIGNED_CHAR, "uchar", 1},
      Basic{MPI_BYTE, "byte", 1},
      Basic{MPI_C_BOOL, "bool", 1},
      Basic{MPI_INT8_T, "int8", 1},
      Basic{MPI_SHORT, "short", 2},
      Basic{MPI_UINT16_T, "uint16", 2},
      Basic{MPI_INT, "int", 4},
      Basic{MPI_UNSIGNED, "unsigned", 4},
      Basic{MPI_FLOAT, "float", 4},
      Basic{MPI_WCHAR, "wchar", sizeof(wchar_t)},
      Basic{MPI_LONG, "long", sizeof(long)},
      Basic{MPI_LONG_LONG, "llong", 8},
      Basic{MPI_DOUBLE, "double", 8},
      Basic{MPI_AINT, "aint", sizeof(MPI_Aint)},
      Basic{MPI_UINT64_T, "uint64", 8},
      Basic{MPI_C_FLOAT_COMPLEX, "fcomplex", 8},
      Basic{MPI_C_DOUBLE_COMPLEX, "dcomplex", 16},
      Basic{MPI_LONG_DOUBLE, "ldouble", sizeof(long double)},
      Basic{MPI_C_LONG_DOUBLE_COMPLEX, "ldcomplex", 2 * sizeof(long double)},
  };
  return basics;
}

RandomType::~RandomType() {
  if (handle != MPI_DATATYPE_NULL && !predefined) MPI_Type_free(&handle);
}

void RandomType::swap(RandomType& other) noexcept {
  std::swap(handle, other.handle);
  std::swap(predefined, other.predefined);
  std::swap(marked, other.marked);
  std::swap(has_pair, other.has_pair);
  std::swap(lower, other.lower);
  std::swap(upper, other.upper);
  map.swap(other.map);
  text.swap(other.text);
}

RandomType TypeMaker::make(std::span<const BasicId> signature, int depth) {
  RandomType type = grow(signature, depth);
  if (!type.predefined) MPI_Type_commit(&type.handle);
  return type;
}

RandomType TypeMaker::grow(std::span<const BasicId> signature, int depth) {
  if (signature.empty()) return empty();
  if (depth <= 0) return flat(signature);
  if (rng_.chance(15)) return resized(grow(signature, depth - 1));
  if (rng_.chance(5)) return duplicate(grow(signature, depth - 1));
  if (signature.size() == 1)
    return depth > 1 && rng_.chance(30) ? replicate(leaf(signature[0]), 1) : leaf(signature[0]);
  if (signature.size() == 2 && rng_.chance(60)) {
    if (RandomType found = pair(signature); found.handle != MPI_DATATYPE_NULL) return found;
  }
  const std::size_t unit = period(signature);
  if (unit == signature.size() || signature.size() % unit != 0 || rng_.chance(15))
    return split(signature, depth);
  const auto repeats = static_cast<std::int64_t>(signature.size() / unit);
  const std::int64_t copies = rng_.chance(40) ? repeats : divisor(repeats);
  const std::size_t part = signature.size() / static_cast<std::size_t>(copies);
  return replicate(grow(signature.first(part), depth - 1), copies);
}

// The innermost level: runs of one basic type, with no choice left but the gaps between them.
RandomType TypeMaker::flat(std::span<const BasicId> signature) {
  const std::size_t unit = period(signature);
  const std::size_t repeats = signature.size() / unit;
  if (unit == 1)
    return repeats == 1 ? leaf(signature[0])
                        : contiguous(leaf(signature[0]), static_cast<std::int64_t>(repeats));
  if (repeats == 1 || signature.size() % unit != 0) return split(signature, 0);
  return contiguous(flat(signature.first(unit)), static_cast<std::int64_t>(repeats));
}

RandomType TypeMaker::leaf(BasicId basic) {
  const Basic& b = basic_types()[basic];
  RandomType type;
  type.handle = b.handle;
  type.predefined = true;
  type.upper = b.bytes;
  type.map = {{0, basic}};
  type.text = b.name;
  return type;
}

RandomType TypeMaker::pair(std::span<const BasicId> signature) {
  const auto basics = basic_types();
  RandomType type;
  for (const Pair& p : pair_types()) {
    if (basics[signature[0]].handle != p.first || basics[signature[1]].handle != p.second) continue;
    type.handle = p.handle;
    type.predefined = true;
    type.has_pair = true;
    type.upper = p.extent;
    type.map = {{0, signature[0]}, {p.second_at, signature[1]}};
    type.text = p.name;
  }
  return type;
}

RandomType TypeMaker::empty() {
  RandomType type;
  const auto basics = basic_types();
  const Basic& b = basics[rng_.below(basics.size())];
  if (rng_.chance(50)) {
    MPI_Type_contiguous(0, b.handle, &type.handle);
    type.text = text("contiguous(0;", b.name, ")");
  } else {
    MPI_Type_vector(0, 3, 5, b.handle, &type.handle);
    type.text = text("vector(0,3,5;", b.name, ")");
  }
  take_bounds(type);
  return type;
}

// Different parts side by side: MPI_Type_create_struct.
RandomType TypeMaker::split(std::span<const BasicId> signature, int depth) {
  std::vector<std::size_t> cuts;
  const std::size_t unit = period(signature);
  if (signature.size() % unit != 0 && signature.size() > unit) {
    cuts.push_back(signature.size() / unit * unit);  // the repeated part, then the rest
  } else if (depth <= 0) {
    for (std::size_t i = 1; i < signature.size(); ++i) {
      if (signature[i] != signature[i - 1]) cuts.push_back(i);
    }
  } else {
    for (std::uint64_t parts = 1 + rng_.below(3); parts > 0; --parts)
      cuts.push_back(1 + rng_.below(signature.size() - 1));
  }
  cuts.push_back(signature.size());
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());

  std::vector<RandomType> children;
  std::vector<int> lengths;
  std::size_t from = 0;
  for (const std::size_t to : cuts) {
    const auto part = signature.subspan(from, to - from);
    const std::size_t part_unit = period(part);
    from = to;
    if (depth > 0 && part.size() % part_unit == 0 && rng_.chance(40)) {
      const std::int64_t copies = divisor(static_cast<std::int64_t>(part.size() / part_unit));
      children.push_back(grow(part.first(part.size() / static_cast<std::size_t>(copies)), depth - 1));
      lengths.push_back(static_cast<int>(copies));
    } else {
      children.push_back(depth > 0 ? grow(part, depth - 1) : flat(part));
      lengths.push_back(1);
    }
  }

  // Slots are laid out one behind the other, in an order of their own.
  std::vector<std::size_t> order(children.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (rng_.chance(40)) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng_.below(i)]);
  }
  std::vector<MPI_Aint> places(children.size());
  std::vector<MPI_Datatype> handles;
  std::int64_t cursor = spread_ > 0 && rng_.chance(30) ? rng_.between(-40, 40) : 0;
  for (const std::size_t i : order) {
    const Span covered = span_of(children[i], lengths[i]);
    places[i] = cursor - covered.low;
    cursor += covered.high - covered.low + gap(4);
  }
  RandomType type;
  type.text = "struct(";
  for (std::size_t i = 0; i < children.size(); ++i) {
    handles.push_back(children[i].handle);
    type.text += text(i == 0 ? "" : ",", lengths[i], "@", places[i], ":", children[i].text);
    for (int k = 0; k < lengths[i]; ++k) append(type, children[i], places[i] + k * children[i].extent());
  }
  type.text += ")";
  MPI_Type_create_struct(static_cast<int>(children.size()), lengths.data(), places.data(), handles.data(),
                         &type.handle);
  combine_bounds(type, children, lengths, places);
  return type;
}

}  // namespace mpitest
