#include "transport/shm/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/format.hpp"

namespace stria::shm {
namespace {

constexpr std::size_t kPage = 4096;

constexpr bool is_power_of_two(std::uint32_t value) noexcept {
  return value != 0 && (value & (value - 1)) == 0;
}

}  // namespace

hw::KeyTableShape key_shape(const Shape& shape) noexcept {
  return {shape.keys, shape.max_peers};
}

Plan plan(const Shape& shape) noexcept {
  const bool sane = shape.max_peers >= 1 && shape.max_peers <= (1u << 20) && shape.windows <= kMaxWindows &&
                    is_power_of_two(shape.window_bytes) && shape.window_bytes >= 4096 &&
                    shape.window_bytes <= (1u << 24) && shape.pio_mtu <= most_pio_mtu(shape.window_bytes) &&
                    is_power_of_two(shape.inbox_slots) && shape.inbox_slots <= (1u << 20) &&
                    shape.cells >= 1 && shape.cells <= kMaxCells && shape.cell_bytes >= 4096 &&
                    shape.cell_bytes < (1u << 24) && shape.cell_bytes % kLine == 0 &&
                    shape.long_cells <= kMaxCells - shape.cells &&
                    (shape.long_cells == 0 || shape.long_cell_bytes > shape.cell_bytes) &&
                    shape.long_cell_bytes < (1u << 24) && shape.long_cell_bytes % kLine == 0 &&
                    shape.keys >= 1 && shape.keys <= hw::kKeyMaxSlots;
  if (!sane) return {};
  Plan at;
  std::size_t next = kPage;
  const auto place = [&next](std::size_t bytes) {
    const std::size_t here = next;
    next = align_up(here + bytes, kPage);
    return here;
  };
  at.keys = place(key_shape(shape).bytes());
  at.peers = place(std::size_t{shape.max_peers} * sizeof(PeerSlot));
  at.controls = place(std::size_t{shape.windows} * sizeof(WindowControl));
  at.states = place(std::size_t{all_cells(shape)} * sizeof(std::uint32_t));
  at.inbox = place(std::size_t{shape.inbox_slots} * kLine);
  at.windows = place(std::size_t{shape.windows} * shape.window_bytes);
  at.layouts = place(std::size_t{kLayoutSlots} * sizeof(LayoutSlot));
  const auto place_huge = [&next, &place](std::size_t bytes) {
    if (bytes >= kHugePage) next = align_up(next, kHugePage);
    return place(bytes);
  };
  at.cell_distance = cell_distance(shape.cell_bytes);
  at.long_cell_distance = cell_distance(shape.long_cell_bytes);
  at.cells = place_huge(shape.cells * at.cell_distance);
  at.long_cells = place_huge(shape.long_cells * at.long_cell_distance);
  at.bytes = next;
  return at;
}

void populate_pages(std::span<std::byte> memory, Pages how) noexcept {
#if defined(MADV_POPULATE_WRITE)
  static const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t before = reinterpret_cast<std::uintptr_t>(memory.data()) % page;
  ::madvise(memory.data() - before, before + memory.size(),  // whole pages, the last one too
            how == Pages::to_write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
#else
  static_cast<void>(memory);
  static_cast<void>(how);
#endif
}

bool make_huge_page(std::span<std::byte> memory) noexcept {
  constexpr int kCollapse = 25;  // MADV_COLLAPSE, which older C libraries have no name for
  if (memory.size() < kHugePage || reinterpret_cast<std::uintptr_t>(memory.data()) % kHugePage != 0)
    return false;
  // The kernel makes no huge page where there is no page yet.
  populate_pages(memory.first(1), Pages::to_write);
  return ::madvise(memory.data(), kHugePage, kCollapse) == 0;
}

void exclude_from_fork(const Mapping& map) noexcept {
  ::madvise(map.data(), map.bytes(), MADV_DONTFORK);
}

Result<SegmentMemory> create_segment(const char* name, std::size_t bytes) {
  const auto refuse = [&](const char* what) {
    return Error{Status::io_error, fmt::format("shm: {} of {} bytes: {}", what, bytes, std::strerror(errno))};
  };
  SegmentMemory made;
  made.fd.reset(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!made.fd) return refuse("memfd_create");
  if (::fchmod(made.fd.get(), 0600) != 0) return refuse("fchmod of the segment");
  if (::ftruncate(made.fd.get(), static_cast<off_t>(bytes)) != 0) return refuse("ftruncate of the segment");
  // A segment that cannot shrink cannot make a peer's load fault.
  if (::fcntl(made.fd.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
    return refuse("sealing of the segment");
  made.map = Mapping::shared(made.fd.get(), bytes);
  if (!made.map) return refuse("mmap of the segment");
  exclude_from_fork(made.map);
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  if (::fcntl(made.fd.get(), F_SETLK, &lock) != 0) return refuse("lock of the segment");
  return made;
}

}  // namespace stria::shm
