// UCX watches a process's memory by writing jumps to its own code over the first instructions of mmap() and
// its like. A program that loads the provider has none of that: these functions stay as they are.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <ucm/api/ucm.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/transport/uct/side.hpp"

namespace stria::uct {
namespace {

constexpr std::array kFunctions = {"mmap", "munmap", "mremap", "shmat", "shmdt", "brk", "sbrk", "madvise"};
using Code = std::array<unsigned char, 16>;  // more than a jump takes

/// The first bytes of each of kFunctions in the C library.
std::vector<Code> first_bytes() {
  void* const library = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  std::vector<Code> out;
  for (const char* const name : kFunctions) {
    Code code{};
    if (const void* const function = ::dlsym(library, name)) std::memcpy(code.data(), function, code.size());
    out.push_back(code);
  }
  ::dlclose(library);
  return out;
}

const std::vector<Code> kAtStart = first_bytes();  // before the provider was loaded

void expect_untouched() {
  const std::vector<Code> now = first_bytes();
  for (std::size_t i = 0; i < kFunctions.size(); ++i) EXPECT_EQ(now[i], kAtStart[i]) << kFunctions[i];
}

TEST(UctHooks, are_not_installed_when_the_provider_is_loaded_and_used) {
  for (const char* transport : {"tcp", "posix"}) {
    SCOPED_TRACE(transport);
    {
      Side a(transport), b(transport);
      ASSERT_EQ(a.opened, STRIA_OK) << stria_last_error();
      ASSERT_EQ(b.opened, STRIA_OK) << stria_last_error();
      expect_untouched();
      connect(a, b);
      transfer(a, b, 1000);
      transfer(a, b, 1000000);
      expect_untouched();
    }
    expect_untouched();
  }
}

// In a process of its own, which keeps the hooks. Shows that the comparison above would see them, and that
// another user of UCX in the process can have them.
TEST(UctHooks, of_others_are_still_installed_by_ucx_and_are_seen_here) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    using SetHandler = decltype(&ucm_set_event_handler);
    void* const library = ::dlopen("libucm.so.0", RTLD_LAZY);
    const auto set = library == nullptr
                         ? nullptr
                         : reinterpret_cast<SetHandler>(::dlsym(library, "ucm_set_event_handler"));
    if (set == nullptr) ::_exit(2);
    constexpr int kFirst = 0;
    if (set(
            UCM_EVENT_VM_UNMAPPED, kFirst, [](ucm_event_type_t, ucm_event_t*, void*) {}, nullptr) != UCS_OK)
      ::_exit(3);
    ::_exit(first_bytes() == kAtStart ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0) << "1: the hooks change none of these functions; 2, 3: UCX installs none";
}

}  // namespace
}  // namespace stria::uct
