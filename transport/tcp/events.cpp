#include "transport/tcp/events.hpp"

#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/format.hpp"

namespace stria::tcp {

Result<Events> Events::open(Token timer) {
  Events out;
  out.epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  out.timer_.reset(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  out.timer_token_ = timer;
  if (!out.epoll_ || !out.timer_ || !out.control(out.timer_.get(), timer, EPOLLIN))
    return Error{Status::io_error, fmt::format("tcp: no descriptor to sleep on: {}", std::strerror(errno))};
  return out;
}

bool Events::control(int descriptor, Token token, std::uint32_t events) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.u64 = token;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0 ||
         (errno == EEXIST && ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor, &event) == 0);
}

bool Events::watch_changes(const UniqueFd& socket, Token token) noexcept {
  return control(socket.get(), token, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
}

bool Events::watch(const UniqueFd& socket, Token token, bool writes) noexcept {
  return control(socket.get(), token, writes ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void Events::set_timer(std::uint64_t ms) noexcept {
  constexpr std::uint64_t kMs = 1000;
  itimerspec when{};
  when.it_value.tv_sec = static_cast<time_t>(ms / kMs);
  when.it_value.tv_nsec = static_cast<long>(ms % kMs * 1000000);
  static_cast<void>(::timerfd_settime(timer_.get(), 0, &when, nullptr));
}

std::span<const Events::Event> Events::look() noexcept {
  epoll_event list[kMost];
  const int count = ::epoll_wait(epoll_.get(), list, kMost, 0);
  std::size_t filled = 0;
  for (int i = 0; i < count; ++i) {
    const std::uint32_t what = list[i].events;
    const bool failed = (what & (EPOLLERR | EPOLLHUP)) != 0;
    if (list[i].data.u64 == timer_token_) {
      std::uint64_t expired = 0;
      static_cast<void>(!::read(timer_.get(), &expired, sizeof expired));
    }
    list_[filled++] = {list[i].data.u64, failed || (what & EPOLLOUT) != 0,
                       failed || (what & (EPOLLIN | EPOLLRDHUP)) != 0};
  }
  return {list_, filled};
}

}  // namespace stria::tcp
