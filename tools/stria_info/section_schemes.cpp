// Which way a message goes, by size and layout, and why: the rules of eager/send.hpp and tag/send.cpp for
// what travels with its header, and rndv::choose() itself, the function the engine calls, for what does not.
#include <algorithm>
#include <bit>
#include <set>

#include "base/format.hpp"
#include "eager/send.hpp"
#include "rndv/cost_model.hpp"
#include "tag/settings.hpp"
#include "tools/stria_info/section.hpp"
#include "transport/link_ref.hpp"
#include "transport/payload.hpp"
#include "transport/wire.hpp"

namespace stria::info {
namespace {

/// A scheme with the times that the model predicts for it and for the others; 0: none.
struct Prediction {
  std::string scheme;  // empty: there is none
  rndv::Answer answer = {};
  double us() const {
    switch (answer.scheme) {
      case rndv::Scheme::get:
      case rndv::Scheme::mapped:
        return answer.get_us;
      case rndv::Scheme::mapped_both:
        return answer.both_us;
      case rndv::Scheme::pipeline:
        return answer.pipeline_us;
      case rndv::Scheme::none:
        break;
    }
    return 0;
  }
};

struct Way {
  std::string name;
  std::string reason;
  Prediction near = {};        // the rendezvous; empty: it is none
  std::uint32_t fragment = 0;  // of a pipeline
  bool turned = false;
  Prediction far = {};     // past far caches
  Prediction mapped = {};  // between memories that peers map; empty: it makes no difference
};

/// What the decision looks at.
struct Path {
  std::uint64_t pio_max;
  std::uint64_t eager_max;
  std::uint32_t zcopy_max;
  std::uint64_t eager_limit;
  bool overlaps_packing = false;
  bool can_get;
  bool can_map;
  bool can_share;  // the sender can store through a mapped key
  bool offload;
  bool grows;
  bool distant;
  bool gathers;
  rndv::Force force;
  bool flows;
  std::uint32_t fragment;
  bool fragment_is_given;
};

Path path_of(const Device& device, const Config& config) {
  const hw::Capabilities& can = device.capabilities;
  Path path{};
  path.pio_max = hw::has(can, STRIA_CAP_PIO) ? can.pio_max : 0;
  path.eager_max = hw::has(can, STRIA_CAP_EAGER) ? can.eager_max : 0;
  path.zcopy_max = device.zcopy_max == 0 ? 0 : std::bit_floor(device.zcopy_max);  // as LinkRef
  const tag::Settings settings = tag::read_settings(config);
  path.eager_limit = std::min<std::uint64_t>(settings.eager_limit, std::max(path.pio_max, path.eager_max));
  path.can_get = hw::has(can, STRIA_CAP_GET | STRIA_CAP_FAST_REGISTER);
  path.can_map = hw::has(can, STRIA_CAP_MAP_MEMORY | STRIA_CAP_FAST_REGISTER);
  path.can_share = settings.rndv.shares && path.can_map && hw::has(can, STRIA_CAP_PIO);
  path.offload = hw::has(can, STRIA_CAP_OFFLOAD);
  path.grows = hw::has(can, STRIA_CAP_GROWING);
  path.distant = device.latency_ns >= transport::kDistantNs;
  path.gathers = hw::has(can, STRIA_CAP_OFFLOAD | STRIA_CAP_COMPOSITE);
  path.force = settings.rndv.force;
  path.flows = settings.rndv.flows;
  path.fragment = settings.rndv.fragment_bytes;
  path.fragment_is_given = settings.rndv.fragment_fixed;
  path.overlaps_packing = settings.overlaps_packing;
  return path;
}

/// What the model is told of one side's memory.
struct Blocks {
  std::uint32_t bytes = 0;  ///< mean run; 0: contiguous
  bool sparse = false;
  bool turned = false;
};
Blocks blocks_of(const datatype::Layout& layout, std::uint64_t length) {
  if (layout.block_count() == 0) return {};
  const auto mean = static_cast<std::uint64_t>(layout.size() / layout.block_count());
  const bool one_run = layout.is_contiguous() && (layout.extent() == layout.size() || length <= mean);
  if (one_run) return {};
  const auto bytes = static_cast<std::int64_t>(length);
  const stria_payload_t memory{&layout, nullptr, std::max<std::int64_t>(1, (bytes - 1) / layout.size() + 1),
                               0, bytes};
  return {static_cast<std::uint32_t>(std::clamp<std::uint64_t>(mean, 1, 0x7fffffff)),
          transport::is_sparse(memory), transport::turned_bytes(memory) != 0};
}

Prediction predict(const rndv::Question& question) {
  const rndv::Answer answer = rndv::choose(question);
  return {std::string(rndv::to_string(answer.scheme)), answer};
}

/// Of memory that other processes of the host map, both sides'.
void add_mapped(const Path& path, rndv::Question question, Way& way) {
  question.mapped = question.sink_mapped = true;
  question.can_share = path.can_share;
  const Prediction mapped = predict(question);
  if (mapped.answer.scheme == rndv::Scheme::mapped || mapped.answer.scheme == rndv::Scheme::mapped_both)
    way.mapped = mapped;
}

Way way_of(const Path& path, std::uint64_t length, const Blocks& source, const Blocks& sink) {
  const std::uint32_t block = source.bytes;  // the sender alone decides what is announced
  rndv::Question question;
  question.length = length;
  question.source_block = block;
  question.sink_block = sink.bytes;
  question.source_sparse = source.sparse;
  question.sink_sparse = sink.sparse;
  question.turned = source.turned || sink.turned;
  question.can_get = path.can_get;
  question.offload = path.offload;
  question.distant = path.distant && !path.offload;
  question.grows = path.grows;
  question.force = path.force;
  const bool packs_long = path.overlaps_packing && rndv::packs_long(length, block);
  const bool at_once = path.grows || path.distant;
  const bool announced = packs_long && (!at_once || rndv::packs_very_long(length, block, source.sparse));
  if (length <= path.eager_limit && !announced) {
    Way way;
    const bool gathered = block == 0 || length <= eager::kGatherMax;
    if (length <= path.pio_max && gathered)
      way = {"pio", block == 0 ? "fits the PIO window" : "fits the PIO window, gathered on the stack"};
    else if (packs_long)
      way = {"buffered", path.grows ? "packed while the receiver unpacks"
                                    : "a way there and back takes longer than packing"};
    else
      way = {"buffered", length <= path.pio_max ? "strided: packed straight into provider memory"
                                                : "longer than the window takes, within the eager limit"};
    if (path.can_map && path.overlaps_packing && rndv::goes_mapped(length, block, source.sparse, false))
      add_mapped(path, question, way);
    return way;
  }
  const Prediction near = predict(question);
  Way way{fmt::format("rendezvous {}", near.scheme), near.answer.reason, near};
  way.turned = question.turned;
  if (near.answer.scheme == rndv::Scheme::pipeline) {
    const auto eager_max = static_cast<std::uint32_t>(path.eager_max);
    way.fragment = path.fragment_is_given
                       ? path.fragment
                       : rndv::fragment_on_link(question, path.fragment, eager_max, path.zcopy_max);
    way.fragment = std::min(way.fragment, std::max(eager_max, path.zcopy_max));
  }
  if (!path.offload && !path.distant) {
    question.far = true;
    question.flows = path.flows;
    way.far = predict(question);
    question.far = question.flows = false;
  }
  if (path.can_map) add_mapped(path, question, way);
  return way;
}

/// Powers of four, both sides of every threshold, and one instance of the layout.
std::set<std::uint64_t> sizes_for(const Path& path, const datatype::Layout& layout) {
  std::set<std::uint64_t> sizes;
  for (std::uint64_t size = 1; size <= std::uint64_t{64} << 20; size *= 4) sizes.insert(size);
  for (const std::uint64_t threshold : {path.pio_max, path.eager_limit}) {
    if (threshold == 0) continue;
    sizes.insert(threshold);
    sizes.insert(threshold + 1);
  }
  if (layout.size() > 0) sizes.insert(static_cast<std::uint64_t>(layout.size()));
  return sizes;
}

std::string us_text(double us) {
  return us > 0 ? fmt::format("{:.1f}", us) : "-";
}
/// A scheme, and its time.
std::string both_columns(const Prediction& prediction, int scheme) {
  return fmt::format("{:<{}} {:>9}", prediction.scheme.empty() ? "-" : prediction.scheme, scheme,
                     us_text(prediction.us()));
}
constexpr int kFarWidth = 8, kMappedWidth = 14;

std::string heading() {
  return fmt::format("  {:>10}  {:<20} {:>9} {:>12} {:>9}  {:<{}} {:>9}  {:<{}} {:>9}  {}\n", "bytes", "way",
                     "get us", "pipeline us", "fragment", "far", kFarWidth, "us", "mapped", kMappedWidth,
                     "us", "reason");
}
std::string line_of(std::uint64_t size, const Way& way) {
  const rndv::Answer& near = way.near.answer;
  return fmt::format("  {:>10}  {:<20} {:>9} {:>12} {:>9}  {}  {}  {}\n", size, way.name,
                     us_text(near.get_us), us_text(near.pipeline_us),
                     way.fragment > 0 ? std::to_string(way.fragment) : "-", both_columns(way.far, kFarWidth),
                     both_columns(way.mapped, kMappedWidth), way.reason);
}

void add_times(Json& to, const rndv::Answer& answer, const char* read) {
  if (answer.get_us > 0) to[read] = answer.get_us;
  if (answer.both_us > 0) to["both_us"] = answer.both_us;
  if (answer.pipeline_us > 0) to["pipeline_us"] = answer.pipeline_us;
}
Json json_of(std::uint64_t size, const Way& way) {
  Json row{{"bytes", size}, {"way", way.name}, {"reason", way.reason}};
  add_times(row, way.near.answer, "get_us");
  if (way.fragment > 0) row["fragment"] = way.fragment;
  if (way.turned) row["turned"] = true;
  const auto add = [&row](const char* name, const Prediction& prediction) {
    if (prediction.scheme.empty()) return;
    row[name] = prediction.scheme;
    Json times{{"us", prediction.us()}};
    add_times(times, prediction.answer, "get_us");
    row[std::string(name) + "_times"] = std::move(times);
  };
  add("far", way.far);
  if (!way.mapped.scheme.empty()) {
    Json mapped{{"way", fmt::format("rendezvous {}", way.mapped.scheme)}, {"us", way.mapped.us()}};
    add_times(mapped, way.mapped.answer, "by_receiver_us");
    mapped["reason"] = way.mapped.answer.reason;
    row["mapped"] = std::move(mapped);
  }
  return row;
}

}  // namespace

Section schemes_section(const Config& config, const std::vector<Device>& devices,
                        const std::vector<NamedLayout>& layouts, const NamedLayout* into) {
  Section section{"schemes",
                  into == nullptr ? "Schemes by size and layout (both sides alike, credit at hand)"
                                  : "Schemes by size and both sides' layouts (credit at hand)",
                  "", Json::array()};
  for (const Device& device : devices) {
    if (device.rank == 0 || !device.problem.empty()) continue;
    const Path path = path_of(device, config);
    section.text +=
        fmt::format("{}: PIO up to {}, eager up to {} bytes, get {}, STRIA_RNDV_SCHEME={}\n", device.label,
                    path.pio_max, path.eager_limit, path.can_get ? "where the link allows it" : "never",
                    config.text("STRIA_RNDV_SCHEME"));
    section.text += fmt::format(
        "A send without credit for unexpected payload, and a synchronous one while {} others wait, is a "
        "rendezvous.\n",
        wire::kSyncSlots);
    if (path.can_get && !path.distant)
      section.text += fmt::format(
          "For near caches and one direction at a time. \"far\" is the rendezvous where the receiver's "
          "caches are far from\nthe sender's. Each \"us\" is the time that the model predicts for the scheme "
          "before it.\n{}\n",
          path.flows
              ? "Fragments flow there, too, which STRIA_RNDV_FLOWS says."
              : "A receiver that has announced messages of its own takes a get there for contiguous ones.");
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
      const datatype::Layout& sink = into == nullptr ? layout : into->layout;
      std::string lines;
      Json rows = Json::array();
      bool turned = false;
      for (const std::uint64_t size : sizes_for(path, layout)) {
        const Way way = way_of(path, size, blocks_of(layout, size), blocks_of(sink, size));
        turned = turned || way.turned;
        lines += line_of(size, way);
        rows.push_back(json_of(size, way));
      }
      section.text += fmt::format("\n{}{}\n", name, into == nullptr ? "" : " into " + into->name);
      if (turned)
        section.text +=
            "  One side sees a matrix by the other's columns: fragments hold as many of them as they can.\n";
      section.text += heading() + lines;
      Json table{{"provider", device.provider}, {"device", device.index}, {"layout", name}};
      if (into != nullptr) table["into"] = into->name;
      table["rows"] = std::move(rows);
      section.json.push_back(std::move(table));
    }
    section.text += '\n';
  }
  if (section.json.empty()) section.text = "no provider of STRIA_PROVIDERS can be used\n";
  while (section.text.ends_with("\n\n")) section.text.pop_back();
  return section;
}

}  // namespace stria::info
