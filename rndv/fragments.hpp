// Fragments: how a receiver handles fragments. Each fragment says where in the message its bytes belong, so
// fragments may come in any order; bytes beyond the first missing byte are remembered (reassembly.hpp). A
// fragment that brings a byte a second time, or lies outside of what was asked for, shows that its sender, or
// the path, is broken: the receive ends with io_error, and the sender is told so. A completed receive has no
// hole.
//
// A fragment is checked in this way before it is placed, too (placing.cpp).
//
// A fragment without a payload says that the sender has put a piece at that place (mapped_both.cpp).
#pragma once

#include <cstdint>

#include "rndv/finisher.hpp"
#include "rndv/operations.hpp"
#include "rndv/requests.hpp"

namespace stria::rndv {

/// What became of a fragment. handled: it was used, or dropped because its operation is over. misfit: it does
/// not fit the operation that it names, which ends. later: nothing changed, because the sender stands still
/// while it writes the packet.
enum class FragmentOutcome : std::uint8_t { handled, misfit, later };

/// A fragment whose payload has not come yet.
struct IncomingFragment {
  const transport::Header& header;
  std::uint32_t bytes = 0;                   ///< of the payload
  std::uint8_t device = 0;                   ///< the number of the device whose link brings it
  const transport::LinkRef* rail = nullptr;  ///< the rail that brings it; null: the main link does
};

/// Threads: called with the worker's lock held.
class Fragments {
 public:
  Fragments(Operations& operations, ReassemblyPool& reassemblies, Finisher& finisher,
            Requests& requests) noexcept
      : operations_(operations), reassemblies_(reassemblies), finisher_(finisher), requests_(requests) {}
  Fragments(const Fragments&) = delete;
  Fragments& operator=(const Fragments&) = delete;

  /// Handles a fragment that came by `rail` (null: by the main link).
  [[nodiscard]] FragmentOutcome on_frag(const transport::LinkRef& link, const transport::Packet& packet,
                                        const transport::LinkRef* rail) noexcept;
  /// Names the memory for the payload of a fragment that has not come yet. False: none, because no receive
  /// has such memory, or the fragment does not fit the receive.
  [[nodiscard]] bool place(const transport::LinkRef& link, const IncomingFragment& fragment,
                           transport::Payload& memory) noexcept;
  /// Handles a placed fragment: all of its payload is in the receive's memory.
  [[nodiscard]] FragmentOutcome on_placed(const transport::LinkRef& link, const transport::Packet& packet,
                                          const transport::LinkRef* rail) noexcept;
  /// The peer's link by this device is dead: fragments that were being placed by it do not come whole. Ends
  /// the receives that are over and were held only by such fragments.
  void end_placing(const transport::LinkRef& link, std::uint8_t device) noexcept;

 private:
  bool is_wanted(const RecvOp& op, const transport::LinkRef* rail, std::uint64_t place,
                 std::uint64_t bytes) noexcept;
  bool note_received(RecvOp& op, const transport::LinkRef* rail, std::uint64_t place,
                     std::uint64_t bytes) noexcept;
  void check_complete(RecvOp& op) noexcept;
  void refuse_fragments(RecvOp& op) noexcept;
  bool start_placing(RecvOp& op, std::uint64_t begin, std::uint64_t end, std::uint8_t device) noexcept;

  Operations& operations_;
  ReassemblyPool& reassemblies_;
  Finisher& finisher_;
  Requests& requests_;
};

}  // namespace stria::rndv
