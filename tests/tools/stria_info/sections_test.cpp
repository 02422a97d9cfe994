// What stria_info says, compared with what the library is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "rndv/cost_model.hpp"
#include "rndv/protocols/list.hpp"
#include "tag/api/builtins.hpp"
#include "tag/known_variables.hpp"
#include "tools/stria_info/section.hpp"
#include "transport/fake/control.hpp"

namespace stria::info {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Config defaults() {
  return Config(tag::known_variables(tag::builtin_providers()));
}

Device device_with(std::uint64_t flags, std::uint32_t pio_max, std::uint32_t eager_max) {
  Device device;
  device.provider = device.label = "sample";
  device.description = "a provider of this test";
  device.origin = "built in";
  device.rank = 1;
  device.capabilities.flags = flags;
  device.capabilities.pio_max = pio_max;
  device.capabilities.eager_max = eager_max;
  return device;
}
constexpr std::uint64_t kMessages = STRIA_CAP_PIO | STRIA_CAP_EAGER;
constexpr std::uint64_t kAll = kMessages | STRIA_CAP_GET | STRIA_CAP_FAST_REGISTER;

std::string way(const Section& section, std::size_t table, std::uint64_t bytes) {
  for (const Json& row : section.json.at(table).at("rows"))
    if (row.at("bytes") == bytes) return row.at("way");
  return "no row";
}

TEST(RdmaSection, names_the_devices_that_the_kernel_lists) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(::testing::TempDir()) / ("stria_info_rdma." + std::to_string(::getpid()));
  fs::remove_all(folder);
  EXPECT_EQ(rdma_section(folder).text, "none\n");
  const auto write = [&](const char* path, const char* text) {
    fs::create_directories((folder / path).parent_path());
    std::ofstream(folder / path) << text << '\n';
  };
  write("rxe0/node_type", "1: CA");
  write("rxe0/ports/1/link_layer", "Ethernet");
  write("rxe0/ports/1/state", "4: ACTIVE");
  write("rxe0/ports/1/gid_attrs/ndevs/0", "eth0");
  write("siw0/node_type", "4: RNIC");
  write("siw0/ports/1/link_layer", "Ethernet");
  write("siw0/ports/1/state", "1: DOWN");
  const Section section = rdma_section(folder);
  EXPECT_THAT(section.text, HasSubstr("rxe0         port 1: RoCE, ACTIVE, interface eth0\n"));
  EXPECT_THAT(section.text, HasSubstr("siw0         port 1: iWARP, DOWN\n"));
  EXPECT_EQ(section.json.size(), 2u);
  EXPECT_EQ(section.json.at(0).at("ports").at(0).at("kind"), "RoCE");
  fs::remove_all(folder);
}

TEST(DevicesSection, shows_every_capability_of_a_device) {
  const Section section = devices_section({device_with(kAll, 100, 4096)});
  const Json& capabilities = section.json.at(0).at("capabilities");
  EXPECT_EQ(capabilities.size(), hw::capability_bits().size() + hw::capability_limits().size());
  EXPECT_EQ(capabilities.at("get"), true);
  EXPECT_EQ(capabilities.at("put"), false);
  EXPECT_EQ(capabilities.at("pio_max"), 100);
  EXPECT_EQ(capabilities.at("eager_max"), 4096);
  for (const hw::CapabilityBit& entry : hw::capability_bits())
    EXPECT_THAT(section.text, HasSubstr(entry.name));
}

TEST(DevicesSection, shows_the_groups_that_a_provider_declares) {
  Device device = device_with(kAll, 100, 4096);
  EXPECT_THAT(devices_section({device}).text, ::testing::ContainsRegex("groups +none\n"));
  device.groups = {"pio", "keys"};
  const Section section = devices_section({device});
  EXPECT_THAT(section.text, ::testing::ContainsRegex("groups +pio, keys\n"));
  EXPECT_EQ(section.json.at(0).at("groups"), Json({"pio", "keys"}));
}

TEST(DevicesSection, says_why_a_device_cannot_be_used) {
  Device device = device_with(0, 0, 0);
  device.problem = "no such adapter";
  const Section section = devices_section({device});
  EXPECT_THAT(section.text, HasSubstr("cannot be used: no such adapter"));
  EXPECT_EQ(section.json.at(0).count("capabilities"), 0u);
}

