// What stria_info --schemes says of a message, compared with what becomes of it: random messages between two
// workers of this process over shm, one at a time, and the counters of both. The receiver's credit and the
// room in windows and buffers never run out, as nothing else is under way.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tag/mappable.hpp"
#include "tag/memory.hpp"
#include "tag/peer.hpp"
#include "tests/rounds.hpp"
#include "tests/tag/allocated.hpp"
#include "tests/tag/shm_pair.hpp"
#include "tools/stria_info/ways.hpp"

namespace stria::info {
namespace {

using test::Allocated;
using test::Op;

constexpr std::size_t kRoom = 8 << 20;  // of each memory
constexpr std::size_t kLongest = 2 << 20;

/// Blocks of so many bytes at a distance; 0: contiguous.
struct Shape {
  std::size_t block = 0, stride = 0;

  std::size_t most() const { return block == 0 ? kLongest : std::min(kLongest, kRoom / stride * block); }
};
constexpr Shape kShapes[] = {{}, {}, {8, 16}, {64, 128}, {1024, 1536}, {4096, 5000}, {8, 512}};

/// A layout of one block, whose instances lie at the shape's distance; null: contiguous.
class LayoutOf {
 public:
  explicit LayoutOf(const Shape& shape) {
    if (shape.block == 0) return;
    stria_layout_t* block = nullptr;
    EXPECT_EQ(stria_layout_bytes(static_cast<std::int64_t>(shape.block), &block), STRIA_OK);
    EXPECT_EQ(stria_layout_resized(block, 0, static_cast<std::int64_t>(shape.stride), &layout_), STRIA_OK);
    stria_layout_free(block);
  }
  ~LayoutOf() { stria_layout_free(layout_); }
  LayoutOf(const LayoutOf&) = delete;
  LayoutOf& operator=(const LayoutOf&) = delete;
  stria_layout_t* get() const { return layout_; }

 private:
  stria_layout_t* layout_ = nullptr;
};

struct Mode {
  const char *distance, *flows, *scheme;
};

/// Two workers, and what the second one's counters and the first one's say of one message.
class Messages : public test::ShmPair {
 public:
  explicit Messages(const Mode& mode)
      : ShmPair({{{"STRIA_SHM_DISTANCE", mode.distance}},
                 {{"STRIA_RNDV_FLOWS", mode.flows}},
                 {{"STRIA_RNDV_SCHEME", mode.scheme}},
                 {{"STRIA_RNDV_SHARE", "on"}}}),
        sources_{{team_.context(0), kRoom, false}, {team_.context(0), kRoom, true}},
        sinks_{{team_.context(1), kRoom, false}, {team_.context(1), kRoom, true}} {}
  void TestBody() override {}

  /// Both know each other, and the sender has credit for every message that may go eagerly.
  void connect() {
    for (int i = 0; i < 1000 && peer_of(to_).credit < kLongest / 4; ++i) {
      const Shape plain;
      ASSERT_TRUE(exchange(plain, plain, 1000, false, false, true));
    }
    ASSERT_GE(peer_of(to_).credit, kLongest / 4);
  }
  /// The message is sent and received. False: it is not over after a long time.
  bool exchange(const Shape& from, const Shape& into, std::size_t bytes, bool from_mapped, bool into_mapped,
                bool is_expected) {
    const LayoutOf source(from), sink(into);
    Op send_op, recv_op;
    stria_send_t send{};
    send.base = sources_[from_mapped ? 1 : 0].data();
    send.layout = source.get();
    send.count = from.block == 0 ? bytes : bytes / from.block;
    send.callback = &Op::on_done;
    send.user = &send_op;
    stria_recv_t recv{};
    recv.base = sinks_[into_mapped ? 1 : 0].data();
    recv.layout = sink.get();
    recv.count = into.block == 0 ? bytes : bytes / into.block;
    recv.match = {from_, 0, 0};
    recv.callback = &Op::on_done;
    recv.user = &recv_op;
    if (is_expected) recv_op.answer = stria_recv(team_.worker(1), &recv, &recv_op.request);
    send_op.answer = stria_send(to_, &send, &send_op.request);
    if (!is_expected) {
      team_.progress(1, 5);
      recv_op.answer = stria_recv(team_.worker(1), &recv, &recv_op.request);
    }
    for (int i = 0; i < 1000000 && !(send_op.ended() && recv_op.ended()); ++i) step();
    for (int i = 0; i < 20; ++i) step();  // credit comes back
    return send_op.ended() && recv_op.ended();
  }
  stria_counters_t counters(unsigned rank) {
    stria_counters_t out{};
    out.size = sizeof out;
    EXPECT_EQ(stria_worker_counters(team_.worker(rank), &out), STRIA_OK);
    return out;
  }
  static tag::Peer& peer_of(stria_endpoint_t* endpoint) {
    return *reinterpret_cast<tag::Endpoint*>(endpoint)->peer;
  }
  stria_endpoint_t* endpoint() { return to_; }
  const transport::LinkRef& link() { return peer_of(to_).link; }
  const tag::Context& context() { return *reinterpret_cast<tag::Context*>(team_.context(0)); }
  /// The provider takes ordinary memory for memory that peers map only when it lies between such memories.
  bool tells_apart() {
    return !tag::Mappable::has(transport::LinkRef::contiguous_payload(sources_[0].data(), kRoom));
  }

