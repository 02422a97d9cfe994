#include "hw/machine/measure.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <new>
#include <thread>

#include "hw/machine/figures.hpp"
#include "hw/machine/processors.hpp"

namespace stria::hw {
namespace {

/// Threads that are started meanwhile take no signal: their handlers are the application's.
class NoSignals {
 public:
  NoSignals() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

/// Takes from `more` what `pair` has not.
void fill(Pair& pair, const Pair& more) noexcept {
  for (const PairFigure& figure : kPairFigures)
    if (pair.*figure.value == 0) pair.*figure.value = more.*figure.value;
}

/// Measures a pair, which its lines tell to be a near or a far one. Of two that are alike the first counts.
void measure_with(unsigned processor, const Arena& arena, const Deadline& deadline, Machine& found) {
  Partner partner(processor);
  if (!partner.is_bound()) return;
  const Pair pair = measure_pair(arena, partner, deadline);
  if (pair.line_ns > 0) fill(pair.line_ns > kFarLineNs ? found.far : found.near, pair);
}

/// In a thread of its own, which `own` is the processor of the caller's.
void measure_here(unsigned own, const Deadline& deadline, Measured& found) {
  const std::vector<unsigned> permitted = permitted_processors();
  if (!bind_to(own)) {
    found.remark = "the measuring thread cannot be bound to a processor";
    return;
  }
  const Arena arena;
  measure_core(arena, deadline, found.machine);
  const Partners partners = choose_partners(own, permitted, neighbours_of(own));
  for (const auto& partner : {partners.near, partners.far})
    if (partner && !deadline.passed()) measure_with(*partner, arena, deadline, found.machine);
  found.complete = !deadline.passed();
  if (!found.complete)
    found.remark = "the time for measuring was over before all was measured";
  else if (!partners.near && !partners.far)
    found.remark = "no second core is permitted to this process";
  else if (found.machine.attach_start_us == 0)
    found.remark = "the kernel refuses cross-memory attach";
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
    const int own = ::sched_getcpu();
    const NoSignals quiet;
    std::thread([&] {
      try {
        measure_here(own < 0 ? 0 : static_cast<unsigned>(own), deadline, found);
      } catch (...) {  // memory or a thread is refused
        found.complete = false;
      }
    }).join();
  } catch (...) {  // a thread is refused
  }
  return found;
}

}  // namespace stria::hw
