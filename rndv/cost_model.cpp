#include "rndv/cost_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/cache_line.hpp"
#include "hw/machine.hpp"
#include "hw/machine/choices.hpp"
#include "rndv/protocols/list.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {
namespace {

static_assert(hw::kModelAttachStartUs == Parameters{}.get_start_us &&
              hw::kModelAttachToCells == Parameters{}.get_us_per_kib / Parameters{}.pipeline_us_per_kib);

constinit Parameters one_host{};  // use_machine_profile() writes it, in setup

/// Whether memory of such blocks is packed by pieces.
bool by_pieces(std::uint32_t block) noexcept {
  return block == 0 || block >= transport::kBlockOfPieces;
}

/// Whether a message has more than `limit` blocks, by their mean. It is called for every message of a layout,
/// so it compares a product and divides nothing; `limit` is a whole number from 1 on.
bool has_more_blocks(std::uint64_t length, std::uint32_t block, double limit) noexcept {
  return block != 0 && static_cast<double>(length) > limit * block;
}
/// Whether a message has `limit` blocks or more, by their mean.
bool has_blocks(std::uint64_t length, std::uint32_t block, double limit) noexcept {
  return block != 0 && static_cast<double>(length) >= limit * block;
}

/// Rounds down to whole cache lines.
std::uint32_t whole_lines(std::uint32_t bytes) noexcept {
  constexpr auto kLine = static_cast<std::uint32_t>(kCacheLine);
  return bytes / kLine * kLine;
}

/// The length nearest to `wanted` that is at least `most`, and at most what a link takes (`longest`), if that
/// is more than `most`; in whole cache lines when it is longer than `most`.
std::uint32_t long_fragment(std::uint64_t wanted, std::uint32_t most, std::uint32_t longest) noexcept {
  longest = std::max(most, std::min(longest, parameters().longest_fragment));
  const auto fragment = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, most, longest));
  return fragment == most ? most : std::max(most, whole_lines(fragment));
}

}  // namespace

double Choice::us_of(const Protocol& one) const noexcept {
  return us[Protocols::index_of(one)];
}

double Choice::read_us() const noexcept {
  double sum = 0;
  Protocols::for_each([&](const Protocol& one) {
    if (one.keys == Keys::senders) sum += us_of(one);
  });
  return sum;
}

Force parse_force(std::string_view text) noexcept {
  if (text == "get") return Force::get;
  if (text == "both") return Force::both;
  if (text == "pipeline") return Force::pipeline;
  return Force::automatic;
}

bool parse_flows(std::string_view text) noexcept {
  return text == "on" || (text == "auto" && hw::machine_profile().choices.flows);
}

bool can_help(const MessageFacts& facts, const Choice& chosen) noexcept {
  constexpr double kMuchLonger = 4;
  constexpr std::uint64_t kLeast = 4096;  // below, the key in each announcement weighs more
  // Of an adapter's key one side alone decides when it ends: fragments and gets do not mix.
  // Over a network a sender that is away does not answer a get either.
  if ((!facts.can_get && !facts.mapped) || facts.offload || facts.distant ||
      facts.force != Force::automatic || facts.length < kLeast)
    return false;
  // How long a sender is silent does not depend on its distance, so times between near caches are compared.
  MessageFacts near = facts;
  near.far = near.flows = false;
  const Choice choice = facts.far ? choose(near) : chosen;
  return choice.read_us() <= kMuchLonger * choice.us_of(kPipeline);
}

std::uint32_t fragment_for(const MessageFacts& facts, std::uint32_t most, std::uint32_t longest) noexcept {
  // A part of a message is packed whole where its blocks are shorter than kLongBlock (cell_plan.hpp of shm).
  const bool read_meanwhile = facts.source_block == 0 || facts.source_block >= transport::kLongBlock;
  const bool costs_nothing = !facts.far || (facts.flows && facts.source_block == 0);
  if (facts.grows && costs_nothing && by_pieces(facts.source_block) && by_pieces(facts.sink_block)) {
    const std::uint64_t wanted = read_meanwhile ? longest : std::bit_floor(facts.length / 8);
    return long_fragment(wanted, most, longest);
  }
  // A line of the side that is turned belongs to eight columns of doubles: with fewer in a fragment it is
  // fetched again for the next.
  if (facts.turned) return long_fragment(std::bit_floor(facts.length / 4), most, longest);
  constexpr double kUnit = 512, kLeast = 1024;
  const Parameters& p = parameters(path_of(facts));
  const double length = static_cast<double>(facts.length);
  const double all_us = kib_of(facts) * p.pipeline_us_per_kib + packing_us(facts);
  // With n fragments, the packing of the first one and the unpacking of the last one are not overlapped: that
  // is all_us / n. The fixed costs add n * fragment_us. The sum is least where both are equal.
  const double pieces = std::sqrt(all_us / p.fragment_us);
  const double bytes = std::floor(length / std::max(1.0, pieces) / kUnit) * kUnit;
  const auto fragment = static_cast<std::uint32_t>(
      std::clamp(bytes, std::min<double>(kLeast, most), static_cast<double>(most)));
  return fragment;
}

std::uint32_t fragment_on_link(const MessageFacts& facts, std::uint32_t most, std::uint32_t eager_max,
                               std::uint32_t zcopy_max) noexcept {
  if (zcopy_max == 0 || !by_pieces(facts.source_block)) return fragment_for(facts, most, eager_max);
  const std::uint32_t in_place = std::min(zcopy_max, parameters(path_of(facts)).longest_fragment);
  return fragment_for(facts, std::max(most, in_place), std::max(eager_max, zcopy_max));
}

