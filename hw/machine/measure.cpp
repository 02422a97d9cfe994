#include "hw/machine/measure.hpp"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <new>

#include "base/signal_block.hpp"
#include "hw/last_cache.hpp"
#include "hw/machine/processors.hpp"

namespace stria::hw {
namespace {

/// Measures the calling thread's core together with `processor`. False: that processor is busy, as the thread
/// there waited long for its turn.
bool measure_with(unsigned processor, const Arena& arena, const Deadline& deadline, Machine& found) {
  const Clock::time_point begin = Clock::now();
  Partner partner(processor);
  if (ns_since(begin) > deadline.limit_ns() / 3) return false;
  if (partner.is_bound()) measure_pair(arena, partner, deadline, found);
  return true;
}

void measure_here(const Deadline& deadline, Measured& found) {
  const SignalBlock quiet;
  const ScopedBinding bound;
  const Arena arena;
  measure_core(arena, deadline, found.machine);
  const Partners partners = choose_partners(bound.own(), bound.permitted(), neighbours_of(bound.own()));
  found.complete = true;
  for (const auto& partner : {partners.near, partners.far})
    if (partner && !deadline.passed())
      found.complete &= measure_with(*partner, arena, deadline, found.machine);
  found.complete &= !deadline.passed();
  // A virtual machine's processors may be nearer to each other, or farther, at another time.
  const bool may_differ = last_cache_of(bound.own()) == kNoCache && (partners.near || partners.far);
  const bool misses = found.machine.near.line_ns == 0 || found.machine.far.line_ns == 0;
  if (!found.complete)
    found.remark = "the processors were too busy to measure everything in time";
  else if (!partners.near && !partners.far)
    found.remark = "no second core is permitted to this process";
  else if (found.machine.attach_start_us == 0)
    found.remark = "the kernel refuses cross-memory attach";
  else if (may_differ && misses)
    found.remark = "no two cores were met that are near, or none that are far";
  found.complete &= !(may_differ && misses);
}

}  // namespace

Arena::Arena()
    : mapping_(::mmap(nullptr, kMapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                      -1, 0)) {
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<std::byte*>(mapping_);
  memory_ = begin + (-reinterpret_cast<std::uintptr_t>(begin) & (kHugePage - 1));
  ::madvise(memory_, kHugePage, MADV_HUGEPAGE);
  ::madvise(small_at(0), kSmallBytes, MADV_NOHUGEPAGE);
  constexpr std::size_t kPage = 4096;
  const auto touch = [](std::byte* pages, std::size_t bytes) {
    for (std::size_t page = 0; page < bytes; page += kPage)
      *static_cast<volatile std::byte*>(pages + page) = std::byte{1};
  };
  touch(at(0), kBytes);
  touch(small_at(0), kSmallBytes);
}

Arena::~Arena() {
  ::munmap(mapping_, kMapped);
}

double time_attach(std::byte* to, std::byte* from, std::size_t bytes) noexcept {
  const iovec here{to, bytes}, there{from, bytes};
  const Clock::time_point begin = Clock::now();
  if (::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) != static_cast<ssize_t>(bytes)) return 0;
  return ns_since(begin);
}

Measured measure(const Machine& known, const Deadline& deadline) noexcept {
  Measured found;
  found.machine = known;
  try {
    measure_here(deadline, found);
  } catch (...) {  // memory or a thread is refused
    found.complete = false;
  }
  return found;
}

Measured measure_unless_busy(const Machine& known, const Deadline& deadline) noexcept {
  if (!processors_are_busy()) return measure(known, deadline);
  Measured found;
  found.machine = known;
  found.tried = false;
  found.remark = "the processors are busy: more threads want to run than there are processors";
  return found;
}

}  // namespace stria::hw
