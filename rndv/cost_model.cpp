#include "rndv/cost_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/cache_line.hpp"
#include "hw/machine.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {
namespace {

constexpr double kCacheKib = 2048;  // what is longer outgrows the caches

constinit Parameters one_host{};  // take_machine() writes it, in setup

double blocks_of(std::uint64_t length, std::uint32_t block) noexcept {
  if (block == 0) return 1.0;
  return std::max(1.0, static_cast<double>(length) / block);
}

/// What packing and unpacking take beside the bytes; they overlap, so the side that takes longer counts, or
/// both where each core has the other half of a message the other way to do too.
double packing_us(const Question& q) noexcept {
  const Parameters& p = parameters(path_of(q));
  const double source = blocks_of(q.length, q.source_block), sink = blocks_of(q.length, q.sink_block);
  const double lines = std::max(q.source_sparse ? source : 0.0, q.sink_sparse ? sink : 0.0);
  const double blocks = q.busy ? source + sink : std::max(source, sink);
  return blocks * p.pipeline_us_per_block + lines * p.pipeline_us_per_line;
}

/// What the bytes of a pipeline take, and its start.
double pipeline_bytes_us(const Question& q) noexcept {
  const Parameters& p = parameters(path_of(q));
  const double kib = static_cast<double>(q.length) / 1024.0;
  if (q.far && q.flows) return p.pipeline_start_us + p.flow_start_us + kib * p.flow_us_per_kib;
  if (q.far)
    return p.pipeline_start_us + p.far_start_us + kib * (q.busy ? p.far_busy_us_per_kib : p.far_us_per_kib);
  if (q.busy)
    return p.pipeline_start_us + kib * p.busy_us_per_kib +
           std::max(0.0, kib - kCacheKib) * p.busy_us_per_kib_beyond;
  return p.pipeline_start_us + kib * p.pipeline_us_per_kib;
}

/// How long the bytes of a get by one core take, and its start.
double get_bytes_us(const Question& q) noexcept {
  const Parameters& p = parameters(path_of(q));
  const double kib = static_cast<double>(q.length) / 1024.0;
  return p.get_start_us + std::min(kib, kCacheKib) * p.get_us_per_kib +
         std::max(0.0, kib - kCacheKib) * p.get_us_per_kib_beyond;
}

/// Loads have no list: a pass over both sides' blocks costs what the side with more of them does, but a core
/// that alone waits for the lines of sparse blocks waits for those of both sides.
double mapped_us(const Question& q, double source_blocks, double sink_blocks) noexcept {
  const Parameters& p = parameters();
  double us = p.mapped_start_us + static_cast<double>(q.length) / 1024.0 * p.mapped_us_per_kib +
              (std::max(source_blocks, sink_blocks) - 1) * p.mapped_us_per_block;
  // Memory that outgrows the caches, in blocks: two cores near each other wait for it side by side.
  const double beyond = static_cast<double>(q.length) / 1024.0 - 2 * kCacheKib;
  if (!q.far && std::max(source_blocks, sink_blocks) > 1 && beyond > 0)
    us += beyond * p.mapped_us_per_kib_beyond;
  if (q.source_sparse) us += source_blocks * p.mapped_us_per_source;
  if (q.sink_sparse) us += sink_blocks * p.mapped_us_per_sink;
  return us;
}

/// How long loads and stores by both sides take, each of its half.
double mapped_both_us(const Question& q, double source_blocks, double sink_blocks) noexcept {
  const Parameters& p = parameters();
  return p.mapped_both_start_us + (q.far ? p.mapped_both_far_us : 0) +
         (mapped_us(q, source_blocks, sink_blocks) - p.mapped_start_us) / 2;
}

bool by_pieces(std::uint32_t block) noexcept {
  return block == 0 || block >= transport::kBlockOfPieces;
}

/// Whole cache lines.
std::uint32_t in_lines(std::uint32_t bytes) noexcept {
  constexpr auto kLine = static_cast<std::uint32_t>(kCacheLine);
  return bytes / kLine * kLine;
}

/// `wanted`, or what is nearest to it: at least `most`, and no longer than a link takes, if that is more.
std::uint32_t long_fragment(std::uint64_t wanted, std::uint32_t most, std::uint32_t longest) noexcept {
  longest = std::max(most, std::min(longest, parameters().longest_fragment));
  const auto fragment = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, most, longest));
  return fragment == most ? most : std::max(most, in_lines(fragment));
}

}  // namespace

