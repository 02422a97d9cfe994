// Memory of a test that peers map (stria_mem_alloc), or ordinary memory, as the test wants.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "stria/stria.h"

namespace stria::test {

/// Filled with `value`. Must go before its context does.
class Allocated {
 public:
  Allocated(stria_context_t* context, std::size_t bytes, bool is_mapped, unsigned char value = 0)
      : context_(context), bytes_(bytes) {
    if (is_mapped && stria_mem_alloc(context, bytes, &mapped_) != STRIA_OK) mapped_ = nullptr;
    if (mapped_ == nullptr) own_.resize(bytes);
    std::fill_n(data(), bytes, value);
  }
  ~Allocated() {
    if (mapped_ == nullptr) return;
    EXPECT_EQ(stria_mem_free(context_, mapped_), STRIA_OK);
  }
  Allocated(const Allocated&) = delete;
  Allocated& operator=(const Allocated&) = delete;

  bool is_mapped() const { return mapped_ != nullptr; }
  unsigned char* data() { return mapped_ != nullptr ? static_cast<unsigned char*>(mapped_) : own_.data(); }
  std::span<unsigned char> bytes() { return {data(), bytes_}; }

 private:
  stria_context_t* context_;
  std::size_t bytes_;
  void* mapped_ = nullptr;
  std::vector<unsigned char> own_;
};

}  // namespace stria::test
