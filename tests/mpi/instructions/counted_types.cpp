// Messages of derived types to itself, each counted by itself: callgrind writes a file whenever stria_case()
// is entered. Prints a line for each, in that order:
//   case GROUP LIMIT WAY BYTES MESSAGES
// What the ways of a group may cost is what `guidelines` says; LIMIT is for it. The bytes are checked.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

/// callgrind collects inside of this function alone.
extern "C" [[gnu::noinline]] void stria_counted(void (*work)(void*), void* argument) {
  work(argument);
  asm volatile("" ::: "memory");
}
/// What was collected before belongs to the case before.
extern "C" [[gnu::noinline]] void stria_case() {
  asm volatile("" ::: "memory");
}

namespace {

constexpr int kWarmUp = 8;  // messages: pages, free lists, the layout's way chosen
constexpr int kCounted = 4;

struct Type {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int count = 1;
};

MPI_Datatype committed(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}
MPI_Datatype column(int n) {
  MPI_Datatype out = MPI_DATATYPE_NULL;
  MPI_Type_vector(n, 1, n, MPI_DOUBLE, &out);
  return committed(out);
}

class Counter {
 public:
  Counter() : from_(kBytes), to_(kBytes), packed_(kBytes), arrived_(kBytes), expected_(kBytes) {
    std::iota(from_.begin(), from_.end(), char{1});
  }

  void derived(const char* group, const char* limit, const char* way, Type is) {
    run(group, limit, way, is, [&] { exchange(at(from_), at(to_), is.count, is.type); });
  }
  /// What a user does who does not trust derived types.
  void packed(const char* group, const char* limit, Type is) {
    int bytes = 0;
    MPI_Pack_size(is.count, is.type, MPI_COMM_SELF, &bytes);
    run(group, limit, "packed", is, [&] {
      int in = 0, out = 0;
      MPI_Pack(at(from_), is.count, is.type, packed_.data(), bytes, &in, MPI_COMM_SELF);
      exchange(packed_.data(), arrived_.data(), in, MPI_PACKED);
      MPI_Unpack(arrived_.data(), in, &out, at(to_), is.count, is.type, MPI_COMM_SELF);
    });
  }
  bool right() const { return right_; }

 private:
  static constexpr std::size_t kBytes = 4u << 20;
  static char* at(std::vector<char>& memory) {
    return memory.data() + kBytes / 4;
  }  // displacements of both signs