std::uint32_t piece_of(const MessageFacts& facts) noexcept {
  constexpr std::uint64_t kLeast = 1024, kMost = 524288;
  const Parameters& p = parameters();
  const std::uint64_t half = facts.length / 2;
  const double half_us = (loads_us(facts) - p.mapped_start_us) / 2;
  const auto pieces = static_cast<std::uint64_t>(std::max(1.0, half_us / p.mapped_piece_us));
  return whole_lines(static_cast<std::uint32_t>(std::clamp(half / pieces, kLeast, kMost)));
}

std::uint64_t senders_part(std::uint64_t length, std::uint32_t piece) noexcept {
  return length / 2 / piece * piece;
}

bool packs_long(std::uint64_t length, std::uint32_t block) noexcept {
  const Parameters& p = parameters();
  return has_more_blocks(length, block, p.packs_long_blocks) ||
         (length > p.packs_long_bytes && block != 0 && block < transport::kBlockOfPieces);
}

bool packs_very_long(std::uint64_t length, std::uint32_t block, bool sparse) noexcept {
  const Parameters& p = parameters();
  const double most = sparse ? p.packs_very_long_sparse_blocks : p.packs_very_long_blocks;
  return has_more_blocks(length, block, most) ||
         (length > p.packs_very_long_bytes && block != 0 && block < transport::kBlockOfPieces);
}

bool goes_mapped(std::uint64_t length, std::uint32_t block, bool sparse, bool far) noexcept {
  const Parameters& p = parameters();
  if (length < p.mapped_bytes) return false;
  if (!packs_long(length, block)) return length >= p.mapped_long_bytes && !far;
  return !sparse || has_blocks(length, block, p.mapped_sparse_blocks);
}

std::uint32_t least_block_in_place(bool gathered) noexcept {
  const Parameters& p = parameters(Path::adapter);
  const double per_block = gathered ? p.get_us_per_gathered : p.get_us_per_source;
  return static_cast<std::uint32_t>(
      std::ceil(1024.0 * (per_block - p.pipeline_us_per_block) / (p.pipeline_us_per_kib - p.get_us_per_kib)));
}

const Parameters& parameters(Path path) noexcept {
  static constexpr Parameters kAdapter{.get_start_us = 4.0,
                                       .get_us_per_kib = 0.085,
                                       .get_us_per_kib_beyond = 0.085,
                                       .get_us_per_source = 0.125,  // a work request of its own
                                       .pipeline_start_us = 4.0,
                                       .pipeline_us_per_kib = 0.1};
  static constexpr Parameters kNetwork{.get_start_us = 20.0,
                                       .get_us_per_kib = 0.25,
                                       .get_us_per_kib_beyond = 0.25,
                                       .get_us_per_source = 0.0003,  // packed where it is short
                                       .get_us_per_gathered = 0.0003,
                                       .get_us_per_sink = 0.0003,
                                       .pipeline_start_us = 20.0,
                                       .pipeline_us_per_kib = 0.4,
                                       .busy_us_per_kib = 0.4,
                                       .busy_us_per_kib_beyond = 0.0,
                                       .fragment_us = 10.0};
  switch (path) {
    case Path::adapter:
      return kAdapter;
    case Path::network:
      return kNetwork;
    case Path::one_host:
      break;
  }
  return one_host;
}

Parameters fitted(const hw::Choices& choices) noexcept {
  Parameters p;
  if (choices.attach_start_us > 0) p.get_start_us = choices.attach_start_us;
  for (double* const rate : {&p.get_us_per_kib, &p.get_us_per_kib_beyond}) *rate *= choices.attach_factor;
  return p;
}

void use_machine_profile() noexcept {
  [[maybe_unused]] static const bool taken = (one_host = fitted(hw::machine_profile().choices), true);
}

Choice choose(const MessageFacts& facts) noexcept {
  Choice choice;
  // A worker's messages to itself are read: a pipeline's two copies would follow each other.
  const bool by_cost = facts.force == Force::automatic && !facts.self;
  const std::uint8_t wanted = bits_of({facts.force == Force::automatic ? Force::get : facts.force});
  const Protocol* taken = nullptr;
  bool is_wanted = false;
  double least_us = 0;
  Protocols::for_each([&](const Protocol& one) {
    if (!one.applies(facts)) return;
    const double us = one.cost_us(facts);
    choice.us[Protocols::index_of(one)] = us;
    const bool wants = (one.forced_by & wanted) != 0;
    if (taken != nullptr && (by_cost ? us > least_us : is_wanted || !wants)) return;
    taken = &one;
    is_wanted = wants;
    least_us = us;
  });
  choice.protocol = taken;
  return choice;
}

const char* reason_of(const MessageFacts& facts, const Choice& choice) noexcept {
  const Protocol& taken = *choice.protocol;
  const bool is_read = taken.keys == Keys::senders;
  if (facts.length == 0 || (facts.force == Force::automatic && !(facts.self && is_read)))
    return taken.reason(facts);
  if (facts.force == Force::automatic)
    return "to itself: one copy, where a pipeline's two would follow each other";
  return (taken.forced_by & bits_of({facts.force})) != 0 ? "forced by STRIA_RNDV_SCHEME"
                                                         : taken.reason(facts);
}

}  // namespace stria::rndv
