// Random MPI types, converted from Open MPI's description to a layout, against a list of byte offsets kept by
// hand.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/pml/description_shim.h"
#include "tests/rounds.hpp"

namespace {

// A type and, as the oracle, the offset of each of its bytes in typemap order.
struct Sample {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::vector<int64_t> bytes;
  int64_t extent = 0;
  std::string text;
};

constexpr size_t kMostBytes = 4000;
// Open MPI 4.1 takes a stride of -1 byte for "no stride given" and makes the type contiguous, whatever layer
// carries it.
constexpr int64_t kUnsayable = -1;

void append(std::vector<int64_t>& out, const Sample& child, int64_t displacement, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t b : child.bytes) out.push_back(displacement + i * child.extent + b);
  }
}

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  Sample basic() {
    struct Basic {
      MPI_Datatype type;
      int size;
    };
    const Basic kinds[] = {
        {MPI_CHAR, 1}, {MPI_SHORT, 2}, {MPI_INT, 4}, {MPI_DOUBLE, 8}, {MPI_C_DOUBLE_COMPLEX, 16}};
    const Basic& kind = kinds[pick(0, 4)];
    Sample s;
    s.type = kind.type;
    s.bytes.resize(static_cast<size_t>(kind.size));
    std::iota(s.bytes.begin(), s.bytes.end(), 0);
    s.extent = kind.size;
    s.text = std::to_string(kind.size);
    return s;
  }

  // A predefined type with a gap: (double, int).
  Sample pair() {
    Sample s;
    s.type = MPI_DOUBLE_INT;
    s.bytes.resize(12);
    std::iota(s.bytes.begin(), s.bytes.end(), 0);
    s.extent = 16;
    s.text = "pair";
    return s;
  }

  Sample make(int depth) {
    if (depth == 0) return pick(0, 5) == 0 ? pair() : basic();
    Sample child = make(depth - 1);
    Sample s;
    switch (pick(0, 10)) {
      case 0:
        contiguous(child, s);
        break;
      case 1:
        vector(child, s);
        break;
      case 2:
        hvector(child, s);
        break;
      case 3:
        indexed(child, s);
        break;
      case 4:
        hindexed(child, s);
        break;
      case 5:
        indexed_block(child, s);
        break;
      case 6:
        hindexed_block(child, s);
        break;
      case 7:
        structure(child, s, depth);
        break;
      case 8:
        resized(child, s);
        break;
      case 9:
        subarray(child, s);
        break;
      default:
        duplicate(child, s);
        break;
    }
    s.text += "(" + child.text + ")";
    release(child);
    MPI_Aint lower = 0, extent = 0;
    MPI_Type_get_extent(s.type, &lower, &extent);
    s.extent = extent;
    return s;
  }

  static void release(Sample& s) {
    int integers = 0, addresses = 0, types = 0, combiner = 0;
    MPI_Type_get_envelope(s.type, &integers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&s.type);
  }

 private:
  void contiguous(const Sample& child, Sample& s) {
    const int count = static_cast<int>(pick(0, 4));
    MPI_Type_contiguous(count, child.type, &s.type);
    append(s.bytes, child, 0, count);
    s.text = "contiguous" + std::to_string(count);
  }
  void vector(const Sample& child, Sample& s) {
    const int count = static_cast<int>(pick(1, 4)), length = static_cast<int>(pick(1, 3));
    int stride = static_cast<int>(pick(-6, 6));
    if (stride * child.extent == kUnsayable) stride = 3;
    MPI_Type_vector(count, length, stride, child.type, &s.type);
    for (int i = 0; i < count; ++i) append(s.bytes, child, i * stride * child.extent, length);
    s.text = "vector" + std::to_string(count) + "," + std::to_string(length) + "," + std::to_string(stride);
  }
  void hvector(const Sample& child, Sample& s) {
    const int count = static_cast<int>(pick(1, 4)), length = static_cast<int>(pick(1, 3));
    MPI_Aint stride = pick(-50, 50);
    if (stride == kUnsayable) stride = -3;
    MPI_Type_create_hvector(count, length, stride, child.type, &s.type);
    for (int i = 0; i < count; ++i) append(s.bytes, child, i * stride, length);
    s.text = "hvector" + std::to_string(count) + "," + std::to_string(length) + "," + std::to_string(stride);
  }
  std::vector<int> some(int count, int low, int high) {
    std::vector<int> out(static_cast<size_t>(count));
    for (int& v : out) v = static_cast<int>(pick(low, high));
    return out;
  }
  void indexed(const Sample& child, Sample& s) {
    const int count = static_cast<int>(pick(1, 5));
    const auto lengths = some(count, 0, 3), displacements = some(count, -8, 8);
    MPI_Type_indexed(count, lengths.data(), displacements.data(), child.type, &s.type);
    for (size_t i = 0; i < lengths.size(); ++i)
      append(s.bytes, child, displacements[i] * child.extent, lengths[i]);
    s.text = "indexed" + std::to_string(count);
  }
  void hindexed(const Sample& child, Sample& s) {
    const int count = static_cast<int>(pick(1, 5));
    const auto lengths = some(count, 0, 3);
    const auto small = some(count, -40, 40);
    const std::vector<MPI_Aint> displacements(small.begin(), small.end());
    MPI_Type_create_hindexed(count, lengths.data(), displacements.data(), child.type, &s.type);
    for (size_t i = 0; i < lengths.size(); ++i) append(s.bytes, child, displacements[i], lengths[i]);
    s.text = "hindexed" + std::to_string(count);
  }
  void indexed_block(const Sample& child, Sample& s) {
    const int count = static_cast<int>(pick(1, 5)), length = static_cast<int>(pick(1, 3));
    auto displacements = some(count, -8, 8);
    if (pick(0, 1) == 0) {  // a column in disguise, or blocks that touch
      for (size_t i = 0; i < displacements.size(); ++i) displacements[i] = static_cast<int>(i) * length;
    }
    MPI_Type_create_indexed_block(count, length, displacements.data(), child.type, &s.type);
    for (int d : displacements) append(s.bytes, child, d * child.extent, length);
    s.text = "indexed_block" + std::to_string(count);
  }
  void hindexed_block(const Sample& child, Sample& s) {
    const int count = static_cast<int>(pick(1, 5)), length = static_cast<int>(pick(1, 3));
    const auto small = some(count, -40, 40);
    const std::vector<MPI_Aint> displacements(small.begin(), small.end());
    MPI_Type_create_hindexed_block(count, length, displacements.data(), child.type, &s.type);
    for (MPI_Aint d : displacements) append(s.bytes, child, d, length);
    s.text = "hindexed_block" + std::to_string(count);
  }
  void structure(const Sample& child, Sample& s, int depth) {
    Sample other = make(depth - 1);
    const int lengths[] = {static_cast<int>(pick(0, 2)), static_cast<int>(pick(1, 2)),
                           static_cast<int>(pick(0, 2))};
    const MPI_Aint displacements[] = {pick(-60, 60), pick(-60, 60), pick(-60, 60)};
    const MPI_Datatype types[] = {child.type, other.type, child.type};
    MPI_Type_create_struct(3, lengths, displacements, types, &s.type);
    append(s.bytes, child, displacements[0], lengths[0]);
    append(s.bytes, other, displacements[1], lengths[1]);
    append(s.bytes, child, displacements[2], lengths[2]);
    s.text = "struct[" + other.text + "]";
    release(other);
  }
  void resized(const Sample& child, Sample& s) {
    const MPI_Aint lower = pick(-30, 30), extent = pick(-64, 64);
    MPI_Type_create_resized(child.type, lower, extent, &s.type);
    s.bytes = child.bytes;
    s.text = "resized" + std::to_string(lower) + "," + std::to_string(extent);
  }
  void subarray(const Sample& child, Sample& s) {
    int sizes[2], parts[2], starts[2];
    for (int d = 0; d < 2; ++d) {
      sizes[d] = static_cast<int>(pick(1, 4));
      parts[d] = static_cast<int>(pick(1, sizes[d]));
      starts[d] = static_cast<int>(pick(0, sizes[d] - parts[d]));
    }
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, child.type, &s.type);
    for (int i = 0; i < parts[0]; ++i) {
      append(s.bytes, child, ((starts[0] + i) * sizes[1] + starts[1]) * child.extent, parts[1]);
    }
    s.text = "subarray";
  }
  void duplicate(const Sample& child, Sample& s) {
    MPI_Type_dup(child.type, &s.type);
    s.bytes = child.bytes;
    s.text = "dup";
  }

  std::mt19937 random_;
};

