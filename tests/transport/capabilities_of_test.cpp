// Capability bits follow from the groups of the table; a device only takes some away and adds facts.
#include <gtest/gtest.h>

#include "transport/capabilities.hpp"

namespace stria::transport {
namespace {

Capabilities stated;  // by the device of a test
int event_fd = -1;

class CapabilitiesOf : public testing::Test {
 protected:
  CapabilitiesOf() {
    stated = {};
    event_fd = -1;
    table.capabilities = [](stria_device_t*, stria_capabilities_t* out) { *out = stated; };
    table.event_fd = [](stria_device_t*) { return event_fd; };
  }
  Capabilities ask() const { return capabilities_of(table, nullptr); }
  stria_group_pio_t pio{};
  stria_group_keys_t keys{};
  stria_group_get_t get{};
  stria_group_put_t put{};
  stria_group_atomic_t atomic{};
  stria_group_offload_t offload{};
  stria_group_bulk_t bulk{};
  stria_group_memory_t memory{};
  stria_provider_t table{};
};

TEST_F(CapabilitiesOf, a_core_alone_is_a_buffered_path) {
  EXPECT_EQ(ask().flags, STRIA_CAP_EAGER);
  event_fd = 7;
  EXPECT_EQ(ask().flags, STRIA_CAP_EAGER | STRIA_CAP_EVENT_FD);
}

TEST_F(CapabilitiesOf, each_group_brings_its_bits) {
  table.keys = &keys;
  const std::uint64_t with_keys =
      STRIA_CAP_EAGER | STRIA_CAP_FAST_REGISTER | STRIA_CAP_LOCAL_INVALIDATE | STRIA_CAP_SEND_INVALIDATE;
  EXPECT_EQ(ask().flags, with_keys);
  table.get = &get;
  EXPECT_EQ(ask().flags, with_keys | STRIA_CAP_GET);
  table.get = nullptr, table.put = &put;
  EXPECT_EQ(ask().flags, with_keys | STRIA_CAP_PUT);
  table.put = nullptr, table.atomic = &atomic;
  EXPECT_EQ(ask().flags, with_keys | STRIA_CAP_ATOMICS);
  table.atomic = nullptr, table.offload = &offload;
  EXPECT_EQ(ask().flags, with_keys | STRIA_CAP_OFFLOAD);
  table.offload = nullptr, table.memory = &memory;
  EXPECT_EQ(ask().flags, with_keys | STRIA_CAP_MAP_MEMORY);
}

TEST_F(CapabilitiesOf, a_zero_copy_send_is_a_function_and_placing_a_fact) {
  table.bulk = &bulk;
  EXPECT_EQ(ask().flags, STRIA_CAP_EAGER | STRIA_CAP_ZCOPY);
  table.bulk = nullptr;
  stated.flags = STRIA_CAP_PLACES | STRIA_CAP_ZCOPY;
  EXPECT_EQ(ask().flags, STRIA_CAP_EAGER | STRIA_CAP_PLACES);
}

TEST_F(CapabilitiesOf, pio_needs_windows_on_the_device) {
  table.pio = &pio;
  stated.pio_windows = 4;
  EXPECT_EQ(ask().flags, STRIA_CAP_EAGER);
  EXPECT_EQ(ask().pio_windows, 0u);
  stated.pio_max = 100;
  EXPECT_EQ(ask().flags, STRIA_CAP_EAGER | STRIA_CAP_PIO);
  EXPECT_EQ(ask().pio_windows, 4u);
}

TEST_F(CapabilitiesOf, a_device_takes_away_what_it_lacks_and_adds_facts) {
  table.keys = &keys, table.get = &get, table.put = &put;
  stated.flags = STRIA_CAP_STRIDED;
  stated.lacks = STRIA_CAP_PUT | STRIA_CAP_SEND_INVALIDATE;
  EXPECT_EQ(ask().flags, STRIA_CAP_EAGER | STRIA_CAP_FAST_REGISTER | STRIA_CAP_LOCAL_INVALIDATE |
                             STRIA_CAP_GET | STRIA_CAP_STRIDED);
  EXPECT_EQ(ask().lacks, 0u);
}

TEST_F(CapabilitiesOf, a_bit_that_a_provider_states_without_the_function_does_not_count) {
  stated.flags =
      STRIA_CAP_GET | STRIA_CAP_ATOMICS | STRIA_CAP_PIO | STRIA_CAP_MAP_MEMORY | STRIA_CAP_EVENT_FD;
  stated.pio_max = 64;
  EXPECT_EQ(ask().flags, STRIA_CAP_EAGER);
  EXPECT_EQ(ask().pio_max, 0u);
}

}  // namespace
}  // namespace stria::transport
