// Discovery copies what hwloc knows into plain values; below it, the questions asked of a Topology and the
// words they are answered in.
#include "hw/topology.hpp"

#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include "base/format.hpp"

namespace stria::hw {
namespace {

struct TopologyFree {
  void operator()(hwloc_topology_t topology) const noexcept { hwloc_topology_destroy(topology); }
};
using TopologyHandle = std::unique_ptr<hwloc_topology, TopologyFree>;
struct BitmapFree {
  void operator()(hwloc_bitmap_t bitmap) const noexcept { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapFree>;

CpuSet to_set(hwloc_const_bitmap_t bitmap) {
  std::vector<unsigned> cpus;
  if (bitmap == nullptr || hwloc_bitmap_weight(bitmap) < 0) return CpuSet();  // unset or infinite
  for (int i = hwloc_bitmap_first(bitmap); i >= 0; i = hwloc_bitmap_next(bitmap, i))
    cpus.push_back(static_cast<unsigned>(i));
  return CpuSet(std::move(cpus));
}

Error system_error(const char* what) {
  return Error{Status::io_error, fmt::format("{}: {}", what, std::generic_category().message(errno))};
}

DeviceKind kind_of(hwloc_obj_osdev_type_t type) noexcept {
  switch (type) {
    case HWLOC_OBJ_OSDEV_NETWORK:
      return DeviceKind::network;
    case HWLOC_OBJ_OSDEV_OPENFABRICS:
      return DeviceKind::openfabrics;
    case HWLOC_OBJ_OSDEV_BLOCK:
      return DeviceKind::block;
    case HWLOC_OBJ_OSDEV_GPU:
      return DeviceKind::gpu;
    case HWLOC_OBJ_OSDEV_COPROC:
      return DeviceKind::coprocessor;
    case HWLOC_OBJ_OSDEV_DMA:
      return DeviceKind::dma;
    default:  // kinds that hwloc got later: memory devices in 2.10
      return DeviceKind::pci;
  }
}

std::string info_of(hwloc_obj_t object, const char* name) {
  const char* value = hwloc_obj_get_info_by_name(object, name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string bus_id_of(const decltype(hwloc_obj_attr_u::pcidev)& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.dev, pci.func);
}

std::string model_of(hwloc_obj_t pci) {
  std::string text = info_of(pci, "PCIVendor");
  const std::string device = info_of(pci, "PCIDevice");
  if (!text.empty() && !device.empty()) text += ' ';
  text += device;
  const auto& attributes = pci->attr->pcidev;
  const std::string ids = fmt::format("[{:04x}:{:04x}]", attributes.vendor_id, attributes.device_id);
  return text.empty() ? ids : text + ' ' + ids;
}

}  // namespace

/// Fills a Topology from a loaded hwloc topology.
class Discovery {
 public:
  Discovery(hwloc_topology_t topology, Topology& out) : topology_(topology), out_(out) {}

  void run(bool io) {
    out_.allowed_ = to_set(hwloc_topology_get_allowed_cpuset(topology_));
    read_cores();
    read_caches();
    read_memories();
    read_binding();
    if (io) read_devices();
  }

 private:
  unsigned package_of(hwloc_obj_t object) const {
    const hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology_, HWLOC_OBJ_PACKAGE, object);
    return package == nullptr ? 0 : package->logical_index;
  }

  void read_cores() {
    // Where the system does not tell cores, each hardware thread counts as one.
    const auto type = hwloc_get_nbobjs_by_type(topology_, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    hwloc_obj_t object = nullptr;
    while ((object = hwloc_get_next_obj_by_type(topology_, type, object)) != nullptr)
      out_.cores_.push_back(Core{package_of(object), to_set(object->cpuset)});
    const int packages = hwloc_get_nbobjs_by_type(topology_, HWLOC_OBJ_PACKAGE);
    out_.packages_ = packages > 0 ? static_cast<unsigned>(packages) : 1;
  }

  void read_caches() {
    constexpr hwloc_obj_type_t kTypes[] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L1ICACHE, HWLOC_OBJ_L2CACHE,
                                           HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE,  HWLOC_OBJ_L5CACHE};
    for (const hwloc_obj_type_t type : kTypes) {
      hwloc_obj_t object = nullptr;
      while ((object = hwloc_get_next_obj_by_type(topology_, type, object)) != nullptr) {
        const auto& cache = object->attr->cache;
        const char kind = cache.type == HWLOC_OBJ_CACHE_DATA          ? 'd'
                          : cache.type == HWLOC_OBJ_CACHE_INSTRUCTION ? 'i'
                                                                      : 'u';
        out_.caches_.push_back(Cache{cache.depth, kind, cache.size, cache.linesize, to_set(object->cpuset)});
      }
    }
  }

  void read_memories() {
    hwloc_obj_t object = nullptr;
    while ((object = hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_NUMANODE, object)) != nullptr)
      out_.memories_.push_back(
          Memory{object->os_index, object->attr->numanode.local_memory, to_set(object->cpuset)});
  }