uint32_t seed_of_this_run() {
  const char* given = std::getenv("STRIA_TEST_SEED");
  return given != nullptr ? static_cast<uint32_t>(std::strtoul(given, nullptr, 0)) : std::random_device{}();
}

// The bytes of `count` instances in typemap order, read from memory whose byte at offset o is `content(o)`.
uint8_t content(int64_t offset) {
  return static_cast<uint8_t>((offset * 2654435761u) >> 13);
}

void expect_equal(const Sample& s, int64_t count) {
  stria_layout_t* layout = shim_layout(s.type);
  ASSERT_NE(layout, nullptr) << s.text << ": " << stria_last_error();
  stria_layout_bounds_t bounds;
  ASSERT_EQ(stria_layout_bounds(layout, &bounds), STRIA_OK);
  MPI_Aint lower = 0, extent = 0;
  MPI_Type_get_extent(s.type, &lower, &extent);
  EXPECT_EQ(bounds.size, static_cast<int64_t>(s.bytes.size())) << s.text;
  EXPECT_EQ(bounds.lower_bound, lower) << s.text;
  EXPECT_EQ(bounds.extent, extent) << s.text;

  std::vector<int64_t> map;
  append(map, s, 0, count);
  int64_t low = 0, high = 0;
  for (int64_t b : map) {
    low = std::min(low, b);
    high = std::max(high, b + 1);
  }
  std::vector<uint8_t> memory(static_cast<size_t>(high - low));
  for (int64_t o = low; o < high; ++o) memory[static_cast<size_t>(o - low)] = content(o);
  std::vector<uint8_t> packed(map.size()), expected(map.size());
  for (size_t i = 0; i < map.size(); ++i) expected[i] = content(map[i]);
  ASSERT_EQ(stria_layout_pack(layout, memory.data() - low, count, 0, static_cast<int64_t>(map.size()),
                              packed.data()),
            STRIA_OK)
      << s.text << ": " << stria_last_error();
  EXPECT_EQ(packed, expected) << s.text;
  stria_layout_free(layout);

  int64_t first = 0;
  uint64_t bytes = 0;
  if (shim_contiguous(s.type, static_cast<size_t>(count), &first, &bytes)) {
    ASSERT_EQ(bytes, map.size()) << s.text;
    for (size_t i = 0; i < map.size(); ++i) ASSERT_EQ(map[i], first + static_cast<int64_t>(i)) << s.text;
  }
}

