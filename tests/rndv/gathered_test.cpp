// A sender whose adapter shows memory that lies apart as one run asks for such a key where that pays, and
// says of its memory what the reader then sees. The provider is a table of functions that notes what it is
// asked.
#include <gtest/gtest.h>

#include <vector>

#include "rndv/engine.hpp"
#include "tests/datatype/random_type.hpp"

namespace stria::rndv {
namespace {

using datatype::Layout;
using datatype::must;

struct Asked {
  std::vector<unsigned> access;  ///< of each key that was asked for
  bool has_gathered = true;
  wire::RtsBody announced{};
};
Asked& asked() {
  static Asked one;
  return one;
}

stria_status_t note(const void* body) {
  std::memcpy(&asked().announced, body, sizeof(wire::RtsBody));
  return STRIA_OK;
}
const transport::HotOps kOps = {
    .eager_send = [](stria_link_t*, const stria_header_t*,
                     const stria_payload_t* payload) { return note(payload->base); },
    .get = [](auto...) { return STRIA_OK; },
    .send_invalidate = [](auto...) { return STRIA_OK; },
    .fast_register =
        [](stria_device_t*, stria_link_t*, const stria_payload_t*, unsigned access,
           stria_provider_key_t* key) {
          asked().access.push_back(access);
          if ((access & STRIA_REGISTER_GATHERED) != 0 && !asked().has_gathered) return STRIA_ERR_UNSUPPORTED;
          *key = {};
          key->bytes = 24;
          return STRIA_OK;
        },
    .invalidate = [](auto...) { return STRIA_OK; },
};

constexpr unsigned kRead = STRIA_ACCESS_REMOTE_READ;
constexpr unsigned kGathered = STRIA_ACCESS_REMOTE_READ | STRIA_REGISTER_GATHERED;

class Gathered : public ::testing::Test {
 protected:
  Gathered() : engine_({}, {this, [](void*, SendOp&) {}, [](void*, RecvOp&) {}}) {
    asked() = {};
    link_.ops = &kOps;
    link_.eager_max = 4096;
    link_.can_get = link_.offload = link_.gathers = true;
  }
  ~Gathered() override { engine_.end_all(Status::peer_failed); }

  /// 4 MiB in blocks of this length, announced. `rail`: the receiver asks by it for a key.
  void announce(std::int64_t block, const transport::LinkRef* rail = nullptr) {
    constexpr std::int64_t kBytes = 4 << 20;
    const Layout layout = must(Layout::vector(kBytes / block, 1, 2 * block, Layout::bytes(block)));
    SendOp op;
    op.link = &link_;
    op.memory = {&layout, memory_, 1, 0, kBytes};
    op.length = kBytes;
    ASSERT_EQ(engine_.announce(op, wire::make_header(wire::Kind::rts, 5)), Status::ok);
    if (rail != nullptr) {
      const auto header = wire::make_header(wire::Kind::ask_key, op.id);
      const wire::AskKeyBody body{77};
      EXPECT_TRUE(engine_.on_ask_key(link_, {&header, &body, sizeof body, 1, 0}, rail));
    }
    engine_.abandon(op);
  }

  transport::LinkRef link_;
  Engine engine_;
  std::byte memory_[8] = {};  // nothing is read
};

TEST_F(Gathered, blocks_worth_it_are_announced_as_one_run_behind_one_key) {
  announce(2048);
  EXPECT_EQ(asked().access, std::vector<unsigned>{kGathered});
  EXPECT_EQ(asked().announced.block_bytes, 0u);
  EXPECT_EQ(asked().announced.key_bytes, 24u);
}

TEST_F(Gathered, small_blocks_are_packed_without_asking) {
  announce(64);
  EXPECT_TRUE(asked().access.empty());
  EXPECT_EQ(asked().announced.block_bytes, 64u);
  EXPECT_EQ(asked().announced.key_bytes, 0u);
}

TEST_F(Gathered, a_matrix_by_its_columns_is_announced_as_one) {
  announce(64);
  EXPECT_EQ(asked().announced.turned, 0u);
  const Layout column = must(Layout::vector(512, 1, 8192, Layout::bytes(8)));
  const Layout columns = must(Layout::resized(column, 0, 8));
  SendOp op;
  op.link = &link_;
  op.length = 4 << 20;
  op.memory = {&columns, memory_, 1024, 0, 4 << 20};
  ASSERT_EQ(engine_.announce(op, wire::make_header(wire::Kind::rts, 5)), Status::ok);
  EXPECT_EQ(asked().announced.turned, 1u);
  engine_.abandon(op);
}

TEST_F(Gathered, where_no_such_key_takes_the_memory_it_goes_as_without) {
  asked().has_gathered = false;
  announce(2048);
  EXPECT_EQ(asked().access, std::vector<unsigned>{kGathered}) << "packed: too small for a request each";
  EXPECT_EQ(asked().announced.block_bytes, 2048u);
  EXPECT_EQ(asked().announced.key_bytes, 0u);
  asked().access.clear();
  announce(32768);
  EXPECT_EQ(asked().access, (std::vector<unsigned>{kGathered, kRead}));
  EXPECT_EQ(asked().announced.block_bytes, 32768u);
  EXPECT_EQ(asked().announced.key_bytes, 24u);
}

TEST_F(Gathered, a_link_without_is_asked_for_none) {
  link_.gathers = false;
  announce(2048);
  EXPECT_TRUE(asked().access.empty());
  announce(32768);
  EXPECT_EQ(asked().access, std::vector<unsigned>{kRead});
  EXPECT_EQ(asked().announced.block_bytes, 32768u);
}

TEST_F(Gathered, an_operation_that_is_used_again_says_what_its_next_memory_is) {
  const Layout apart = must(Layout::vector(2048, 1, 4096, Layout::bytes(2048)));
  SendOp op;
  op.link = &link_;
  op.length = 4 << 20;
  op.memory = {&apart, memory_, 1, 0, 4 << 20};
  ASSERT_EQ(engine_.announce(op, wire::make_header(wire::Kind::rts, 5)), Status::ok);
  EXPECT_EQ(asked().announced.block_bytes, 0u);
  engine_.abandon(op);
  asked().has_gathered = false;
  ASSERT_EQ(engine_.announce(op, wire::make_header(wire::Kind::rts, 5)), Status::ok);
  EXPECT_EQ(asked().announced.block_bytes, 2048u);
  engine_.abandon(op);
  asked().has_gathered = true;
  ASSERT_EQ(engine_.announce(op, wire::make_header(wire::Kind::rts, 5)), Status::ok);
  engine_.abandon(op);
  asked().access.clear();
  op.memory = transport::LinkRef::contiguous_payload(memory_, 4 << 20);
  ASSERT_EQ(engine_.announce(op, wire::make_header(wire::Kind::rts, 5)), Status::ok);
  EXPECT_EQ(asked().access, std::vector<unsigned>{kRead}) << "one run as it is has its key too";
  EXPECT_EQ(asked().announced.key_bytes, 24u);
  engine_.abandon(op);
}

TEST_F(Gathered, a_rail_that_can_has_such_a_key_too_and_another_has_none) {
  transport::LinkRef rail = link_;
  announce(2048, &rail);
  EXPECT_EQ(asked().access, (std::vector<unsigned>{kGathered, kGathered}));
  asked() = {};
  rail.gathers = false;
  announce(2048, &rail);
  EXPECT_EQ(asked().access, (std::vector<unsigned>{kGathered}));
}

}  // namespace
}  // namespace stria::rndv