TEST(Devices, the_built_in_ones_open_and_those_in_use_come_first) {
  Config config = defaults();
  ASSERT_TRUE(config.set("STRIA_PROVIDERS", "fake,no_such_provider", "test"));
  const std::vector<Device> devices = look_for_devices(config);
  ASSERT_GE(devices.size(), 3u);
  EXPECT_EQ(devices[0].provider, "fake");
  EXPECT_EQ(devices[0].problem, "");
  EXPECT_TRUE(hw::has(devices[0].capabilities, STRIA_CAP_EAGER));
  EXPECT_GT(devices[0].capabilities.eager_max, 0u);
  EXPECT_EQ(devices[1].provider, "no_such_provider");
  EXPECT_THAT(devices[1].problem, HasSubstr("no_such_provider"));
  EXPECT_EQ(devices[2].provider, "shm");
  EXPECT_EQ(devices[2].rank, 0);
  EXPECT_EQ(devices[2].problem, "");
}

TEST(Devices, several_of_a_provider_are_shown_each_with_its_index) {
  Config config = defaults();
  ASSERT_TRUE(config.set("STRIA_PROVIDERS", "fake", "test"));
  fake::FabricOptions options;
  options.devices = 3;
  const fake::UseFabric use(fake::make_fabric(options));
  std::vector<Device> devices = look_for_devices(config);
  ASSERT_GE(devices.size(), 4u);
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(devices[i].provider, "fake");
    EXPECT_EQ(devices[i].index, i);
    EXPECT_EQ(devices[i].problem, "");
  }
  EXPECT_EQ(devices[3].provider, "shm");
  devices.resize(3);
  const Section section = devices_section(devices);
  EXPECT_THAT(section.text, HasSubstr("\n\nfake[2]  "));
  EXPECT_EQ(section.json.at(2).at("name"), "fake");
  EXPECT_EQ(section.json.at(2).at("device"), 2);
}

TEST(ConfigSection, lists_each_variable_with_default_unit_meaning_and_origin) {
  Config config = defaults();
  ASSERT_TRUE(config.set("STRIA_EAGER_LIMIT", "8K", "a parameter"));
  const Section section = config_section(config, "", Level::expert);
  const Json& variables = section.json.at("variables");
  ASSERT_EQ(variables.size(), config.size());
  for (const Json& variable : variables) {
    EXPECT_NE(variable.at("meaning"), "");
    EXPECT_THAT(section.text, HasSubstr(variable.at("name").get<std::string>()));
    const bool set = variable.at("name") == "STRIA_EAGER_LIMIT";
    EXPECT_EQ(variable.at("origin"), set ? "a parameter" : "default");
    if (!set) {
      EXPECT_EQ(variable.at("value"), variable.at("default"));
    } else {
      EXPECT_EQ(variable.at("value"), "8K");
      EXPECT_EQ(variable.at("unit"), "bytes");
    }
  }
}

TEST(ConfigSection, shows_users_a_dozen_variables_and_those_for_experts_that_are_set) {
  Config config = defaults();
  const auto names = [&](Level level) {
    std::set<std::string> shown;
    const Section section = config_section(config, "", level);
    for (const Json& variable : section.json.at("variables"))
      shown.insert(variable.at("name").get<std::string>());
    return shown;
  };
  const std::set<std::string> users = names(Level::user);
  EXPECT_GE(users.size(), 8u);
  EXPECT_LE(users.size(), 15u);
  EXPECT_TRUE(users.contains("STRIA_SHM_HUGE_PAGES"));
  EXPECT_FALSE(users.contains("STRIA_SHM_CELLS"));
  EXPECT_TRUE(names(Level::expert).contains("STRIA_SHM_CELLS"));
  EXPECT_THAT(config_section(config, "", Level::user).text,
              HasSubstr(std::to_string(config.size() - users.size()) + " more for experts"));
  ASSERT_TRUE(config.set("STRIA_SHM_CELLS", "64", "test"));
  EXPECT_TRUE(names(Level::user).contains("STRIA_SHM_CELLS"));
}

TEST(SchemesSection, thresholds_fall_where_the_device_and_the_limit_put_them) {
  Config config = defaults();
  ASSERT_TRUE(config.set("STRIA_EAGER_LIMIT", "4096", "test"));
  const std::vector<NamedLayout> layouts = {{"bytes(1)", datatype::Layout::bytes(1)}};
  const Section section = schemes_section(config, {device_with(kAll, 100, 1 << 20)}, layouts);
  EXPECT_EQ(way(section, 0, 1), "pio");
  EXPECT_EQ(way(section, 0, 100), "pio");
  EXPECT_EQ(way(section, 0, 101), "buffered");
  EXPECT_EQ(way(section, 0, 4096), "buffered");
  EXPECT_THAT(way(section, 0, 4097), HasSubstr("rendezvous"));
}

