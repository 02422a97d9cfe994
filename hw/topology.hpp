// The machine as hwloc sees it, copied once into plain values: cores with their caches and memory, what this
// process may use and is bound to, the devices on the I/O buses, and what is near what. No hwloc type leaves
// topology.cpp. Setup code: discovery takes milliseconds and allocates; the result is immutable.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace stria::hw {

/// A set of hardware threads by operating-system index, sorted.
class CpuSet {
 public:
  CpuSet() = default;
  explicit CpuSet(std::vector<unsigned> cpus);
  bool contains(unsigned cpu) const noexcept;
  bool empty() const noexcept { return cpus_.empty(); }
  std::size_t size() const noexcept { return cpus_.size(); }
  const std::vector<unsigned>& cpus() const noexcept { return cpus_; }
  /// "0-3,8"; "none" when empty.
  std::string to_string() const;
  friend bool operator==(const CpuSet&, const CpuSet&) = default;

 private:
  std::vector<unsigned> cpus_;
};

struct Cache {
  unsigned level = 0;       ///< 1 is next to the core
  char kind = 'u';          ///< 'd'ata, 'i'nstructions, 'u'nified
  std::uint64_t bytes = 0;  ///< 0: unknown
  unsigned line_bytes = 0;  ///< 0: unknown
  CpuSet cpus;              ///< hardware threads that share it
};

struct Core {
  unsigned package = 0;  ///< logical index of its package (socket)
  CpuSet cpus;           ///< its hardware threads
};

struct Memory {
  unsigned node = 0;        ///< NUMA node, operating-system index
  std::uint64_t bytes = 0;  ///< 0: unknown
  CpuSet cpus;              ///< the hardware threads that it is local to
};

enum class DeviceKind : std::uint8_t { network, openfabrics, block, gpu, coprocessor, dma, pci };
const char* to_string(DeviceKind kind) noexcept;

struct IoDevice {
  DeviceKind kind = DeviceKind::pci;
  std::string name;         ///< "mlx5_0", "eth0"; for a PCI function without one its bus id
  std::string bus_id;       ///< "0000:01:00.0"; empty when it is not on PCI
  std::string model;        ///< vendor and device as far as known
  CpuSet near_cpus;         ///< hardware threads that the device is near; empty: unknown
  bool everywhere = false;  ///< it is equally far from every core
};

/// How close two hardware threads are, closest first.
enum class Nearness : std::uint8_t {
  same_thread,
  same_core,
  shared_cache,
  same_node,
  same_package,
  same_machine
};

class Topology {
 public:
  struct Options {
    bool io = true;         ///< look at the I/O buses too
    std::string synthetic;  ///< describe this machine in hwloc's synthetic language instead of the real one
  };
  /// Looks at the machine. Errors: io_error (hwloc refused; errno's text).
  static Result<Topology> discover(const Options& options);
  static Result<Topology> discover() { return discover(Options{}); }

  const std::vector<Core>& cores() const noexcept { return cores_; }
  const std::vector<Cache>& caches() const noexcept { return caches_; }
  const std::vector<Memory>& memories() const noexcept { return memories_; }
  const std::vector<IoDevice>& devices() const noexcept { return devices_; }
  unsigned packages() const noexcept { return packages_; }
  /// The hardware threads of the machine that this process may use, within the limits of its cgroup.
  const CpuSet& allowed() const noexcept { return allowed_; }
  /// What the process is bound to; equals allowed() when it is not bound.
  const CpuSet& bound() const noexcept { return bound_; }
  bool is_bound() const noexcept { return !(bound_ == allowed_); }
  /// How memory is placed, as "first touch, nodes 0" or "bound to nodes 1"; empty when the system does not
  /// say.
  const std::string& memory_policy() const noexcept { return memory_policy_; }

  /// How close two hardware threads are. Unknown ones count as same_machine.
  Nearness nearness(unsigned cpu_a, unsigned cpu_b) const noexcept;
  /// How close two hardware threads are, in words: "share an L3 cache of 32 MiB".
  std::string nearness_text(unsigned cpu_a, unsigned cpu_b) const;
  /// NUMA node local to the hardware thread; -1 when unknown.
  int memory_near(unsigned cpu) const noexcept;
  /// Where the device is, in words: "near cpus 0-3 (memory node 0)", "equally far from every core".
  std::string near_text(const IoDevice& device) const;
  /// Whether the process is bound near the device: a hardware thread that it is bound to is near the device.
  bool is_near(const IoDevice& device) const noexcept;

  /// The whole topology as aligned lines, for people.
  std::string to_text() const;

 private:
  const Cache* smallest_shared_cache(unsigned cpu_a, unsigned cpu_b) const noexcept;
  friend class Discovery;

  std::vector<Core> cores_;
  std::vector<Cache> caches_;
  std::vector<Memory> memories_;
  std::vector<IoDevice> devices_;
  unsigned packages_ = 0;
  CpuSet allowed_;
  CpuSet bound_;
  std::string memory_policy_;
};

/// A number of bytes in the largest unit that divides it, as 32768 in "32 KiB". Never rounded.
std::string bytes_text(std::uint64_t bytes);

}  // namespace stria::hw
