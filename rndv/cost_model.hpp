// The cost model: which protocol moves a rendezvous, from what both sides know of their memory and what the
// link can do. Each protocol has a file of its own with the formula for its cost (protocols/get.hpp and
// others); this is the pure function that takes the cheapest of their list, and the facts and parameters
// that the formulas use. plan.hpp calls it for the engine and for stria_info alike.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "transport/payload.hpp"

namespace stria::hw {
struct Choices;
}

namespace stria::rndv {

struct Protocol;

/// Room for what is known of each protocol of the list.
inline constexpr std::size_t kProtocolsMax = 6;

/// What a user may force by STRIA_RNDV_SCHEME. both: mapped_both where the memory of both sides is mapped,
/// else what get forces.
enum class Force : std::uint8_t { automatic, get, both, pipeline };
Force parse_force(std::string_view text) noexcept;
/// Whether fragments flow between far caches (MessageFacts::flows), by the text of STRIA_RNDV_FLOWS. auto:
/// where the machine's profile says that storing to far cores keeps up with their taking (hw/machine.hpp).
bool parse_flows(std::string_view text) noexcept;

/// Whether both sides may copy a part of a message each (mapped by both), by the text of STRIA_RNDV_SHARE, or
/// because that is forced.
inline bool parse_copy_by_both(std::string_view text, Force force) noexcept {
  return text != "off" || force == Force::both;
}

/// What is known of a message, its path and the user's wish when a protocol is chosen. The sender knows less
/// of it than the receiver: what it does not know has the values here.
struct MessageFacts {
  std::uint64_t length = 0;        ///< bytes to move
  std::uint32_t source_block = 0;  ///< mean contiguous run at the sender, bytes; 0: contiguous
  std::uint32_t sink_block = 0;    ///< mean contiguous run at the receiver, bytes; 0: contiguous
  bool can_get = false;            ///< the link can get, and the sender made a key
  bool can_copy_by_both = false;   ///< the sender can put a part of it through a key of the receiver's
  Force force = Force::automatic;
  bool source_gathered = false;  ///< the sender's key shows its blocks as one run: one work request for all
  bool source_sparse = false;    ///< each run at the sender is a cache line of its own (transport::is_sparse)
  bool sink_sparse = false;      ///< each run at the receiver is a cache line of its own
  bool turned = false;           ///< one side's memory is a matrix by its columns (transport::turned_bytes)
  bool far = false;              ///< the caches of both sides are far apart
  bool flows = false;            ///< fragments flow between far caches (parse_flows)
  bool busy = false;     ///< the receiver has announced messages of its own: its core copies these too
  bool offload = false;  ///< an adapter moves what is got, and its key is ended by one side alone
  bool distant = false;  ///< a network that the system drives moves it (LinkRef::distant, no adapter)
  bool grows = false;    ///< the link's fragments are unpacked while they are packed (LinkRef::grows)
  bool self = false;     ///< both sides are one worker, whose core copies: nothing goes on at the same time
  bool mapped = false;   ///< the sender's key names memory that the receiver maps; can_get does not matter
  bool sink_mapped = false;  ///< the receiver's memory is memory that the sender maps
};

/// The protocol that choose() takes, and the predicted times of all.
struct Choice {
  const Protocol* protocol = nullptr;      ///< never null in what choose() returns
  std::array<double, kProtocolsMax> us{};  ///< predicted times, in the order of the list

