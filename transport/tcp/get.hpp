// A get of the contract: bytes of the peer's memory that are requested in pieces, over any of the link's bulk
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
  transport::Payload local{};  ///< what is not requested yet
  std::uint64_t offset = 0;    ///< of it in the stream behind the key
  std::uint32_t pieces = 0;    ///< that were requested and did not come yet
  bool all_requested = false;
  Status status = Status::ok;  ///< of the pieces that came
};

/// The gets of a device; they do not move.
class GetPool {
 public:
  /// Null: there is no memory.
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
