// The plans of announced messages, as a table: on the left what is known of a message, on the right which key
// its sender makes, and how its receiver has the bytes moved. A change of the cost model's parameters changes
// rows; the failed test prints the whole table as it is now.
#include "rndv/plan.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "rndv/protocols/list.hpp"

namespace stria::rndv {
namespace {

using transport::LinkRef;

// path     near, far: two processes of a host. flows: far, and fragments flow there. no_attach: without
//          cross-memory attach. packets: a link that does nothing but packets. self: the worker itself.
//          adapter, gathers: an adapter, and one whose keys gather blocks. network: driven by the system.
// from     how the memory of the sender lies: contiguous, in blocks of a length, a column of doubles, all
// columns
//          of a matrix. into: the same of the receiver
// memory   own: of each process. mapped: of stria_mem_alloc() on both sides. source: on the sender's alone.
//          busy: the receiver announced messages, too
// key      any, mapped (only if the memory is mapped memory), gathered (tried first)
// plan     protocol, bytes of a fragment or piece, whether the receiver helps
constexpr const char* kTable = R"(
# path     scheme    from    into    bytes memory      | key: plan
near       auto      bytes   bytes   0     own         | none: none
near       auto      bytes   bytes   8K    own         | any: pipeline 131072 helps
near       auto      bytes   bytes   64K   own         | any: pipeline 131072 helps
near       auto      bytes   bytes   128K  own         | any: pipeline 131072 helps
near       auto      bytes   bytes   256K  own         | any: pipeline 131072 helps
near       auto      bytes   bytes   1M    own         | any: pipeline 131072 helps
near       auto      bytes   bytes   16M   own         | any: pipeline 131072 helps
near       auto      bytes   bytes   64K   busy        | any: pipeline 131072 helps
near       auto      bytes   bytes   1M    busy        | any: pipeline 131072 helps
near       auto      bytes   bytes   16M   busy        | any: pipeline 131072 helps
near       auto      of8     of8     64K   own         | mapped: pipeline 17408
near       auto      of8     of8     1M    own         | mapped: pipeline 32768
near       auto      of64    of64    64K   own         | mapped: pipeline 25088
near       auto      of64    of64    1M    own         | mapped: pipeline 32768
near       auto      of1K    of1K    64K   own         | mapped: pipeline 32768
near       auto      of1K    of1K    1M    own         | mapped: pipeline 131072
near       auto      of4K    of4K    64K   own         | any: pipeline 131072 helps
near       auto      of4K    of4K    1M    own         | any: pipeline 131072 helps
near       auto      of64K   of64K   64K   own         | any: pipeline 131072 helps
near       auto      of64K   of64K   1M    own         | any: pipeline 131072 helps
near       auto      column  bytes   32K   own         | mapped: pipeline 5120
near       auto      bytes   column  32K   own         | any: pipeline 5120
near       auto      column  column  32K   own         | mapped: pipeline 5120
near       auto      matrix  bytes   512K  own         | mapped: pipeline 131072
near       auto      bytes   matrix  512K  own         | any: pipeline 131072
near       auto      bytes   bytes   8K    mapped      | any: mapped
near       auto      bytes   bytes   64K   mapped      | any: mapped by both 32768 helps
near       auto      bytes   bytes   128K  mapped      | any: mapped by both 65536 helps
near       auto      bytes   bytes   1M    mapped      | any: mapped by both 524288 helps
near       auto      bytes   bytes   16M   mapped      | any: mapped by both 349504 helps
near       auto      of8     of8     16K   mapped      | mapped: mapped
near       auto      of8     of8     1M    mapped      | mapped: mapped by both 174720 helps
near       auto      of8     of8     16M   mapped      | mapped: mapped by both 72256 helps
near       auto      of64    of64    16K   mapped      | mapped: mapped
near       auto      of64    of64    1M    mapped      | mapped: mapped by both 524288 helps
near       auto      of64    of64    16M   mapped      | mapped: mapped by both 90176 helps
near       auto      of1K    of1K    16K   mapped      | mapped: mapped
near       auto      of1K    of1K    1M    mapped      | mapped: mapped by both 524288 helps
near       auto      of1K    of1K    16M   mapped      | mapped: mapped by both 93184 helps
near       auto      column  column  16K   mapped      | mapped: mapped by both 8192 helps
near       auto      column  column  1M    mapped      | mapped: mapped by both 8192 helps
near       auto      column  column  16M   mapped      | mapped: mapped by both 7616 helps
near       auto      bytes   bytes   1M    mapped+busy | any: mapped
near       auto      bytes   bytes   1M    source      | any: mapped
near       auto      column  column  32K   source      | mapped: pipeline 5120 helps
far        auto      bytes   bytes   32K   own         | any: get
far        auto      bytes   bytes   64K   own         | any: get
far        auto      bytes   bytes   128K  own         | any: pipeline 32768 helps
far        auto      bytes   bytes   1M    own         | any: pipeline 32768 helps
far        auto      bytes   bytes   16M   own         | any: pipeline 32768 helps
far        auto      bytes   bytes   64K   busy        | any: get
far        auto      bytes   bytes   1M    busy        | any: get
far        auto      of8     of8     1M    own         | mapped: pipeline 32768
far        auto      of64K   of64K   1M    own         | any: pipeline 32768 helps
far        auto      column  column  32K   own         | mapped: pipeline 5120
far        auto      bytes   bytes   128K  mapped      | any: mapped by both 65536 helps
far        auto      bytes   bytes   1M    mapped      | any: mapped by both 524288 helps
far        auto      bytes   bytes   16M   mapped      | any: mapped by both 349504 helps
far        auto      column  column  32K   mapped      | mapped: mapped by both 8192 helps
flows      auto      bytes   bytes   64K   own         | any: pipeline 131072 helps
flows      auto      bytes   bytes   256K  own         | any: pipeline 131072 helps
flows      auto      bytes   bytes   1M    own         | any: pipeline 131072 helps
flows      auto      bytes   bytes   1M    busy        | any: pipeline 131072 helps
flows      auto      of8     of8     1M    own         | mapped: pipeline 32768
adapter    auto      bytes   bytes   8K    own         | any: get
adapter    auto      bytes   bytes   1M    own         | any: get
adapter    auto      bytes   bytes   64M   own         | any: get
adapter    auto      of8     of8     1M    own         | none: pipeline 32768
adapter    auto      of1K    of1K    1M    own         | none: pipeline 32768
adapter    auto      of4K    of4K    1M    own         | none: pipeline 32768
adapter    auto      of64K   of64K   1M    own         | any: get
gathers    auto      of64    bytes   1M    own         | none: pipeline 32768
gathers    auto      of1K    bytes   1M    own         | gathered,none: get
gathers    auto      of64K   bytes   1M    own         | gathered,any: get
network    auto      bytes   bytes   64K   own         | any: get
network    auto      bytes   bytes   16M   own         | any: get
network    auto      of8     of8     1M    own         | any: get
network    auto      column  column  1M    own         | any: get
packets    auto      bytes   bytes   8K    own         | none: pipeline 8192
packets    auto      bytes   bytes   1M    own         | none: pipeline 32768
packets    auto      of8     of8     1M    own         | none: pipeline 32768
no_attach  auto      bytes   bytes   64K   own         | mapped: pipeline 131072
no_attach  auto      bytes   bytes   1M    own         | mapped: pipeline 131072
no_attach  auto      bytes   bytes   1M    mapped      | mapped: mapped by both 524288 helps
no_attach  auto      of64    of64    1M    mapped      | mapped: mapped by both 524288 helps
self       auto      bytes   bytes   8K    own         | any: get
self       auto      bytes   bytes   1M    own         | any: get
self       auto      of8     of8     1M    own         | any: get
near       get       bytes   bytes   1M    own         | any: get
near       get       bytes   bytes   1M    mapped      | any: mapped
near       get       of8     of8     1M    own         | any: get
no_attach  get       bytes   bytes   1M    own         | mapped: pipeline 131072
packets    get       bytes   bytes   1M    own         | none: pipeline 32768
self       get       bytes   bytes   1M    own         | any: get
adapter    get       of8     of8     1M    own         | any: get
near       both      bytes   bytes   1M    own         | any: get
near       both      bytes   bytes   1M    mapped      | any: mapped by both 524288 helps
near       both      of8     of8     1M    own         | any: get
no_attach  both      bytes   bytes   1M    own         | mapped: pipeline 131072
packets    both      bytes   bytes   1M    own         | none: pipeline 32768
self       both      bytes   bytes   1M    own         | any: get
adapter    both      of8     of8     1M    own         | any: get
near       pipeline  bytes   bytes   1M    own         | none: pipeline 131072
near       pipeline  bytes   bytes   1M    mapped      | none: pipeline 131072
near       pipeline  of8     of8     1M    own         | none: pipeline 32768
no_attach  pipeline  bytes   bytes   1M    own         | none: pipeline 131072
packets    pipeline  bytes   bytes   1M    own         | none: pipeline 32768
self       pipeline  bytes   bytes   1M    own         | none: pipeline 131072
adapter    pipeline  of8     of8     1M    own         | none: pipeline 32768
near       both      bytes   bytes   1M    mapped+busy | any: mapped by both 524288 helps
near       both      bytes   bytes   2K    mapped      | any: mapped by both 1024 helps
near       both      bytes   bytes   1K    mapped      | any: mapped
)";

std::uint64_t bytes_of(const std::string& text) {
  std::size_t end = 0;
  const std::uint64_t number = std::stoull(text, &end);
  const std::string unit = text.substr(end);
  return unit == "K" ? number << 10 : unit == "M" ? number << 20 : number;
}

Blocks blocks_named(const std::string& name) {
  if (name == "bytes") return {};
  if (name == "column") return {.mean_bytes = 8, .sparse = true};
  if (name == "matrix") return {.mean_bytes = 8, .turned = true};
  return {.mean_bytes = static_cast<std::uint32_t>(bytes_of(name.substr(2)))};  // "of4K"
}

LinkRef link_named(const std::string& name) {
  LinkRef link;
  link.eager_max = 131072;
  link.pio_below = 3073;
  if (name == "packets") {
    link.eager_max = 16384;
    return link;
  }
  link.can_get = link.can_put = name != "no_attach";
  link.offload = name == "adapter" || name == "gathers";
  link.gathers = name == "gathers";
  link.distant = link.offload || name == "network";
  if (link.distant) {
    link.eager_max = 8192;
    link.pio_below = 0;
    return link;
  }
  link.can_map = link.grows = true;
  link.far = name == "far" || name == "flows";
  link.self = name == "self";
  return link;
}

std::string text_of(const KeyPlan& key) {
  using Key = KeyPlan::Key;
  const std::string plain = key.plain == Key::any ? "any" : key.plain == Key::mapped ? "mapped" : "none";
  return key.gathered ? "gathered," + plain : plain;
}

/// The plans of one line's message.
std::string plans_of(const std::string& facts) {
  std::istringstream words(facts);
  std::string path, scheme, from, into, bytes, memory;
  words >> path >> scheme >> from >> into >> bytes >> memory;
  const auto has = [&](const char* word) { return memory.find(word) != std::string::npos; };
  const LinkRef link = link_named(path);
  const Options options{.force = parse_force(scheme), .flows = path == "flows"};
  const KeyPlan key = plan_key(bytes_of(bytes), blocks_named(from), link, options);
  const bool is_mapped = has("mapped") || has("source");
  Message message = message_announced(bytes_of(bytes), blocks_named(from), blocks_named(into), key, is_mapped,
                                      has("mapped"));
  message.busy = has("busy");
  const ReceivePlan plan = plan_receive(message, link, options);
  EXPECT_NE(reason_of(message, link, options)[0], '\0') << facts;
  std::ostringstream out;
  out << ' ' << text_of(key) << ": " << plan.choice.protocol->name;
  if (plan.fragment_bytes != 0) out << ' ' << plan.fragment_bytes;
  if (plan.helps) out << " helps";
  return out.str();
}

TEST(Plan, is_what_the_table_says) {
  std::istringstream table(kTable);
  std::string now = "\n", line;
  std::getline(table, line);  // the end of the first line is not one of its own
  while (std::getline(table, line)) {
    if (!line.empty() && line[0] != '#') line = line.substr(0, line.find('|') + 1) + plans_of(line);
    now += line + "\n";
  }
  EXPECT_EQ(now, kTable);
}

// A key is made exactly where some receiver would use it: without it the plan is another one for no receiver
// that the sender made none for, between near caches.
TEST(Plan, no_receiver_between_near_caches_misses_a_key_that_was_not_made) {
  for (const char* path : {"near", "no_attach", "adapter", "network", "self"})
    for (const char* from : {"bytes", "of8", "of64", "of1K", "of4K", "of64K", "column"})
      for (const char* into : {"bytes", "of8", "of64", "of1K", "of4K", "of64K", "column"})
        for (std::uint64_t bytes = 1024; bytes <= 16u << 20; bytes *= 2) {
          const LinkRef link = link_named(path);
          const Options options;
          if (plan_key(bytes, blocks_named(from), link, options).plain == KeyPlan::Key::any) continue;
          const Message with_key{
              .length = bytes, .source = blocks_named(from), .sink = blocks_named(into), .has_key = true};
          const ReceivePlan plan = plan_receive(with_key, link, options);
          EXPECT_EQ(plan.choice.protocol->name, kPipeline.name)
              << path << ' ' << from << ' ' << into << ' ' << bytes;
          EXPECT_FALSE(plan.helps) << path << ' ' << from << ' ' << into << ' ' << bytes;
        }
}

TEST(Plan, a_receive_that_cannot_have_its_part_stored_is_planned_without) {
  const LinkRef link = link_named("near");
  Message message{.length = 1u << 20, .has_key = true, .source_mapped = true};
  EXPECT_EQ(plan_receive(message, link, {}).choice.protocol->name, kMappedBoth.name);
  EXPECT_EQ(plan_receive(message, link, {.copy_by_both = false}).choice.protocol->name, kMapped.name);
  message.sink_mapped = false;
  EXPECT_EQ(plan_receive(message, link, {}).choice.protocol->name, kMapped.name);
}

TEST(Plan, says_of_a_link_what_receives_on_it_are_planned_for) {
  const auto said = [](const char* path, Force force) {
    return std::string(schemes_of_link(link_named(path), {.force = force}));
  };
  EXPECT_EQ(said("near", Force::automatic), "get, mapped, mapped by both or pipeline");
  EXPECT_EQ(said("near", Force::get), "get or mapped (forced)");
  EXPECT_EQ(said("near", Force::both), "get or mapped by both (forced)");
  EXPECT_EQ(said("near", Force::pipeline), "pipeline (forced)");
  EXPECT_EQ(said("no_attach", Force::automatic), "mapped, mapped by both or pipeline");
  EXPECT_EQ(said("no_attach", Force::get), "mapped or pipeline, as what is forced is refused");
  EXPECT_EQ(said("packets", Force::automatic), "pipeline");
  EXPECT_EQ(said("packets", Force::get), "pipeline, as what is forced is refused");
  EXPECT_EQ(said("adapter", Force::automatic), "get or pipeline");
  EXPECT_EQ(said("network", Force::automatic), "get");
  EXPECT_EQ(said("self", Force::automatic), "get or mapped");
}

}  // namespace
}  // namespace stria::rndv
