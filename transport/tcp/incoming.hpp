// The receiving half of a link's first connection. Bytes are read into a buffer and delivered from there,
// record by record. When the payload of a packet is still on its way, the sink is asked where it is to go,
// and what is not in the buffer yet is read straight into that memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>

#include "base/fd.hpp"
#include "transport/contract.hpp"
#include "transport/tcp/byte_queue.hpp"
#include "transport/tcp/record.hpp"

namespace stria::tcp {

/// Handles the records that are no packets, and the key that a packet ends.
class Control {
 public:
  /// `payload`: of the record; of RecordKind::ending only the key. False: the record makes no sense.
  virtual bool handle(RecordKind kind, std::span<const std::byte> payload) noexcept = 0;

 protected:
  ~Control() = default;
};

class Incoming {
 public:
  Incoming(BufferPool& pool, const transport::Sink& sink, const stria_services_t& services, Control& control,
           std::uint32_t eager_max) noexcept
      : queue_(pool), sink_(sink), services_(services), control_(control), eager_max_(eager_max) {}

  enum class After : std::uint8_t {
    idle,   ///< the system has no more bytes of the peer
    more,   ///< there may be more: the budget is used up, or the sink has asked to stop
    lost,   ///< the connection was reset, and all that came by it was delivered
    ended,  ///< the peer sends no more, or the connection failed without a reset; all that came was delivered
    wrong   ///< what the peer sent makes no sense
  };
  struct Outcome {
    unsigned delivered;
    After after;
  };
  /// Bytes received since the link's stream began, over all its first connections.
  std::uint64_t received() const noexcept { return received_; }
  /// Whether the connection has ended because the system found the peer's host silent.
  bool found_silence() const noexcept { return found_silence_; }
  /// Delivers up to `budget` packets. `cookie` is read again for each packet, since a delivery may change it.
  Outcome receive(const UniqueFd& socket, void* const& cookie, unsigned budget) noexcept;

 private:
  enum class Step : std::uint8_t { needs_bytes, handled, delivered, stop, wrong };
  enum class Read : std::uint8_t { full, some, none, lost, ended };
  Step deliver_next(void* cookie) noexcept;
  Step deliver_placed(void* cookie) noexcept;
  Step deliver_control(void* cookie) noexcept;
  bool begin_record() noexcept;
  bool makes_sense() const noexcept;
  bool expect_again(std::span<const std::byte> payload) noexcept;
  void ask_for_place(void* cookie) noexcept;
  void take_from_queue() noexcept;
  Read read(const UniqueFd& socket) noexcept;
  Read read_into_place(const UniqueFd& socket) noexcept;
  Step deliver(void* cookie, const std::byte* payload, std::uint32_t bytes, std::uint32_t how) noexcept;
  Read outcome(ssize_t bytes, std::size_t asked) noexcept;

  ByteQueue queue_;
  const transport::Sink& sink_;
  const stria_services_t& services_;
  Control& control_;
  const std::uint32_t eager_max_;
  // The record that is being read; has_head_: its head has been read.
  RecordHead head_;
  bool has_head_ = false;
  bool asked_ = false;   // the sink was asked for a place
  bool placed_ = false;  // the sink gave a place: place_
  transport::Payload place_{};
  std::uint32_t in_place_ = 0;  // payload bytes that are in place_
  std::uint64_t received_ = 0;
  std::uint64_t count_ = 0;  // records that came, without padding, `again` and repetitions
  bool skips_ = false;       // the next record has come before, and is dropped
  bool found_silence_ = false;
};

}  // namespace stria::tcp
