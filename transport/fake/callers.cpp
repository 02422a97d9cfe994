#include "transport/fake/callers.hpp"

#include <cstdio>
#include <cstdlib>

namespace stria::fake {

void broken_contract(const char* call, const char* what) noexcept {
  std::fprintf(stderr, "stria fake: %s: %s\n", call, what);
  std::abort();
}

void Callers::enter(const char* call) noexcept {
  thread_local const char me = 0;
  const void* user = user_.load(std::memory_order_relaxed);
  if (user != &me) {
    const void* nobody = nullptr;
    // acquire pairs with the release in leave(): depth_ is handed over.
    if (!user_.compare_exchange_strong(nobody, &me, std::memory_order_acquire))
      broken_contract(call, "two threads in one device at a time");
  }
  if (asking_) broken_contract(call, "called from inside place");
  ++depth_;
}

void Callers::leave() noexcept {
  if (--depth_ == 0) user_.store(nullptr, std::memory_order_release);
}

}  // namespace stria::fake
