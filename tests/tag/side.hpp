// The memory of one side of a long message, and whether anybody touched it after its operation had ended.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stria/stria.h"

namespace stria::test {

using Bytes = std::vector<unsigned char>;
inline constexpr unsigned char kGivenBack = 0xdd;

/// The memory of one side: in one run, or instances of four blocks with gaps between.
struct Side {
  static constexpr std::size_t kBlocks = 4;
  std::size_t block = 0;  // 0: one run
  std::size_t bytes = 0;  // of the stream
  stria_layout_t* layout = nullptr;
  Bytes memory;
  bool is_ours = false;  // its operation ended

  Side() = default;
  Side(const Side&) = delete;
  ~Side() { stria_layout_free(layout); }
  void make(std::size_t stream, std::size_t block_bytes) {
    bytes = stream;
    block = block_bytes;
    memory.assign(block == 0 ? bytes : bytes / (kBlocks * block) * (2 * kBlocks - 1) * block, 0);
    if (block == 0) return;
    stria_layout_t* one = nullptr;
    EXPECT_EQ(stria_layout_bytes(block, &one), STRIA_OK);
    EXPECT_EQ(stria_layout_vector(kBlocks, 1, static_cast<std::int64_t>(2 * block), one, &layout), STRIA_OK);
    stria_layout_free(one);
  }
  std::size_t count() const { return block == 0 ? bytes : bytes / (kBlocks * block); }
  unsigned char& at(std::size_t i) {
    if (block == 0) return memory[i];
    const std::size_t in = i % (kBlocks * block);
    return memory[i / (kBlocks * block) * (2 * kBlocks - 1) * block + in / block * 2 * block + in % block];
  }
  void give_back() {
    is_ours = true;
    std::fill(memory.begin(), memory.end(), kGivenBack);
  }
  bool is_untouched() const {
    return !is_ours ||
           std::all_of(memory.begin(), memory.end(), [](auto byte) { return byte == kGivenBack; });
  }
};

}  // namespace stria::test
