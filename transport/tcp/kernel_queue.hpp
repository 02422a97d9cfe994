// What the kernel goes on with by itself while the application computes: bytes that a socket had no room for,
// or that have not come yet, and the memory that they go out of or into (io_uring).
//
//   send(), receive() ──► under way ── each step's bytes moved, or an error, or cancel() ──► over() ──►
//   next()
//
// The kernel works when the thread that asked for an operation enters or leaves the kernel, which a timer's
// interrupt does, too. So another thread that waits for the operation would wait for these interrupts: where
// more than one thread calls, nothing is begun any more. The calls are those of the device, one at a time.
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
  /// Bytes that go to or come from neighbouring places of a stream.
  struct Step {
    std::span<const iovec> runs;  ///< read when the step is begun
    msghdr* header;               ///< a place that the kernel may write to until the step is over
  };
  /// Belongs to one socket and one direction. Its steps are done one behind the other.
  class Operation : public ListNode {  // linked while next() has something to tell
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
    /// The next step is over: the kernel touches its memory no more. `result`: the bytes that were moved, or
    /// a negative errno; -ECANCELED: none were, and nothing is wrong; -ETIME: a delay is over. After a step
    /// that has moved less than all of its bytes those behind it move none. No queue may be called here.
    virtual void over(int result) noexcept = 0;
    unsigned steps_ = 0;  // that are not over
  };

  /// Errors as of Ring::take.
  static Result<std::unique_ptr<KernelQueue>> open();
  /// Nothing is under way.
  ~KernelQueue();
  KernelQueue(const KernelQueue&) = delete;
  KernelQueue& operator=(const KernelQueue&) = delete;

  /// All bytes of the steps are sent, or received. Their memory stays as it is until they are over. False:
  /// the kernel takes no more, or several threads have called, and nothing was begun.
  bool send(const UniqueFd& socket, std::span<const Step> steps, Operation& operation) noexcept;
  bool receive(const UniqueFd& socket, std::span<const Step> steps, Operation& operation) noexcept;
  /// When `delay` is over, which counts as a step, as many of the bytes as there is room for are sent, and
  /// are read then. False as of send().
  bool send_later(const UniqueFd& socket, std::span<const std::byte> bytes, std::chrono::nanoseconds delay,
                  Operation& operation) noexcept;
  /// Deadlines are kept: not for a thread that may end before them, and its requests with it.
  bool keeps_deadlines() noexcept { return is_main_ && !is_shared(); }
  /// Whether several threads have called, so that nothing is begun any more.
  bool is_shared() noexcept {
    is_shared_ |= ::pthread_self() != owner_;
    return is_shared_;
  }
  /// Ends all steps, and waits for that: bytes that were moved count.
  void cancel(Operation& operation) noexcept;

  /// Calls over() of each step that has ended.
  void update() noexcept;
  /// There may be something for next(). Takes no system call.
  bool has_news() noexcept;
  /// An operation some steps of which are over; null: none.
  Operation* next() noexcept;
  /// Readable while there is something for next().
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
  const bool is_main_ = ::gettid() == ::getpid();
  bool is_shared_ = false;  // another thread has called
  std::unique_ptr<Ring> ring_;
  IntrusiveList<Operation> ended_;
};

}  // namespace stria::tcp
