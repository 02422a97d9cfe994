// A link's buffer for an eager payload that is longer than a buffer of UCX's own, which uct_ep_am_bcopy()
// packs into. UCX sends such a packet out of the buffer (uct_ep_am_zcopy), and counts down when it has read
// it. On UCX's tcp, whose own buffers are short, a strided message of some 10 KiB so needs no announcement.
//
// Each link has one, made at its first such payload: UCX's tcp reads one packet of an endpoint at a time, and
// a peer that stands still keeps no buffer that others need.
#pragma once

#include <uct/api/uct.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace stria::uct {

/// The longest payload that is sent so, in bytes: a longer one is better announced.
inline constexpr std::uint32_t kPackedMost = 32 * 1024;

class PackBuffer {
 public:
  /// Null: out of memory.
  static std::unique_ptr<PackBuffer> make() noexcept try {
    auto out = std::make_unique<PackBuffer>();
    out->memory_ = std::make_unique_for_overwrite<std::byte[]>(kPackedMost);
    return out;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }

  /// Whether UCX has read the last packet.
  bool is_free() const noexcept { return reading_.count == 0; }
  std::byte* memory() noexcept { return memory_.get(); }
  /// The completion for uct_ep_am_zcopy(): until UCX has counted it down, the buffer is not free.
  uct_completion_t* begin() noexcept {
    reading_ = {[](uct_completion_t*) {}, 1, UCS_OK};
    return &reading_;
  }
  /// To be called when UCX has refused the packet, or has read it at once.
  void end() noexcept { reading_.count = 0; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  uct_completion_t reading_{};
};

}  // namespace stria::uct
