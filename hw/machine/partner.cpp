#include "hw/machine/partner.hpp"

namespace stria::hw {

bool bind_to(unsigned processor) noexcept {
  constexpr unsigned kMost = 8192;
  alignas(cpu_set_t) unsigned char bits[kMost / 8] = {};
  if (processor >= kMost) return false;
  auto* const set = reinterpret_cast<cpu_set_t*>(bits);
  CPU_SET_S(processor, sizeof bits, set);
  return ::sched_setaffinity(0, sizeof bits, set) == 0;
}

Partner::Partner(unsigned processor) : thread_([this, processor] { serve(processor); }) {
  spin_until([&] { return done_.load(std::memory_order_acquire) == 1; });
  posted_.store(1, std::memory_order_relaxed);
}

Partner::~Partner() {
  job_ = nullptr;
  posted_.store(posted_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  thread_.join();
}

void Partner::serve(unsigned processor) noexcept {
  bound_ = bind_to(processor);
  std::uint32_t served = 1;
  done_.store(served, std::memory_order_release);
  for (;;) {
    spin_until([&] { return posted_.load(std::memory_order_acquire) > served; });
    if (job_ == nullptr) return;
    job_(self_);
    done_.store(++served, std::memory_order_release);
  }
}

}  // namespace stria::hw
