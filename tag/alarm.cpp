#include "tag/alarm.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace stria::tag {

bool Alarm::open(std::span<const int> devices) noexcept {
  UniqueFd wakeup(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  UniqueFd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  UniqueFd set(::epoll_create1(EPOLL_CLOEXEC));
  if (!wakeup || !timer || !set) return false;
  const auto add = [&](int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    return ::epoll_ctl(set.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  };
  if (!add(wakeup.get()) || !add(timer.get())) return false;
  for (const int fd : devices)
    if (!add(fd)) return false;
  wakeup_ = std::move(wakeup);
  timer_ = std::move(timer);
  set_ = std::move(set);
  return true;
}

void Alarm::wake_after(std::int64_t ms) noexcept {
  itimerspec when{};  // all zero would switch the timer off
  when.it_value.tv_sec = ms / 1000;
  when.it_value.tv_nsec = std::max<std::int64_t>(ms % 1000 * 1000000, 1);
  ::timerfd_settime(timer_.get(), 0, &when, nullptr);
}

void Alarm::notify() noexcept {
  if (!wakeup_ || notified_) return;
  const std::uint64_t one = 1;
  notified_ = ::write(wakeup_.get(), &one, sizeof(one)) == static_cast<ssize_t>(sizeof(one));
}

void Alarm::clear() noexcept {
  if (!notified_) return;
  std::uint64_t count = 0;
  notified_ = ::read(wakeup_.get(), &count, sizeof(count)) < 0;
}

}  // namespace stria::tag