  static void exchange(void* from, void* to, int count, MPI_Datatype type) {
    MPI_Request both[2];
    MPI_Irecv(to, count, type, 0, 1, MPI_COMM_SELF, &both[0]);
    MPI_Isend(from, count, type, 0, 1, MPI_COMM_SELF, &both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  }
  void run(const char* group, const char* limit, const char* way, Type is,
           const std::function<void()>& message) {
    // What is expected: Open MPI's own copy.
    std::fill(to_.begin(), to_.end(), char{0});
    std::fill(expected_.begin(), expected_.end(), char{0});
    int bytes = 0, position = 0, out = 0;
    MPI_Pack_size(is.count, is.type, MPI_COMM_SELF, &bytes);
    MPI_Pack(at(from_), is.count, is.type, packed_.data(), bytes, &position, MPI_COMM_SELF);
    MPI_Unpack(packed_.data(), position, &out, at(expected_), is.count, is.type, MPI_COMM_SELF);
    for (int i = 0; i < kWarmUp; ++i) message();
    stria_case();
    for (int i = 0; i < kCounted; ++i)
      stria_counted([](void* of) { (*static_cast<const std::function<void()>*>(of))(); },
                    const_cast<std::function<void()>*>(&message));
    if (to_ != expected_) {
      std::fprintf(stderr, "%s, %s: the bytes are not those of MPI_Pack and MPI_Unpack\n", group, way);
      right_ = false;
    }
    std::printf("case %s %s %s %d %d\n", group, limit, way, position, kCounted);
  }

  std::vector<char> from_, to_, packed_, arrived_, expected_;
  bool right_ = true;
};

/// One column of 512 doubles in each notation.
std::vector<std::pair<const char*, Type>> columns() {
  constexpr int n = 512;
  const MPI_Aint row = n * MPI_Aint{8};
  std::vector<std::pair<const char*, Type>> out{{"vector", {column(n)}}};
  const auto add = [&](const char* name, MPI_Datatype type, int count = 1) {
    out.push_back({name, {committed(type), count}});
  };
  std::vector<int> ones(n, 1), in_doubles(n);
  std::vector<MPI_Aint> in_bytes(n);
  std::vector<MPI_Datatype> doubles(n, MPI_DOUBLE);
  for (int i = 0; i < n; ++i) in_doubles[i] = i * n, in_bytes[i] = i * row;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_hvector(n, 1, row, MPI_DOUBLE, &type);
  add("hvector", type);
  MPI_Type_indexed(n, ones.data(), in_doubles.data(), MPI_DOUBLE, &type);
  add("indexed", type);
  MPI_Type_create_hindexed(n, ones.data(), in_bytes.data(), MPI_DOUBLE, &type);
  add("hindexed", type);
  MPI_Type_create_hindexed_block(n, 1, in_bytes.data(), MPI_DOUBLE, &type);
  add("hindexed_block", type);
  MPI_Type_create_struct(n, ones.data(), in_bytes.data(), doubles.data(), &type);
  add("struct", type);
  const int sizes[] = {n, n}, part[] = {n, 1}, starts[] = {0, 0};
  MPI_Type_create_subarray(2, sizes, part, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
  add("subarray", type);
  MPI_Datatype wide = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_DOUBLE, 0, row, &wide);
  add("resized", wide, n);
  MPI_Type_contiguous(n / 8, wide, &type);
  MPI_Type_contiguous(8, type, &wide);
  add("nested", wide);
  return out;
}

/// 4 KiB in one piece, in several notations.
std::vector<std::pair<const char*, Type>> pieces() {
  constexpr int n = 512;
  std::vector<std::pair<const char*, Type>> out{{"bytes", {MPI_BYTE, n * 8}}, {"doubles", {MPI_DOUBLE, n}}};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(n, 1, 1, MPI_DOUBLE, &type);
  out.push_back({"vector", {committed(type)}});
  MPI_Type_contiguous(n / 2, MPI_2INT, &type);
  out.push_back({"pairs", {committed(type), 2}});
  std::vector<int> lengths(n / 2, 2), at(n / 2);
  for (int i = 0; i < n / 2; ++i) at[i] = 2 * i;
  MPI_Type_indexed(n / 2, lengths.data(), at.data(), MPI_DOUBLE, &type);
  out.push_back({"indexed", {committed(type)}});
  const int two[] = {n / 2, n};
  const MPI_Aint offsets[] = {0, n * MPI_Aint{4}};
  const MPI_Datatype kinds[] = {MPI_DOUBLE, MPI_INT};
  MPI_Type_create_struct(2, two, offsets, kinds, &type);
  out.push_back({"struct", {committed(type)}});
  return out;
}

/// 1000 structs {char; int; char; double}, each of which goes on in the next one, in several notations.
std::vector<std::pair<const char*, Type>> touching_structs() {
  constexpr int n = 1000;
  const int ones[] = {1, 1, 1, 1};
  const MPI_Aint offsets[] = {0, 4, 8, 16};
  const MPI_Datatype kinds[] = {MPI_CHAR, MPI_INT, MPI_CHAR, MPI_DOUBLE};
  MPI_Datatype one = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(4, ones, offsets, kinds, &one);
  std::vector<std::pair<const char*, Type>> out{{"instances", {committed(one), n}}};
  MPI_Type_contiguous(n, one, &type);
  out.push_back({"contiguous", {committed(type)}});
  std::vector<int> in_list(n, 1);
  std::vector<MPI_Aint> at(n);
  for (int i = 0; i < n; ++i) at[i] = i * MPI_Aint{24};
  MPI_Type_create_hindexed(n, in_list.data(), at.data(), one, &type);
  out.push_back({"hindexed", {committed(type)}});
  return out;
}

struct Named {
  const char* name;
  Type is;
};

std::vector<Named> shapes() {
  std::vector<Named> out;
  for (const auto& [name, n] : {std::pair{"column-8", 8}, {"column-64", 64}, {"column-512", 512}})
    out.push_back({name, {column(n)}});
  const auto add = [&](const char* name, MPI_Datatype type, int count = 1) {
    out.push_back({name, {committed(type), count}});
  };
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(32768, 1, 10, MPI_DOUBLE, &type);
  add("column-of-256-KiB", type);
  MPI_Type_vector(64, 1024, 2048, MPI_BYTE, &type);
  add("rows-of-1-KiB", type);
  MPI_Type_vector(1024, 1024, 2048, MPI_BYTE, &type);
  add("1-MiB-in-rows-of-1-KiB", type);
  MPI_Type_create_hvector(256, 1, -24, MPI_DOUBLE, &type);
  add("backwards", type);
  std::vector<int> lengths, at;
  unsigned random = 12345;
  for (int i = 0, next = 0; i < 1000; ++i) {
    random = random * 1664525 + 1013904223;
    lengths.push_back(1 + static_cast<int>(random >> 28));
    at.push_back(next);
    next += lengths.back() + 1 + static_cast<int>(random >> 20 & 15);
  }
  MPI_Type_indexed(1000, lengths.data(), at.data(), MPI_DOUBLE, &type);
  add("indexed-1000", type);
  const int ones[] = {1, 1, 1};
  const MPI_Aint offsets[] = {0, 8, 12};
  const MPI_Datatype kinds[] = {MPI_DOUBLE, MPI_INT, MPI_CHAR};
  MPI_Type_create_struct(3, ones, offsets, kinds, &type);
  add("struct-1", type);
  add("structs-1000", type, 1000);
  for (int axis = 0; axis < 3; ++axis) {
    static const char* const kNames[] = {"face-0", "face-1", "face-2"};
    const int sizes[] = {48, 48, 48}, starts[] = {0, 0, 0};
    int part[] = {48, 48, 48};
    part[axis] = 1;
    MPI_Type_create_subarray(3, sizes, part, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    add(kNames[axis], type);
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool right = false;
  {
    Counter counter;
    for (const Named& shape : shapes()) {
      counter.derived(shape.name, "packed", "derived", shape.is);
      counter.packed(shape.name, "packed", shape.is);
    }
    for (const auto& [name, is] : columns()) counter.derived("column", "equal", name, is);
    for (const auto& [name, is] : pieces()) counter.derived("one-piece", "equal", name, is);
    for (const auto& [name, is] : touching_structs()) counter.derived("touching-structs", "equal", name, is);
    right = counter.right();
  }
  stria_case();
  MPI_Finalize();
  return right ? 0 : 1;
}