  void read_binding() {
    out_.bound_ = out_.allowed_;
    const Bitmap set(hwloc_bitmap_alloc());
    if (set == nullptr) return;
    if (hwloc_get_cpubind(topology_, set.get(), HWLOC_CPUBIND_PROCESS) == 0) {
      hwloc_bitmap_and(set.get(), set.get(), hwloc_topology_get_allowed_cpuset(topology_));
      if (hwloc_bitmap_iszero(set.get()) == 0) out_.bound_ = to_set(set.get());
    }
    hwloc_membind_policy_t policy = HWLOC_MEMBIND_DEFAULT;
    if (hwloc_get_membind(topology_, set.get(), &policy, HWLOC_MEMBIND_BYNODESET) != 0) return;
    const std::string nodes = to_set(set.get()).to_string();
    switch (policy) {
      case HWLOC_MEMBIND_DEFAULT:
      case HWLOC_MEMBIND_FIRSTTOUCH:
        out_.memory_policy_ = "first touch, nodes " + nodes;
        break;
      case HWLOC_MEMBIND_BIND:
        out_.memory_policy_ = "bound to nodes " + nodes;
        break;
      case HWLOC_MEMBIND_INTERLEAVE:
        out_.memory_policy_ = "interleaved over nodes " + nodes;
        break;
      case HWLOC_MEMBIND_NEXTTOUCH:
        out_.memory_policy_ = "next touch, nodes " + nodes;
        break;
      case HWLOC_MEMBIND_MIXED:
        out_.memory_policy_ = "mixed, nodes " + nodes;
        break;
      default:  // policies that hwloc got later: a weighted interleaving in 2.11
        out_.memory_policy_ = "nodes " + nodes;
        break;
    }
  }

  /// Finds out which hardware threads the device is near.
  void locate(hwloc_obj_t object, IoDevice& device) const {
    const hwloc_obj_t ancestor = hwloc_get_non_io_ancestor_obj(topology_, object);
    if (ancestor == nullptr) return;
    device.near_cpus = to_set(ancestor->cpuset);
    device.everywhere = ancestor->type == HWLOC_OBJ_MACHINE || out_.memories_.size() <= 1;
  }