TEST(Description, OfARandomTypeIsTheTypemap) {
  const uint32_t seed = seed_of_this_run();
  RecordProperty("seed", static_cast<int>(seed));
  SCOPED_TRACE("STRIA_TEST_SEED=" + std::to_string(seed));
  Generator generator(seed);
  const std::int64_t types = stria::test::rounds(6000);
  for (std::int64_t i = 0; i < types && !HasFailure(); ++i) {
    Sample s = generator.make(static_cast<int>(generator.pick(0, 4)));
    if (s.bytes.size() <= kMostBytes) {
      MPI_Datatype committed = s.type;
      MPI_Type_commit(&committed);
      expect_equal(s, generator.pick(0, 3));
    }
    Generator::release(s);
  }
}

TEST(Description, OfALongIndexedTypeIsTheTypemap) {
  Sample s;
  std::vector<int> displacements(100000);
  for (size_t i = 0; i < displacements.size(); ++i) displacements[i] = static_cast<int>(2 * i + i % 3);
  MPI_Type_create_indexed_block(static_cast<int>(displacements.size()), 1, displacements.data(), MPI_INT,
                                &s.type);
  MPI_Type_commit(&s.type);
  for (int d : displacements) {
    for (int b = 0; b < 4; ++b) s.bytes.push_back(4 * static_cast<int64_t>(d) + b);
  }
  expect_equal(s, 1);
  Generator::release(s);
}

TEST(Description, OfAnEmptyTypeHasNoBytes) {
  MPI_Datatype empty = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_commit(&empty);
  Sample s;
  s.type = empty;
  expect_equal(s, 3);
  MPI_Type_free(&empty);
}

}  // namespace

int main(int argc, char** argv) {
  setenv("OMPI_MCA_pml", "ob1", 1);
  setenv("OMPI_MCA_btl", "self", 1);
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  MPI_Finalize();
  return failed;
}
