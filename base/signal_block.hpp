// Blocks all signals of the calling thread while it lives. A thread that is started meanwhile inherits that,
// so it never runs the application's signal handlers, and takes no signal that the application's own threads
// block and wait for.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace stria {

class SignalBlock {
 public:
  SignalBlock() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalBlock() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;

 private:
  sigset_t before_;
};

}  // namespace stria
