// Whether the core of a peer is near, which is that it shares its last-level cache with this one, or far.
// Lines that a near core has come many at a time; those of a far core come one by one, whatever the cores do.
// So what goes to far peers is stored in ways that fetch no lines, and a rendezvous moves its bytes in other
// ways (docs/notebook/rendezvous.md, "Past far caches").
//
// Each side of a link finds the distance out for itself, in one of two ways:
//
//   compared   Each device publishes which cache its core uses (hw/last_cache.hpp), and renews that at each
//              check(), as its process may move. Each side compares both numbers.
//   measured   Where the system does not tell one of the caches. Mostly that is a virtual machine, whose
//              processors move to other cores while it runs. Each side sends probes by its window: records
//              without a packet, whose lines the receiver times when it finds them. One goes when both sides
//              are connected, and one at each check() if the side has sent since the last one. The receiver
//              publishes what it has found, and its peer believes that where no probe came to the peer.
//
// Two sides without a window to each other have no probes: each takes the other to be near.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include "hw/last_cache.hpp"
#include "hw/line_time.hpp"
#include "transport/shm/record.hpp"

namespace stria::shm {

inline constexpr std::uint32_t kProbes = 3;  // so many in a row decide, and the first one alone
// The last kTimedLines of a probe are timed. The lines before them keep them apart from those of the probe
// before, as the processor fetches ahead, to the end of a page.
inline constexpr std::uint32_t kProbeLines = 48, kTimedLines = 16;
inline constexpr std::uint32_t kProbeHalves = 2 * kProbeLines;
inline constexpr std::uint32_t kProbeBytes = kProbeLines * kLine - kRecordHeader;
static_assert(record_halves(kProbeBytes) == kProbeHalves);

/// Nanoseconds of a clock that all processes of the host have in common; a probe has the time of its sending
/// in place of a tag.
inline std::uint64_t probe_time() noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
}

/// What one side of a link has measured.
enum class Verdict : std::uint32_t { none = 0, near = 1, far = 2 };

/// The distance of one peer. Private memory, one thread.
class Distance {
 public:
  bool is_far() const noexcept { return is_far_; }
  /// Whether probes tell the distance.
  bool is_measured() const noexcept { return source_ == Source::measured; }
  /// Whether the peer may have to measure the distance, whatever tells it to this side.
  bool needs_probes() const noexcept { return !is_told_; }
  /// Sets the distance that the user says, for good.
  void force(bool is_far) noexcept {
    source_ = Source::forced;
    is_far_ = is_far;
  }
  /// Compares the cache of this side's core with that of the peer's. True: is_far() changed.
  bool compare(std::uint32_t own, std::uint32_t peers) noexcept {
    is_told_ = own != hw::kNoCache && peers != hw::kNoCache;
    if (source_ == Source::forced) return false;
    source_ = is_told_ ? Source::compared : Source::measured;
    return is_told_ && set(own != peers);
  }
  /// Notes that the lines of a probe took `line_ns` nanoseconds each. The first one decides, as nothing else
  /// is known. Then the distance changes when the last kProbes probes say so: one may wait for something
  /// else. True: is_far() changed.
  bool note(double line_ns) noexcept {
    if (!is_measured() || line_ns > kAbsurdNs) return false;  // the thread was interrupted
    const bool slow = line_ns > hw::kFarLineNs;
    alike_ = alike_ == 0 ? kProbes : slow == is_slow_ ? alike_ + 1 : 1;
    is_slow_ = slow;
    if (alike_ < kProbes) return false;
    measures_ = has_measured_ = true;
    return set(slow);
  }
  /// What this side has measured.
  Verdict verdict() const noexcept {
    return !has_measured_ ? Verdict::none : is_far_ ? Verdict::far : Verdict::near;
  }
  /// Believes what the peer has measured, unless probes have decided here since the last call. True: is_far()
  /// changed.
  bool believe(Verdict of_peer) noexcept {
    const bool decides = std::exchange(measures_, false);
    if (!is_measured() || decides || of_peer == Verdict::none) return false;
    has_measured_ = false;  // what was measured here is older
    return set(of_peer == Verdict::far);
  }

 private:
  enum class Source : std::uint8_t { measured, compared, forced };
  static constexpr double kAbsurdNs = 200;

  bool set(bool is_far) noexcept {
    const bool changes = is_far != is_far_;
    is_far_ = is_far;
    return changes;
  }

  std::uint32_t alike_ = 0;  // probes in a row that say as the last one does
  Source source_ = Source::measured;
  bool is_far_ = false;
  bool is_slow_ = false;       // the lines of the last probe were slow
  bool is_told_ = false;       // the system tells both caches
  bool measures_ = false;      // probes have decided since the last call of believe()
  bool has_measured_ = false;  // is_far_ is what probes have decided here
};

}  // namespace stria::shm
