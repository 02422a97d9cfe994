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
  std::uint32_t pieces = 0;    ///< that were requested, or are to be once more, and did not come yet
  bool all_requested = false;
  Status status = Status::ok;  ///< of the pieces that came
};

/// A part of a get, to be requested in one or more pieces. Its offset is in the stream behind the get's key.
struct Part {
  Get* get = nullptr;
  std::uint64_t offset = 0;
  transport::Payload memory{};
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
