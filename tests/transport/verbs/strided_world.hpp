// Two devices of the provider, each on a stand-in for an adapter with strided keys (stand_in.hpp), and one
// link between them whose connection nobody had to make.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "tests/datatype/random_type.hpp"
#include "tests/transport/verbs/side.hpp"

namespace stria::verbs::test {

class StridedWorld : public ::testing::Test {
 protected:
  StridedWorld() : reader_adapter(false) {}
  /// `keys`: STRIA_VERBS_KEYS of the owner. The reader has no strided keys of its own, and needs none.
  void open(const char* keys = "64", unsigned most_strided = ~0u, std::uint32_t inline_bytes = 256) {
    auto adapter = owner_adapter.adapter(inline_bytes);
    ASSERT_TRUE(adapter->use_strided_keys(StandIn::library()));
    owner_adapter.keys_made = owner_adapter.keys_destroyed = 0;
    owner_adapter.most_keys = most_strided;
    owner = std::make_unique<Side>(1, std::move(adapter), keys);
    reader = std::make_unique<Side>(2, reader_adapter.adapter());
    StandInQueuePair& one = owner_adapter.queue_pair();
    StandInQueuePair& other = reader_adapter.queue_pair();
    StandIn::join(one, other);
    owner->connect(2, true, one);
    reader->connect(1, false, other);
    ASSERT_TRUE(owner->link->greet());
    progress();
    ASSERT_TRUE(reader->link->ready());
    forget();
  }
  void TearDown() override {
    EXPECT_EQ(owner_adapter.misuse, "");
    EXPECT_EQ(reader_adapter.misuse, "");
  }
  void progress() {
    for (int i = 0; i < 4; ++i) {
      owner->device->progress(64);
      reader->device->progress(64);
    }
  }
  void forget() { owner_adapter.posted.clear(), reader_adapter.posted.clear(); }

  Status make_key(const datatype::Layout& layout, std::int64_t count, void* base, transport::Key& key,
                  unsigned access = STRIA_ACCESS_REMOTE_READ) {
    return owner->device->fast_register(owner->link, {&layout, base, count, 0, layout.size() * count}, access,
                                        key);
  }
  /// A packet of the owner, behind which its keys are valid.
  void announce() {
    ASSERT_EQ(owner->link->pio_send(contract::header(1), nullptr, 0), Status::ok);
    progress();
  }
  /// As it ended; what takes more than one piece of work is waited for.
  Status ended(Status answer, const Ending& ending) {
    for (int i = 0; i < 100 && answer == Status::in_progress && ending.calls == 0; ++i) progress();
    progress();
    return answer == Status::in_progress ? ending.status : answer;
  }
  Status read(Bytes& into, const transport::Key& key, std::uint64_t offset = 0) {
    Ending ending;
    return ended(reader->link->get(contract::contiguous(into), key, offset, &ending.base), ending);
  }
  Status write(const Bytes& from, const transport::Key& key) {
    Ending ending;
    return ended(reader->link->put(contract::contiguous(from), key, 0, &ending.base), ending);
  }
  /// The last read, and the packet that ends the key.
  Status read_and_end(Bytes& into, const transport::Key& key) {
    Ending ending;
    return ended(
        reader->link->get_finish(contract::contiguous(into), key, 0, contract::header(9), &ending.base),
        ending);
  }
  static transport::Key key_of(const KeyData& data) {
    transport::Key key{};
    key.bytes = sizeof data;
    std::memcpy(key.data, &data, sizeof data);
    return key;
  }
  static KeyData data_of(const transport::Key& key) {
    KeyData out{};
    std::memcpy(&out, key.data, sizeof out);
    return out;
  }
  static Bytes packed(const datatype::Layout& layout, std::int64_t count, void* base) {
    Bytes out(static_cast<std::size_t>(layout.size() * count));
    const stria_payload_t memory{&layout, base, count, 0, layout.size() * count};
    transport::services().pack(&memory, out.data());
    return out;
  }
  static unsigned count_of(const std::vector<Posted>& posted, ibv_wr_opcode opcode) {
    return static_cast<unsigned>(
        std::count_if(posted.begin(), posted.end(), [&](const Posted& one) { return one.opcode == opcode; }));
  }

  StandIn owner_adapter, reader_adapter;
  std::unique_ptr<Side> owner, reader;
};

/// 24 bytes of each 1000, 200 times.
inline constexpr std::size_t kBytes = 200 * 1000;
inline datatype::Layout column() {
  return datatype::must(datatype::Layout::vector(200, 1, 1000, datatype::Layout::bytes(24)));
}

}  // namespace stria::verbs::test
