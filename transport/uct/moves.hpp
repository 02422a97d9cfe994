// Gets, puts and atomics. One is asked of UCX in requests, each for one run of the peer's memory: straight
// from memory to memory where both sides' runs are long, else by a buffer of UCX.
//
//   start ──► requests ── all asked for ──► under way (operations.hpp)
//                │  ▲
//                ▼  │ resume: UCX has room
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
  const transport::Header* finish;  ///< of a packet behind it that ends the key, or null
};

class Moves {
 public:
  Moves(Shared& shared, Operations& operations) noexcept : shared_(shared), operations_(operations) {}

  Status start(Link& link, const Access& access) noexcept;
  Status start_atomic(Link& link, const transport::Atomic& atomic, const transport::Key& key,
                      transport::Completion* completion) noexcept;
  bool have_stalled() const noexcept { return stalled_ != nullptr; }
  /// Goes on with those that found no room.
  void resume() noexcept;
  /// Nothing more is asked for the link.
  void drop(Link& link) noexcept;

 private:
  uct_mem_h registered(const Operation& operation, const Reach& reach) noexcept;
  Status ask(Operation& operation) noexcept;
  ucs_status_t ask_one(Operation& operation, std::uint64_t address, std::uint64_t& bytes) noexcept;
  ucs_status_t get_by_buffer(Operation& operation, std::uint64_t address, std::uint64_t bytes) noexcept;
  ucs_status_t put_by_buffer(Operation& operation, std::uint64_t address, std::uint64_t bytes) noexcept;
  void stall(Operation& operation) noexcept;

  Shared& shared_;
  Operations& operations_;
  Operation* stalled_ = nullptr;  // the first to go on
  Operation* last_stalled_ = nullptr;
};

}  // namespace stria::uct
