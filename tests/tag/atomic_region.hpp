// A region that peers may reach atomically, and an atomic of the API with how it ended.
#pragma once

#include <functional>

#include "tests/tag/world.hpp"

namespace stria::test {

inline constexpr unsigned kMoves = STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE;
inline constexpr unsigned kAtomic = STRIA_ACCESS_REMOTE_ATOMIC;
inline constexpr unsigned kWithCpu = kAtomic | STRIA_ACCESS_ATOMIC_WITH_CPU;

/// A region and its packed key.
class Shared {
 public:
  Shared(stria_worker_t* owner, void* memory, std::uint64_t bytes, unsigned access,
         const stria_layout_t* layout = nullptr) {
    EXPECT_EQ(stria_region_register(owner, memory, layout, layout == nullptr ? bytes : 1, access, &region_),
              STRIA_OK)
        << stria_last_error();
    EXPECT_EQ(stria_region_key(region_, packed_, &bytes_), STRIA_OK);
  }
  ~Shared() { end(); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  /// A key of an endpoint that leads to the owner; null: the region's memory was not named so.
  stria_key_t* key_for(stria_endpoint_t* endpoint) const {
    stria_key_t* key = nullptr;
    EXPECT_EQ(stria_key_open(endpoint, packed_, bytes_, &key), STRIA_OK) << stria_last_error();
    return key;
  }
  void end() {
    if (region_ != nullptr) {
      EXPECT_EQ(stria_region_deregister(region_), STRIA_OK);
    }
    region_ = nullptr;
  }
  /// The worker that owns it was closed, and the region with it.
  void forget() { region_ = nullptr; }

 private:
  stria_region_t* region_ = nullptr;
  char packed_[STRIA_KEY_MAX];
  size_t bytes_ = sizeof(packed_);
};

struct AtomicOp : Op {
  std::uint64_t before = 0;

  stria_status_t start(stria_endpoint_t* endpoint, const stria_key_t* key, std::uint64_t offset,
                       stria_atomic_op_t what, std::uint64_t operand, std::uint64_t compare = 0) {
    const stria_atomic_t args{sizeof args, what, key, offset, operand, compare, &before, &Op::on_done, this};
    callbacks = 0;
    answer = stria_atomic(endpoint, &args, &request);
    if (answer == STRIA_OK) info.status = STRIA_OK;
    return answer;
  }
  stria_status_t add(stria_endpoint_t* endpoint, const stria_key_t* key, std::uint64_t operand = 1,
                     std::uint64_t offset = 0) {
    return start(endpoint, key, offset, STRIA_ATOMIC_FETCH_ADD, operand);
  }
  stria_status_t swap(stria_endpoint_t* endpoint, const stria_key_t* key, std::uint64_t compare,
                      std::uint64_t operand, std::uint64_t offset = 0) {
    return start(endpoint, key, offset, STRIA_ATOMIC_COMPARE_SWAP, operand, compare);
  }
  stria_status_t outcome() const { return answer == STRIA_IN_PROGRESS ? info.status : answer; }
};

}  // namespace stria::test
