// The plan of an announced message: which key its sender makes, and how its receiver has the bytes moved. Two
// pure functions of three kinds of facts: how the memory of both sides lies (Blocks), what the path can do
// (transport::LinkRef), and what the user wants (Options). The parts of the engine, and stria_info --schemes,
// call the same functions with the same facts. tag/eager_or_announced.hpp plans which messages are announced.
#pragma once

#include <cstdint>

#include "rndv/blocks.hpp"
#include "rndv/cost_model.hpp"
#include "rndv/options.hpp"
#include "transport/link_ref.hpp"

namespace stria::rndv {

/// Which keys to its memory the sender tries to make before it announces a message: the gathered one first. A
/// key is worth its registration only where the receiver could read by it, with the most favourable memory of
/// its own, or could help a pipeline.
struct KeyPlan {
  enum class Key : std::uint8_t {
    none,
    mapped,  ///< only if the memory is memory that the receiver maps
    any
  };
  bool gathered = false;  ///< a key that shows the blocks as one run
  Key plain = Key::none;  ///< a key that shows the memory as it lies
};
KeyPlan plan_key(std::uint64_t length, const Blocks& source, const transport::LinkRef& link,
                 const Options& options) noexcept;

/// What the receiver knows of a message that was announced and matched.
struct Message {
  std::uint64_t length = 0;    ///< bytes to move
  Blocks source = {};          ///< of the sender's memory
  Blocks sink = {};            ///< of the receiver's memory
  bool has_key = false;        ///< the announcement has a key to the sender's memory
  bool source_mapped = false;  ///< the sender's memory is memory that the receiver maps
  bool sink_mapped = true;  ///< the receiver's is memory that the sender maps; assumed until its key is made
  bool busy = false;        ///< the receiver has announced messages of its own: its core copies these too
};

/// What the receiver will know of a message when the sender has made the keys of its plan: an announcement
/// with a gathered key says of the memory that it is one run. `source_mapped`, `sink_mapped`: the memory of
/// the sender, and of the receiver, is memory that the other side maps.
Message message_announced(std::uint64_t length, const Blocks& source, const Blocks& sink, const KeyPlan& keys,
                          bool source_mapped, bool sink_mapped) noexcept;

/// How the bytes of a message are moved to its receive.
struct ReceivePlan {
  Choice choice;  ///< the protocol, and the predicted times
  /// Bytes of a fragment, which links cut to the packets that they take (LinkRef::packet_max). Mapped by
  /// both: bytes that each side copies before it checks the progress of the other. 0: read from the
  /// beginning.
  std::uint32_t fragment_bytes = 0;
  bool helps = false;  ///< the receiver may read for itself while the sender is silent (help.cpp)
};
ReceivePlan plan_receive(const Message& message, const transport::LinkRef& link,
                         const Options& options) noexcept;
/// Why the plan of the receive is as it is, for people; constant text.
const char* reason_of(const Message& message, const transport::LinkRef& link,
                      const Options& options) noexcept;

/// The schemes that receives on the link are planned for, for people; constant text.
const char* schemes_of_link(const transport::LinkRef& link, const Options& options) noexcept;

}  // namespace stria::rndv
