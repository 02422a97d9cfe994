// The last bytes of a stream, from the first one that the peer's system has not acknowledged: what goes out
// once more when the connection is reset, and made anew.
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
  /// Of one buffer.
  static constexpr std::size_t kBytes = 16384;
  /// `pool` lends buffers of so many bytes. A stream of which nothing is retained has none.
  explicit Retained(BufferPool& pool) noexcept : pool_(pool) {}
  Retained(const Retained&) = delete;
  Retained& operator=(const Retained&) = delete;
  ~Retained() { clear(); }
  /// From now on nothing is retained: a stream can go on over another connection only where all that was sent
  /// has come.
  void keep_nothing() noexcept { keeps_ = false; }

  /// Bytes that were sent since the stream began.
  std::uint64_t end() const noexcept { return end_; }
  /// More may be sent before something is acknowledged.
  bool has_room() const noexcept { return end_ - begin_ < kMost; }
  /// Much has been sent since acknowledged_but() was called.
  bool is_worth_asking() const noexcept { return end_ - asked_ >= kUnasked; }
  bool holds(std::uint64_t position) const noexcept { return begin_ <= position && position < end_; }
  /// These bytes were sent.
  void add(std::span<const std::byte> bytes) noexcept;
  void add(const transport::Payload& bytes) noexcept;
  /// So many bytes were sent, and are acknowledged like all before them.
  void skip(std::uint64_t bytes) noexcept;
  /// Of what was sent the last `left` bytes are not acknowledged.
  void acknowledged_but(std::uint64_t left) noexcept;

  /// What the peer has got is the first `position` bytes: the others are sent once more. False: they are not
  /// here any more, or were never sent.
  bool go_back(std::uint64_t position) noexcept;
  /// The next bytes to be sent once more; empty: none.
  std::span<const std::byte> to_repeat() const noexcept;
  void repeated(std::size_t bytes) noexcept { cursor_ += bytes; }

 private:
  /// As much as goes unacknowledged by default (net.ipv4.tcp_wmem): no connection is slower for this limit.
  static constexpr std::uint64_t kMost = 4 << 20;
  static constexpr std::uint64_t kUnasked = 64 << 10;
  std::uint64_t filled_to() const noexcept { return base_ + buffers_.size() * kBytes; }
  std::span<std::byte> room() noexcept;
  void forget_before(std::uint64_t position) noexcept;
  void clear() noexcept;

  BufferPool& pool_;
  std::vector<std::unique_ptr<std::byte[]>> buffers_;  // the first begins with byte base_ of the stream
  std::uint64_t base_ = 0;
  std::uint64_t begin_ = 0;   // the first byte that is retained
  std::uint64_t cursor_ = 0;  // what comes before it was sent over this connection, or is with the peer
  std::uint64_t end_ = 0;
  std::uint64_t asked_ = 0;
  bool keeps_ = true;
};

}  // namespace stria::tcp
