// Descriptors and mappings are given back exactly once.
#include "base/fd.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

namespace stria {
namespace {

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

TEST(UniqueFd, closes_at_the_end_of_its_scope_and_when_replaced) {
  int first = -1, second = -1;
  {
    UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(static_cast<bool>(fd));
    first = fd.get();
    second = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    fd.reset(second);
    EXPECT_FALSE(is_open(first));
    EXPECT_TRUE(is_open(second));
  }
  EXPECT_FALSE(is_open(second));
}

TEST(UniqueFd, moves_and_releases_without_closing) {
  UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int raw = fd.get();
  UniqueFd other(std::move(fd));
  EXPECT_EQ(other.get(), raw);
  UniqueFd third;
  third = std::move(other);
  EXPECT_TRUE(is_open(raw));
  EXPECT_EQ(third.release(), raw);
  EXPECT_FALSE(static_cast<bool>(third));
  EXPECT_TRUE(is_open(raw));
  ::close(raw);
}

TEST(Mapping, shares_the_memory_of_its_descriptor) {
  UniqueFd fd(::memfd_create("base_test", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(fd.get(), 8192), 0);
  Mapping one = Mapping::shared(fd.get(), 8192);
  Mapping two = Mapping::shared(fd.get(), 8192);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one.bytes(), 8192u);
  one.data()[5000] = std::byte{0x42};
  EXPECT_EQ(two.data()[5000], std::byte{0x42});
  Mapping moved = std::move(one);
  EXPECT_EQ(moved.data()[5000], std::byte{0x42});
}

TEST(Mapping, a_refused_mapping_is_empty_and_keeps_errno) {
  errno = 0;
  const Mapping mapping = Mapping::shared(-1, 4096);
  EXPECT_FALSE(static_cast<bool>(mapping));
  EXPECT_EQ(mapping.bytes(), 0u);
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace stria
