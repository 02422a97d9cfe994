// What the kernel does by itself while the application computes (io_uring): it sends bytes that a socket had
// no room for, and reads bytes that have not come yet, out of and into the memory of their messages.
//
//   send(), receive() ──► under way ── each step's bytes moved, an error, or cancel()
//                                      ──► step_has_ended() ──► next()
//
// The kernel works when the thread that asked for an operation enters or leaves the kernel, also by a timer's
// interrupt. Another thread that waits for the operation would have to wait for such an interrupt. So nothing
// is begun any more once more than one thread has called. Calls come one at a time, as those of the device
// do.
#pragma once

#include <pthread.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>

#include "base/fd.hpp"
#include "base/intrusive_list.hpp"
#include "base/result.hpp"
#include "transport/tcp/events.hpp"
#include "transport/tcp/ring.hpp"

namespace stria::tcp {

class KernelQueue {
 public:
  /// A contiguous part of a stream of bytes, and the memory that the part is sent from or read into.
  struct Step {
    std::span<const iovec> runs;  ///< read during the call that begins the steps
    msghdr* header;  ///< memory for the request; the kernel may write to it until the step is over
  };
  /// Steps that move bytes of one socket in one direction, one step behind the other.
  class Operation : public ListNode {  // linked while it waits to be answered by next()
   public:
    explicit Operation(Token owner) noexcept : token(owner) {}
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;
    bool is_under_way() const noexcept { return steps_ > 0; }
    const Token token;

   protected:
    virtual ~Operation() {
      if (linked()) unlink();
    }

   private:
    friend class KernelQueue;
    /// Called when the next step is over: the kernel does not touch the step's memory any more. `result`: the
    /// number of bytes moved, or a negative errno. -ECANCELED: none was moved, and nothing is wrong; -ETIME:
    /// a delay is over. After a step that has moved only a part of its bytes the later steps move none. No
    /// function of the queue may be called here.
    virtual void step_has_ended(int result) noexcept = 0;
    unsigned steps_ = 0;  // steps that are not over
  };

  /// Errors: those of Ring::take().
  static Result<std::unique_ptr<KernelQueue>> open();
  /// Only when no operation is under way.
  ~KernelQueue();
  KernelQueue(const KernelQueue&) = delete;
  KernelQueue& operator=(const KernelQueue&) = delete;

  /// Begins to send all bytes of the steps. The memory of the steps stays as it is until they are over. True:
  /// the first step is begun, and as many more as the kernel takes. False: none is begun, because the kernel
  /// takes no more, or several threads have called.
  bool send(const UniqueFd& socket, std::span<const Step> steps, Operation& operation) noexcept;
  /// Begins to receive the bytes of the steps, on the conditions of send().
  bool receive(const UniqueFd& socket, std::span<const Step> steps, Operation& operation) noexcept;
  /// Begins a delay, which counts as a step. When the delay is over, the kernel reads `bytes` and sends as
  /// many of them as there is room for. False: nothing will be sent, because the kernel takes no more, or
  /// several threads have called.
  bool send_later(const UniqueFd& socket, std::span<const std::byte> bytes, std::chrono::nanoseconds delay,
                  Operation& operation) noexcept;
  /// Whether deadlines may be given to the kernel: only by the main thread, because a thread's requests end
  /// with it.
  bool keeps_deadlines() noexcept { return is_main_ && !is_shared(); }
  /// Whether a thread other than the one that opened the queue calls, or has called: nothing is begun any
  /// more.
  bool is_shared() noexcept {
    is_shared_ |= ::pthread_self() != owner_;
    return is_shared_;
  }
  /// Cancels all steps of an operation, and waits until they are over. Bytes that were moved before are
  /// reported.
  void cancel(Operation& operation) noexcept;

  /// Calls step_has_ended() of each step that has ended.
  void update() noexcept;
  /// Whether next() may have something to answer. Makes no system call.
  bool has_news() noexcept;
  /// An operation of which a step has ended since it was last answered; null: there is none.
  Operation* next() noexcept;
  /// A descriptor that is readable while next() has something to answer.
  int descriptor() const noexcept;

 private:
  explicit KernelQueue(std::unique_ptr<Ring> ring) noexcept : ring_(std::move(ring)) {}
  enum class Way : unsigned char { out, in };
  bool begin(Way way, const UniqueFd& socket, std::span<const Step> steps, Operation& operation) noexcept;
  bool has_room(std::size_t requests) noexcept;
  struct Place {
    unsigned first, before;
  };
  Place place() const noexcept;
  unsigned submit(const Place& from, Operation& operation) noexcept;

  const pthread_t owner_ = ::pthread_self();
  const bool is_main_ = ::gettid() == ::getpid();  // the main thread has opened the queue
  bool is_shared_ = false;                         // another thread has called
  std::unique_ptr<Ring> ring_;
  IntrusiveList<Operation> ended_;
};

}  // namespace stria::tcp