 private:
  void step() {
    team_.progress(0, 1);
    team_.progress(1, 1);
  }
  Allocated sources_[2], sinks_[2];
};

/// The counters that a message raised.
std::string what_came(const stria_counters_t& sent, const stria_counters_t& sent_before,
                      const stria_counters_t& received, const stria_counters_t& received_before) {
  std::string out;
  const auto add = [&](const char* name, std::uint64_t now, std::uint64_t before) {
    if (now != before) out += std::string(out.empty() ? "" : " ") + name;
  };
  add("window", sent.sent_pio, sent_before.sent_pio);
  add("buffer", sent.sent_buffered, sent_before.sent_buffered);
  add("announced", sent.sent_rendezvous, sent_before.sent_rendezvous);
  add("get", received.received_get, received_before.received_get);
  add("mapped", received.received_mapped, received_before.received_mapped);
  add("mapped by both", received.received_mapped_both, received_before.received_mapped_both);
  add("pipeline", received.received_pipeline, received_before.received_pipeline);
  return out;
}
std::string what_is_said(const Forecast& forecast) {
  switch (forecast.start.way) {
    case tag::Way::window:
      return "window";
    case tag::Way::buffer:
      return "buffer";
    case tag::Way::announced:
      break;
  }
  return "announced " + std::string(forecast.protocol().name);
}

std::size_t random_length(std::mt19937& random) {
  constexpr std::size_t kThresholds[] = {8,     256,   512,   1024,   3072,   4096,   8192,
                                         16384, 32768, 65536, 131072, 262144, 524288, 1 << 20};
  if (random() % 3 == 0) return 1 + random() % (random() % 2 == 0 ? 70000 : kLongest);
  return kThresholds[random() % std::size(kThresholds)] + 8 * (random() % 3) - 8;
}

/// Compares so many cases; adds to `seen` what became of their messages.
void compare(Messages& messages, unsigned seed, std::int64_t cases, std::set<std::string>& seen) {
  std::mt19937 random(seed);
  const auto devices = look_for_devices(messages.context().config);
  ASSERT_FALSE(devices.empty());
  ASSERT_EQ(devices[0].provider, "shm");
  transport::LinkRef link = link_of(devices[0]);
  ASSERT_NO_FATAL_FAILURE(messages.connect());
  EXPECT_EQ(link.pio_below, messages.link().pio_below);
  EXPECT_EQ(link.eager_max, messages.link().eager_max);
  EXPECT_EQ(link.grows, messages.link().grows);
  EXPECT_EQ(link.can_map, messages.link().can_map);
  link.can_get = messages.link().can_get;  // the system may refuse cross-memory attach
  link.far = messages.link().far;
  for (std::int64_t i = 0; i < cases; ++i) {
    const Shape from = kShapes[random() % std::size(kShapes)], into = kShapes[random() % std::size(kShapes)];
    const std::size_t unit = std::max({from.block, into.block, std::size_t{1}});
    const std::size_t most = std::min({from.most(), into.most()});
    const std::size_t bytes = std::max(std::min(random_length(random), most) / unit, std::size_t{1}) * unit;
    const bool from_mapped = random() % 2 == 0 || !messages.tells_apart(), into_mapped = random() % 2 == 0;
    const LayoutOf source(from), sink(into);
    Sides sides{.source_mapped = from_mapped, .sink_mapped = into_mapped};
    const auto count_of = [bytes](const Shape& shape) {
      return shape.block == 0 ? bytes : bytes / shape.block;
    };
    ASSERT_EQ(tag::describe_memory(nullptr, source.get(), count_of(from), sides.source), Status::ok);
    ASSERT_EQ(tag::describe_memory(nullptr, sink.get(), count_of(into), sides.sink), Status::ok);
    const tag::Settings& settings = messages.context().settings;
    const Forecast said = forecast(link, sides, settings);
    ASSERT_GE(Messages::peer_of(messages.endpoint()).credit, std::min<std::size_t>(bytes, 262144));
    const stria_counters_t sent = messages.counters(0), received = messages.counters(1);
    ASSERT_TRUE(messages.exchange(from, into, bytes, from_mapped, into_mapped, random() % 2 == 0));
    const std::string came = what_came(messages.counters(0), sent, messages.counters(1), received);
    seen.insert(came);
    EXPECT_EQ(came, what_is_said(said))
        << "case " << i << ": " << bytes << " bytes in blocks of " << from.block << " every " << from.stride
        << (from_mapped ? ", mapped" : "") << " into blocks of " << into.block << " every " << into.stride
        << (into_mapped ? ", mapped" : "");
  }
}

class Forecasts : public testing::TestWithParam<Mode> {};

TEST_P(Forecasts, come_true) {
  const auto seed = static_cast<unsigned>(test::from_environment("STRIA_TEST_SEED", std::random_device()()));
  SCOPED_TRACE(testing::Message() << "STRIA_TEST_SEED=" << seed);
  Messages messages(GetParam());
  std::set<std::string> seen;
  compare(messages, seed, test::rounds(500), seen);
  if (HasFatalFailure() || test::rounds(500) < 500) return;
  for (const char* always : {"window", "buffer", "announced pipeline"})
    EXPECT_TRUE(seen.contains(always) || std::string(GetParam().scheme) == "get" ||
                std::string(GetParam().scheme) == "both")
        << always;
  if (std::string(GetParam().scheme) == "auto") {
    EXPECT_TRUE(seen.contains("announced mapped") && seen.contains("announced mapped by both"));
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, Forecasts,
                         testing::Values(Mode{"near", "off", "auto"}, Mode{"far", "off", "auto"},
                                         Mode{"far", "on", "auto"}, Mode{"near", "off", "get"},
                                         Mode{"near", "off", "both"}, Mode{"near", "off", "pipeline"}),
                         [](const auto& one) {
                           return std::string(one.param.distance) + "_flows_" + one.param.flows + "_" +
                                  one.param.scheme;
                         });

/// Of a kind of adapter that the machine at hand lacks: the key that shows blocks as one run is the one that
/// the engine makes first.
TEST(Forecast, of_an_adapter_whose_keys_gather_blocks_is_a_get) {
  stria_link_limits_t limits{};
  limits.eager_max = 8192;
  limits.can_get = limits.can_put = limits.offload = limits.gathers = 1;
  transport::LinkRef link;
  link.take(limits);
  const LayoutOf blocks({1024, 2048});
  Sides sides;
  ASSERT_EQ(tag::describe_memory(nullptr, blocks.get(), 1024, sides.source), Status::ok);
  ASSERT_EQ(tag::describe_memory(nullptr, nullptr, 1 << 20, sides.sink), Status::ok);
  const tag::Settings settings;
  EXPECT_EQ(what_is_said(forecast(link, sides, settings)), "announced get");
  link.gathers = false;
  EXPECT_EQ(what_is_said(forecast(link, sides, settings)), "announced pipeline");
}

}  // namespace
}  // namespace stria::info
