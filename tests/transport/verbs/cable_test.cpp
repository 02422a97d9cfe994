// Two guests joined by a cable, of which one pulls it: for less than the retries last, and for good. Each
// guest runs this program (tools/lab rxe2); they find each other through the folder that both write to.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <thread>

#include "tests/transport/verbs/world.hpp"

namespace stria::verbs::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
constexpr unsigned kMessages = 1500;

class Cable : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* guest = std::getenv("STRIA_LAB_GUEST");
    const char* guests = std::getenv("STRIA_LAB_GUESTS");
    const char* results = std::getenv("STRIA_LAB_RESULTS");
    if (guest == nullptr || guests == nullptr || results == nullptr || std::string_view(guests) != "2")
      GTEST_SKIP() << "needs two guests of the laboratory";
    is_first = *guest == '0';
    folder = results;
  }
  /// Says `what` to the other guest, or waits until the other said it.
  void say(const std::string& what, const Bytes& content = {}) {
    const fs::path temporary = folder / (what + ".part");
    std::ofstream(temporary, std::ios::binary)
        .write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
    fs::rename(temporary, folder / what);
  }
  Bytes wait_for(const std::string& what) {
    const auto end = Clock::now() + std::chrono::seconds(120);
    while (!fs::exists(folder / what) && Clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::ifstream file(folder / what, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    return {bytes, bytes + text.size()};
  }
  static void pull(bool out) {
    ASSERT_EQ(std::system(out ? "ip link set eth0 down" : "ip link set eth0 up"), 0);
  }
  bool is_first = false;
  fs::path folder;
};

TEST_F(Cable, out_and_back_loses_nothing_and_out_for_good_ends_both_in_bounded_time) {
  Peer me(verbs_provider(), is_first ? 1 : 2);
  Contact other{.worker = is_first ? 2u : 1u};
  if (is_first) {
    stria_status_t status = STRIA_OK;
    stria_link_t* link = me.try_connect(wait_for("address"), other, status);
    ASSERT_NE(link, nullptr) << me.error();
    for (unsigned i = 0; i < kMessages; ++i) {
      ASSERT_EQ(send({&me}, me, link, Path::buffered, header(static_cast<std::uint16_t>(i)), pattern(i, 500)),
                Status::ok)
          << "message " << i;
    }
    say("sent");
    wait_for("received");
    EXPECT_TRUE(me.downs.empty());
    wait_for("pulled");
    const auto start = Clock::now();
    Ending ending;
    for (int i = 0; i < 10; ++i)
      static_cast<void>(me.try_send(link, Path::buffered, header(1), pattern(1, 8).data(), 8));
    EXPECT_TRUE(contract::drive({&me}, [&] { return me.downs.size() == 1; })) << "nobody noticed";
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(40));
  } else {
    say("address", me.address());
    ASSERT_TRUE(contract::drive({&me}, [&] { return me.received.size() >= kMessages / 3; }));
    pull(true);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    pull(false);
    ASSERT_TRUE(contract::drive({&me}, [&] { return me.received.size() == kMessages; }))
        << me.received.size() << " of " << kMessages;
    for (unsigned i = 0; i < kMessages; ++i) {
      ASSERT_EQ(me.received[i].header.sequence, i);
      ASSERT_EQ(me.received[i].payload, pattern(i, 500));
    }
    EXPECT_TRUE(me.downs.empty());
    say("received");
    wait_for("sent");
    pull(true);
    say("pulled");
    const auto start = Clock::now();
    // It has nothing to send: asking now and then has to find out.
    EXPECT_TRUE(contract::drive({&me}, [&] { return me.downs.size() == 1; })) << "nobody noticed";
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(40));
    pull(false);
  }
}

}  // namespace
}  // namespace stria::verbs::test
