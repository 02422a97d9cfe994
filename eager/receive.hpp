// The receiving side of the eager path. It counts the payload that arrives against the grants (credit.hpp),
// has the buffers for payload that comes before its receive (buffer_pool.hpp), and takes a message out of the
// window of its source where the receive is there first. Matching is left to tag/.
#pragma once

#include <algorithm>

#include "base/cache_line.hpp"
#include "eager/buffer_pool.hpp"
#include "eager/flow.hpp"
#include "hw/pio.hpp"
#include "transport/payload.hpp"

namespace stria::eager {

/// Longest receive, in bytes, that is worth a poll of the window for its message. A message for a longer
/// receive is probably announced.
inline constexpr std::uint64_t kWindowReceiveMax = 262144;

/// The eager messages that one worker receives from all peers. Threads: one at a time, under the worker's
/// lock.
class Receiver {
 public:
  /// Buffers and grants take at most `budget_bytes` of memory, apart from the first grant of each peer.
  explicit Receiver(std::uint64_t budget_bytes) noexcept : budget_(budget_bytes), buffers_(budget_bytes) {}

  void peer_joined(Flow& flow) noexcept { budget_.peer_joined(flow.grant); }
  void peer_left(Flow& flow) noexcept { budget_.peer_left(flow.grant); }

  // Counting payload against a grant. Each function is that of Budget with the same name.
  [[nodiscard]] bool arrived(Flow& flow, std::uint64_t bytes) noexcept {
    return budget_.arrived(flow.grant, bytes);
  }
  void consumed_on_arrival(Flow& flow, std::uint32_t bytes) noexcept {
    budget_.consumed_on_arrival(flow.grant, bytes);
  }
  void undo_arrival(Flow& flow, std::uint32_t bytes) noexcept { budget_.undo_arrival(flow.grant, bytes); }
  void consumed(Flow& flow, std::uint64_t bytes) noexcept { budget_.consumed(flow.grant, bytes); }
  bool is_low(const Flow& flow) const noexcept { return budget_.is_low(flow.grant); }
  /// Grants a peer more when it is low. True: Sender::send_credit() has to tell the peer.
  bool top_up(Flow& flow) noexcept { return budget_.top_up(flow.grant); }

  // Keeping payload that arrived() has counted.
  /// The payload lies in a buffer that buffer_for(bytes) has returned.
  void kept_in_buffer(Flow& flow, std::uint64_t bytes) noexcept {
    budget_.kept(flow.grant, bytes, BufferPool::footprint(bytes));
  }
  /// The payload takes no memory of the budget: it is short, or stays where it has arrived.
  void kept_elsewhere(Flow& flow, std::uint64_t bytes) noexcept { budget_.kept(flow.grant, bytes, 0); }
  /// Frees a buffer that kept_in_buffer() has counted.
  void free_buffer(Flow& flow, std::byte* buffer, std::uint64_t bytes) noexcept {
    buffers_.release(buffer, bytes);
    budget_.release(flow.grant, BufferPool::footprint(bytes));
  }
  /// A buffer of at least `bytes` bytes, which the budget does not count yet. Null: there is no memory.
  std::byte* buffer_for(std::uint64_t bytes) noexcept { return buffers_.acquire(bytes); }
  /// Frees a buffer that the budget does not count, because it holds no payload.
  void free_uncounted(std::byte* buffer, std::uint64_t bytes) noexcept { buffers_.release(buffer, bytes); }

  /// Takes the next message of the flow out of its window into `memory`, which has room for `room` bytes, if
  /// that is the message that `header` asks for. When no message is there and waits() is true, polls the
  /// window for a moment; waits() is called only then. Returns the payload bytes, counted by
  /// consumed_on_arrival(), and `header` is the message's; or STRIA_TAKE_*, and nothing was taken.
  template <class Waits>
  [[gnu::always_inline]] std::int32_t take_from_window(Flow& flow, transport::Header& header, void* memory,
                                                       std::uint64_t room, const Waits& waits) noexcept {
    header.sequence = flow.recv_sequence;
    const auto most = static_cast<std::uint32_t>(std::min<std::uint64_t>(room, flow.grant.outstanding));
    std::int32_t bytes = flow.link.take(header, memory, most);
    if (bytes == STRIA_TAKE_NOTHING && waits()) bytes = poll_window(flow.link, header, memory, most);
    if (bytes < 0) return bytes;
    ++flow.recv_sequence;
    budget_.consumed_on_arrival(flow.grant, static_cast<std::uint32_t>(bytes));
    return bytes;
  }

  /// Memory of the buffers in use, in bytes, and the most there ever was.
  std::uint64_t in_use() const noexcept { return buffers_.in_use(); }
  std::uint64_t in_use_max() const noexcept { return buffers_.in_use_max(); }

 private:
  /// Polls the window of the link a limited number of times, until a message is there. Returns the answer of
  /// the last LinkRef::take().
  [[gnu::noinline]] static std::int32_t poll_window(const transport::LinkRef& link, transport::Header& header,
                                                    void* memory, std::uint32_t most) noexcept;

  Budget budget_;
  BufferPool buffers_;
};

/// Copies the first `bytes` bytes of a packet's payload to a receive's memory. A short message into
/// contiguous memory is copied without a call.
[[gnu::always_inline]] inline transport::Arrival copy_payload(const transport::Payload& memory,
                                                              std::uint64_t bytes,
                                                              const transport::Packet& packet) noexcept {
  if (memory.layout == nullptr && packet.bytes <= kCacheLine) [[likely]] {
    hw::copy_line(transport::contiguous_begin(memory), static_cast<const std::byte*>(packet.payload),
                  static_cast<std::uint32_t>(bytes));
    return transport::Arrival::whole;
  }
  return transport::take(transport::slice(memory, 0, bytes), packet);
}

}  // namespace stria::eager
