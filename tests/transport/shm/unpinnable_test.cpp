// Memory that the kernel does not reach for another process: a get or put of it answers unsupported, the link
// and all other memory stay as they are, and a key that has ended is told apart from it.
#include "tests/unpinnable.hpp"

#include <optional>

#include "base/backoff.hpp"
#include "tests/transport/shm/lending.hpp"

namespace stria::shm::test {
namespace {

using stria::test::answer_with;
using stria::test::SecretMemory;
using stria::test::time_page;

constexpr std::size_t kPage = 4096, kHalf = 64 * kPage, kAll = 2 * kHalf;
constexpr unsigned kBoth = STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE;

stria_provider_key_t lend(Node& node, const stria_payload_t& region, unsigned access) {
  stria_provider_key_t key{};
  EXPECT_EQ(ops().fast_register(node.device(), nullptr, &region, access, &key), STRIA_OK);
  return key;
}
/// A key as a message has it, with a hint if the memory is contiguous.
stria_provider_key_t lend_once(Node& node, stria_link_t* link, const stria_payload_t& region) {
  stria_provider_key_t key{};
  EXPECT_EQ(
      ops().fast_register(node.device(), link, &region, STRIA_ACCESS_REMOTE_READ | STRIA_REGISTER_HINT, &key),
      STRIA_OK);
  return key;
}

/// Every second 1024 bytes of the memory.
const datatype::Layout& rows() {
  static const datatype::Layout layout =
      *datatype::Layout::vector(kAll / 2048, 1, 2048, datatype::Layout::bytes(1024));
  return layout;
}
/// Every second 8 bytes, which go through the bounce buffer on this side.
const datatype::Layout& words() {
  static const datatype::Layout layout =
      *datatype::Layout::vector(kAll / 16, 1, 16, datatype::Layout::bytes(8));
  return layout;
}
stria_payload_t strided(const datatype::Layout& layout, const void* base) {
  return {&layout, const_cast<void*>(base), 1, 0, layout.size()};
}

/// Lends ordinary memory and memory that cannot be reached, of each kind that this system has, until it is
/// told that it may go.
///
///   keys   ordinary, plain; secret contiguous, with hint, in rows; half ordinary, half secret, plain; a key
///          that has ended, whose memory is unmapped; time page
struct Lent {
  stria_provider_key_t ordinary, secret, secret_hint, secret_rows, half, ended, time;
  bool has_secret, has_time;
};

int owner(Child& parent) {
  Node node(2);
  Lent lent{};
  const Bytes fill = pattern(1, kAll);
  Bytes ordinary = fill;
  lent.ordinary = lend(node, memory(ordinary.data(), kAll), kBoth);
  parent.send(node.address());
  stria_link_t* const link = node.connect(parent.receive(), 1);
  if (link == nullptr) return 2;
  const SecretMemory secret(kAll);
  if (secret.data() == nullptr) parent.send(as_bytes(secret.why().data(), secret.why().size()));
  void* const mixed = ::mmap(nullptr, kAll, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::optional<SecretMemory> second_half;
  if (secret.data() != nullptr) {
    second_half.emplace(kHalf, static_cast<std::byte*>(mixed) + kHalf);
    if (second_half->data() == nullptr) return 3;
    lent.has_secret = true;
    std::copy(fill.begin(), fill.end(), secret.data());
    std::copy(fill.begin(), fill.end(), static_cast<std::byte*>(mixed));
    lent.secret = lend(node, memory(secret.data(), kAll), kBoth);
    lent.secret_hint = lend_once(node, link, memory(secret.data(), kAll));
    lent.secret_rows = lend(node, strided(rows(), secret.data()), kBoth);
    lent.half = lend(node, memory(mixed, kAll), kBoth);
  }
  void* const gone = ::mmap(nullptr, kAll, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  lent.ended = lend_once(node, link, memory(gone, kAll));
  ops().invalidate(node.device(), &lent.ended);
  ::munmap(gone, kAll);
  if (time_page() != nullptr) {
    lent.has_time = true;
    lent.time = lend(node, memory(time_page(), kPage), kBoth);
  }
  if (secret.data() != nullptr) parent.send(as_bytes("", 0));
  parent.send(as_bytes(&lent, sizeof lent));
  for (Bytes word = parent.receive(); word.size() == 2; word = parent.receive()) {
    // Ordinary memory takes the place of the secret one, behind the same keys.
    ::mmap(secret.data(), kAll, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    std::copy(fill.begin(), fill.end(), secret.data());
    parent.send(word);
  }
  return 0;
}

class ShmUnpinnable : public ::testing::Test {
 protected:
  ShmUnpinnable() : other(owner) {}
  void SetUp() override {
    const Bytes address = other.receive();
    link = node.connect(address, 2);
    ASSERT_NE(link, nullptr) << node.error;
    other.send(node.address());
    const Bytes why = other.receive();
    why_none.assign(reinterpret_cast<const char*>(why.data()), why.size());
    const Bytes bytes = other.receive();
    ASSERT_EQ(bytes.size(), sizeof lent);
    std::memcpy(&lent, bytes.data(), sizeof lent);
    fill = pattern(1, kAll);
    attaches = node.limits(link).can_get != 0;
    if (!attaches) GTEST_SKIP() << node.limits(link).fallback;
  }
  void TearDown() override {
    if (attaches) look_at_other_memory();
    other.send(Bytes(1));
    EXPECT_EQ(other.wait(), 0);
  }
  /// Whatever was refused: the link is as it was, and takes other memory.
  void look_at_other_memory() {
    EXPECT_EQ(node.limits(link).can_get, 1u);
    EXPECT_EQ(node.limits(link).can_put, 1u);
    EXPECT_STREQ(node.limits(link).fallback, "");
    Bytes in(kAll);
    EXPECT_EQ(test::get(link, in, lent.ordinary, 0), Status::ok);
    EXPECT_EQ(in, fill);
    EXPECT_EQ(test::put(link, in, lent.ordinary, 0), Status::ok);
  }
  Status get(const stria_payload_t& local, const stria_provider_key_t& key, std::uint64_t offset = 0) {
    return static_cast<Status>(ops().get(link, &local, &key, offset, nullptr));
  }
  Status put(const stria_payload_t& local, const stria_provider_key_t& key, std::uint64_t offset = 0) {
    return static_cast<Status>(ops().put(link, &local, &key, offset, nullptr));
  }

  Child other;
  Node node{1};
  stria_link_t* link = nullptr;
  Lent lent{};
  Bytes fill;
  std::string why_none;
  bool attaches = false;
};

TEST_F(ShmUnpinnable, a_get_or_put_of_a_peers_memory_is_unsupported_each_time) {
  if (!lent.has_secret) GTEST_SKIP() << why_none;
  Bytes local(kAll);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(get(memory(local.data(), kAll), lent.secret), Status::unsupported);
    EXPECT_EQ(get(memory(local.data(), 100), lent.secret, 5000), Status::unsupported);
    EXPECT_EQ(get(memory(local.data(), kAll), lent.secret_hint), Status::unsupported);
    EXPECT_EQ(put(memory(local.data(), kAll), lent.secret), Status::unsupported);
  }
}

TEST_F(ShmUnpinnable, so_is_one_of_memory_in_blocks_on_either_side) {
  if (!lent.has_secret) GTEST_SKIP() << why_none;
  Bytes local(kAll);
  const std::int64_t half = kAll / 2;
  for (const stria_payload_t& mine :
       {memory(local.data(), kAll / 2), strided(rows(), local.data()), strided(words(), local.data())}) {
    EXPECT_EQ(get(mine, lent.secret_rows), Status::unsupported);
    EXPECT_EQ(put(mine, lent.secret_rows), Status::unsupported);
    EXPECT_EQ(get(mine, lent.secret), Status::unsupported);
    EXPECT_EQ(put(mine, lent.secret), Status::unsupported);
    ASSERT_EQ(mine.length, half);
  }
}

TEST_F(ShmUnpinnable, memory_that_begins_as_ordinary_one_has_its_begin_moved_and_nothing_wrong) {
  if (!lent.has_secret) GTEST_SKIP() << why_none;
  Bytes local(kAll, std::byte{0xee});
  EXPECT_EQ(put(memory(fill.data(), kHalf), lent.half), Status::ok) << "the half that can be reached";
  EXPECT_EQ(get(memory(local.data(), kHalf), lent.half), Status::ok);
  EXPECT_TRUE(std::equal(local.begin(), local.begin() + kHalf, fill.begin()));
  std::fill(local.begin(), local.end(), std::byte{0xee});
  EXPECT_EQ(get(memory(local.data(), kAll), lent.half), Status::unsupported);
  EXPECT_EQ(put(memory(fill.data(), kAll), lent.half), Status::unsupported);
  for (std::size_t i = 0; i < kAll; ++i) ASSERT_TRUE(local[i] == fill[i] || local[i] == std::byte{0xee}) << i;
}

TEST_F(ShmUnpinnable, memory_is_passed_over_for_some_calls_and_tried_again) {
  if (!lent.has_secret) GTEST_SKIP() << why_none;
  Bytes local(kAll), few(100);
  for (const stria_provider_key_t& key : {lent.secret, lent.secret_hint, lent.secret_rows})
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(get(memory(local.data(), kAll / 2), key), Status::unsupported);
      EXPECT_EQ(get(memory(few.data(), 100), lent.ordinary), Status::ok) << "other memory is not passed over";
    }
  other.send(Bytes(2));
  other.receive();
  // The memory can be reached now: the link finds that out within a few uses, and reaches it each time from
  // then on.
  int all = 0;
  for (const stria_provider_key_t& key : {lent.secret, lent.secret_hint, lent.secret_rows}) {
    int passed_over = 0;  // the keys are to the same memory
    while (get(memory(local.data(), kAll / 2), key) != Status::ok && passed_over < 1000) ++passed_over;
    EXPECT_LE(passed_over, Backoff::kMost);
    all += passed_over;
    for (int i = 0; i < 10; ++i) EXPECT_EQ(get(memory(local.data(), kAll / 2), key), Status::ok);
  }
  EXPECT_GE(all, 1) << "the kernel was not asked each time";
  EXPECT_TRUE(std::equal(local.begin(), local.begin() + 1024, fill.begin()));
}

TEST_F(ShmUnpinnable, bounds_and_rights_are_refused_as_of_other_memory) {
  if (!lent.has_secret) GTEST_SKIP() << why_none;
  Bytes local(kAll);
  EXPECT_EQ(get(memory(local.data(), kAll), lent.secret, 1), Status::access_error);
  EXPECT_EQ(put(memory(local.data(), 100), lent.secret_hint), Status::access_error) << "a key for reads";
}

TEST_F(ShmUnpinnable, a_key_that_has_ended_is_told_apart_although_its_memory_is_gone) {
  Bytes local(kAll);
  EXPECT_EQ(get(memory(local.data(), kAll), lent.ended), Status::access_error);
  EXPECT_EQ(get(strided(rows(), local.data()), lent.ended), Status::access_error);
}

TEST_F(ShmUnpinnable, own_memory_that_others_cannot_reach_is_read_and_written_here) {
  const SecretMemory secret(kAll);
  if (secret.data() == nullptr) GTEST_SKIP() << secret.why();
  EXPECT_EQ(get(memory(secret.data(), kAll), lent.ordinary), Status::ok);
  EXPECT_TRUE(std::equal(fill.begin(), fill.end(), secret.data()));
  EXPECT_EQ(get(strided(words(), secret.data()), lent.ordinary), Status::ok);
  std::copy(fill.begin(), fill.end(), secret.data());
  EXPECT_EQ(put(memory(secret.data(), kAll), lent.ordinary), Status::ok);
}

TEST_F(ShmUnpinnable, a_page_of_a_driver_is_unsupported_in_both_directions) {
  if (!lent.has_time) GTEST_SKIP() << "this process has no [vvar] mapping";
  Bytes local(kPage);
  EXPECT_EQ(get(memory(local.data(), kPage), lent.time), Status::unsupported);
  EXPECT_EQ(put(memory(local.data(), kPage), lent.time), Status::unsupported);
}

TEST_F(ShmUnpinnable, own_memory_that_may_not_be_written_ends_a_get_and_no_link) {
  void* const sink = ::mmap(nullptr, kAll, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_EQ(get(memory(sink, kAll), lent.ordinary), Status::unsupported);
  EXPECT_EQ(get(strided(rows(), sink), lent.ordinary), Status::unsupported);
  ::munmap(sink, kAll);
}

// On any kernel: the answer is the same as for the memory above.
class ShmAnswer : public ::testing::TestWithParam<int> {};

TEST_P(ShmAnswer, of_the_kernel_decides_between_this_memory_and_the_link) {
  const int error = GetParam();
  const bool of_memory = error == EFAULT || error == ENOMEM;
  Child other([](Child& up) { return owner(up); });
  Child reader([=](Child& up) {
    Node node(1);
    stria_link_t* const link = node.connect(up.receive(), 2);
    if (link == nullptr) return 2;
    const bool attaches = node.limits(link).can_get != 0;
    up.send(node.address());
    Lent lent{};
    const Bytes bytes = up.receive();
    if (bytes.size() != sizeof lent) return 3;
    std::memcpy(&lent, bytes.data(), sizeof lent);
    if (!attaches) return 78;
    if (!answer_with(error, true, true)) return 77;
    Bytes local(1000);
    for (int i = 0; i < 3; ++i) {
      if (get(link, local, lent.ordinary, 0) != Status::unsupported) return 4;
      if (put(link, local, lent.ordinary, 0) != Status::unsupported) return 5;
      if ((node.limits(link).can_get != 0) != of_memory) return 6;
      if ((node.limits(link).can_put != 0) != of_memory) return 7;
      if (std::string(node.limits(link).fallback).empty() != of_memory) return 8;
    }
    return get(link, local, lent.ended, 0) == (of_memory ? Status::access_error : Status::unsupported) ? 0
                                                                                                       : 9;
  });
  reader.send(other.receive());
  other.send(reader.receive());
  other.receive();
  reader.send(other.receive());
  const int code = reader.wait();
  other.send(Bytes(1));
  EXPECT_EQ(other.wait(), 0);
  if (code == 77) GTEST_SKIP() << "seccomp is not available";
  if (code == 78) GTEST_SKIP() << "cross-memory attach is refused to this process";
  EXPECT_EQ(code, 0);
}

INSTANTIATE_TEST_SUITE_P(Errors, ShmAnswer, ::testing::Values(EFAULT, ENOMEM, EPERM, ENOSYS),
                         [](const auto& one) {
                           return std::string(one.param == EFAULT   ? "EFAULT"
                                              : one.param == ENOMEM ? "ENOMEM"
                                              : one.param == EPERM  ? "EPERM"
                                                                    : "ENOSYS");
                         });

}  // namespace
}  // namespace stria::shm::test
