// Memory of several kinds, and the image it is compared with; see typed_buffer.hpp.
#include "tests/mpi/p2p_random/typed_buffer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace p2p_random {
namespace {

constexpr std::int64_t kGuard = 64;
constexpr std::byte kUntouched{0xA5};

std::size_t room_of(const Layout& layout) {
  const auto [low, high] = bounds(layout.runs);
  return static_cast<std::size_t>(high - low + 2 * kGuard);
}

}  // namespace

Memory::Memory(mpitest::Rng& rng, std::size_t bytes)
    : kind_(static_cast<Kind>(rng.below(static_cast<std::uint64_t>(Kind::kinds)))), bytes_(bytes) {
  if (rng.chance(60)) offset_ = rng.below(64);
  const std::size_t whole = bytes_ + offset_;
  void* got = nullptr;
  if (kind_ == Kind::heap) {
    got = std::malloc(whole);
  } else if (kind_ == Kind::mpi) {
    MPI_Alloc_mem(static_cast<MPI_Aint>(whole), MPI_INFO_NULL, &got);
  } else {
    got = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  if (got == nullptr || got == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<std::byte*>(got);
  std::memset(base_, static_cast<int>(kUntouched), whole);
}

Memory::~Memory() {
  if (kind_ == Kind::heap) {
    std::free(base_);
  } else if (kind_ == Kind::mpi) {
    MPI_Free_mem(base_);
  } else {
    munmap(base_, bytes_ + offset_);
  }
}

void Memory::make_read_only() {
  if (kind_ == Kind::pages) mprotect(base_, bytes_ + offset_, PROT_READ);
}

TypedBuffer::TypedBuffer(mpitest::Rng& rng, std::uint64_t bytes)
    : bytes_(bytes),
      layout_(draw_layout(rng, bytes)),
      low_(bounds(layout_.runs).first - kGuard),
      memory_(rng, room_of(layout_)),
      origin_(memory_.data() - low_) {
  if (rng.chance(15)) {  // the same by absolute addresses
    const int one = 1;
    MPI_Aint address = 0;
    MPI_Get_address(origin_, &address);
    MPI_Datatype absolute = MPI_DATATYPE_NULL;
    MPI_Datatype relative = layout_.type.get();
    MPI_Type_create_struct(one, &layout_.count, &address, &relative, &absolute);
    layout_.type = OwnedType(absolute);
    layout_.count = one;
    origin_ = MPI_BOTTOM;
  }
  MPI_Datatype committed = layout_.type.get();
  MPI_Type_commit(&committed);
}

std::vector<std::byte> TypedBuffer::image(std::uint64_t key, std::uint64_t bytes) const {
  std::vector<std::byte> packed(bytes);
  mpitest::fill(packed.data(), bytes, key);
  std::vector<std::byte> wanted(memory_.size(), kUntouched);
  std::size_t taken = 0;
  for (const Run& run : layout_.runs) {
    const std::size_t piece = std::min(static_cast<std::size_t>(run.bytes), packed.size() - taken);
    std::copy_n(packed.data() + taken, piece, wanted.data() + index(run));
    taken += piece;
  }
  return wanted;
}

void TypedBuffer::fill(std::uint64_t key) {
  const std::vector<std::byte> wanted = image(key, bytes_);
  std::copy(wanted.begin(), wanted.end(), memory_.data());
  memory_.make_read_only();
}

bool TypedBuffer::holds(std::uint64_t key, std::uint64_t bytes) const {
  const std::vector<std::byte> wanted = image(key, bytes);
  return std::memcmp(wanted.data(), memory_.data(), wanted.size()) == 0;
}

bool TypedBuffer::untouched_outside() const {
  std::vector<std::byte> outside(memory_.data(), memory_.data() + memory_.size());
  for (const Run& run : layout_.runs) std::fill_n(outside.data() + index(run), run.bytes, kUntouched);
  return std::all_of(outside.begin(), outside.end(), [](std::byte b) { return b == kUntouched; });
}

std::string TypedBuffer::text() const {
  return mpitest::text(bytes_, " bytes in ", layout_.runs.size(), " runs, ", layout_.count, " instances",
                       origin_ == MPI_BOTTOM ? ", absolute" : "");
}

}  // namespace p2p_random
