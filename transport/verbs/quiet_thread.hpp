// A thread with all signals blocked, so that no signal of the application is delivered to it.
#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace stria::verbs {

/// Starts a thread that runs `body`. The thread inherits the blocked signals; the caller's mask is restored.
/// Throws std::system_error like std::thread.
template <class Body>
std::thread quiet_thread(Body body) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  struct Restore {
    const sigset_t& mask;
    ~Restore() { ::pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } restore{before};
  return std::thread(std::move(body));
}

}  // namespace stria::verbs
