// A link gets a window in the middle of a long message, while its earlier fragments still wait in the inbox
// behind a sender that stands still there. The link keeps the order of its packets.
#include <unistd.h>

#include "tag/address.hpp"
#include "tests/tag/shm_team.hpp"
#include "transport/shm/address.hpp"
#include "transport/shm/attach.hpp"
#include "transport/shm/inbox.hpp"

namespace stria::test {
namespace {

constexpr unsigned kReceiver = 0, kHolder = 1, kStopped = 2, kSender = 3;

struct WindowMove : testing::Test {
  WindowMove() {
    for (unsigned i = 0; i < 4; ++i)
      team.join({{{"STRIA_SHM_WINDOWS", "1"}},
                 {{"STRIA_RNDV_FRAGMENT", "1024"}},
                 {{"STRIA_SHM_DISTANCE", "near"}},
                 {{"STRIA_LIVENESS_MS", "1"}}});
  }
  /// What is done once in STRIA_LIVENESS_MS.
  void look(unsigned rank) {
    ::usleep(3000);
    team.progress(rank, 1200);
  }
  void greet(unsigned from) {
    const unsigned word = from;
    unsigned got = 0;
    const stria_send_t send{&word, nullptr, sizeof word, 1000 + from, 0, 0, nullptr, nullptr};
    stria_recv_t recv{};
    recv.base = &got;
    recv.count = sizeof got;
    recv.match = {nullptr, 1000 + from, 0};
    stria_request_t out, in;
    ASSERT_GE(stria_send(team.endpoint(from, kReceiver), &send, &out), STRIA_OK);
    if (stria_recv(team.worker(kReceiver), &recv, &in) == STRIA_IN_PROGRESS)
      for (int i = 0; i < 1000 && stria_request_test(&in, nullptr) != STRIA_OK; ++i)
        team.progress(kReceiver), team.progress(from);
    ASSERT_EQ(got, from);
  }
  shm::Attached map_receiver() {
    char address[STRIA_ADDRESS_MAX];
    size_t bytes = sizeof address;
    EXPECT_EQ(stria_worker_address(team.worker(kReceiver), address, &bytes), STRIA_OK);
    const auto parsed = tag::parse_address({reinterpret_cast<const std::byte*>(address), bytes});
    return *shm::attach(*shm::decode_address(parsed->part("shm", 0)), shm::AttachMode::any, 0);
  }
  ShmTeam team;
};

TEST_F(WindowMove, a_receive_that_ended_is_right_to_the_byte) {
  for (const unsigned peer : {kHolder, kStopped, kSender}) greet(peer);  // the first takes the window
  team.leave(kHolder);
  look(kReceiver);  // the window is free
  look(kSender);

  constexpr std::size_t kBytes = 512 * 1024;
  std::vector<unsigned char> from(kBytes), to(kBytes, 0);
  for (std::size_t i = 0; i < kBytes; ++i) from[i] = static_cast<unsigned char>(1 + i % 251);
  const stria_send_t send{from.data(), nullptr, kBytes, 7, 0, 0, nullptr, nullptr};
  stria_recv_t recv{};
  recv.base = to.data();
  recv.count = kBytes;
  recv.match = {nullptr, 7, 0};
  stria_request_t out, in;
  ASSERT_EQ(stria_recv(team.worker(kReceiver), &recv, &in), STRIA_IN_PROGRESS);
  ASSERT_EQ(stria_send(team.endpoint(kSender, kReceiver), &send, &out), STRIA_IN_PROGRESS);
  team.progress(kReceiver, 3);  // announcement, answer

  // Another peer is stopped in the middle of a send: it has claimed its slot and not published it.
  const shm::Attached mapped = map_receiver();
  const shm::SegmentView segment(mapped.map.data(),
                                 reinterpret_cast<const shm::SegmentHeader*>(mapped.map.data())->shape);
  shm::InboxSender stopped(segment, 1);
  shm::InboxSlot* const slot = stopped.claim();
  ASSERT_NE(slot, nullptr);

  look(kSender);  // sends what it has cells for, takes the window that is free, and goes on; then it computes
  look(kSender);
  stria_info_t info{};
  const auto ended = [&] { return stria_request_test(&in, &info) == STRIA_OK; };
  for (int i = 0; i < 100000 && !ended(); ++i) team.progress(kReceiver, 1);
  if (ended()) {
    EXPECT_EQ(from, to) << "of a receive that helped itself";
  }
  stopped.publish(*slot, shm::make_control(shm::RecordKind::hello, 0, 0));  // it goes on
  const auto both = [&] { return ended() && stria_request_test(&out, nullptr) == STRIA_OK; };
  for (int i = 0; i < 100000 && !both(); ++i) team.progress(kReceiver, 1), team.progress(kSender, 1);
  ASSERT_TRUE(both());
  EXPECT_EQ(info.status, STRIA_OK);
  EXPECT_EQ(info.received, kBytes);
  EXPECT_EQ(from, to);
}

}  // namespace
}  // namespace stria::test