TEST(SchemesSection, a_device_lowers_the_eager_limit) {
  Config config = defaults();
  ASSERT_TRUE(config.set("STRIA_EAGER_LIMIT", "64K", "test"));
  const std::vector<NamedLayout> layouts = {{"bytes(1)", datatype::Layout::bytes(1)}};
  const Section section = schemes_section(config, {device_with(kMessages, 100, 1000)}, layouts);
  EXPECT_EQ(way(section, 0, 1000), "buffered");
  EXPECT_EQ(way(section, 0, 1001), "rendezvous pipeline");
}

TEST(SchemesSection, what_takes_long_to_pack_is_announced_unless_the_receiver_unpacks_meanwhile) {
  const std::vector<NamedLayout> layouts = {
      {"column", datatype::Layout::vector(1024, 1, 8192, datatype::Layout::bytes(8)).value()}};
  const auto way_of_4096 = [&](std::uint64_t flags) {
    return way(schemes_section(defaults(), {device_with(flags, 100, 16384)}, layouts), 0, 4096);
  };
  EXPECT_EQ(way_of_4096(kMessages), "rendezvous pipeline");
  EXPECT_EQ(way_of_4096(kMessages | STRIA_CAP_GROWING), "buffered");
}

TEST(SchemesSection, what_takes_long_to_pack_goes_at_once_where_a_way_there_and_back_takes_longer) {
  const std::vector<NamedLayout> layouts = {
      {"column", datatype::Layout::vector(1024, 1, 8192, datatype::Layout::bytes(8)).value()}};
  Device device = device_with(kMessages, 100, 16384);
  device.latency_ns = 10000;
  EXPECT_EQ(way(schemes_section(defaults(), {device}, layouts), 0, 4096), "buffered");
}

TEST(SchemesSection, what_is_forced_or_missing_is_named_as_the_reason) {
  Config config = defaults();
  const std::vector<NamedLayout> layouts = {{"bytes(1)", datatype::Layout::bytes(1)}};
  ASSERT_TRUE(config.set("STRIA_RNDV_SCHEME", "pipeline", "test"));
  const Section forced = schemes_section(config, {device_with(kAll, 100, 16384)}, layouts);
  EXPECT_EQ(way(forced, 0, 1 << 20), "rendezvous pipeline");
  EXPECT_THAT(forced.text, HasSubstr("forced by STRIA_RNDV_SCHEME"));
  ASSERT_TRUE(config.set("STRIA_RNDV_SCHEME", "get", "test"));
  EXPECT_EQ(way(schemes_section(config, {device_with(kAll, 100, 16384)}, layouts), 0, 1 << 20),
            "rendezvous get");
  EXPECT_EQ(way(schemes_section(config, {device_with(kMessages, 100, 16384)}, layouts), 0, 1 << 20),
            "rendezvous pipeline");
  ASSERT_TRUE(config.set("STRIA_RNDV_SCHEME", "both", "test"));
  EXPECT_EQ(
      way(schemes_section(config, {device_with(kAll | STRIA_CAP_PUT, 100, 16384)}, layouts), 0, 1 << 20),
      "rendezvous get")
      << "memory of its own is not mapped";
}

TEST(SchemesSection, every_row_of_every_usual_layout_has_a_reason) {
  const Section section = schemes_section(defaults(), {device_with(kAll, 2000, 32768)}, usual_layouts());
  ASSERT_EQ(section.json.size(), usual_layouts().size());
  for (const Json& table : section.json) {
    ASSERT_GT(table.at("rows").size(), 12u);
    for (const Json& row : table.at("rows")) EXPECT_NE(row.at("reason"), "");
  }
}

TEST(SchemesSection, memory_that_peers_map_has_a_way_of_its_own_where_the_device_has_such_memory) {
  const std::vector<NamedLayout> layouts = {{"bytes(1)", datatype::Layout::bytes(1)}};
  const auto mapped = [&](std::uint64_t flags, std::uint64_t bytes) {
    const Section section = schemes_section(defaults(), {device_with(flags, 100, 16384)}, layouts);
    for (const Json& row : section.json[0].at("rows"))
      if (row.at("bytes") == bytes) return row.value("mapped", Json());
    return Json();
  };
  const Json row = mapped(STRIA_CAP_EAGER | STRIA_CAP_FAST_REGISTER | STRIA_CAP_MAP_MEMORY, 1 << 20);
  ASSERT_FALSE(row.is_null());
  EXPECT_EQ(row.at("way"), "rendezvous mapped");
  EXPECT_THAT(row.at("reason").get<std::string>(), HasSubstr("no system call"));
  const Json both = mapped(kMessages | STRIA_CAP_FAST_REGISTER | STRIA_CAP_MAP_MEMORY, 1 << 20);
  EXPECT_EQ(both.at("way"), "rendezvous mapped by both");
  EXPECT_LT(both.at("us").get<double>(), row.at("us").get<double>());
  EXPECT_TRUE(mapped(kAll & ~STRIA_CAP_MAP_MEMORY, 1 << 20).is_null());
  EXPECT_TRUE(mapped(kAll | STRIA_CAP_MAP_MEMORY, 1024).is_null()) << "an eager message is copied anyway";
}

