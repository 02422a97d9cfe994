// Which way a message goes, by size and layout, and why: the rules of eager/send.hpp and tag/send.cpp for
// what travels with its header, and rndv::choose() itself, the function the engine calls, for what does not.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "eager/send.hpp"
#include "rndv/cost_model.hpp"
#include "tools/stria_info/section.hpp"
#include "transport/payload.hpp"
#include "transport/wire.hpp"

namespace stria::info {
namespace {

struct Way {
  std::string name;
  std::string reason;
  double get_us = 0;  // predictions of the cost model; 0: none
  double pipeline_us = 0;
  std::string far = {};      // the rendezvous past far caches; empty: none
  std::string written = {};  // the same of what may have been written since the last one
  std::string mapped = {};   // between memories that peers map; empty: it makes no difference
  double mapped_us = 0;
  std::string mapped_reason = {};
};

/// What the decision looks at.
struct Path {
  std::uint64_t pio_max;
  std::uint64_t eager_max;
  std::uint64_t eager_limit;
  bool overlaps_packing = false;
  bool can_get;
  bool can_share;
  bool can_map;
  bool can_store;  // through a mapped key
  bool offload;
  bool grows;
  bool gathers;
  rndv::Force force;
  bool flows;
};

Path path_of(const Device& device, const Config& config) {
  const hw::Capabilities& can = device.capabilities;
  Path path{};
  path.pio_max = hw::has(can, STRIA_CAP_PIO) ? can.pio_max : 0;
  path.eager_max = hw::has(can, STRIA_CAP_EAGER) ? can.eager_max : 0;
  path.eager_limit = std::min<std::uint64_t>(static_cast<std::uint64_t>(config.number(Var::eager_limit)),
                                             std::max(path.pio_max, path.eager_max));
  path.can_get = hw::has(can, STRIA_CAP_GET | STRIA_CAP_FAST_REGISTER);
  const bool shares =
      rndv::parse_share(config.text(Var::rndv_share), rndv::parse_force(config.text(Var::rndv_scheme)));
  path.can_share = shares && path.can_get && hw::has(can, STRIA_CAP_PUT | STRIA_CAP_PIO);
  path.can_map = hw::has(can, STRIA_CAP_MAP_MEMORY | STRIA_CAP_FAST_REGISTER);
  path.can_store = shares && path.can_map && hw::has(can, STRIA_CAP_PIO);
  path.offload = hw::has(can, STRIA_CAP_OFFLOAD);
  path.grows = hw::has(can, STRIA_CAP_GROWING);
  path.gathers = hw::has(can, STRIA_CAP_OFFLOAD | STRIA_CAP_COMPOSITE);
  path.force = rndv::parse_force(config.text(Var::rndv_scheme));
  path.flows = rndv::parse_flows(config.text(Var::rndv_flows));
  path.overlaps_packing = !config.is_given(Var::eager_limit) && path.force == rndv::Force::automatic;
  return path;
}

/// What the model is told of a layout, of both sides alike.
struct Blocks {
  std::uint32_t bytes = 0;  ///< mean run; 0: contiguous
  bool sparse = false;
};
Blocks blocks_of(const datatype::Layout& layout, std::uint64_t length) {
  if (layout.block_count() == 0) return {};
  const auto mean = static_cast<std::uint64_t>(layout.size() / layout.block_count());
  const bool one_run = layout.is_contiguous() && (layout.extent() == layout.size() || length <= mean);
  if (one_run) return {};
  const stria_payload_t memory{&layout, nullptr, 1, 0, layout.size()};
  return {static_cast<std::uint32_t>(std::clamp<std::uint64_t>(mean, 1, 0x7fffffff)),
          transport::is_sparse(memory)};
}

/// Of memory that other processes of the host map, both sides'.
void add_mapped(const Path& path, rndv::Question question, Way& way) {
  question.mapped = question.sink_mapped = true;
  question.can_share = path.can_store;
  const rndv::Answer answer = rndv::choose(question);
  if (answer.scheme != rndv::Scheme::mapped && answer.scheme != rndv::Scheme::mapped_both) return;
  way.mapped = rndv::to_string(answer.scheme);
  way.mapped_us = answer.scheme == rndv::Scheme::mapped ? answer.get_us : answer.both_us;
  way.mapped_reason = answer.reason;
}

Way way_of(const Path& path, std::uint64_t length, const Blocks& blocks) {
  const std::uint32_t block = blocks.bytes;
  rndv::Question question;
  question.length = length;
  question.source_block = block;
  question.sink_block = block;
  question.source_sparse = question.sink_sparse = blocks.sparse;
  question.can_get = path.can_get;
  question.offload = path.offload;
  question.can_share = path.can_share && !path.offload;
  question.force = path.force;
  const bool packs_long = path.overlaps_packing && rndv::packs_long(length, block);
  const bool announced = packs_long && (!path.grows || rndv::packs_very_long(length, block, blocks.sparse));
  if (length <= path.eager_limit && !announced) {
    Way way;
    const bool gathered = block == 0 || length <= eager::kGatherMax;
    if (length <= path.pio_max && gathered)
      way = {"pio", block == 0 ? "fits the PIO window" : "fits the PIO window, gathered on the stack"};
    else if (packs_long)
      way = {"buffered", "packed while the receiver unpacks"};
    else
      way = {"buffered", length <= path.pio_max ? "strided: packed straight into provider memory"
                                                : "longer than the window takes, within the eager limit"};
    if (path.can_map && path.overlaps_packing && rndv::goes_mapped(length, block, blocks.sparse, false))
      add_mapped(path, question, way);
    return way;
  }
  const rndv::Answer answer = rndv::choose(question);
  Way way{fmt::format("rendezvous {}", rndv::to_string(answer.scheme)), answer.reason, answer.get_us,
          answer.pipeline_us};
  if (!path.offload) {
    question.far = true;
    question.flows = path.flows;
    way.far = rndv::to_string(rndv::choose(question).scheme);
    question.written = true;
    way.written = rndv::to_string(rndv::choose(question).scheme);
    question.far = question.flows = question.written = false;
  }
  if (path.can_map) add_mapped(path, question, way);
  return way;
}

/// Powers of four and both sides of every threshold.
std::set<std::uint64_t> sizes_for(const Path& path) {
  std::set<std::uint64_t> sizes;
  for (std::uint64_t size = 1; size <= std::uint64_t{64} << 20; size *= 4) sizes.insert(size);
  for (const std::uint64_t threshold : {path.pio_max, path.eager_limit}) {
    if (threshold == 0) continue;
    sizes.insert(threshold);
    sizes.insert(threshold + 1);
  }
  return sizes;
}

std::string us_text(double us) {
  return us > 0 ? fmt::format("{:.1f}", us) : "-";
}

}  // namespace

Section schemes_section(const Config& config, const std::vector<Device>& devices,
                        const std::vector<NamedLayout>& layouts) {
  Section section{"schemes", "Schemes by size and layout (both sides alike, credit at hand)", "",
                  Json::array()};
  for (const Device& device : devices) {
    if (device.rank == 0 || !device.problem.empty()) continue;
    const Path path = path_of(device, config);
    section.text +=
        fmt::format("{}: PIO up to {}, eager up to {} bytes, get {}, STRIA_RNDV_SCHEME={}\n", device.provider,
                    path.pio_max, path.eager_limit, path.can_get ? "where the link allows it" : "never",
                    config.text(Var::rndv_scheme));
    section.text += fmt::format(
        "A send without credit for unexpected payload, and a synchronous one while {} others wait, is a "
        "rendezvous.\n",
        wire::kSyncSlots);
    if (path.can_get)
      section.text += fmt::format(
          "For near caches and one direction at a time. \"far\" is the rendezvous where the receiver's "
          "caches "
          "are far from\nthe sender's, \"new\" that of a program which had time to write the message since "
          "its last long one.\n{}\n",
          path.flows
              ? "Fragments flow there, too, which STRIA_RNDV_FLOWS says."
              : "A receiver that has announced messages of its own takes a get there for contiguous ones "
                "that are not new.");
    if (path.can_get && path.offload)
      section.text += fmt::format(
          "An adapter reads equal blocks at equal distances in place from {} bytes a block on "
          "(get_us_per_source of the cost\nmodel); smaller ones, and other strided memory, are packed.\n",
          rndv::least_block_in_place());
    if (path.can_get && path.offload && path.gathers)
      section.text += fmt::format(
          "This one has keys that show memory that lies apart as one run: where they take it, from {} bytes "
          "a block on\n(get_us_per_gathered) it is read by one work request.\n",
          rndv::least_block_in_place(true));
    if (path.can_map)
      section.text +=
          "\"mapped\" is the rendezvous of a message out of memory of stria_mem_alloc() into other such "
          "memory: one copy by\nloads, or by both sides, each a part of it; no system call.\n";
    for (const auto& [name, layout] : layouts) {
      section.text +=
          fmt::format("\n{}\n  {:>10}  {:<20} {:<8} {:<8} {:<14} {:>9} {:>9} {:>12}  {}\n", name, "bytes",
                      "way", "far", "far, new", "mapped", "mapped us", "get us", "pipeline us", "reason");
      Json rows = Json::array();
      for (const std::uint64_t size : sizes_for(path)) {
        const Way way = way_of(path, size, blocks_of(layout, size));
        section.text +=
            fmt::format("  {:>10}  {:<20} {:<8} {:<8} {:<14} {:>9} {:>9} {:>12}  {}\n", size, way.name,
                        way.far.empty() ? "-" : way.far, way.written.empty() ? "-" : way.written,
                        way.mapped.empty() ? "-" : way.mapped, us_text(way.mapped_us), us_text(way.get_us),
                        us_text(way.pipeline_us), way.reason);
        Json row{{"bytes", size}, {"way", way.name}, {"reason", way.reason}};
        if (way.get_us > 0) row["get_us"] = way.get_us;
        if (way.pipeline_us > 0) row["pipeline_us"] = way.pipeline_us;
        if (!way.far.empty()) row["far"] = way.far;
        if (!way.written.empty()) row["far_new"] = way.written;
        if (way.mapped_us > 0)
          row["mapped"] = {{"way", fmt::format("rendezvous {}", way.mapped)},
                           {"us", way.mapped_us},
                           {"reason", way.mapped_reason}};
        rows.push_back(std::move(row));
      }
      section.json.push_back({{"provider", device.provider}, {"layout", name}, {"rows", std::move(rows)}});
    }
    section.text += '\n';
  }
  if (section.json.empty()) section.text = "no provider of STRIA_PROVIDERS can be used\n";
  while (section.text.ends_with("\n\n")) section.text.pop_back();
  return section;
}

}  // namespace stria::info
