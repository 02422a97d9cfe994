// A payload that its receiver reads while it is written. In this process all of it is there from the start,
// so the receiver gets other memory, to which the bytes come by and by; what it reads before they are there
// is wrong, and a test sees it. The writer stands still now and then, and may die in the middle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stria::fake {

class Fabric;

/// Under the fabric's lock.
class Growth {
 public:
  /// From now on `payload` is what the receiver sees, and has a part of its bytes only.
  void begin(std::vector<std::byte>& payload, Fabric& fabric);
  /// Whether the payload is not all there.
  bool is_under_way() const noexcept { return !rest_.empty(); }
  /// As of stria_arriving_t: how many bytes are there, where `bytes` are waited for a little; 0: the writer
  /// is gone.
  std::uint32_t arrived(std::vector<std::byte>& payload, std::uint32_t bytes, Fabric& fabric) noexcept;
  /// How many bytes are there.
  std::uint32_t there(const std::vector<std::byte>& payload) const noexcept;
  /// All that is missing comes.
  void end(std::vector<std::byte>& payload) noexcept;
  /// The writer is gone: nothing comes any more.
  void cut() noexcept { is_cut_ = true; }
  bool is_cut() const noexcept { return is_cut_; }

 private:
  void write(std::vector<std::byte>& payload, std::uint32_t until) noexcept;

  std::vector<std::byte> rest_;  // the payload; empty: all of it is there
  std::uint32_t there_ = 0;
  bool is_cut_ = false;
};

}  // namespace stria::fake