  void read_devices() {
    hwloc_obj_t object = nullptr;
    while ((object = hwloc_get_next_osdev(topology_, object)) != nullptr) {
      IoDevice device;
      device.kind = kind_of(object->attr->osdev.type);
      device.name = object->name == nullptr ? "?" : object->name;
      for (hwloc_obj_t up = object->parent; up != nullptr; up = up->parent) {
        if (up->type != HWLOC_OBJ_PCI_DEVICE) continue;
        device.bus_id = bus_id_of(up->attr->pcidev);
        device.model = model_of(up);
        break;
      }
      if (device.model.empty()) device.model = info_of(object, "Model");
      locate(object, device);
      out_.devices_.push_back(std::move(device));
    }
    object = nullptr;
    while ((object = hwloc_get_next_pcidev(topology_, object)) != nullptr) {
      const std::string bus_id = bus_id_of(object->attr->pcidev);
      const auto same = [&](const IoDevice& known) { return known.bus_id == bus_id; };
      if (std::any_of(out_.devices_.begin(), out_.devices_.end(), same)) continue;
      IoDevice device{DeviceKind::pci, bus_id, bus_id, model_of(object), {}, false};
      locate(object, device);
      out_.devices_.push_back(std::move(device));
    }
  }

  hwloc_topology_t topology_;
  Topology& out_;
};

Result<Topology> Topology::discover(const Options& options) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return system_error("hwloc_topology_init");
  const TopologyHandle handle(raw);
  if (!options.synthetic.empty() && hwloc_topology_set_synthetic(raw, options.synthetic.c_str()) != 0)
    return system_error("hwloc does not understand the synthetic description");
  if (options.io) hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  // Instruction caches too: everything else is kept by default.
  hwloc_topology_set_icache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(raw) != 0) return system_error("hwloc_topology_load");
  Topology topology;
  Discovery(raw, topology).run(options.io);
  return topology;
}

CpuSet::CpuSet(std::vector<unsigned> cpus) : cpus_(std::move(cpus)) {
  std::sort(cpus_.begin(), cpus_.end());
  cpus_.erase(std::unique(cpus_.begin(), cpus_.end()), cpus_.end());
}

bool CpuSet::contains(unsigned cpu) const noexcept {
  return std::binary_search(cpus_.begin(), cpus_.end(), cpu);
}

