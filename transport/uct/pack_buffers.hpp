// Buffers that an eager payload is packed into when it is longer than a buffer of UCX's own, which
// uct_ep_am_bcopy() packs into. UCX sends such a packet out of the buffer (uct_ep_am_zcopy), and calls back
// when it has read it. On UCX's tcp, whose own buffers are short, a strided message of some 10 KiB so needs
// no announcement.
#pragma once

#include <uct/api/uct.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/intrusive_list.hpp"

namespace stria::uct {

/// The longest payload that is sent so, in bytes: a longer one is better announced.
inline constexpr std::uint32_t kPackedMost = 32 * 1024;

class PackBuffers;

struct PackBuffer : uct_completion_t, ListNode {
  std::unique_ptr<std::byte[]> memory;  ///< kPackedMost bytes
  PackBuffers* owner = nullptr;
  uct_ep_h endpoint = nullptr;  ///< by which its packet goes; null: it is free
};

/// The buffers of one device. Only the worker's thread uses them.
class PackBuffers {
 public:
  PackBuffers() = default;
  PackBuffers(const PackBuffers&) = delete;
  PackBuffers& operator=(const PackBuffers&) = delete;

  /// Takes a buffer for one packet by `endpoint`. UCX gives it back by its completion. Null: UCX has yet to
  /// read all of them, or there is no memory.
  PackBuffer* take(uct_ep_h endpoint) noexcept;
  /// Gives back a buffer whose packet UCX has refused, or has read already.
  void give(PackBuffer& buffer) noexcept;
  /// Takes back the buffers of an endpoint that was destroyed: UCX calls no completion for it any more.
  void reclaim(uct_ep_h endpoint) noexcept;

 private:
  static constexpr std::size_t kMost = 16;

  std::vector<std::unique_ptr<PackBuffer>> all_;
  IntrusiveList<PackBuffer> free_;
};

}  // namespace stria::uct
