// The sending half of a connection. A record goes straight to the system if nothing waits before it; what the
// system has no room for waits in a buffer, and later records behind it.
#pragma once

#include <span>

#include "base/fd.hpp"
#include "transport/contract.hpp"
#include "transport/tcp/byte_queue.hpp"
#include "transport/tcp/record.hpp"

namespace stria::tcp {

class Outgoing {
 public:
  Outgoing(BufferPool& pool, const stria_services_t& services) noexcept : queue_(pool), services_(services) {}

  /// OK: the payload's memory is the caller's again. NO_RESOURCE: nothing of it went, or waits. PEER_FAILED:
  /// the connection is broken.
  Status send(const UniqueFd& socket, const transport::Header& header,
              const transport::Payload& payload) noexcept;
  /// The same of a record whose payload is one part behind the other, 4 KiB at most.
  Status send_short(const UniqueFd& socket, RecordKind kind, const transport::Header& header,
                    std::span<const std::byte> first, std::span<const std::byte> second) noexcept;
  /// The record waits for flush(), which is to follow at once. False: there is no room for it.
  bool hold(RecordKind kind, const transport::Header& header, std::span<const std::byte> first,
            std::span<const std::byte> second) noexcept;
  /// OK: nothing waits any more. NO_RESOURCE: the system has no room. PEER_FAILED.
  Status flush(const UniqueFd& socket) noexcept;
  bool is_empty() const noexcept { return queue_.is_empty(); }

 private:
  bool stage(const RecordHead& head, const transport::Payload& payload, std::size_t from) noexcept;
  Status write(const UniqueFd& socket, const RecordHead& head, const transport::Payload& payload) noexcept;

  ByteQueue queue_;
  const stria_services_t& services_;
};

}  // namespace stria::tcp
