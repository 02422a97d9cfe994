// Fragments: how a receiver takes them. Each says where in the message its bytes belong, so they may come in
// any order: what lies beyond the first byte that is missing is remembered (ahead.hpp). A fragment that
// brings a byte a second time, or lies outside of what was asked for, shows that its sender, or the path, is
// broken: the receive ends with io_error, and its sender is told so. A completed receive has no hole.
//
// The same check comes before a fragment is placed (placing.cpp).
//
// A fragment without bytes says that a piece was put there (share.cpp).
#pragma once

#include <cstdint>

#include "rndv/ends.hpp"
#include "rndv/operations.hpp"
#include "rndv/requests.hpp"

namespace stria::rndv {

/// What became of a packet. misfit: it does not fit the operation that it names, which has ended. later:
/// nothing changed, its sender stands still while it writes it.
enum class Taken : std::uint8_t { well, misfit, later };

/// Threads: the worker's lock.
class Fragments {
 public:
  Fragments(Operations& operations, AheadPool& aheads, Ends& ends, Requests& requests) noexcept
      : operations_(operations), aheads_(aheads), ends_(ends), requests_(requests) {}
  Fragments(const Fragments&) = delete;
  Fragments& operator=(const Fragments&) = delete;

  /// A fragment came by the rail, or by the link itself (null).
  [[nodiscard]] Taken on_frag(const transport::LinkRef& link, const transport::Packet& packet,
                              const transport::LinkRef* rail) noexcept;
  /// Names the memory that the payload of a fragment is to go to. False: there is none, or it does not fit.
  [[nodiscard]] bool place(const transport::LinkRef& link, std::uint8_t device,
                           const transport::Header& header, std::uint32_t bytes, transport::Payload& memory,
                           const transport::LinkRef* rail) noexcept;
  /// The payload is there now.
  [[nodiscard]] Taken on_placed(const transport::LinkRef& link, const transport::Packet& packet,
                                const transport::LinkRef* rail) noexcept;
  /// The link of this device is dead: nothing is placed by it any more.
  void end_placing(const transport::LinkRef& link, std::uint8_t device) noexcept;

 private:
  bool is_wanted(const RecvOp& op, const transport::LinkRef* rail, std::uint64_t place,
                 std::uint64_t bytes) noexcept;
  bool has_come(RecvOp& op, const transport::LinkRef* rail, std::uint64_t place,
                std::uint64_t bytes) noexcept;
  void moved_on(RecvOp& op) noexcept;
  void refuse_fragments(RecvOp& op) noexcept;
  bool start_placing(RecvOp& op, std::uint64_t begin, std::uint64_t end, std::uint8_t device) noexcept;

  Operations& operations_;
  AheadPool& aheads_;
  Ends& ends_;
  Requests& requests_;
};

}  // namespace stria::rndv
