// MPI_PACKED on one side and a derived type on the other: MPI_Pack's bytes are received as the type they were
// packed from, and a type is received as MPI_PACKED and taken apart by MPI_Unpack, in one call or several.
// Every byte is compared with the stream, the gaps with what was there.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "tests/mpi/harness.hpp"

namespace {

using namespace mpitest;

constexpr int kTag = 5;
constexpr std::byte kUntouched{0xA5};

/// Blocks of `block` bytes, `pitch` apart; the last one may be shorter.
struct Shape {
  std::size_t block, pitch;
};
constexpr Shape kShapes[] = {{8, 24}, {24, 40}, {1000, 1300}, {100000, 100064}};

/// A type of `bytes` bytes of a shape, and memory for it.
class Rows {
 public:
  Rows(const Shape& shape, std::size_t bytes) : shape_(shape), bytes_(bytes) {
    const auto whole = static_cast<int>(bytes / shape.block), rest = static_cast<int>(bytes % shape.block);
    MPI_Datatype rows = MPI_DATATYPE_NULL;
    MPI_Type_create_hvector(whole, static_cast<int>(shape.block), static_cast<MPI_Aint>(shape.pitch),
                            MPI_BYTE, &rows);
    const int counts[] = {1, rest};
    const MPI_Aint at[] = {0, whole * static_cast<MPI_Aint>(shape.pitch)};
    const MPI_Datatype types[] = {rows, MPI_BYTE};
    MPI_Type_create_struct(2, counts, at, types, &type_);
    MPI_Type_commit(&type_);
    MPI_Type_free(&rows);
    memory_.resize((bytes / shape.block + 1) * shape.pitch, kUntouched);
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  ~Rows() { MPI_Type_free(&type_); }

  MPI_Datatype type() const { return type_; }
  std::byte* data() { return memory_.data(); }
  void fill_stream(std::uint64_t key) {
    std::vector<std::byte> stream(bytes_);
    fill(stream.data(), bytes_, key);
    for_each_block([&](std::size_t at, std::size_t from, std::size_t n) {
      std::memcpy(memory_.data() + at, stream.data() + from, n);
    });
  }
  void expect_stream(std::uint64_t key, const std::string& what) const {
    std::vector<std::byte> stream(bytes_), rest = memory_;
    for_each_block([&](std::size_t at, std::size_t from, std::size_t n) {
      std::memcpy(stream.data() + from, memory_.data() + at, n);
      std::fill_n(rest.begin() + static_cast<std::ptrdiff_t>(at), n, kUntouched);
    });
    expect_pattern(stream.data(), bytes_, key, what);
    expect(std::all_of(rest.begin(), rest.end(), [](std::byte b) { return b == kUntouched; }),
           text(what, ": a gap was written"));
  }

 private:
  template <class Each>
  void for_each_block(Each each) const {
    for (std::size_t from = 0; from < bytes_; from += shape_.block)
      each(from / shape_.block * shape_.pitch, from, std::min(shape_.block, bytes_ - from));
  }
  const Shape shape_;
  const std::size_t bytes_;
  std::vector<std::byte> memory_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// A message whose head is a number of its own, as programs pack it: both as one type from address 0.
class WithHead {
 public:
  WithHead(Rows& rows, int& head) {
    const int ones[] = {1, 1};
    MPI_Aint at[2];
    MPI_Get_address(&head, &at[0]);
    MPI_Get_address(rows.data(), &at[1]);
    const MPI_Datatype types[] = {MPI_INT, rows.type()};
    MPI_Type_create_struct(2, ones, at, types, &type_);
    MPI_Type_commit(&type_);
  }
  WithHead(const WithHead&) = delete;
  WithHead& operator=(const WithHead&) = delete;
  ~WithHead() { MPI_Type_free(&type_); }
  MPI_Datatype type() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

struct Exchange {
  int rank, sender;
  bool expected;
  bool sends() const { return rank == sender; }

  void send(const void* base, int count, MPI_Datatype type) const {
    if (expected) MPI_Recv(nullptr, 0, MPI_BYTE, 1 - rank, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(base, count, type, 1 - rank, kTag, MPI_COMM_WORLD);
  }
  MPI_Status receive(void* base, int count, MPI_Datatype type) const {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    if (expected) {
      MPI_Irecv(base, count, type, 1 - rank, kTag, MPI_COMM_WORLD, &request);
      MPI_Send(nullptr, 0, MPI_BYTE, 1 - rank, kTag, MPI_COMM_WORLD);
    } else {
      MPI_Probe(1 - rank, kTag, MPI_COMM_WORLD, &status);
      MPI_Irecv(base, count, type, 1 - rank, kTag, MPI_COMM_WORLD, &request);
    }
    MPI_Wait(&request, &status);
    return status;
  }
};

void expect_count(const MPI_Status& status, MPI_Datatype type, int wanted, const std::string& what) {
  int count = -1;
  MPI_Get_count(&status, type, &count);
  expect_equal(count, wanted, what);
}

std::vector<std::byte> room_for(int count, MPI_Datatype type, int head) {
  int bytes = 0, head_bytes = 0;
  MPI_Pack_size(count, type, MPI_COMM_WORLD, &bytes);
  MPI_Pack_size(head, MPI_INT, MPI_COMM_WORLD, &head_bytes);
  return std::vector<std::byte>(
      static_cast<std::size_t>(std::max(bytes + head_bytes, 1)));  // null is refused
}
int size_of(const std::vector<std::byte>& room) {
  return static_cast<int>(room.size());
}

void packed_to_type(const Exchange& to, const Shape& shape, std::size_t bytes, std::uint64_t key) {
  Rows rows(shape, bytes);
  if (to.sends()) {
    rows.fill_stream(key);
    std::vector<std::byte> packed = room_for(1, rows.type(), 0);
    int position = 0;
    MPI_Pack(rows.data(), 1, rows.type(), packed.data(), size_of(packed), &position, MPI_COMM_WORLD);
    to.send(packed.data(), position, MPI_PACKED);
  } else {
    const MPI_Status status = to.receive(rows.data(), 1, rows.type());
    expect_count(status, rows.type(), bytes == 0 ? 0 : 1, "instances");
    expect_count(status, MPI_BYTE, static_cast<int>(bytes), "bytes");
    rows.expect_stream(key, "packed, received as a type");
  }
}

void type_to_packed(const Exchange& to, const Shape& shape, std::size_t bytes, std::uint64_t key) {
  Rows rows(shape, bytes);
  if (to.sends()) {
    rows.fill_stream(key);
    to.send(rows.data(), 1, rows.type());
  } else {
    std::vector<std::byte> packed = room_for(1, rows.type(), 0);
    const MPI_Status status = to.receive(packed.data(), size_of(packed), MPI_PACKED);
    expect_count(status, MPI_PACKED, static_cast<int>(bytes), "packed bytes");
    int position = 0;
    MPI_Unpack(packed.data(), static_cast<int>(bytes), &position, rows.data(), 1, rows.type(),
               MPI_COMM_WORLD);
    rows.expect_stream(key, "a type, received packed");
  }
}

/// Packed by two calls, received as one type.
void packed_with_head_to_type(const Exchange& to, const Shape& shape, std::size_t bytes, std::uint64_t key) {
  Rows rows(shape, bytes);
  const int sent_head = static_cast<int>(key & 0xffff);
  if (to.sends()) {
    rows.fill_stream(key);
    std::vector<std::byte> packed = room_for(1, rows.type(), 1);
    int position = 0;
    MPI_Pack(&sent_head, 1, MPI_INT, packed.data(), size_of(packed), &position, MPI_COMM_WORLD);
    MPI_Pack(rows.data(), 1, rows.type(), packed.data(), size_of(packed), &position, MPI_COMM_WORLD);
    to.send(packed.data(), position, MPI_PACKED);
  } else {
    int head = -1;
    const WithHead whole(rows, head);
    to.receive(MPI_BOTTOM, 1, whole.type());
    expect_equal(head, sent_head, "head");
    rows.expect_stream(key, "packed with a head, received as a type");
  }
}

/// Sent as one type, taken apart by two calls.
void type_with_head_to_packed(const Exchange& to, const Shape& shape, std::size_t bytes, std::uint64_t key) {
  Rows rows(shape, bytes);
  int head = static_cast<int>(key & 0xffff);
  if (to.sends()) {
    rows.fill_stream(key);
    const WithHead whole(rows, head);
    to.send(MPI_BOTTOM, 1, whole.type());
  } else {
    const int sent_head = std::exchange(head, -1);
    std::vector<std::byte> packed = room_for(1, rows.type(), 1);
    const MPI_Status status = to.receive(packed.data(), size_of(packed), MPI_PACKED);
    expect_count(status, MPI_PACKED, static_cast<int>(bytes + sizeof head), "packed bytes");
    int position = 0;
    MPI_Unpack(packed.data(), size_of(packed), &position, &head, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Unpack(packed.data(), size_of(packed), &position, rows.data(), 1, rows.type(), MPI_COMM_WORLD);
    expect_equal(head, sent_head, "head");
    rows.expect_stream(key, "a type with a head, received packed");
  }
}

struct Way {
  const char* name;
  void (*run)(const Exchange&, const Shape&, std::size_t bytes, std::uint64_t key);
};
constexpr Way kWays[] = {{"packed to type", packed_to_type},
                         {"type to packed", type_to_packed},
                         {"packed with a head to type", packed_with_head_to_type},
                         {"type with a head to packed", type_with_head_to_packed}};

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "packed_types");
  if (session.size != 2) {
    expect(false, "needs 2 ranks");
    return session.finish();
  }
  std::vector<std::uint64_t> sizes = threshold_sizes();
  sizes.push_back(9000001);  // several slices of a get
  std::uint64_t key = session.seed;
  for (const std::uint64_t bytes : sizes) {
    for (const Shape& shape : kShapes) {
      for (const Way& way : kWays) {
        for (const bool expected : {true, false}) {
          const int sender = static_cast<int>(mix(++key) % 2);
          step(text(way.name, ", ", bytes, " bytes in blocks of ", shape.block, ", ",
                    expected ? "expected" : "unexpected"));
          way.run({session.rank, sender, expected}, shape, bytes, mix(key));
        }
      }
    }
  }
  return session.finish();
}
