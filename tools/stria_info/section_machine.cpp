// The library itself and the machine it runs on.
#include "base/format.hpp"
#include "hw/topology.hpp"
#include "stria/provider.h"
#include "stria/stria.h"
#include "tools/stria_info/section.hpp"
#include "transport/wire.hpp"

namespace stria::info {

Section version_section() {
  Section section{"version", "Version", "", {}};
  section.text = fmt::format("{:<20} {}\n{:<20} {}\n{:<20} {}\n", "stria", stria_version(),
                             "provider contract", STRIA_PROVIDER_VERSION, "wire format", wire::kVersion);
  section.json = Json{{"stria", stria_version()},
                      {"provider_contract", STRIA_PROVIDER_VERSION},
                      {"wire_format", wire::kVersion}};
  return section;
}

namespace {

Json cpus_json(const hw::CpuSet& set) {
  return Json(set.cpus());
}

Json topology_json(const hw::Topology& topology) {
  Json out{{"packages", topology.packages()},
           {"allowed_cpus", cpus_json(topology.allowed())},
           {"bound", topology.is_bound()},
           {"bound_cpus", cpus_json(topology.bound())},
           {"memory_policy", topology.memory_policy()}};
  Json& cores = out["cores"] = Json::array();
  for (const hw::Core& core : topology.cores())
    cores.push_back({{"package", core.package}, {"cpus", cpus_json(core.cpus)}});
  Json& caches = out["caches"] = Json::array();
  for (const hw::Cache& cache : topology.caches())
    caches.push_back({{"level", cache.level},
                      {"kind", std::string(1, cache.kind)},
                      {"bytes", cache.bytes},
                      {"line_bytes", cache.line_bytes},
                      {"cpus", cpus_json(cache.cpus)}});
  Json& memories = out["memory"] = Json::array();
  for (const hw::Memory& memory : topology.memories())
    memories.push_back({{"node", memory.node}, {"bytes", memory.bytes}, {"cpus", cpus_json(memory.cpus)}});
  Json& devices = out["devices"] = Json::array();
  for (const hw::IoDevice& device : topology.devices())
    devices.push_back({{"kind", hw::to_string(device.kind)},
                       {"name", device.name},
                       {"bus_id", device.bus_id},
                       {"model", device.model},
                       {"near_cpus", cpus_json(device.near_cpus)},
                       {"near", topology.near_text(device)},
                       {"near_this_process", topology.is_near(device)}});
  return out;
}

}  // namespace

Section topology_section(bool io) {
  Section section{"topology", "Topology", "", {}};
  hw::Topology::Options options;
  options.io = io;
  const auto topology = hw::Topology::discover(options);
  if (!topology) {
    section.text = fmt::format("unknown: {}\n", topology.error().context);
    section.json["problem"] = topology.error().context;
    return section;
  }
  section.text = topology->to_text();
  section.json = topology_json(*topology);
  return section;
}

}  // namespace stria::info
