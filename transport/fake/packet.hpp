// A packet on its way: it waits at the receiver's end of the link, and its payload may still be the sender's
// memory, be placed bit by bit, or be read while it is written.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "transport/contract.hpp"
#include "transport/fake/growth.hpp"

namespace stria::fake {

struct ZcopySend;

enum class Path : std::uint8_t { pio = 0, buffered = 1 };

struct QueuedPacket {
  transport::Header header{};
  std::uint32_t bytes = 0;            ///< of the payload
  std::vector<std::byte> payload;     ///< of a zero-copy send: empty, while its sender is there
  std::shared_ptr<ZcopySend> source;  ///< null: not of a zero-copy send, or its sender is gone
  transport::Payload place{};         ///< memory that the sink named
  std::uint32_t written = 0;          ///< bytes that are there
  bool asked = false;                 ///< the sink was asked, or by chance is not
  bool is_placed = false;             ///< the sink named memory
  Growth growth;                      ///< of a payload that is read while it is written
  bool was_left = false;      ///< such a one, for another time: it comes again when all of it is there
  transport::Key ends_key{};  ///< bytes == 0: none
  std::uint64_t order = 0;    ///< of all packets sent to this end
  std::uint64_t due = 0;      ///< step of the receiver
  Path path = Path::pio;

  /// A part of it was placed or read, or is about to be: no other may go before it.
  bool is_under_way() const noexcept { return asked || was_left; }
  /// Copies the payload from where its sender has it, unless it is placed already, and lets go of that.
  void read() noexcept;
  /// Writes so many bytes more to the memory that the sink named.
  void write(std::uint32_t more) noexcept;
};

}  // namespace stria::fake