Json row_of(const Section& section, std::uint64_t bytes) {
  for (const Json& row : section.json.at(0).at("rows"))
    if (row.at("bytes") == bytes) return row;
  return Json();
}

TEST(SchemesSection, has_the_predicted_time_of_each_scheme) {
  const std::vector<NamedLayout> layouts = {{"bytes(1)", datatype::Layout::bytes(1)}};
  constexpr std::uint64_t kCan = kAll | STRIA_CAP_PUT | STRIA_CAP_MAP_MEMORY;
  Config config = defaults();
  ASSERT_TRUE(config.set("STRIA_RNDV_FLOWS", "off", "test"));
  rndv::MessageFacts facts{.length = 1 << 20, .can_get = true, .can_copy_by_both = true, .far = true};
  rndv::Choice choice = choose(facts);
  const Json row = row_of(schemes_section(config, {device_with(kCan, 100, 16384)}, layouts), 1 << 20);
  ASSERT_EQ(row.at("far"), "pipeline");
  EXPECT_EQ(row.at("far_times").at("us"), choice.us_of(rndv::kPipeline));
  EXPECT_EQ(row.at("far_times").at("get_us"), choice.us_of(rndv::kGet));
  EXPECT_EQ(row.at("far_times").at("pipeline_us"), choice.us_of(rndv::kPipeline));
  EXPECT_EQ(row.count("both_us"), 0u) << "its memory is not mapped";
  facts.far = false;
  facts.mapped = facts.sink_mapped = true;
  choice = choose(facts);
  ASSERT_EQ(row.at("mapped").at("way"), "rendezvous mapped by both");
  EXPECT_EQ(row.at("mapped").at("us"), choice.us_of(rndv::kMappedBoth));
  EXPECT_EQ(row.at("mapped").at("both_us"), choice.us_of(rndv::kMappedBoth));
  EXPECT_EQ(row.at("mapped").at("by_receiver_us"), choice.us_of(rndv::kMapped));

  ASSERT_TRUE(config.set("STRIA_RNDV_SCHEME", "both", "test"));
  const Section forced = schemes_section(config, {device_with(kCan, 100, 16384)}, layouts);
  EXPECT_EQ(row_of(forced, 1 << 20).at("mapped").at("way"), "rendezvous mapped by both");
  EXPECT_THAT(forced.text, ::testing::ContainsRegex(
                               "\n     1048576  rendezvous get +[0-9.]+ +[0-9.]+ +-  get +[0-9.]+  mapped by "
                               "both +[0-9.]+  forced by "));
}

TEST(SchemesSection, knows_the_shorter_limits_of_far_peers_and_of_the_worker_itself) {
  const std::vector<NamedLayout> layouts = {{"bytes(1)", datatype::Layout::bytes(1)}};
  Config config = defaults();
  ASSERT_TRUE(config.set("STRIA_RNDV_FLOWS", "off", "test"));
  const Section section = schemes_section(config, {device_with(kAll, 100, 1 << 20)}, layouts);
  EXPECT_EQ(row_of(section, rndv::kFarEager).count("far"), 0u);
  EXPECT_EQ(row_of(section, rndv::kFarEager + 1).at("way"), "buffered");
  EXPECT_EQ(row_of(section, rndv::kFarEager + 1).count("far"), 1u);
  EXPECT_THAT(section.text, HasSubstr("more than 4096 bytes of a worker to itself"));
  EXPECT_THAT(section.text, HasSubstr("one of more than 32768 bytes that finds no free buffer"));
}

