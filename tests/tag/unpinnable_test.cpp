// Memory that one of two processes uses and the other one's kernel does not reach for it
// (tests/unpinnable.hpp): every message, put and get arrives whole in each scheme, near and far, and other
// memory goes by the scheme's own way.
#include "tests/unpinnable.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>

#include "tests/tag/two_processes.hpp"

namespace stria::test {
namespace {

enum Kind : unsigned { kOrdinary, kSecret, kMixed, kKinds };

/// Memory of each kind; of the mixed one the second third is secret.
class Memory {
 public:
  Memory()
      : mixed_(map()), secret_(kRoom), part_(kRoom / 3 / kPage * kPage, mixed_ + kRoom / 3 / kPage * kPage) {
    at_ = {map(), secret_.data(), part_.data() == nullptr ? nullptr : mixed_};
  }
  std::byte* at(unsigned kind) const { return at_[kind]; }
  bool is_whole() const { return at_[kSecret] != nullptr && at_[kMixed] != nullptr; }
  std::string why() const { return secret_.why() + part_.why(); }

 private:
  static std::byte* map() {
    return static_cast<std::byte*>(
        ::mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  std::byte* mixed_;
  SecretMemory secret_, part_;
  std::array<std::byte*, kKinds> at_{};
};

/// Scheme, distance.
class Unpinnable : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  static std::string scheme() { return std::get<0>(GetParam()); }
  static void run(const std::function<Missing(const Member&)>& body) {
    in_two_processes({{"STRIA_RNDV_SCHEME", std::get<0>(GetParam())},
                      {"STRIA_SHM_DISTANCE", std::get<1>(GetParam())},
                      {"STRIA_EAGER_LIMIT", "16K"},
                      {"STRIA_RNDV_PATIENCE", "0"},
                      {"STRIA_RNDV_SHARE", "on"}},
                     body);
  }
  /// Of the scheme's own way.
  static std::uint64_t in_own_way(const Member& member) {
    const stria_counters_t all = member.counters();
    return scheme() == "get" ? all.received_get : all.received_pipeline;
  }
};

TEST_P(Unpinnable, messages_out_of_it_and_into_it_arrive_whole) {
  run([](const Member& member) -> Missing {
    const Memory memory;
    if (!member.agree(memory.is_whole())) return "secret memory: " + memory.why();
    std::uint64_t seed = 0;
    for (const std::size_t bytes : {16384u, 17000u, 66000u, 131000u, 300000u, 600000u})
      for (unsigned kinds = 0; kinds < kKinds * kKinds; ++kinds)
        for (const bool rows_from : {false, true})
          for (const bool rows_to : {false, true}) {
            const unsigned kind = member.is_first ? kinds % kKinds : kinds / kKinds;
            const std::size_t whole = bytes / kRow * kRow;
            SCOPED_TRACE(testing::Message()
                         << whole << " bytes, kinds " << kinds << ", rows " << rows_from << rows_to);
            member.exchange(memory.at(kind), whole, member.is_first ? rows_from : rows_to, ++seed);
            if (testing::Test::HasFatalFailure()) return {};
          }
    // The link is as it was, and other memory goes its own way.
    const std::uint64_t before = in_own_way(member);
    for (int i = 0; i < 5; ++i) member.exchange(memory.at(kOrdinary), kLongest, false, ++seed);
    const bool has_way = scheme() == "pipeline" || member.attaches();
    const bool knows = !member.is_first && scheme() != "auto" && has_way;
    EXPECT_TRUE(!knows || in_own_way(member) == before + 5) << in_own_way(member) - before;
    return {};
  });
}

TEST_P(Unpinnable, messages_alternate_with_those_of_other_memory) {
  run([](const Member& member) -> Missing {
    const Memory memory;
    if (!member.agree(memory.is_whole())) return "secret memory: " + memory.why();
    for (std::uint64_t i = 0; i < 200; ++i)
      member.exchange(memory.at(i % 2 == 0 ? kSecret : kOrdinary), 40000, false, i);
    const stria_counters_t all = member.counters();
    if (!member.is_first && scheme() == "get" && member.attaches()) {
      EXPECT_EQ(all.received_get, 100u);
      EXPECT_EQ(all.received_pipeline, 100u);
      EXPECT_EQ(all.fallbacks, 100u) << "each message that was refused counts";
    }
    return {};
  });
}

TEST_P(Unpinnable, both_ways_at_once) {
  run([](const Member& member) -> Missing {
    const Memory out, in;
    if (!member.agree(out.is_whole() && in.is_whole())) return "secret memory: " + out.why() + in.why();
    for (std::uint64_t round = 0; round < 12; ++round) {
      const unsigned kind = 1 + round % 2;
      for (std::size_t i = 0; i < kLongest; ++i)
        out.at(kind)[i] = pattern(round + (member.is_first ? 0 : 99), i);
      stria_recv_t args{};
      args.base = in.at(kind);
      args.count = kLongest;
      args.match = {member.peer, 1, 0};
      stria_request_t request;
      const stria_status_t posted = stria_recv(member.worker, &args, &request);
      EXPECT_EQ(member.send(out.at(kind), kLongest), STRIA_OK);
      EXPECT_EQ(member.finish(posted, request), STRIA_OK);
      for (std::size_t i = 0; i < kLongest; ++i)
        if (in.at(kind)[i] != pattern(round + (member.is_first ? 99 : 0), i)) {
          ADD_FAILURE() << "byte " << i << " of round " << round;
          return {};
        }
    }
    return {};
  });
}

// On any kernel: it refuses all memory from the second message on, for this buffer as it says.
TEST_P(Unpinnable, messages_arrive_where_the_kernel_refuses_all_memory) {
  run([](const Member& member) -> Missing {
    std::vector<std::byte> memory(kRoom);
    member.exchange(memory.data(), kLongest, false, 1);
    if (!member.agree(answer_with(EFAULT, true, true))) return "the kernel has no seccomp";
    for (std::uint64_t i = 0; i < 30; ++i)
      member.exchange(memory.data(), i % 2 == 0 ? kLongest : 66000, i % 3 == 0, i);
    return {};
  });
}

TEST_P(Unpinnable, a_page_of_a_driver_in_the_middle_of_a_message_arrives_with_it) {
  run([](const Member& member) -> Missing {
    constexpr std::int64_t kPart = 200000;
    std::vector<std::byte> memory(kRoom);
    const std::byte* const page = time_page();
    if (!member.agree(page != nullptr)) return "this process has no [vvar] mapping";
    for (std::uint64_t round = 0; round < 10; ++round) {
      if (!member.is_first) {
        std::fill(memory.begin(), memory.end(), std::byte{0});
        EXPECT_EQ(member.recv(memory.data(), 2 * kPart + kPage), STRIA_OK);
        for (std::int64_t i = 0; i < 2 * kPart; ++i) {
          const auto at = static_cast<std::size_t>(i < kPart ? i : i + static_cast<std::int64_t>(kPage));
          if (memory[at] != pattern(round, static_cast<std::size_t>(i))) {
            ADD_FAILURE() << "byte " << at;
            return {};
          }
        }
        continue;
      }
      for (std::size_t i = 0; i < 2 * kPart; ++i) memory[i] = pattern(round, i);
      stria_layout_t *byte = nullptr, *parts = nullptr;
      const std::int64_t lengths[] = {kPart, kPage, kPart};
      const std::int64_t places[] = {0, page - memory.data(), kPart};
      EXPECT_EQ(stria_layout_bytes(1, &byte), STRIA_OK);
      EXPECT_EQ(stria_layout_indexed(3, lengths, places, byte, &parts), STRIA_OK);
      const stria_send_t args{memory.data(), parts, 1, 1, 0, 0, nullptr, nullptr};
      stria_request_t request;
      EXPECT_EQ(member.finish(stria_send(member.peer, &args, &request), request), STRIA_OK);
      stria_layout_free(parts);
      stria_layout_free(byte);
    }
    return {};
  });
}

INSTANTIATE_TEST_SUITE_P(Ways, Unpinnable,
                         testing::Combine(testing::Values("auto", "get", "pipeline"),
                                          testing::Values("near", "far")),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param)) + "_" + std::get<1>(one.param);
                         });

