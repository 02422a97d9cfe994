// Topology on machines that hwloc makes up, so that the answers are known; and once on the real one.
#include "hw/topology.hpp"

#include <gtest/gtest.h>
#include <sched.h>

namespace stria::hw {
namespace {

Topology made_up(const char* description) {
  Topology::Options options;
  options.io = false;
  options.synthetic = description;
  auto topology = Topology::discover(options);
  EXPECT_TRUE(topology.has_value());
  return topology ? *topology : Topology();
}

TEST(CpuSet, is_written_as_ranges) {
  EXPECT_EQ(CpuSet().to_string(), "none");
  EXPECT_EQ(CpuSet({3}).to_string(), "3");
  EXPECT_EQ(CpuSet({8, 1, 0, 2, 2, 10, 9}).to_string(), "0-2,8-10");
}

TEST(BytesText, is_exact) {
  EXPECT_EQ(bytes_text(0), "0 bytes");
  EXPECT_EQ(bytes_text(1000), "1000 bytes");
  EXPECT_EQ(bytes_text(32 * 1024), "32 KiB");
  EXPECT_EQ(bytes_text(1536 * 1024), "1536 KiB");
  EXPECT_EQ(bytes_text(std::uint64_t{3} << 30), "3 GiB");
}

TEST(Topology, counts_what_the_machine_has) {
  const Topology machine = made_up("package:2 numa:1 l3:1 core:2 pu:2");
  EXPECT_EQ(machine.packages(), 2u);
  ASSERT_EQ(machine.cores().size(), 4u);
  EXPECT_EQ(machine.cores()[2].package, 1u);
  EXPECT_EQ(machine.cores()[2].cpus.to_string(), "4-5");
  ASSERT_EQ(machine.memories().size(), 2u);
  EXPECT_EQ(machine.memories()[1].cpus.to_string(), "4-7");
  EXPECT_EQ(machine.allowed().to_string(), "0-7");
}

TEST(Topology, tells_how_near_two_hardware_threads_are) {
  const Topology machine = made_up("package:2 numa:2 l3:1 core:2 pu:2");  // 16 threads, 4 memory nodes
  EXPECT_EQ(machine.nearness(0, 0), Nearness::same_thread);
  EXPECT_EQ(machine.nearness(0, 1), Nearness::same_core);
  EXPECT_EQ(machine.nearness(0, 2), Nearness::shared_cache);
  EXPECT_EQ(machine.nearness(0, 4), Nearness::same_package);
  EXPECT_EQ(machine.nearness(0, 8), Nearness::same_machine);
  EXPECT_EQ(machine.nearness(0, 99), Nearness::same_machine);
  EXPECT_EQ(machine.memory_near(5), 1);
  EXPECT_EQ(machine.memory_near(99), -1);
  EXPECT_EQ(machine.nearness_text(0, 1), "are threads of one core");
  EXPECT_NE(machine.nearness_text(0, 2).find("share an L3 cache"), std::string::npos);

  const Topology plain = made_up("package:1 numa:2 core:2 pu:1");  // no cache in sight
  EXPECT_EQ(plain.nearness(0, 1), Nearness::same_node);
}

TEST(Topology, a_device_is_near_the_cores_that_it_hangs_at) {
  const Topology machine = made_up("package:2 numa:1 core:2 pu:1");
  IoDevice device;
  device.near_cpus = CpuSet({2, 3});
  EXPECT_EQ(machine.near_text(device), "near cpus 2-3 (memory node 1)");
  device.everywhere = true;
  EXPECT_EQ(machine.near_text(device), "equally far from every core");
  device.near_cpus = CpuSet();
  EXPECT_EQ(machine.near_text(device), "place unknown");
  EXPECT_FALSE(machine.is_near(device));
}

TEST(Topology, refuses_a_description_that_is_none) {
  Topology::Options options;
  options.synthetic = "package:two";
  const auto topology = Topology::discover(options);
  ASSERT_FALSE(topology.has_value());
  EXPECT_EQ(topology.error().status, Status::io_error);
}

TEST(Topology, of_this_machine_knows_the_binding_of_this_process) {
#ifdef STRIA_TEST_EMULATED
  GTEST_SKIP() << "under the emulator hwloc is not told what a process is bound to";
#endif
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  unsigned last = 0;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &before)) last = cpu;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(last, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const auto topology = Topology::discover();
  EXPECT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  ASSERT_TRUE(topology.has_value());
  EXPECT_EQ(topology->bound(), CpuSet({last}));
  EXPECT_TRUE(topology->allowed().contains(last));
  EXPECT_GE(topology->cores().size(), 1u);
  EXPECT_NE(topology->to_text().find("this process"), std::string::npos);
}

}  // namespace
}  // namespace stria::hw
