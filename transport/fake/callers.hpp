// Who is inside a device: one thread at a time, no progress from inside an upcall, and no call at all from
// inside `place`. A caller that breaks this ends the process with a message.
#pragma once

#include <atomic>

namespace stria::fake {

/// Ends the process: the code above broke the provider contract.
[[noreturn, gnu::cold]] void broken_contract(const char* call, const char* what) noexcept;

class Callers {
 public:
  /// A call, for as long as it lives. Nests.
  class Use {
   public:
    Use(Callers& callers, const char* call) noexcept : callers_(callers) { callers.enter(call); }
    ~Use() { callers_.leave(); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Callers& callers_;
  };
  /// A call that makes upcalls; none of these begins inside another.
  class Upcalls {
   public:
    Upcalls(Callers& callers, const char* call) noexcept : use_(callers, call), callers_(callers) {
      if (callers.makes_upcalls_) broken_contract(call, "called from inside an upcall");
      callers.makes_upcalls_ = true;
    }
    ~Upcalls() { callers_.makes_upcalls_ = false; }
    Upcalls(const Upcalls&) = delete;
    Upcalls& operator=(const Upcalls&) = delete;

   private:
    Use use_;
    Callers& callers_;
  };
  /// The upcall `place`.
  void set_asking(bool asking) noexcept { asking_ = asking; }

 private:
  void enter(const char* call) noexcept;
  void leave() noexcept;

  std::atomic<const void*> user_{nullptr};  // identifies the thread inside
  unsigned depth_ = 0;                      // of that thread
  bool makes_upcalls_ = false;
  bool asking_ = false;
};

}  // namespace stria::fake
