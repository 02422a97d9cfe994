// Memory that the provider refuses to read or write for a peer, while its links take all other memory: every
// message, put and get of it goes another way without loss, and other memory goes as before. Over the fake
// provider, in every order of what comes late.
#include <algorithm>
#include <random>
#include <tuple>

#include "tests/rounds.hpp"
#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

using Data = std::vector<unsigned char>;

Data pattern(std::size_t bytes, unsigned seed) {
  Data data(bytes);
  std::mt19937 random(seed);
  for (auto& byte : data) byte = static_cast<unsigned char>(random());
  return data;
}

/// Variables of the configuration that hold for contexts opened in its scope.
class Scheme {
 public:
  explicit Scheme(const char* name) { set(name, "0"); }
  ~Scheme() { set("auto", "5"); }
  Scheme(const Scheme&) = delete;
  Scheme& operator=(const Scheme&) = delete;

 private:
  static void set(const char* scheme, const char* patience) {
    EXPECT_EQ(stria_config_set("STRIA_RNDV_SCHEME", scheme, "test"), STRIA_OK);
    EXPECT_EQ(stria_config_set("STRIA_RNDV_PATIENCE", patience, "test"), STRIA_OK);
  }
};

const std::vector<std::array<std::string, 2>> kSmallEager = {{{"STRIA_EAGER_LIMIT", "4K"}}};

enum Side : unsigned { kSource = 1, kSink = 2 };

/// Scheme; which sides are refused; whether an adapter moves the bytes.
class RefusedMemory : public testing::TestWithParam<std::tuple<const char*, unsigned, bool>> {
 protected:
  static const char* scheme() { return std::get<0>(GetParam()); }
  static unsigned sides() { return std::get<1>(GetParam()); }
  static fake::FabricOptions options_of(unsigned seed) {
    std::mt19937 random(seed);
    fake::FabricOptions options;
    options.seed = seed;
    options.async_percent = random() % 101;
    options.no_resource_percent = random() % 40;
    options.offload = std::get<2>(GetParam());
    return options;
  }
  /// A part of the memory, so that the begin or the end may be moved before the rest is refused.
  static void refuse_a_part(World& world, Data& memory, std::mt19937& random) {
    const std::size_t begin = random() % memory.size();
    const std::size_t bytes = random() % 3 == 0 ? memory.size() - begin : 1;
    fake::refuse_memory(world.fabric(), memory.data() + begin, bytes);
  }
};

