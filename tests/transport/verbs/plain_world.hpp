// Two devices of the provider, each on a stand-in for an adapter without strided keys, and one link between
// them whose connection nobody had to make.
#pragma once

#include "tests/datatype/random_type.hpp"
#include "tests/transport/verbs/side.hpp"

namespace stria::verbs::test {

class PlainWorld : public ::testing::Test {
 protected:
  /// What the two adapters are like.
  struct Kind {
    bool repeats_binds = false;
    bool iwarp = false;
    std::uint32_t max_message = 1u << 26;
  };
  PlainWorld() : a_adapter(false), b_adapter(false) {}
  void open() { open(Kind{}); }
  void open(const Kind& kind) {
    join(kind);
    greet();
  }
  /// `a` connected, and did not say anything yet.
  void join(const Kind& kind) {
    a = std::make_unique<Side>(1, adapter_of(a_adapter, kind));
    b = std::make_unique<Side>(2, adapter_of(b_adapter, kind));
    a_queue = &a_adapter.queue_pair();
    b_queue = &b_adapter.queue_pair();
    StandIn::join(*a_queue, *b_queue);
    a->connect(2, true, *a_queue);
    b->connect(1, false, *b_queue);
  }
  void greet() {
    ASSERT_TRUE(a->link->greet());
    progress();
    ASSERT_TRUE(b->link->ready());
  }
  void TearDown() override {
    EXPECT_EQ(a_adapter.misuse, "");
    EXPECT_EQ(b_adapter.misuse, "");
  }
  void progress(int rounds = 4) {
    for (int i = 0; i < rounds; ++i) {
      if (a->device != nullptr) a->device->progress(64);
      b->device->progress(64);
    }
  }
  /// As it ended, or in_progress when it never does.
  Status ended(const Ending& ending) {
    for (int i = 0; i < 1000 && ending.calls == 0; ++i) progress();
    return ending.calls == 1 ? ending.status : Status::in_progress;
  }
  /// A key of b for memory that a may use from then on.
  transport::Key key_of(const transport::Payload& what, unsigned access = STRIA_ACCESS_REMOTE_READ) {
    transport::Key key{};
    EXPECT_EQ(b->device->fast_register(b->link, what, access, key), Status::ok);
    EXPECT_EQ(b->link->pio_send(contract::header(1), nullptr, 0), Status::ok);
    progress();
    return key;
  }
  /// A key of b for many blocks, each of which is a request of its own.
  transport::Key key_of_blocks() {
    memory = contract::pattern(1, kBlocks * kStride);
    return key_of({&layout, memory.data(), 1, 0, layout.size()});
  }
  /// What the adapter does to a link that failed, and the connector says.
  static void break_off(Link& link, StandInQueuePair& queue) {
    queue.in_error = true;
    link.broken = true;
  }

  static constexpr std::size_t kBlocks = 40, kBlock = 8192, kStride = 70000, kAll = kBlocks * kBlock;
  const datatype::Layout layout =
      datatype::must(datatype::Layout::vector(kBlocks, 1, kStride, datatype::Layout::bytes(kBlock)));
  Bytes memory;
  StandIn a_adapter, b_adapter;
  StandInQueuePair *a_queue = nullptr, *b_queue = nullptr;
  std::unique_ptr<Side> a, b;

 private:
  static std::unique_ptr<Adapter> adapter_of(StandIn& stand_in, const Kind& kind) {
    auto out = stand_in.adapter();
    out->max_message = kind.max_message;
    out->traits.iwarp = kind.iwarp;
    out->traits.repeats_binds = kind.repeats_binds;
    out->traits.atomics = true;
    return out;
  }
};

}  // namespace stria::verbs::test