/// Scheme, distance. Memory of stria_mem_alloc(), which the peer has mapped, beside memory that it cannot
/// reach.
class UnpinnableMapped : public Unpinnable {};

TEST_P(UnpinnableMapped, messages_between_it_and_memory_of_stria_mem_alloc_arrive_whole) {
  run([](const Member& member) -> Missing {
    const Memory memory;
    if (!member.agree(memory.is_whole())) return "secret memory: " + memory.why();
    void* made = nullptr;
    EXPECT_EQ(stria_mem_alloc(member.context, kRoom, &made), STRIA_OK) << stria_last_error();
    auto* const mapped = static_cast<std::byte*>(made);
    const auto by_loads = [&] {
      const stria_counters_t all = member.counters();
      return std::array{all.received_mapped, all.received_mapped_both};
    };
    const bool free = member.is_first || scheme() == "auto";  // the receiver knows the way, if it is forced
    std::uint64_t seed = 0;
    for (const std::size_t bytes : {std::size_t{20000}, kLongest})
      for (const Kind other : {kSecret, kMixed})
        for (const unsigned rows : {1u, 2u}) {
          SCOPED_TRACE(testing::Message() << bytes << " bytes, kind " << other << ", rows " << rows);
          const bool in_rows = (rows & (member.is_first ? 1u : 2u)) != 0;
          // The receiver loads out of mapped memory, and stores into its own, which it may.
          auto before = by_loads();
          member.exchange(member.is_first ? mapped : memory.at(other), bytes, in_rows, ++seed);
          EXPECT_TRUE(free || by_loads()[0] == before[0] + 1) << by_loads()[0] - before[0] << " mapped";
          // With memory that is mapped at the receiver alone nothing is loaded.
          member.exchange(member.is_first ? memory.at(other) : mapped, bytes, in_rows, ++seed);
          before = by_loads();
          member.exchange(mapped, bytes, in_rows, ++seed);
          const std::size_t which = scheme() == "both" ? 1 : 0;
          EXPECT_TRUE(free || by_loads()[which] == before[which] + 1)
              << by_loads()[0] - before[0] << " mapped, " << by_loads()[1] - before[1] << " by both";
          if (testing::Test::HasFailure()) return {};
        }
    EXPECT_EQ(stria_mem_free(member.context, made), STRIA_OK);
    return {};
  });
}