TEST_P(RefusedMemory, of_messages_goes_another_way_without_loss) {
  const Scheme forced(scheme());
  std::uint64_t refused = 0;
  for (unsigned seed = 1; seed <= rounds(25); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    constexpr std::size_t kMessages = 6;
    std::vector<Data> data, rooms;
    std::vector<Op> sends(kMessages), recvs(kMessages);
    std::vector<bool> in_rows(kMessages);
    stria_layout_t *element = nullptr, *rows = nullptr;
    ASSERT_EQ(stria_layout_bytes(1, &element), STRIA_OK);
    ASSERT_EQ(stria_layout_vector(100, 2000, 3000, element, &rows), STRIA_OK);
    constexpr std::size_t kExtent = 99 * 3000 + 2000;
    for (std::size_t i = 0; i < kMessages; ++i) {
      in_rows[i] = random() % 3 == 0;
      data.push_back(pattern(in_rows[i] ? kExtent : 5000 + random() % 600000, random()));
      rooms.emplace_back(data.back().size());
    }
    World world(2, options_of(seed), kSmallEager);
    for (std::size_t i = 0; i < kMessages; ++i) {
      if (random() % 4 == 0) continue;  // ordinary memory among the others
      if ((sides() & kSource) != 0) refuse_a_part(world, data[i], random);
      if ((sides() & kSink) != 0) refuse_a_part(world, rooms[i], random);
    }
    for (std::size_t i = 0; i < kMessages; ++i) {
      const stria_layout_t* const layout = in_rows[i] ? rows : nullptr;
      const std::size_t count = in_rows[i] ? 1 : data[i].size();
      ASSERT_GE(world.send(sends[i], 0, 1, i, data[i].data(), count, 0, 0, layout), 0);
      ASSERT_GE(world.recv(recvs[i], 1, 0, i, 0, rooms[i].data(), count, layout), 0);
    }
    const unsigned slow = random() % 2;  // one of them is seldom inside the library
    const auto ended = [&] {
      for (std::size_t i = 0; i < kMessages; ++i)
        if (!sends[i].ended() || !recvs[i].ended()) return false;
      return true;
    };
    for (unsigned steps = 0; steps < 400000 && !ended(); ++steps)
      stria_worker_progress(world.worker(random() % 8 == 0 ? slow : 1 - slow));
    ASSERT_TRUE(ended());
    for (std::size_t i = 0; i < kMessages; ++i) {
      ASSERT_EQ(recvs[i].info.status, STRIA_OK) << i;
      ASSERT_EQ(sends[i].info.status, STRIA_OK) << i;
      for (std::size_t at = 2000; in_rows[i] && at < kExtent; at += 3000)  // what lies between the rows
        std::fill_n(data[i].begin() + static_cast<std::ptrdiff_t>(at), 1000, static_cast<unsigned char>(0));
      ASSERT_TRUE(rooms[i] == data[i]) << i;
    }
    for (const unsigned who : {0u, 1u})
      EXPECT_EQ(fake::valid_keys(world.fabric(), stria_worker_id(world.worker(who))), 0u);
    refused += fake::statistics(world.fabric()).memory_refused;
    stria_layout_free(rows);
    stria_layout_free(element);
  }
  // By itself the engine asks where a sender is silent, which is a matter of time.
  if (std::string(scheme()) == "auto") return;
  const bool is_tried = std::string(scheme()) != "pipeline";
  EXPECT_EQ(refused != 0, is_tried) << "the test asks for what it is about";
}

INSTANTIATE_TEST_SUITE_P(Ways, RefusedMemory,
                         testing::Combine(testing::Values("auto", "get", "both", "pipeline"),
                                          testing::Values(unsigned{kSource}, unsigned{kSink},
                                                          unsigned{kSource | kSink}),
                                          testing::Bool()),
                         [](const auto& one) {
                           const unsigned sides = std::get<1>(one.param);
                           return std::string(std::get<0>(one.param)) +
                                  (sides == kSource ? "_source"
                                   : sides == kSink ? "_sink"
                                                    : "_source_and_sink") +
                                  (std::get<2>(one.param) ? "_offload" : "");
                         });

/// Messages one by one, of memory that is refused and of other memory.
class OtherMemory : public testing::Test {
 protected:
  OtherMemory() : forced_("get"), world_(2, quick(), kSmallEager), bad_(100000, 1), good_(100000, 2) {
    fake::refuse_memory(world_.fabric(), bad_.data(), bad_.size());
  }
  void exchange(const Data& data) {
    Op send, recv;
    Data room(data.size());
    world_.recv(recv, 1, 0, 5, 0, room.data(), room.size());
    world_.send(send, 0, 1, 5, data.data(), data.size());
    ASSERT_TRUE(world_.run_until([&] { return recv.ended() && send.ended(); }, 5000));
    EXPECT_EQ(recv.info.status, STRIA_OK);
    EXPECT_EQ(room, data);
  }
  Scheme forced_;
  World world_;
  Data bad_, good_;
};

TEST_F(OtherMemory, goes_its_own_way_before_between_and_behind) {
  constexpr unsigned kRounds = 50;
  exchange(good_);
  for (unsigned i = 0; i < kRounds; ++i) {
    exchange(bad_);
    exchange(good_);
  }
  const stria_counters_t all = counters(world_, 1);
  EXPECT_EQ(all.received_get, kRounds + 1);
  EXPECT_EQ(all.received_pipeline, kRounds);
  EXPECT_EQ(all.fallbacks, kRounds) << "each message that was refused counts";
}

