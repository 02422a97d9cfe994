// Memory runs out at every allocation of a call in turn: the call answers a status, and what it left can be
// used again or closed.
#include "tests/replaced_new.hpp"
#include "tests/tag/world.hpp"

namespace {

thread_local long allowed = -1;  // allocations until one fails; -1: none does

}  // namespace

bool stria::test::may_allocate(std::size_t /*bytes*/, bool /*is_optional*/) noexcept {
  if (allowed == 0) return false;
  if (allowed > 0) --allowed;
  return true;
}

namespace stria::test {
namespace {

TEST(MemoryOut, while_an_endpoint_connects_is_a_status) {
  for (long k = 0; k < 40; ++k) {
    SCOPED_TRACE(::testing::Message() << k << " allocations");
    World world(2, quick());
    allowed = k;
    const stria_status_t connected = stria_endpoint_connect(world.endpoint(0, 1));
    allowed = -1;
    if (connected == STRIA_OK) {
      EXPECT_GT(k, 0);
      return;
    }
    EXPECT_EQ(connected, STRIA_ERR_IO);
    EXPECT_NE(std::string(stria_last_error()), "");
  }
  FAIL() << "it never connected";
}

TEST(MemoryOut, is_no_obstacle_to_the_text_of_an_error) {
  World world(2, quick());
  Op warm, late;
  char room[8];
  world.send(warm, 1, 0, 1, room, 1);
  for (int i = 0; i < 20; ++i) world.step();
  world.kill(1, fake::Loss::none);
  for (int i = 0; i < 2000; ++i) world.step();
  allowed = 0;
  const stria_status_t received = world.recv(late, 0, 1, 5, 0, room, sizeof(room));
  const stria_status_t sent = world.send(late, 0, 1, 5, room, 1);
  size_t bytes = 1;
  const stria_status_t address = stria_worker_address(world.worker(0), room, &bytes);
  allowed = -1;
  EXPECT_EQ(received, STRIA_ERR_PEER_FAILED);
  EXPECT_EQ(sent, STRIA_ERR_PEER_FAILED);
  EXPECT_EQ(address, STRIA_ERR_INVALID);
  EXPECT_NE(std::string(stria_last_error()).find("room for 1 bytes"), std::string::npos)
      << stria_last_error();
}

TEST(MemoryOut, when_a_peer_connects_loses_that_peer_only) {
  World world(3, quick());
  Op lost, sent, got;
  char byte = 1, room[8];
  // Worker 1 is announced to worker 0 while there is no memory.
  world.send(lost, 1, 0, 1, &byte, 1);
  allowed = 0;
  for (int i = 0; i < 20; ++i) stria_worker_progress(world.worker(0));
  allowed = -1;
  world.send(sent, 2, 0, 1, &byte, 1);
  world.recv(got, 0, World::kAny, 1, 0, room, sizeof(room));
  ASSERT_TRUE(world.run_until([&] { return got.ended(); }));
  EXPECT_EQ(got.info.source, stria_worker_id(world.worker(2)));
}

}  // namespace
}  // namespace stria::test