INSTANTIATE_TEST_SUITE_P(Ways, UnpinnableMapped,
                         testing::Combine(testing::Values("auto", "get", "both"),
                                          testing::Values("near", "far")),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param)) + "_" + std::get<1>(one.param);
                         });

// The second process lends, the first puts and gets; each has each kind of memory.
TEST(UnpinnableRegion, puts_and_gets_of_it_are_done_by_the_owner) {
  in_two_processes({}, [](const Member& member) -> Missing {
    const Memory memory;
    if (!member.agree(memory.is_whole())) return "secret memory: " + memory.why();
    for (unsigned kinds = 0; kinds < kKinds * kKinds; ++kinds) {
      SCOPED_TRACE(testing::Message() << "kinds " << kinds);
      std::byte* const mine = memory.at(member.is_first ? kinds % kKinds : kinds / kKinds);
      std::array<char, STRIA_KEY_MAX> packed{};
      std::size_t bytes = packed.size();
      if (!member.is_first) {
        stria_region_t* region = nullptr;
        EXPECT_EQ(stria_region_register(member.worker, mine, nullptr, kLongest,
                                        STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE, &region),
                  STRIA_OK);
        for (std::size_t i = 0; i < kLongest; ++i) mine[i] = pattern(kinds, i);
        EXPECT_EQ(stria_region_key(region, packed.data(), &bytes), STRIA_OK);
        EXPECT_EQ(member.send(&bytes, sizeof bytes), STRIA_OK);
        EXPECT_EQ(member.send(packed.data(), bytes), STRIA_OK);
        bool done = false;
        EXPECT_EQ(member.recv(&done, 1), STRIA_OK);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < kLongest; ++i) wrong += mine[i] != pattern(kinds + 50, i) ? 1 : 0;
        EXPECT_EQ(wrong, 0u);
        EXPECT_EQ(stria_region_deregister(region), STRIA_OK);
        continue;
      }
      EXPECT_EQ(member.recv(&bytes, sizeof bytes), STRIA_OK);
      EXPECT_EQ(member.recv(packed.data(), bytes), STRIA_OK);
      stria_key_t* key = nullptr;
      EXPECT_EQ(stria_key_open(member.peer, packed.data(), bytes, &key), STRIA_OK) << stria_last_error();
      stria_rma_t rma{};
      rma.base = mine;
      rma.count = kLongest;
      rma.key = key;
      stria_request_t request;
      EXPECT_EQ(member.finish(stria_get(member.peer, &rma, &request), request), STRIA_OK)
          << stria_last_error();
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < kLongest; ++i) wrong += mine[i] != pattern(kinds, i) ? 1 : 0;
      EXPECT_EQ(wrong, 0u);
      for (std::size_t i = 0; i < kLongest; ++i) mine[i] = pattern(kinds + 50, i);
      EXPECT_EQ(member.finish(stria_put(member.peer, &rma, &request), request), STRIA_OK)
          << stria_last_error();
      rma.remote_offset = 1;
      EXPECT_EQ(stria_get(member.peer, &rma, &request), STRIA_ERR_ACCESS) << "bounds are bounds";
      const bool done = true;
      EXPECT_EQ(member.send(&done, 1), STRIA_OK);
      stria_key_close(key);
    }
    return {};
  });
}

}  // namespace
}  // namespace stria::test