/// Puts and gets through a key.
class RefusedAccess : public testing::TestWithParam<std::tuple<bool, unsigned, unsigned>> {};

TEST_P(RefusedAccess, is_done_by_the_peers_engine) {
  const auto [is_get, sides, async_percent] = GetParam();
  fake::FabricOptions options = quick();
  options.async_percent = async_percent;
  World world(2, options);
  Data region = pattern(300000, 1), local = pattern(region.size(), 2);
  if ((sides & kSource) != 0) fake::refuse_memory(world.fabric(), (is_get ? region : local).data() + 5, 1);
  if ((sides & kSink) != 0) fake::refuse_memory(world.fabric(), (is_get ? local : region).data() + 9, 1);
  stria_region_t* lent = nullptr;
  ASSERT_EQ(stria_region_register(world.worker(1), region.data(), nullptr, region.size(),
                                  STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE, &lent),
            STRIA_OK);
  char packed[STRIA_KEY_MAX];
  size_t bytes = sizeof packed;
  ASSERT_EQ(stria_region_key(lent, packed, &bytes), STRIA_OK);
  stria_key_t* key = nullptr;
  ASSERT_EQ(stria_key_open(world.endpoint(0, 1), packed, bytes, &key), STRIA_OK);
  const auto access = [&, is_get = is_get](std::uint64_t offset, std::size_t length) {
    Op op;
    stria_rma_t rma{};
    rma.base = local.data() + offset;
    rma.count = length;
    rma.key = key;
    rma.remote_offset = offset;
    rma.callback = &Op::on_done;
    rma.user = &op;
    op.answer = is_get ? stria_get(world.endpoint(0, 1), &rma, &op.request)
                       : stria_put(world.endpoint(0, 1), &rma, &op.request);
    EXPECT_TRUE(world.run_until([&] { return op.ended(); }, 20000));
    EXPECT_EQ(op.answer == STRIA_OK ? STRIA_OK : op.info.status, STRIA_OK);
    EXPECT_EQ(op.callbacks, op.answer == STRIA_OK ? 0 : 1);
  };
  for (int i = 0; i < 30; ++i) {
    Data& to = is_get ? local : region;
    std::fill(to.begin(), to.end(), 0);
    access(0, local.size());
    ASSERT_EQ(local, region) << i;
    if (!is_get) std::fill(local.begin(), local.end(), static_cast<unsigned char>(i));
  }
  // What does not touch what is refused is moved by the provider all the same.
  const std::uint64_t refused = fake::statistics(world.fabric()).memory_refused;
  EXPECT_EQ(refused, 30u);
  EXPECT_EQ(counters(world, 0).fallbacks, 30u);
  for (int i = 0; i < 30; ++i) access(1000, 1000);
  EXPECT_EQ(counters(world, 0).fallbacks, 30u);
  EXPECT_EQ(fake::statistics(world.fabric()).memory_refused, refused);
  stria_key_close(key);
  EXPECT_EQ(stria_region_deregister(lent), STRIA_OK);
}

INSTANTIATE_TEST_SUITE_P(Ways, RefusedAccess,
                         testing::Combine(testing::Bool(),
                                          testing::Values(unsigned{kSource}, unsigned{kSink},
                                                          unsigned{kSource | kSink}),
                                          testing::Values(0u, 100u)),
                         [](const auto& one) {
                           const unsigned sides = std::get<1>(one.param);
                           return std::string(std::get<0>(one.param) ? "get" : "put") +
                                  (sides == kSource ? "_source"
                                   : sides == kSink ? "_sink"
                                                    : "_source_and_sink") +
                                  (std::get<2>(one.param) != 0 ? "_late" : "");
                         });

}  // namespace
}  // namespace stria::test