  /// The predicted time of a protocol of the list; 0 where it does not apply.
  double us_of(const Protocol& one) const noexcept;
  /// The predicted time of the protocol by which the receiver alone reads; 0 where none applies.
  double read_us() const noexcept;
};

/// Chooses the protocol that is predicted to take least, or the one that the user forces, where it applies.
Choice choose(const MessageFacts& facts) noexcept;
/// Why choose() made this choice, for people; constant text.
const char* reason_of(const MessageFacts& facts, const Choice& choice) noexcept;

/// Whether the receiver of a pipeline may read a part of the message where the sender is silent: a get of it
/// all would not take much longer between near caches. `chosen` is choose(facts).
bool can_help(const MessageFacts& facts, const Choice& chosen) noexcept;

/// The length of a pipeline's fragments, a multiple of 512 of at most `most` bytes: long enough that the
/// fixed cost of each stays small, short enough that both sides work at the same time. In two cases fragments
/// are longer, up to `longest`: where each is read while it is written, and that is no slower than to write
/// it first, both sides work at the same time anyway; and where a matrix is turned, a fragment should hold as
/// many of its columns as it can.
std::uint32_t fragment_for(const MessageFacts& facts, std::uint32_t most, std::uint32_t longest) noexcept;

/// The length of a pipeline's fragments on a link whose packets have up to `eager_max` bytes, or `zcopy_max`
/// where they are sent out of the memory itself (0: they are not). Fragments that are sent so are not packed,
/// so they may be longer than `most`.
std::uint32_t fragment_on_link(const MessageFacts& facts, std::uint32_t most, std::uint32_t eager_max,
                               std::uint32_t zcopy_max) noexcept;

/// The piece of the scheme mapped_both: bytes that each side copies before it checks the progress of the
/// other.
std::uint32_t piece_of(const MessageFacts& facts) noexcept;
/// The sender's part of a message that is mapped by both: half of the message, in whole pieces. 0: the
/// message is too short for two parts.
std::uint64_t senders_part(std::uint64_t length, std::uint32_t piece) noexcept;

/// Whether a message that could go eagerly should be announced instead: packing and unpacking it takes so
/// long that doing both at the same time is worth a round trip.
bool packs_long(std::uint64_t length, std::uint32_t block) noexcept;

/// Whether packing and unpacking a message takes so long that it is announced even on a link where both
/// overlap anyway (LinkRef::grows), or where a round trip is long (LinkRef::distant): the receiver should be
/// able to do something else meanwhile. And sparse blocks (transport::is_sparse) of so many pages go by
/// better in short fragments, whose cells take few pages of their own.
bool packs_very_long(std::uint64_t length, std::uint32_t block, bool sparse) noexcept;

/// Whether a message out of memory that the receiver may map is announced: it need not be packed, and where
/// the sender maps the receiver's memory, both cores copy it. Past far caches new bytes come faster through
/// the provider's memory.
bool goes_mapped(std::uint64_t length, std::uint32_t block, bool sparse, bool far) noexcept;

/// The longest message of a worker to itself, in bytes, that goes eagerly: that takes two copies by one core,
/// and a get takes one.
inline constexpr std::uint32_t kSelfEager = 4096;
/// The longest message to a far peer, in bytes, that goes eagerly where fragments do not flow
/// (MessageFacts::flows).
inline constexpr std::uint32_t kFarEager = 131072;

/// The shortest block, in bytes, of memory of equal blocks at equal distances that an adapter reads in place:
/// each block by a work request of its own, or, if `gathered`, all by one. Shorter blocks are packed. A
/// forced scheme does not depend on this.
std::uint32_t least_block_in_place(bool gathered = false) noexcept;

/// The model's parameters; the values here are those of one host (docs/notebook/rendezvous.md has the
/// measurements). The parameters of an adapter are not measured: they follow from 100 Gb/s, a round trip of 4
/// us, 8 million reads a second of one connection, and 100 million reads a second across the bus. The
/// parameters of a network are rough: TCP between two processes of a host.
struct Parameters {
  double get_start_us = 2.0;            ///< system call and page look-up
  double get_us_per_kib = 0.078;        ///< copy by one core through the kernel
  double get_us_per_kib_beyond = 0.15;  ///< instead, from 2 MiB on: the message outgrows the caches
  double get_us_per_source = 0.25;      ///< an entry of the sender's list: its page is looked up by itself
  double get_us_per_gathered = 0.01;    ///< instead, where a key shows the sender's list as one run
  double get_us_per_sink = 0.03;        ///< an entry of the receiver's list
  double mapped_start_us = 0.7;         ///< look-up of key and mapping, and the announcement
  double mapped_us_per_kib = 0.024;     ///< copy by one core, no page looked up
  double mapped_us_per_kib_beyond = 0.085;  ///< more from 4 MiB on, of blocks, between near caches
  double mapped_us_per_block = 0.0002;      ///< for each block of the side that has more of them
  double mapped_us_per_source = 0.0025;     ///< more where each block at the sender is a line
  double mapped_us_per_sink = 0.005;        ///< more where each block at the receiver is a line
  double mapped_both_start_us = 1.4;        ///< instead, by both: the RTR's way and one more key
  double mapped_both_far_us = 0.7;          ///< more of that start between far caches
  double mapped_piece_us = 8.0;    ///< time for which each side copies before it checks the other's progress
  double pipeline_start_us = 0.7;  ///< the RTR's way and the first fragment's
  double pipeline_us_per_kib = 0.045;     ///< both cores copy at the same time
  double far_start_us = 2.4;              ///< more of a pipeline's start between far caches
  double far_us_per_kib = 0.066;          ///< bytes of a pipeline between far caches
  double flow_start_us = 1.0;             ///< instead of far_start_us, where fragments flow
  double flow_us_per_kib = 0.032;         ///< instead of far_us_per_kib, where fragments flow
  double busy_us_per_kib = 0.05;          ///< bytes of a pipeline, one each way at once
  double busy_us_per_kib_beyond = 0.06;   ///< more of busy_us_per_kib from 2 MiB on
  double far_busy_us_per_kib = 0.16;      ///< bytes of a pipeline between far caches, one each way at once
  double pipeline_us_per_block = 0.0005;  ///< packing or unpacking a block
  double pipeline_us_per_line = 0.004;    ///< more where each block is a line
  double fragment_us = 0.5;               ///< what a fragment costs a side, whatever it holds
  double packs_long_blocks = transport::kManyRuns;  ///< most blocks that packs_long() leaves eager
  double packs_very_long_blocks = 16384;            ///< most blocks that packs_very_long() leaves eager
  double packs_very_long_sparse_blocks = 2048;      ///< the most where each block is a line
  std::uint64_t mapped_bytes = 8192;                ///< shortest message of many blocks that goes mapped
  std::uint64_t mapped_long_bytes = 65536;          ///< shortest message of long blocks that goes mapped
  double mapped_sparse_blocks = 1024;               ///< fewest blocks, each a line, that go mapped
  std::uint32_t longest_fragment = 131072;          ///< with longer ones both sides overlap less
  std::uint64_t packs_very_long_bytes =
      131072;                              ///< most bytes in short blocks that packs_very_long() leaves eager
  std::uint64_t packs_long_bytes = 32768;  ///< most bytes in short blocks that packs_long() leaves eager
};
/// What moves the bytes of a path.
enum class Path : std::uint8_t { one_host, adapter, network };
/// The parameters of a path.
const Parameters& parameters(Path path = Path::one_host) noexcept;
/// The parameters of one host where a copy through the kernel costs what was measured.
Parameters fitted(const hw::Choices& choices) noexcept;
/// Fits the parameters of one host to this machine's profile, once in a process. For setup: before the first
/// call the parameters are the values above.
void use_machine_profile() noexcept;
inline Path path_of(const MessageFacts& facts) noexcept {
  return facts.offload ? Path::adapter : facts.distant ? Path::network : Path::one_host;
}

}  // namespace stria::rndv
