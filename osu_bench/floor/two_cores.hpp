// A ping-pong of a shape between two threads on cores of their own, by plain loops: one gathers fragments
// into a ring, the other scatters them, at the same time. This is what two cores can do without mapping each
// other's memory; it knows nothing of messages, matching or types.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "osu_bench/common/buffer.hpp"
#include "osu_bench/floor/cores.hpp"
#include "osu_bench/floor/loops.hpp"

namespace stria::bench {

/// Both threads' memories: as in the benchmark, each has one to send from and one to receive into.
struct Sides {
  std::byte* out[2];
  std::byte* in[2];
};

/// The cores of the two threads.
struct CoresOfBoth {
  int here, there;
};

class TwoCores {
 public:
  /// The calling thread is the first of the two; it stays on its core. Fragments of about `fragment` bytes.
  TwoCores(const Loops& sent, const Loops& received, const Sides& sides, std::int64_t fragment,
           CoresOfBoth on);
  ~TwoCores();
  TwoCores(const TwoCores&) = delete;
  TwoCores& operator=(const TwoCores&) = delete;

  /// There and back.
  void exchange();
  /// Nanoseconds in which a line goes one way.
  double line_ns();

 private:
  static constexpr std::uint64_t kSlots = 8;
  /// One direction. A slot is written when filled - drained < kSlots and read when drained < filled.
  struct Ring {
    alignas(kLine) std::atomic<std::uint64_t> filled{0};   // by the sender, release; pairs with receive()
    alignas(kLine) std::atomic<std::uint64_t> drained{0};  // by the receiver, release; pairs with send()
    alignas(kLine) std::uint64_t sender = 0;               // the sender's own count
    alignas(kLine) std::uint64_t receiver = 0;             // the receiver's own count
    Buffer slots;
  };

  void send(Ring& ring, const std::byte* from);
  /// False when the other thread is to end.
  bool receive(Ring& ring, std::byte* to);

  static constexpr std::uint64_t kTrips = 40;
  static constexpr int kRepeats = 4;

  const Loops& sent_;
  const Loops& received_;
  Sides sides_;
  std::vector<std::vector<Part>> gathered_;
  std::vector<std::vector<Part>> scattered_;
  std::size_t slot_bytes_ = 0;
  Ring there_;
  Ring back_;
  LinePair lines_;
  std::uint64_t trip_ = 0;
  alignas(kLine) std::atomic<bool> stop_{false};
  bool trips_ = false;  // the first thread wants line_ns(); ordered by the messages of exchange()
  std::thread other_;
};

}  // namespace stria::bench
