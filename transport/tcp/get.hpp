// A get of the contract: bytes of the peer's memory, requested in pieces over any of the link's bulk
// connections.
#pragma once

#include <cstdint>
#include <deque>
#include <new>

#include "base/intrusive_list.hpp"
#include "transport/contract.hpp"
#include "transport/tcp/record.hpp"

namespace stria::tcp {

struct Get : ListNode {
  transport::Completion* completion = nullptr;
  KeyName key;
  transport::Payload local{};  ///< memory for the bytes that are not requested yet
  std::uint64_t offset = 0;    ///< of `local` in the stream of the key's memory
  /// Pieces that are requested, or are to be requested once more, and have not come.
  std::uint32_t pieces = 0;
  bool all_requested = false;
  Status status = Status::ok;  ///< OK, or why a piece did not come
};

/// A part of a get, to be requested in one or more pieces. `offset`: in the stream of the memory of the get's
/// key.
struct Part {
  Get* get = nullptr;
  std::uint64_t offset = 0;
  transport::Payload memory{};
};

/// The gets of a device. A get never moves.
class GetPool {
 public:
  /// A get without content. Null: there is no memory.
  Get* take() noexcept try {
    Get* get = free_.pop_front();
    if (get == nullptr) return &all_.emplace_back();
    *get = Get{};
    return get;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  void give(Get& get) noexcept { free_.push_back(&get); }

 private:
  std::deque<Get> all_;
  IntrusiveList<Get> free_;
};

}  // namespace stria::tcp
