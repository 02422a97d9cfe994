// How messages start on their way, as a table, and where the eager limits lie.
#include "tag/eager_or_announced.hpp"

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

#include "eager/send.hpp"
#include "tests/datatype/random_type.hpp"

namespace stria::tag {
namespace {

using datatype::Layout;
using datatype::must;
using transport::LinkRef;

// path     near, far: two processes of a host, whose buffers are read while they are packed. flows: far, and
//          fragments flow there. whole: buffers are not read before they are packed. network: distant.
//          self: the worker itself
// memory   contiguous, in blocks of a length, or a column of doubles; mapped: of stria_mem_alloc()
constexpr const char* kTable = R"(
# path    memory         bytes  | way
near      bytes             0   | window
near      bytes          3072   | window
near      bytes          3073   | buffer
near      bytes         65536   | buffer
near      bytes        262144   | buffer
near      bytes        262145   | announced
near      of8             256   | window
near      of8             264   | buffer
near      of8            4096   | buffer
near      of8          131072   | buffer
near      of8          131080   | announced
near      of64         131072   | buffer
near      of64         131136   | announced
near      of1024       262144   | buffer
near      column         4096   | buffer
near      column        16384   | buffer
near      column        16392   | announced
far       bytes        131072   | buffer
far       bytes        131073   | announced
far       column        16384   | buffer
far       column        16392   | announced
flows     bytes        262144   | buffer
flows     bytes        262145   | announced
whole     bytes         65536   | buffer
whole     of8            3072   | buffer
whole     of8            3080   | announced
whole     of64          24576   | buffer
whole     of64          24640   | announced
whole     column         3080   | announced
network   bytes          8192   | buffer
network   bytes          8193   | announced
network   of8            8192   | buffer
network   column         8192   | buffer
self      bytes          4096   | buffer
self      bytes          4097   | announced
near      bytes,mapped  65535   | buffer
near      bytes,mapped  65536   | announced
near      of8,mapped     8184   | buffer
near      of8,mapped     8192   | announced
near      of64,mapped   16384   | buffer
near      of64,mapped   24640   | announced
near      column,mapped  8184   | buffer
near      column,mapped  8192   | announced
far       bytes,mapped  65536   | buffer
far       of8,mapped     8192   | announced
whole     of8,mapped     3080   | announced
)";

LinkRef link_named(const std::string& name) {
  LinkRef link;
  link.pio_below = name == "network" ? 0 : 3073;
  link.eager_max = name == "network" ? 8192 : 262144;
  link.distant = name == "network";
  link.can_get = true;
  link.can_map = name != "network";
  link.grows = link.can_map && name != "whole";
  link.far = name == "far" || name == "flows";
  link.self = name == "self";
  return link;
}

/// Layouts of one block each, whose instances lie one after the other.
class Layouts {
 public:
  stria_payload_t memory(const std::string& name, std::int64_t bytes) {
    if (name.starts_with("bytes")) return LinkRef::contiguous_payload(nullptr, bytes);
    const bool is_column = name.starts_with("column");
    const std::int64_t block = is_column ? 8 : std::stoll(name.substr(2));
    const auto [made, is_new] =
        made_.try_emplace(name, must(Layout::resized(Layout::bytes(block), 0, is_column ? 8192 : 2 * block)));
    return {&made->second, nullptr, bytes / block, 0, bytes};
  }

 private:
  std::map<std::string, Layout> made_;
};

const char* name_of(Way way) {
  return way == Way::window ? "window" : way == Way::buffer ? "buffer" : "announced";
}

Settings settings_of(const std::string& path) {
  Settings settings;
  settings.eager_limit = 256 << 10;
  settings.overlaps_packing = true;
  settings.rndv.flows = path == "flows";
  return settings;
}

TEST(Start, is_what_the_table_says) {
  Layouts layouts;
  std::istringstream table(kTable);
  std::string now = "\n", line;
  std::getline(table, line);  // the end of the first line is not one of its own
  while (std::getline(table, line)) {
    if (line[0] != '#') {
      std::istringstream words(line);
      std::string path, memory;
      std::int64_t bytes = 0;
      words >> path >> memory >> bytes;
      const StartPlan plan = plan_start(link_named(path), layouts.memory(memory, bytes),
                                        memory.ends_with("mapped"), settings_of(path));
      EXPECT_NE(plan.reason[0], '\0') << line;
      line = line.substr(0, line.find('|') + 2) + name_of(plan.way);
    }
    now += line + "\n";
  }
  EXPECT_EQ(now, kTable);
}

TEST(Start, nothing_but_length_counts_where_the_user_set_the_limit) {
  Layouts layouts;
  for (const char* path : {"near", "far", "whole", "self"})
    for (const char* memory : {"bytes", "of8", "column"})
      for (const std::int64_t bytes : {8, 4096, 65536, 65544}) {
        Settings settings = settings_of(path);
        settings.eager_limit = 65536;
        settings.overlaps_packing = false;
        const Way way = plan_start(link_named(path), layouts.memory(memory, bytes), true, settings).way;
        EXPECT_EQ(way == Way::announced, bytes > 65536) << path << ' ' << memory << ' ' << bytes;
      }
}

TEST(Start, a_link_lowers_the_limit) {
  LinkRef link = link_named("near");
  const Settings settings = settings_of("near");
  EXPECT_EQ(eager_limit_of(link, settings), 262144u);
  link.eager_max = 1000;
  EXPECT_EQ(eager_limit_of(link, settings), 3072u) << "the window takes more";
  link.pio_below = 0;
  EXPECT_EQ(eager_limit_of(link, settings), 1000u);
}

// Strided, too long to be gathered on the stack, and longer than the link's buffers.
TEST(Start, what_fits_neither_window_nor_buffer_is_announced) {
  Layouts layouts;
  LinkRef link = link_named("near");
  link.eager_max = 512;
  const Settings settings = settings_of("near");
  EXPECT_EQ(plan_start(link, layouts.memory("of64", 640), false, settings).way, Way::announced);
  EXPECT_EQ(plan_start(link, layouts.memory("bytes", 640), false, settings).way, Way::window);
  EXPECT_EQ(plan_start(link, layouts.memory("of64", eager::kGatherMax), false, settings).way, Way::window);
}

}  // namespace
}  // namespace stria::tag
