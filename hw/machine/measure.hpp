// Measures a machine (hw/machine.hpp): first what one core does, then what it and another core do.
#pragma once

#include "base/fd.hpp"
#include "hw/machine.hpp"
#include "hw/machine/medians.hpp"
#include "hw/machine/partner.hpp"

namespace stria::hw {

/// Memory to measure in, whose pages are there; one huge page where the system gives it, as the first use of
/// many small ones takes milliseconds in some virtual machines. Throws std::bad_alloc.
class Arena {
 public:
  static constexpr std::size_t kBytes = std::size_t{1} << 20;
  static constexpr std::size_t kSmallBytes = std::size_t{1} << 17;
  Arena();
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  std::byte* at(std::size_t place) const noexcept { return memory_ + place; }
  /// Memory beside that of at(), in small pages, as the memory of most programs is: the kernel looks up each.
  std::byte* small_at(std::size_t place) const noexcept { return memory_ + kHugePage + place; }

 private:
  static constexpr std::size_t kMapped = 3 * kHugePage;
  std::byte* memory_ = nullptr;
  void* mapping_ = nullptr;
};

struct Measured {
  Machine machine;
  bool complete = false;  ///< the deadline did not pass before all was measured that can ever be
  bool tried = true;      ///< false: nothing was measured, as the processors were busy from the start
  std::string remark;     ///< why something is missing; "": nothing is
};
/// Measures until the deadline, with the calling thread, which is bound meanwhile, and a thread that it
/// starts. What `known` has is not measured again; what could not be measured is 0.
Measured measure(const Machine& known, const Deadline& deadline) noexcept;
/// Measures as measure() does, but returns at once where more threads want to run than there are processors.
Measured measure_unless_busy(const Machine& known, const Deadline& deadline) noexcept;

/// Measures what one core does by itself, on the calling thread.
void measure_core(const Arena& arena, const Deadline& deadline, Machine& found) noexcept;
/// Measures what the calling thread's core and the partner's cost each other. The time that a line takes
/// tells whether the pair is a near or a far one; the figures of the other kind are left alone.
void measure_pair(const Arena& arena, Partner& partner, const Deadline& deadline, Machine& found) noexcept;

/// Time, in ns, that a copy through the kernel takes within this process; 0: refused.
double time_attach(std::byte* to, std::byte* from, std::size_t bytes) noexcept;

}  // namespace stria::hw