std::string CpuSet::to_string() const {
  if (cpus_.empty()) return "none";
  std::string out;
  for (std::size_t i = 0; i < cpus_.size();) {
    std::size_t last = i;
    while (last + 1 < cpus_.size() && cpus_[last + 1] == cpus_[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += last == i ? fmt::format("{}", cpus_[i]) : fmt::format("{}-{}", cpus_[i], cpus_[last]);
    i = last + 1;
  }
  return out;
}

const char* to_string(DeviceKind kind) noexcept {
  switch (kind) {
    case DeviceKind::network:
      return "network";
    case DeviceKind::openfabrics:
      return "RDMA";
    case DeviceKind::block:
      return "block";
    case DeviceKind::gpu:
      return "GPU";
    case DeviceKind::coprocessor:
      return "coprocessor";
    case DeviceKind::dma:
      return "DMA";
    case DeviceKind::pci:
      return "PCI";
  }
  return "?";
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

const Cache* Topology::smallest_shared_cache(unsigned cpu_a, unsigned cpu_b) const noexcept {
  const Cache* best = nullptr;
  for (const Cache& cache : caches_) {
    if (cache.kind == 'i' || !cache.cpus.contains(cpu_a) || !cache.cpus.contains(cpu_b)) continue;
    if (best == nullptr || cache.level < best->level) best = &cache;
  }
  return best;
}

Nearness Topology::nearness(unsigned cpu_a, unsigned cpu_b) const noexcept {
  const Core* core_a = nullptr;
  const Core* core_b = nullptr;
  for (const Core& core : cores_) {
    if (core.cpus.contains(cpu_a)) core_a = &core;
    if (core.cpus.contains(cpu_b)) core_b = &core;
  }
  if (core_a == nullptr || core_b == nullptr) return Nearness::same_machine;
  if (cpu_a == cpu_b) return Nearness::same_thread;
  if (core_a == core_b) return Nearness::same_core;
  if (smallest_shared_cache(cpu_a, cpu_b) != nullptr) return Nearness::shared_cache;
  const int node = memory_near(cpu_a);
  if (node >= 0 && node == memory_near(cpu_b)) return Nearness::same_node;
  return core_a->package == core_b->package ? Nearness::same_package : Nearness::same_machine;
}

std::string Topology::nearness_text(unsigned cpu_a, unsigned cpu_b) const {
  switch (nearness(cpu_a, cpu_b)) {
    case Nearness::same_thread:
      return "are the same hardware thread";
    case Nearness::same_core:
      return "are threads of one core";
    case Nearness::shared_cache: {
      const Cache* cache = smallest_shared_cache(cpu_a, cpu_b);
      if (cache->bytes == 0) return fmt::format("share an L{} cache", cache->level);
      return fmt::format("share an L{} cache of {}", cache->level, bytes_text(cache->bytes));
    }
    case Nearness::same_node:
      return "share a memory node";
    case Nearness::same_package:
      return "share a package";
    case Nearness::same_machine:
      break;
  }
  return "share nothing nearer than the machine";
}

int Topology::memory_near(unsigned cpu) const noexcept {
  for (const Memory& memory : memories_)
    if (memory.cpus.contains(cpu)) return static_cast<int>(memory.node);
  return -1;
}

std::string Topology::near_text(const IoDevice& device) const {
  if (device.near_cpus.empty()) return "place unknown";
  if (device.everywhere) return "equally far from every core";
  const int node = memory_near(device.near_cpus.cpus().front());
  if (node < 0) return fmt::format("near cpus {}", device.near_cpus.to_string());
  return fmt::format("near cpus {} (memory node {})", device.near_cpus.to_string(), node);
}

bool Topology::is_near(const IoDevice& device) const noexcept {
  const auto& cpus = bound_.cpus();
  return std::any_of(cpus.begin(), cpus.end(), [&](unsigned cpu) { return device.near_cpus.contains(cpu); });
}

std::string Topology::to_text() const {
  std::size_t threads = 0;
  for (const Core& core : cores_) threads += core.cpus.size();
  std::string out =
      fmt::format("{} package{}, {} core{}, {} hardware thread{}\n", packages_, packages_ == 1 ? "" : "s",
                  cores_.size(), cores_.size() == 1 ? "" : "s", threads, threads == 1 ? "" : "s");
  out += fmt::format("this process   may use cpus {}; {}\n", allowed_.to_string(),
                     is_bound() ? "bound to cpus " + bound_.to_string() : std::string("not bound"));
  if (!memory_policy_.empty()) out += fmt::format("memory policy  {}\n", memory_policy_);
  for (const Memory& memory : memories_)
    out +=
        fmt::format("memory {:<7} {:>9.1f} GiB  near cpus {}\n", memory.node,
                    static_cast<double>(memory.bytes) / (1024.0 * 1024.0 * 1024.0), memory.cpus.to_string());
  for (std::size_t i = 0; i < cores_.size(); ++i)
    out += fmt::format("core {:<9} package {}, cpus {}\n", i, cores_[i].package, cores_[i].cpus.to_string());
  for (const Cache& cache : caches_)
    out += fmt::format("L{}{} cache      {:>9}, lines of {} bytes, cpus {}\n", cache.level,
                       cache.kind == 'u' ? ' ' : cache.kind, bytes_text(cache.bytes), cache.line_bytes,
                       cache.cpus.to_string());
  // What two ranks on neighbouring places share decides how fast they talk.
  if (allowed_.size() >= 2) {
    const unsigned first = allowed_.cpus()[0];
    const unsigned second = allowed_.cpus()[1];
    out += fmt::format("cpus {} and {} {}\n", first, second, nearness_text(first, second));
  }
  for (const IoDevice& device : devices_)
    out += fmt::format("{:<14} {:<12} {:<12} {}{}{}\n", to_string(device.kind), device.name,
                       device.bus_id == device.name ? "" : device.bus_id, device.model,
                       device.model.empty() ? "" : "; ", near_text(device));
  return out;
}

}  // namespace stria::hw