std::string_view to_string(Scheme scheme) noexcept {
  switch (scheme) {
    case Scheme::none:
      return "none";
    case Scheme::get:
      return "get";
    case Scheme::mapped:
      return "mapped";
    case Scheme::mapped_both:
      return "mapped by both";
    case Scheme::pipeline:
      return "pipeline";
  }
  return "?";
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

const char* schemes_of_link(Force force, bool can_get, bool can_map, bool offload, bool self, bool can_share,
                            bool distant) noexcept {
  if (self && can_get && force == Force::automatic) return "get, as the worker sends to itself";
  if (offload && can_get && force == Force::automatic)
    return "get by the adapter, or pipeline of what lies in many small blocks";
  if (distant && can_get && force == Force::automatic) return "get over connections of its own";
  switch (force) {
    case Force::pipeline:
      return "pipeline (forced)";
    case Force::get:
      if (can_get) return "get (forced)";
      return can_map ? "pipeline, as the forced get is refused, or loads and stores where memory is mapped"
                     : "pipeline, as the forced get is refused";
    case Force::both:
      if (can_share)
        return can_get ? "mapped memory by both sides, else get (forced)"
                       : "mapped memory by both sides (forced), else pipeline, as the get is refused";
      return can_get ? "get, as both sides map no memory" : "pipeline, as the forced get is refused";
    case Force::automatic:
      break;
  }
  if (can_get)
    return can_map ? "pipeline helped by get, get alone, or loads and stores where memory is mapped"
                   : "pipeline helped by get, or get alone";
  return can_map ? "pipeline, or loads and stores where memory is mapped" : "pipeline";
}

bool can_help(const Question& q, const Answer& chosen) noexcept {
  constexpr double kMuchLonger = 4;
  constexpr std::uint64_t kLeast = 4096;  // below, the key in each announcement weighs more
  // Of an adapter's key one side alone decides when it ends: fragments and gets do not mix.
  // Over a network a sender that is away does not answer a get either.
  if ((!q.can_get && !q.mapped) || q.offload || q.distant || q.force != Force::automatic || q.length < kLeast)
    return false;
  // A sender that is away is away wherever it is, and whatever it will pay later.
  Question near = q;
  near.far = near.flows = false;
  const Answer answer = q.far ? choose(near) : chosen;
  return answer.get_us <= kMuchLonger * answer.pipeline_us;
}

std::uint32_t fragment_for(const Question& q, std::uint32_t most, std::uint32_t longest) noexcept {
  // A part of a message is packed whole where its blocks are shorter than kLongBlock (growing.hpp of shm).
  const bool read_meanwhile = q.source_block == 0 || q.source_block >= transport::kLongBlock;
  const bool costs_nothing = !q.far || (q.flows && q.source_block == 0);
  if (q.grows && costs_nothing && by_pieces(q.source_block) && by_pieces(q.sink_block)) {
    const std::uint64_t wanted = read_meanwhile ? longest : std::bit_floor(q.length / 8);
    return long_fragment(wanted, most, longest);
  }
  // A line of the side that is turned belongs to eight columns of doubles: with fewer in a fragment it is
  // fetched again for the next.
  if (q.turned) return long_fragment(std::bit_floor(q.length / 4), most, longest);
  constexpr double kUnit = 512, kLeast = 1024;
  const Parameters& p = parameters(path_of(q));
  const double length = static_cast<double>(q.length);
  const double all_us = length / 1024.0 * p.pipeline_us_per_kib + packing_us(q);
  // With n fragments the first waits for nobody, the last for nothing: all_us / n of it is not overlapped,
  // and n * fragment_us comes on top. Their sum is least where they are equal.
  const double pieces = std::sqrt(all_us / p.fragment_us);
  const double bytes = std::floor(length / std::max(1.0, pieces) / kUnit) * kUnit;
  const auto fragment = static_cast<std::uint32_t>(
      std::clamp(bytes, std::min<double>(kLeast, most), static_cast<double>(most)));
  return fragment;
}

std::uint32_t fragment_on_link(const Question& q, std::uint32_t most, std::uint32_t eager_max,
                               std::uint32_t zcopy_max) noexcept {
  if (zcopy_max == 0 || !by_pieces(q.source_block)) return fragment_for(q, most, eager_max);
  const std::uint32_t in_place = std::min(zcopy_max, parameters(path_of(q)).longest_fragment);
  return fragment_for(q, std::max(most, in_place), std::max(eager_max, zcopy_max));
}

std::uint32_t piece_of(const Question& q) noexcept {
  constexpr std::uint64_t kLeast = 1024, kMost = 524288;
  const Parameters& p = parameters();
  const std::uint64_t half = q.length / 2;
  const double source = blocks_of(q.length, q.source_block), sink = blocks_of(q.length, q.sink_block);
  const double half_us = (mapped_us(q, source, sink) - p.mapped_start_us) / 2;
  const auto pieces = static_cast<std::uint64_t>(std::max(1.0, half_us / p.mapped_piece_us));
  return in_lines(static_cast<std::uint32_t>(std::clamp(half / pieces, kLeast, kMost)));
}

std::uint64_t senders_part(std::uint64_t length, std::uint32_t piece) noexcept {
  return length / 2 / piece * piece;
}

bool packs_long(std::uint64_t length, std::uint32_t block) noexcept {
  const Parameters& p = parameters();
  return block != 0 && (blocks_of(length, block) > p.packs_long_blocks ||
                        (length > p.packs_long_bytes && block < transport::kBlockOfPieces));
}

bool packs_very_long(std::uint64_t length, std::uint32_t block, bool sparse) noexcept {
  const Parameters& p = parameters();
  return blocks_of(length, block) > (sparse ? p.packs_very_long_sparse_blocks : p.packs_very_long_blocks) ||
         (length > p.packs_very_long_bytes && block != 0 && block < transport::kBlockOfPieces);
}

bool goes_mapped(std::uint64_t length, std::uint32_t block, bool sparse, bool far) noexcept {
  const Parameters& p = parameters();
  if (length < p.mapped_bytes) return false;
  if (!packs_long(length, block)) return length >= p.mapped_long_bytes && !far;
  return !sparse || blocks_of(length, block) >= p.mapped_sparse_blocks;
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
  if (choices.attach_start_us > 0) {
    p.both_start_us += choices.attach_start_us - p.get_start_us;
    p.get_start_us = choices.attach_start_us;
  }
  for (double* const rate :
       {&p.get_us_per_kib, &p.get_us_per_kib_beyond, &p.both_us_per_kib, &p.both_us_per_kib_beyond})
    *rate *= choices.attach_factor;
  return p;
}

void take_machine() noexcept {
  [[maybe_unused]] static const bool taken = (one_host = fitted(hw::machine_profile().choices), true);
}

Answer choose(const Question& q) noexcept {
  Answer answer;
  if (q.length == 0) {
    answer.reason = "no bytes to move";
    return answer;
  }
  const Parameters& p = parameters(path_of(q));
  const double kib = static_cast<double>(q.length) / 1024.0;
  const double source_blocks = blocks_of(q.length, q.source_block);
  const double sink_blocks = blocks_of(q.length, q.sink_block);
  // A get pays for every entry of its lists.
  answer.pipeline_us = pipeline_bytes_us(q) + packing_us(q);
  if (!q.can_get && !q.mapped) {
    answer.scheme = Scheme::pipeline;
    answer.reason = "the link has no get for this memory";
    return answer;
  }
  const Scheme read = q.mapped ? Scheme::mapped : Scheme::get;
  const double entries =
      (source_blocks - 1) * (q.source_gathered ? p.get_us_per_gathered : p.get_us_per_source) +
      (sink_blocks - 1) * p.get_us_per_sink;
  answer.get_us = q.mapped || q.self ? mapped_us(q, source_blocks, sink_blocks) : get_bytes_us(q) + entries;
  // Beside messages the other way, a part that the sender copies is one that it does not copy of those.
  const bool shares = q.mapped && q.sink_mapped && q.can_share && !q.self &&
                      senders_part(q.length, piece_of(q)) != 0 && (!q.busy || q.force == Force::both);
  if (shares) answer.both_us = mapped_both_us(q, source_blocks, sink_blocks);
  if (q.force != Force::automatic) {
    answer.scheme = q.force == Force::pipeline                      ? Scheme::pipeline
                    : q.force == Force::both && answer.both_us != 0 ? Scheme::mapped_both
                                                                    : read;
    answer.reason = "forced by STRIA_RNDV_SCHEME";
    return answer;
  }
  if (q.self) {
    answer.scheme = read;
    answer.reason = "to itself: one copy, where a pipeline's two would follow each other";
    return answer;
  }
  answer.scheme = answer.get_us <= answer.pipeline_us ? read : Scheme::pipeline;
  if (answer.both_us != 0 && answer.both_us < std::min(answer.get_us, answer.pipeline_us)) {
    answer.scheme = Scheme::mapped_both;
    answer.reason = "the memory of both is mapped: each side copies a part of it, once";
    return answer;
  }
  answer.reason =
      answer.scheme == Scheme::mapped             ? "the memory is mapped: one copy by loads, no system call"
      : answer.scheme == Scheme::get && q.offload ? "the adapter moves it, without a copy"
      : answer.scheme == Scheme::get && q.distant ? "it comes by connections of its own, straight into place"
      : answer.scheme == Scheme::get ? q.far ? "past far caches one copy costs less than two overlapped ones"
                                             : "one copy costs less than two overlapped ones"
      : q.mapped                     ? "two cores wait for the lines of both sides, not one"
      : q.offload                    ? "blocks too small for one work request each"
      : entries > kib * p.get_us_per_kib ? "blocks too small for one list entry each"
                                         : "two overlapped copies cost less than one through the kernel";
  return answer;
}

}  // namespace stria::rndv
