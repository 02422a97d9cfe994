// The last bytes of a stream, from the first one on that the peer's system has not acknowledged. They are
// sent once more when the connection was reset and another one has replaced it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transport/contract.hpp"
#include "transport/tcp/byte_queue.hpp"

namespace stria::tcp {

class Retained {
 public:
  /// Size of one buffer.
  static constexpr std::size_t kBytes = 16384;
  /// `pool` lends buffers of kBytes; a stream of which nothing is retained has none.
  explicit Retained(BufferPool& pool) noexcept : pool_(pool) {}
  Retained(const Retained&) = delete;
  Retained& operator=(const Retained&) = delete;
  ~Retained() { clear(); }
  /// Retains nothing from now on: the stream can go on over another connection only where the peer has
  /// received all that was sent.
  void keep_nothing() noexcept { keeps_ = false; }

  /// Bytes that were sent since the stream began.
  std::uint64_t end() const noexcept { return end_; }
  /// Whether more may be sent before something is acknowledged.
  bool has_room() const noexcept { return end_ - begin_ < kMost; }
  /// Whether much has been sent since the system was last asked what is acknowledged.
  bool is_worth_asking() const noexcept { return end_ - asked_ >= kUnasked; }
  /// Whether the byte at this position of the stream is retained.
  bool holds(std::uint64_t position) const noexcept { return begin_ <= position && position < end_; }
  /// Retains a copy of bytes that were sent.
  void add(std::span<const std::byte> bytes) noexcept;
  void add(const transport::Payload& bytes) noexcept;
  /// Counts bytes as sent and acknowledged, together with all bytes before them.
  void skip(std::uint64_t bytes) noexcept;
  /// Frees what is acknowledged: of the bytes that were sent all but the last `left`.
  void acknowledged_but(std::uint64_t left) noexcept;

  /// Has all bytes behind the first `position` sent once more, because the peer has received no others.
  /// False: some are not retained any more, or were never sent.
  bool go_back(std::uint64_t position) noexcept;
  /// The next bytes to be sent once more; empty: none.
  std::span<const std::byte> to_repeat() const noexcept;
  /// Counts the first `bytes` of to_repeat() as sent once more.
  void repeated(std::size_t bytes) noexcept { cursor_ += bytes; }

 private:
  /// Most bytes that are retained. By default the system lets no more go unacknowledged (net.ipv4.tcp_wmem),
  /// so that the limit makes no connection slower.
  static constexpr std::uint64_t kMost = 4 << 20;
  /// Bytes that are sent before it is worth asking the system what is acknowledged.
  static constexpr std::uint64_t kUnasked = 64 << 10;
  std::uint64_t filled_to() const noexcept { return base_ + buffers_.size() * kBytes; }
  std::span<std::byte> room() noexcept;
  void forget_before(std::uint64_t position) noexcept;
  void clear() noexcept;

  BufferPool& pool_;
  std::vector<std::unique_ptr<std::byte[]>> buffers_;  // the first begins with byte base_ of the stream
  std::uint64_t base_ = 0;
  std::uint64_t begin_ = 0;  // position of the first byte that is retained
  // Bytes before this position were sent over this connection, or are with the peer.
  std::uint64_t cursor_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t asked_ = 0;  // end_ when the system was last asked what is acknowledged
  bool keeps_ = true;
};

}  // namespace stria::tcp
