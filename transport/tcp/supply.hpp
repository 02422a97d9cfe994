// The sending half of a bulk connection: pieces that the peer has requested go straight out of the memory
// behind their keys, in the order of the requests.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/fd.hpp"
#include "transport/tcp/byte_queue.hpp"
#include "transport/tcp/keys.hpp"
#include "transport/tcp/record.hpp"

namespace stria::tcp {

class Supply {
 public:
  Supply(BufferPool& pool, const stria_services_t& services) noexcept : pool_(pool), services_(services) {}
  Supply(const Supply&) = delete;
  Supply& operator=(const Supply&) = delete;
  ~Supply() { drop(); }

  /// A piece out of `memory`, whose key is `key`; or the answer that it is refused. False: the peer has
  /// requested more than it may.
  bool add(Keys& keys, const KeyName& key, const transport::Payload& memory) noexcept;
  bool refuse(std::uint32_t length) noexcept;
  bool is_empty() const noexcept { return count_ == 0; }
  /// Sends what there is. OK: all of it. NO_RESOURCE: the system has no room. PEER_FAILED: the connection is
  /// broken.
  Status send(const UniqueFd& socket) noexcept;
  /// No memory is touched any more.
  void drop() noexcept;

 private:
  struct Piece final : Access {
    void key_ends() noexcept override;
    void sent(std::size_t bytes) noexcept;
    std::size_t left() const noexcept { return head_left + static_cast<std::size_t>(memory.length); }

    PieceHead head;
    std::uint32_t head_left = 0;  ///< bytes of the head that are not sent yet
    bool is_lost = false;         ///< the key ended, and there was no memory for what is left
    transport::Payload memory{};  ///< what is left
    std::unique_ptr<std::byte[]> copy;
  };
  Piece* next() noexcept;
  bool packs(const Piece& piece) const noexcept;
  Status send(const UniqueFd& socket, Piece& piece) noexcept;

  BufferPool& pool_;
  const stria_services_t& services_;
  std::array<Piece, kPiecesMost> pieces_;  // a ring
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace stria::tcp