TEST(SchemesSection, the_receivers_layout_may_be_another_one_and_a_matrix_be_turned) {
  const NamedLayout columns{"by columns", *parse_layout("vector(256, 1, 8, vector(256, 1, 2K, double))")};
  const NamedLayout rows{"by rows", datatype::Layout::bytes(256 * 256 * 8)};
  const auto said = [&](const NamedLayout& from, const NamedLayout* into) {
    return schemes_section(defaults(), {device_with(kAll, 100, 128 << 10)}, {from}, into);
  };
  constexpr std::uint64_t kBytes = 256 * 256 * 8;
  const rndv::MessageFacts facts{.length = kBytes, .sink_block = 8, .can_get = true, .turned = true};
  for (const auto& [from, into] : {std::pair(&columns, &rows), std::pair(&rows, &columns)}) {
    const Section section = said(*from, into);
    EXPECT_EQ(section.json.at(0).at("into"), into->name);
    EXPECT_THAT(section.text, HasSubstr("\n" + from->name + " into " + into->name + "\n"));
    EXPECT_THAT(section.text, HasSubstr("One side sees a matrix by the other's columns"));
    const Json row = row_of(section, kBytes);
    EXPECT_EQ(row.at("way"), "rendezvous pipeline");
    EXPECT_EQ(row.at("turned"), true);
    EXPECT_EQ(row.at("fragment"), 128 << 10) << "a quarter of the message";
    EXPECT_EQ(row.at("pipeline_us"), rndv::choose(facts).us_of(rndv::kPipeline)) << "one side has the blocks";
  }
  const Section alike = said(rows, nullptr);
  EXPECT_EQ(alike.json.at(0).count("into"), 0u);
  EXPECT_EQ(row_of(alike, kBytes).count("turned"), 0u);
  EXPECT_EQ(row_of(alike, kBytes).at("fragment"),
            rndv::fragment_for({.length = kBytes, .can_get = true}, 32 << 10, 128 << 10));
}

TEST(SchemesSection, a_fragment_that_is_given_is_shown_as_it_is_used) {
  Config config = defaults();
  const std::vector<NamedLayout> layouts = {{"bytes(1)", datatype::Layout::bytes(1)}};
  ASSERT_TRUE(config.set("STRIA_RNDV_FRAGMENT", "8K", "test"));
  const auto fragment = [&] {
    return row_of(schemes_section(config, {device_with(kMessages, 100, 16384)}, layouts), 1 << 20)
        .at("fragment");
  };
  EXPECT_EQ(fragment(), 8192);
  ASSERT_TRUE(config.set("STRIA_RNDV_FRAGMENT", "64K", "test"));
  EXPECT_EQ(fragment(), 16384) << "no longer than what the provider takes";
}

TEST(SchemesSection, only_devices_in_use_are_shown) {
  Device unused = device_with(kAll, 100, 1000);
  unused.rank = 0;
  EXPECT_THAT(schemes_section(defaults(), {unused}, usual_layouts()).text, Not(HasSubstr("sample")));
}

TEST(LayoutSection, shows_size_blocks_and_extent) {
  auto layout = parse_layout("vector(4, 1, 64, double)");
  ASSERT_TRUE(layout);
  const Section section = layout_section({{"a column", *layout}});
  const Json& json = section.json.at(0);
  EXPECT_EQ(json.at("expression"), "a column");
  EXPECT_EQ(json.at("size"), 32);
  EXPECT_EQ(json.at("blocks"), 4);
  EXPECT_EQ(json.at("extent"), 3 * 64 + 8);
  EXPECT_EQ(json.at("contiguous"), false);
  EXPECT_EQ(json.at("kernels_of_parts"), Json::array());
  EXPECT_EQ(json.at("device_forms").at(0), "interleaved: 1 entry, repeated 4, in 32 bytes");
  EXPECT_EQ(json.at("device_forms").at(1), "SG: 4 entries in 64 bytes");
}

TEST(LayoutSection, shows_the_kernels_of_different_parts_below_the_first_line) {
  auto layout = parse_layout(
      "composite(0: vector(500, 1, 4K, double), 4M: bytes(3), 5M: vector(500, 1, 4K, double), "
      "8M: vector(20, 1, 100, int))");
  ASSERT_TRUE(layout);
  const Section section = layout_section({{"parts", *layout}});
  EXPECT_THAT(section.text,
              ::testing::ContainsRegex("\n  kernel           part by part, 4 parts \\([a-z0-9]+\\)\n"
                                       "                     2 parts: loop over blocks of 8 bytes, paced\n"
                                       "                     1 part: one copy\n"
                                       "                     1 part: loop over blocks of 4 bytes\n"
                                       "  wire descriptor  [0-9]+ bytes\n"));
  EXPECT_EQ(section.json.at(0).at("kernels_of_parts"),
            (Json{"2 parts: loop over blocks of 8 bytes, paced", "1 part: one copy",
                  "1 part: loop over blocks of 4 bytes"}));
}

}  // namespace
}  // namespace stria::info
