// Starts gets, puts and atomics. A get or put is divided into requests to UCX. Each request is for one run of
// the peer's memory; it goes straight from memory to memory (zcopy) where the runs of both sides are long,
// and by a buffer of UCX otherwise.
//
//   start ──► posts requests ── all are posted ──► under way (operations.hpp)
//                │  ▲
//   UCX is full  ▼  │ resume: UCX has room again
//              stalled
#pragma once

#include <uct/api/uct.h>

#include <cstddef>
#include <cstdint>

#include "transport/contract.hpp"
#include "transport/uct/keys.hpp"
#include "transport/uct/operations.hpp"
#include "transport/uct/shared.hpp"

namespace stria::uct {

/// A get or a put, as the contract asks for it.
struct Access {
  bool writes;
  const transport::Payload& local;
  const transport::Key& key;
  std::uint64_t offset;
  transport::Completion* completion;
  const transport::Header* finish;  ///< header of the packet that follows a get and ends the key; null: none
};

class Moves {
 public:
  Moves(Shared& shared, Operations& operations) noexcept : shared_(shared), operations_(operations) {}

  /// Starts a get or put. Answers as the provider contract's get and put do.
  Status start(Link& link, const Access& access) noexcept;
  Status start_atomic(Link& link, const transport::Atomic& atomic, const transport::Key& key,
                      transport::Completion* completion) noexcept;
  bool have_stalled() const noexcept { return stalled_ != nullptr; }
  /// Posts further requests of the stalled operations, which UCX had no room for.
  void resume() noexcept;
  /// Posts no further request for the stalled operations of a link. Each ends with PEER_FAILED: now, or when
  /// its last request under way has ended.
  void drop(Link& link) noexcept;

 private:
  uct_mem_h register_local(const Operation& operation, const Reach& reach) noexcept;
  Status ask(Operation& operation) noexcept;
  ucs_status_t ask_one(Operation& operation, std::uint64_t address, std::uint64_t& bytes) noexcept;
  ucs_status_t get_by_buffer(Operation& operation, std::uint64_t address, std::uint64_t bytes) noexcept;
  ucs_status_t put_by_buffer(Operation& operation, std::uint64_t address, std::uint64_t bytes) noexcept;
  void stall(Operation& operation) noexcept;

  Shared& shared_;
  Operations& operations_;
  Operation* stalled_ = nullptr;  // head of the list of stalled operations; the head is resumed first
  Operation* last_stalled_ = nullptr;
};

}  // namespace stria::uct
