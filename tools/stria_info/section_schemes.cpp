// Which way a message goes, by size and layout, and why: what ways.hpp says of it.
#include <algorithm>
#include <set>

#include "base/format.hpp"
#include "eager/send.hpp"
#include "tools/stria_info/ways.hpp"
#include "transport/wire.hpp"

namespace stria::info {
namespace {

using transport::LinkRef;

/// What the ways of a device's messages depend on.
struct Path {
  LinkRef near, far = {};
  bool has_far = false;  // caches of both sides may be far apart
  tag::Settings settings = {};
};
Path path_of(const Device& device, const Config& config) {
  Path path{.near = link_of(device), .settings = tag::read_settings(config)};
  path.has_far = !path.near.offload && !path.near.distant;
  path.far = path.near;
  path.far.far = path.has_far;
  return path;
}

struct Row {
  Forecast near;
  Forecast far = {};     // past far caches
  Forecast mapped = {};  // between memories that peers map
  bool turned = false;
};
Row row_of(const Path& path, const Sides& sides) {
  Row row{.near = forecast(path.near, sides, path.settings)};
  if (path.has_far) row.far = forecast(path.far, sides, path.settings);
  Sides mapped = sides;
  mapped.source_mapped = mapped.sink_mapped = true;
  if (path.near.can_map) row.mapped = forecast(path.near, mapped, path.settings);
  row.turned =
      row.near.is_announced() && (rndv::blocks_in(sides.source).turned || rndv::blocks_in(sides.sink).turned);
  return row;
}
/// Whether the column has anything to say.
bool shows_far(const Path& path, const Row& row) {
  return path.has_far && row.far.is_announced();
}
bool shows_mapped(const Path& path, const Row& row) {
  if (!path.near.can_map || !row.mapped.is_announced()) return false;
  const rndv::Protocol& protocol = row.mapped.protocol();
  return &protocol == &rndv::kMapped || &protocol == &rndv::kMappedBoth;
}

std::string name_of(const Forecast& way) {
  switch (way.start.way) {
    case tag::Way::window:
      return "pio";
    case tag::Way::buffer:
      return "buffered";
    case tag::Way::announced:
      break;
  }
  return fmt::format("rendezvous {}", way.protocol().name);
}
/// Of a pipeline, as the link takes it; else 0.
std::uint32_t fragment_of(const Path& path, const Forecast& way) {
  if (!way.is_announced() || &way.protocol() != &rndv::kPipeline) return 0;
  return std::min(way.receive.fragment_bytes, path.near.packet_max());
}

/// Powers of four, both sides of every threshold, and one instance of the layout.
std::set<std::uint64_t> sizes_for(const Path& path, const datatype::Layout& layout) {
  std::set<std::uint64_t> sizes;
  for (std::uint64_t size = 1; size <= std::uint64_t{64} << 20; size *= 4) sizes.insert(size);
  const std::uint64_t pio_max = path.near.pio_below == 0 ? 0 : path.near.pio_below - 1;
  for (const std::uint64_t threshold : {pio_max, std::uint64_t{eager_limit_of(path.near, path.settings)},
                                        std::uint64_t{eager_limit_of(path.far, path.settings)}}) {
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
std::string both_columns(bool shows, const Forecast& way, int width) {
  return fmt::format("{:<{}} {:>9}", shows ? way.protocol().name : "-", width, us_text(shows ? way.us() : 0));
}
constexpr int kFarWidth = 8, kMappedWidth = 14;

std::string heading() {
  return fmt::format("  {:>10}  {:<20} {:>9} {:>12} {:>9}  {:<{}} {:>9}  {:<{}} {:>9}  {}\n", "bytes", "way",
                     "get us", "pipeline us", "fragment", "far", kFarWidth, "us", "mapped", kMappedWidth,
                     "us", "reason");
}
std::string line_of(const Path& path, std::uint64_t size, const Row& row) {
  const rndv::Choice& near = row.near.receive.choice;
  const std::uint32_t fragment = fragment_of(path, row.near);
  return fmt::format("  {:>10}  {:<20} {:>9} {:>12} {:>9}  {}  {}  {}\n", size, name_of(row.near),
                     us_text(near.read_us()), us_text(near.us_of(rndv::kPipeline)),
                     fragment > 0 ? std::to_string(fragment) : "-",
                     both_columns(shows_far(path, row), row.far, kFarWidth),
                     both_columns(shows_mapped(path, row), row.mapped, kMappedWidth), row.near.reason);
}

void add_times(Json& to, const rndv::Choice& choice, const char* read) {
  const double both_us = choice.us_of(rndv::kMappedBoth);
  const double pipeline_us = choice.us_of(rndv::kPipeline);
  if (choice.read_us() > 0) to[read] = choice.read_us();
  if (both_us > 0) to["both_us"] = both_us;
  if (pipeline_us > 0) to["pipeline_us"] = pipeline_us;
}
Json json_of(const Path& path, std::uint64_t size, const Row& row) {
  Json json{{"bytes", size}, {"way", name_of(row.near)}, {"reason", row.near.reason}};
  add_times(json, row.near.receive.choice, "get_us");
  if (const std::uint32_t fragment = fragment_of(path, row.near); fragment > 0) json["fragment"] = fragment;
  if (row.turned) json["turned"] = true;
  if (shows_far(path, row)) {
    json["far"] = row.far.protocol().name;
    Json times{{"us", row.far.us()}};
    add_times(times, row.far.receive.choice, "get_us");
    json["far_times"] = std::move(times);
  }
  if (shows_mapped(path, row)) {
    Json mapped{{"way", name_of(row.mapped)}, {"us", row.mapped.us()}};
    add_times(mapped, row.mapped.receive.choice, "by_receiver_us");
    mapped["reason"] = row.mapped.reason;
    json["mapped"] = std::move(mapped);
  }
  return json;
}

/// What holds for all messages of the device.
std::string about(const Path& path, const Device& device, const Config& config) {
  const LinkRef& link = path.near;
  std::string text =
      fmt::format("{}: PIO up to {}, eager up to {} bytes, get {}, STRIA_RNDV_SCHEME={}\n", device.label,
                  link.pio_below == 0 ? 0 : link.pio_below - 1, eager_limit_of(link, path.settings),
                  link.can_get ? "where the link allows it" : "never", config.text("STRIA_RNDV_SCHEME"));
  text += fmt::format(
      "A send without credit for unexpected payload, one of more than {} bytes that finds no free buffer, "
      "and a "
      "synchronous\none while {} others wait, is a rendezvous.\n",
      eager::kWaitForRoomMax, wire::kSyncSlots);
  LinkRef self = link;
  self.self = !link.offload;
  if (const std::uint32_t most = eager_limit_of(self, path.settings);
      most < eager_limit_of(link, path.settings))
    text += fmt::format("So is one of more than {} bytes of a worker to itself.\n", most);
  if (link.can_get && path.has_far)
    text += fmt::format(
        "For near caches and one direction at a time. \"far\" is the rendezvous where the receiver's caches "
        "are far from\nthe sender's. Each \"us\" is the time that the model predicts for the scheme before "
        "it.\n{}\n",
        path.settings.rndv.flows
            ? "Fragments flow there, too, which STRIA_RNDV_FLOWS says."
            : "A receiver that has announced messages of its own takes a get there for contiguous ones.");
  if (link.can_get && link.offload)
    text += fmt::format(
        "An adapter reads equal blocks at equal distances in place from {} bytes a block on "
        "(get_us_per_source of "
        "the cost\nmodel); smaller ones, and other strided memory, are packed.\n",
        rndv::least_block_in_place());
  if (link.can_get && link.offload && link.gathers)
    text += fmt::format(
        "This one has keys that show memory that lies apart as one run: where they take it, from {} bytes "
        "a block on\n(get_us_per_gathered) it is read by one work request.\n",
        rndv::least_block_in_place(true));
  if (link.can_map)
    text +=
        "\"mapped\" is the rendezvous of a message out of memory of stria_mem_alloc() into other such "
        "memory: one copy by\nloads, or by both sides, each a part of it; no system call.\n";
  return text;
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
    section.text += about(path, device, config);
    for (const auto& [name, layout] : layouts) {
      const datatype::Layout& sink = into == nullptr ? layout : into->layout;
      std::string lines;
      Json rows = Json::array();
      bool turned = false;
      for (const std::uint64_t size : sizes_for(path, layout)) {
        const Row row = row_of(path, {memory_of(layout, size), memory_of(sink, size)});
        turned = turned || row.turned;
        lines += line_of(path, size, row);
        rows.push_back(json_of(path, size, row));
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
