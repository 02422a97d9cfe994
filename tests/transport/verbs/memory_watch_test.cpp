// Memory that goes away is marked before the call that takes it away returns. Needs no device.
#include "transport/verbs/memory_watch.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/transport/verbs/told.hpp"

namespace stria::verbs::test {
namespace {

constexpr std::size_t kBytes = 64 * 4096;

class Watched : public Told {
 protected:
  void SetUp() override {
    watch = get_watch();
    if (watch == nullptr) GTEST_SKIP() << "this system allows no userfaultfd";
    memory = map();
    mark = watch->add(begin(), begin() + kBytes);
    ASSERT_NE(mark, MemoryWatch::kNone);
    ASSERT_FALSE(watch->is_gone(mark));
  }
  void TearDown() override {
    if (watch == nullptr) return;
    watch->remove(mark);
    watch.reset();
    ::munmap(memory, kBytes);
  }
  static std::byte* map() {
    void* made = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memset(made, 1, kBytes);
    return static_cast<std::byte*>(made);
  }
  std::uintptr_t begin() const { return reinterpret_cast<std::uintptr_t>(memory); }
  std::shared_ptr<MemoryWatch> watch;
  std::byte* memory = nullptr;
  int mark = MemoryWatch::kNone;
};

TEST_P(Watched, is_not_gone_when_it_is_written_or_read_or_its_rights_change) {
  std::memset(memory, 5, kBytes);
  ASSERT_EQ(::mprotect(memory, 4096, PROT_READ), 0);
  ASSERT_EQ(::mprotect(memory, 4096, PROT_READ | PROT_WRITE), 0);
  EXPECT_FALSE(watch->is_gone(mark));
}

TEST_P(Watched, is_gone_when_one_page_of_it_is_unmapped) {
  tell(memory + 5 * 4096, 4096);
  ASSERT_EQ(::munmap(memory + 5 * 4096, 4096), 0);
  EXPECT_TRUE(watch->is_gone(mark));
}

TEST_P(Watched, is_gone_when_other_memory_comes_in_its_place) {
  for (int round = 0; round < 200; ++round) {
    tell(memory, kBytes);
    void* fresh =
        ::mmap(memory, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    ASSERT_EQ(fresh, memory);
    ASSERT_TRUE(watch->is_gone(mark)) << "round " << round;
    watch->remove(mark);
    std::memset(memory, 2, kBytes);
    mark = watch->add(begin(), begin() + kBytes);
    ASSERT_NE(mark, MemoryWatch::kNone);
    ASSERT_FALSE(watch->is_gone(mark));
  }
}

TEST_P(Watched, is_gone_when_it_is_dropped_or_moved) {
  tell(memory, 4096);
  ASSERT_EQ(::madvise(memory, 4096, MADV_DONTNEED), 0);
  EXPECT_TRUE(watch->is_gone(mark));
  EXPECT_EQ(memory[0], std::byte{0}) << "nobody serves a fault for the kernel";
  watch->remove(mark);
  mark = watch->add(begin(), begin() + kBytes);
  tell(memory, kBytes);
  void* elsewhere = ::mremap(memory, kBytes, 2 * kBytes, MREMAP_MAYMOVE);
  ASSERT_NE(elsewhere, MAP_FAILED);
  if (elsewhere != memory) {
    EXPECT_TRUE(watch->is_gone(mark));
    ::munmap(elsewhere, 2 * kBytes);
    memory = map();
  }
}

TEST_P(Watched, what_lies_beside_it_does_not_matter) {
  std::byte* const other = map();
  const auto at = reinterpret_cast<std::uintptr_t>(other);
  const int beside = watch->add(at, at + 4096);
  ASSERT_NE(beside, MemoryWatch::kNone);
  tell(other + 4096, kBytes - 4096);
  ASSERT_EQ(::munmap(other + 4096, kBytes - 4096), 0);
  EXPECT_FALSE(watch->is_gone(beside));
  tell(other, 4096);
  ASSERT_EQ(::munmap(other, 4096), 0);
  EXPECT_TRUE(watch->is_gone(beside));
  EXPECT_FALSE(watch->is_gone(mark));
  watch->remove(beside);
}

TEST_P(Watched, another_thread_and_a_child_take_memory_away) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    tell(memory, kBytes);
    ::munmap(memory, kBytes);  // its own copy, and nobody is there to read an event
    ::_exit(0);
  }
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_EQ(how, 0);
  EXPECT_FALSE(watch->is_gone(mark));
  std::thread([&] {
    tell(memory, kBytes);
    ASSERT_EQ(::madvise(memory, kBytes, MADV_DONTNEED), 0);
  }).join();
  EXPECT_TRUE(watch->is_gone(mark));
}

/// Mappings that the kernel watches: each is one of its own, and a process may have 65530.
int count_watched() {
  std::ifstream maps("/proc/self/smaps");
  int count = 0;
  for (std::string line; std::getline(maps, line);)
    if (line.starts_with("VmFlags:") && line.find(" uw") != std::string::npos) ++count;
  return count;
}

TEST_P(Watched, memory_that_nobody_watches_any_more_is_no_mapping_of_its_own) {
  std::byte* const other = map();
  const auto at = reinterpret_cast<std::uintptr_t>(other);
  const int before = count_watched();
  for (std::uintptr_t i = 0; i < 32; ++i) {
    const int one = watch->add(at + i * 8192, at + i * 8192 + 4096);
    ASSERT_NE(one, MemoryWatch::kNone);
    watch->remove(one);
  }
  EXPECT_EQ(count_watched(), before);
  std::vector<int> marks;
  for (std::uintptr_t i = 0; i < 31; ++i)  // each with half of the next
    marks.push_back(watch->add(at + i * 8192, at + i * 8192 + 12288));
  const auto wide = watch->add(at, at + kBytes);
  for (std::size_t i = 0; i < marks.size(); i += 2) watch->remove(marks[i]);
  watch->remove(wide);
  for (std::size_t i = 1; i < marks.size(); i += 2) watch->remove(marks[i]);
  EXPECT_EQ(count_watched(), before);
  ::munmap(other, kBytes);
}

TEST_P(Watched, what_another_mark_covers_stays_watched) {
  const int same = watch->add(begin(), begin() + kBytes);
  const int within = watch->add(begin() + 8 * 4096, begin() + 16 * 4096);
  watch->remove(within);
  watch->remove(same);
  tell(memory + 9 * 4096, 4096);
  ASSERT_EQ(::munmap(memory + 9 * 4096, 4096), 0);
  EXPECT_TRUE(watch->is_gone(mark));
}

TEST_P(Watched, a_child_that_ends_its_watch_ends_nobody_elses) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    watch->remove(mark);
    ::_exit(0);
  }
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  tell(memory, kBytes);
  ASSERT_EQ(::munmap(memory, kBytes), 0);
  EXPECT_TRUE(watch->is_gone(mark));
}

INSTANTIATE_TEST_SUITE_P(Told, Watched, kSources, name_of);

}  // namespace
}  // namespace stria::verbs::test
