// What is other on a link where a packet takes long itself: a way there and back more is worth it only for
// what takes very long to pack, and a long message is read at once. Every byte of what goes is looked at.
#include <vector>

#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

class Distant : public testing::TestWithParam<std::uint32_t> {
 protected:
  Distant() : world_(2, options(GetParam())) {}
  ~Distant() override { set_scheme("auto"); }
  static fake::FabricOptions options(std::uint32_t latency_ns) {
    fake::FabricOptions options;
    options.seed = 39;
    options.eager_max = 65536;
    options.latency_ns = latency_ns;
    options.async_percent = 100;  // of gets, as by a network; the fabric counts them
    return options;
  }
  bool is_distant() const { return GetParam() >= 2000; }

  /// A column of so many elements, from a matrix to another one. Whether it went without being announced.
  template <class Element>
  bool goes_at_once(std::int64_t rows) {
    constexpr std::int64_t kSize = sizeof(Element);
    constexpr std::int64_t kRow = 40;  // each element in a line of its own
    stria_layout_t *word = nullptr, *column = nullptr;
    EXPECT_EQ(stria_layout_bytes(kSize, &word), STRIA_OK);
    EXPECT_EQ(stria_layout_vector(rows, 1, kRow * kSize, word, &column), STRIA_OK);
    const auto bytes = static_cast<std::size_t>(rows * kRow * kSize);
    std::vector<unsigned char> source(bytes), sink(bytes, 0xee);
    for (std::size_t i = 0; i < bytes; ++i) source[i] = static_cast<unsigned char>(i * 7 + i / 251);
    Op sent, received;
    const stria_status_t answer = world_.send(sent, 0, 1, 5, source.data(), 1, 0, 0, column);
    EXPECT_GE(world_.recv(received, 1, 0, 5, 0, sink.data(), 1, column), STRIA_OK);
    EXPECT_TRUE(world_.run_until([&] { return sent.ended() && received.ended(); }));
    for (std::size_t i = 0; i < bytes; ++i) EXPECT_EQ(sink[i], i / kSize % kRow == 0 ? source[i] : 0xee) << i;
    stria_layout_free(column);
    stria_layout_free(word);
    return answer == STRIA_OK;
  }
  static bool set_scheme(const char* name) {
    return stria_config_set("STRIA_RNDV_SCHEME", name, "test") == STRIA_OK;
  }
  World world_;
};

struct DistantGet : Distant {
  const bool gets_ = set_scheme("get");
  World of_gets_{2, options(GetParam())};
};

TEST_P(Distant, link_takes_at_once_what_does_not_take_very_long_to_pack) {
  EXPECT_TRUE(goes_at_once<double>(1)) << "the link is up";
  EXPECT_TRUE(goes_at_once<double>(64));
  EXPECT_EQ(goes_at_once<double>(512), is_distant());
  EXPECT_EQ(goes_at_once<double>(2049), is_distant());
  EXPECT_EQ(goes_at_once<float>(16384), is_distant());
  EXPECT_FALSE(goes_at_once<std::uint16_t>(16385)) << "it takes very long";
}

TEST_P(DistantGet, link_reads_a_long_message_by_one_get_so_that_it_goes_on_while_nobody_calls) {
  constexpr std::size_t kBytes = 9 << 20;
  std::vector<unsigned char> source(kBytes), sink(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) source[i] = static_cast<unsigned char>(i * 7 + i / 251);
  Op sent, received;
  EXPECT_GE(of_gets_.send(sent, 0, 1, 5, source.data(), kBytes), STRIA_OK);
  EXPECT_GE(of_gets_.recv(received, 1, 0, 5, 0, sink.data(), kBytes), STRIA_OK);
  EXPECT_TRUE(of_gets_.run_until([&] { return sent.ended() && received.ended(); }));
  EXPECT_TRUE(sink == source);
  EXPECT_EQ(fake::statistics(of_gets_.fabric()).completed_later, is_distant() ? 1u : 3u);
}

const auto kLatencies = testing::Values(0u, 1999u, 2000u, 10000u);
const auto name_of = [](const auto& param) { return std::to_string(param.param) + "_ns"; };
INSTANTIATE_TEST_SUITE_P(Links, Distant, kLatencies, name_of);
INSTANTIATE_TEST_SUITE_P(Links, DistantGet, kLatencies, name_of);

}  // namespace
}  // namespace stria::test
