// The descriptor that a device's worker sleeps on: readable when something came since it was armed.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"

namespace stria::fake {

/// Under the fabric's lock, apart from open and fd.
class Wakeup {
 public:
  Result<void> open();
  /// -1: the device has none.
  int fd() const noexcept { return fd_ ? fd_.get() : -1; }
  void arm() noexcept;
  void disarm() noexcept;
  /// Something came.
  void notify() noexcept;

 private:
  void drain() noexcept;

  UniqueFd fd_;
  bool armed_ = false;
  bool signalled_ = false;
};

}  // namespace stria::fake
