#include "transport/fake/wakeup.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/format.hpp"

namespace stria::fake {

Result<void> Wakeup::open() {
  fd_.reset(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!fd_) return Error{Status::io_error, fmt::format("fake: eventfd: {}", std::strerror(errno))};
  return {};
}

void Wakeup::arm() noexcept {
  drain();
  armed_ = true;
}

void Wakeup::disarm() noexcept {
  armed_ = false;
  drain();
}

void Wakeup::notify() noexcept {
  if (!armed_ || !fd_ || signalled_) return;
  const std::uint64_t one = 1;
  signalled_ = ::write(fd_.get(), &one, sizeof one) == static_cast<ssize_t>(sizeof one);
}

void Wakeup::drain() noexcept {
  if (!signalled_) return;
  std::uint64_t count = 0;
  signalled_ = ::read(fd_.get(), &count, sizeof count) < 0;
}

}  // namespace stria::fake
