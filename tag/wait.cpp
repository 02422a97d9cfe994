// Sleeping and waking. A thread that finds nothing to do arms the devices and sleeps on the alarm without the
// lock. It is woken by a device (through the device's event descriptor), by work that another thread leaves
// (Activity::work_left()), and by a progress() of another thread, which takes packets out and disarms the
// devices.
//
// While another thread polls all the time, arming the devices for each of its calls would keep both threads
// busy. So a thread that was woken for nothing naps on the wakeup descriptor alone, kNapMs long, and arms the
// devices only then.
#include <poll.h>
#include <sched.h>

#include <vector>

#include "tag/worker.hpp"

namespace stria::tag {
namespace {

constexpr int kNapMs = 1;

}  // namespace

bool Worker::open_alarm() noexcept {
  if (activity_.alarm_is_open()) return true;
  try {
    const std::vector<int> fds = devices_.event_fds();
    return !fds.empty() && activity_.open_alarm(fds);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

int Worker::event_fd() noexcept {
  return open_alarm() ? activity_.alarm_fd() : -1;
}

Status Worker::arm() noexcept {
  if (!rndv_.resting() || activity_.has_backlog()) return Status::no_resource;
  if (!open_alarm()) return Status::unsupported;
  if (!activity_.in_progress()) {
    const std::uint64_t before = activity_.handled();
    check_liveness(false);
    // A rail that was found dead may end no operation, but its pieces are to be asked for again.
    if (activity_.handled() != before || activity_.has_backlog() || !rndv_.resting())
      return Status::no_resource;
  }
  const Status armed = devices_.arm();
  if (armed == Status::ok) activity_.set_armed(context_.settings.liveness.count());
  return armed;
}

Status Worker::wait(int timeout_ms) noexcept {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto spin_until = begin + context_.settings.wait_spin;
  const auto deadline = begin + std::chrono::milliseconds(timeout_ms);
  const auto liveness = static_cast<int>(context_.settings.liveness.count());
  lock_.lock();
  const std::uint64_t before = activity_.handled();
  lock_.unlock();
  bool disturbed = false;
  for (unsigned round = 0;; ++round) {
    lock_.lock_to_look();
    progress();
    const bool handled = activity_.handled() != before;  // by this thread or another
    lock_.unlock();
    if (handled) return Status::ok;
    const auto now = Clock::now();
    if (timeout_ms >= 0 && now >= deadline) return Status::in_progress;
    if (now < spin_until) {
      if ((round & 15) == 15) ::sched_yield();
      continue;
    }
    // Wake now and then to see whether peers are alive.
    int sleep_ms = liveness;
    if (timeout_ms >= 0) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now).count() + 1;
      sleep_ms = static_cast<int>(std::min<std::int64_t>(sleep_ms, left));
    }
    const bool nap = disturbed;
    disturbed = false;
    pollfd entry{-1, POLLIN, 0};
    lock_.lock();
    if (nap) {
      entry.fd = activity_.wakeup_fd();
      sleep_ms = std::min(sleep_ms, kNapMs);
    } else if (arm() == Status::ok) {
      entry.fd = activity_.alarm_fd();
    }
    const bool asleep = entry.fd >= 0 && activity_.handled() == before;
    if (asleep) activity_.fall_asleep();
    lock_.unlock();
    if (!asleep) {
      ::sched_yield();
      continue;
    }
    const int woken = ::poll(&entry, 1, sleep_ms);
    lock_.lock();
    disturbed = activity_.wake_up() && !nap;
    if (woken == 0) check_liveness(false);
    lock_.unlock();
  }
}

}  // namespace stria::tag
