// A kernel that has no io_uring for this process, made by a filter of system calls: the device does without
// where the configuration leaves the choice, says so once, and does not open where io_uring was named.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <functional>

#include "base/log.hpp"
#include "tests/transport/tcp/device_rig.hpp"
#include "transport/device_config.hpp"
#include "transport/services.hpp"

namespace stria::tcp {
namespace {

constexpr int kNoFilter = 77;

/// From now on io_uring_setup() of this process fails with `error`.
bool refuse_rings(int error) {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(steps), steps};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/// Runs in a process of its own, to which the kernel gives no ring, and hands its failures on by its exit
/// code.
void without_rings(int error, const char* engine, const std::function<void()>& test) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::setenv("STRIA_TCP_ENGINE", engine, 1);
    if (!refuse_rings(error)) ::_exit(kNoFilter);
    test();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoFilter) GTEST_SKIP() << "no seccomp filter can be set";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the test's process says why: " << status;
}

/// Opens a device that is to be refused; returns why.
std::string refusal(stria_status_t status) {
  auto config = Config::from_environment({{tcp_provider().variables, tcp_provider().variable_count}});
  const stria_sink_t sink{};
  stria_device_params_t params{};
  params.size = sizeof params;
  params.worker_id = 1;
  params.sink = &sink;
  params.services = &transport::services();
  params.config_self = &*config;
  params.config = transport::config_text;
  params.config_number = transport::config_number;
  stria_device_t* device = nullptr;
  char why[512] = "";
  EXPECT_EQ(tcp_provider().open(&params, &device, why, sizeof why), status);
  EXPECT_EQ(device, nullptr);
  return why;
}

/// A message in one packet, and a long one that is read from its owner's memory.
void expect_messages(Peer& a, stria_link_t* link, Peer& b) {
  const contract::Bytes data = contract::pattern(1, 3000);
  ASSERT_EQ(contract::send({&a, &b}, a, link, contract::Path::buffered, contract::header(1), data),
            Status::ok);
  ASSERT_TRUE(drive({&a, &b}, [&] { return b.received.size() == 1; }));
  EXPECT_EQ(b.received[0].payload, data);
  contract::Bytes remote = contract::pattern(2, 1 << 20), local(remote.size());
  stria_provider_key_t key{};
  ASSERT_EQ(b.fast_register(contract::contiguous(remote), STRIA_ACCESS_REMOTE_READ, key), Status::ok);
  contract::Ending ending;
  ASSERT_TRUE(drive({&a, &b}, [&] {
    const Status status = a.get(link, contract::contiguous(local), key, 0, ending);
    EXPECT_TRUE(status == Status::in_progress || status == Status::no_resource);
    return status == Status::in_progress;
  }));
  ASSERT_TRUE(drive({&a, &b}, [&] { return ending.calls == 1; }));
  EXPECT_EQ(ending.status, Status::ok);
  EXPECT_EQ(local, remote);
}

struct TcpWithoutRings : testing::TestWithParam<int> {};

TEST_P(TcpWithoutRings, works_and_says_why_in_one_line) {
  without_rings(GetParam(), "auto", [] {
    log::set_level(log::Level::info);
    testing::internal::CaptureStderr();
    Peer a(tcp_provider(), 1);
    const std::string said = testing::internal::GetCapturedStderr();
    const std::string why = std::string("io_uring is refused: ") + std::strerror(GetParam());
    const std::size_t at = said.find(why);
    ASSERT_NE(at, std::string::npos) << said;
    EXPECT_EQ(said.find("io_uring", at + 1), std::string::npos) << said;
    EXPECT_NE(said.find("STRIA_TCP_ENGINE=epoll"), std::string::npos) << said;
    Peer b(tcp_provider(), 2);
    testing::internal::CaptureStderr();
    stria_link_t* const link = a.connect(b);
    expect_messages(a, link, b);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_TRUE(std::string_view(a.limits(link).fallback).starts_with(why));
  });
}

TEST_P(TcpWithoutRings, does_not_open_where_they_are_asked_for) {
  without_rings(GetParam(), "uring", [] {
    const std::string why = refusal(STRIA_ERR_UNSUPPORTED);
    EXPECT_EQ(why, std::string("tcp: io_uring is refused: ") + std::strerror(GetParam()) +
                       "; STRIA_TCP_ENGINE=epoll does without it");
  });
}

TEST_P(TcpWithoutRings, is_no_concern_where_they_are_not_wanted) {
  without_rings(GetParam(), "epoll", [] {
    log::set_level(log::Level::info);
    testing::internal::CaptureStderr();
    Peer a(tcp_provider(), 1), b(tcp_provider(), 2);
    stria_link_t* const link = a.connect(b);
    expect_messages(a, link, b);
    EXPECT_EQ(testing::internal::GetCapturedStderr().find("io_uring"), std::string::npos);
    EXPECT_STREQ(a.limits(link).fallback, "");
  });
}

// ENOMEM: of memory that the user may lock nothing is left.
INSTANTIATE_TEST_SUITE_P(Forbidden, TcpWithoutRings, testing::Values(EPERM, ENOSYS, ENOMEM),
                         [](const auto& one) {
                           return one.param == EPERM    ? "not_allowed"
                                  : one.param == ENOSYS ? "not_there"
                                                        : "no_memory_to_lock";
                         });

TEST(TcpRings, that_are_refused_for_another_reason_are_an_error) {
  for (const char* engine : {"auto", "uring"}) {
    for (const int error : {EFAULT, EMFILE}) {
      without_rings(error, engine, [error] {
        const std::string why = refusal(STRIA_ERR_IO);
        EXPECT_NE(why.find(std::strerror(error)), std::string::npos) << why;
        EXPECT_NE(why.find("STRIA_TCP_ENGINE=epoll"), std::string::npos) << why;
      });
    }
  }
}

}  // namespace
}  // namespace stria::tcp
