// What is refused: other versions, other secrets, addresses that are none, cross-memory attach, more
// descriptors.
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <filesystem>
#include <tuple>

#include "base/format.hpp"
#include "base/log.hpp"
#include "stria/stria.h"
#include "tests/transport/shm/inside.hpp"
#include "tests/transport/shm/lending.hpp"

namespace stria::shm::test {
namespace {

using ::testing::HasSubstr;

TEST(ShmRefusal, another_version_is_refused_with_both_versions_named) {
  Node a(1), b(2);
  for (const std::size_t byte : {std::size_t{0}, std::size_t{1}, std::size_t{5}}) {
    Bytes address = b.address();
    address[byte] = static_cast<std::byte>(99);
    EXPECT_EQ(a.connect(address, 2), nullptr);
    EXPECT_EQ(a.connected, Status::unreachable);
    EXPECT_THAT(a.error, HasSubstr("99"));
    EXPECT_THAT(a.error, HasSubstr(fmt::format("this is stria {}.{}.{}", STRIA_VERSION_MAJOR,
                                               STRIA_VERSION_MINOR, STRIA_VERSION_PATCH)));
  }
}

TEST(ShmRefusal, another_job_secret_is_refused_with_both_fingerprints_named) {
  Node a(1, {}, "one"), b(2, {}, "two");
  EXPECT_EQ(a.connect(b), nullptr);
  EXPECT_EQ(a.connected, Status::unreachable);
  EXPECT_THAT(a.error, HasSubstr("job secrets differ"));
  EXPECT_THAT(a.error, HasSubstr("there"));
}

TEST(ShmRefusal, bytes_that_are_no_address_are_invalid) {
  Node a(1), b(2);
  Bytes address = b.address();
  address.pop_back();
  EXPECT_EQ(a.connect(address, 2), nullptr);
  EXPECT_EQ(a.connected, Status::invalid);
  EXPECT_EQ(a.connect(Bytes(3), 2), nullptr);
  EXPECT_EQ(a.connected, Status::invalid);
}

TEST(ShmRefusal, a_nonce_that_is_no_devices_is_one_of_a_device_that_is_gone) {
  Node a(1), b(2);
  Bytes address = b.address();
  address[8] ^= std::byte{1};
  EXPECT_EQ(a.connect(address, 2), nullptr);
  EXPECT_EQ(a.connected, Status::peer_failed);
}

TEST(ShmRefusal, a_process_behind_the_socket_with_another_secret_is_refused) {
  Child other([](Child& up) {
    Node node(2, {{"STRIA_SHM_ATTACH", "socket"}}, "their secret");
    up.send(node.address());
    return up.receive().empty() ? 1 : 0;
  });
  Node a(1, {{"STRIA_SHM_ATTACH", "socket"}});
  EXPECT_EQ(a.connect(other.receive(), 2), nullptr);
  EXPECT_THAT(a.error, HasSubstr("job secrets differ"));
  other.send(Bytes(1));
  EXPECT_EQ(other.wait(), 0);
}

TEST(ShmRefusal, malformed_settings_are_refused_by_name) {
  for (const auto& [name, value] :
       Settings{{"STRIA_SHM_WINDOW_BYTES", "5000"}, {"STRIA_SHM_CELLS", "many"}}) {
    Node a(1, {{name, value}});
    EXPECT_EQ(a.opened, Status::invalid);
    EXPECT_THAT(a.error, HasSubstr(name));
    EXPECT_THAT(a.error, HasSubstr(value));
  }
}

TEST(ShmRefusal, with_cross_memory_attach_off_get_is_unsupported_and_the_link_says_why) {
  Node a(1, {{"STRIA_SHM_CMA", "off"}}), b(2);
  stria_link_t* link = a.connect(b);
  EXPECT_EQ(a.limits(link).can_get, 0u);
  EXPECT_THAT(std::string(a.limits(link).fallback), HasSubstr("STRIA_SHM_CMA"));
  std::byte byte{};
  const stria_payload_t local = memory(&byte, 1);
  const stria_provider_key_t key{4, {}};
  EXPECT_EQ(Node::ops().get(link, &local, &key, 0, nullptr), STRIA_ERR_UNSUPPORTED);
  EXPECT_EQ(Node::ops().put(link, &local, &key, 0, nullptr), STRIA_ERR_UNSUPPORTED);
}

TEST(ShmRefusal, cross_memory_attach_refused_by_seccomp_is_a_fallback_and_no_error) {
  Child other([](Child& up) {
    if (!forbid_cross_memory_attach()) return 77;
    Node a(1);
    stria_link_t* link = a.connect(up.receive(), 2);
    if (link == nullptr) return 2;
    if (a.limits(link).can_get != 0 || a.limits(link).can_put != 0) return 3;
    if (std::string(a.limits(link).fallback).find("Operation not permitted") == std::string::npos) return 4;
    return a.send(link, header(1), pattern(1, 20000), false) == Status::ok ? (a.close(5000), 0) : 5;
  });
  Node b(2);
  other.send(b.address());
  ASSERT_TRUE(until([&] { return b.got.size() == 1 || b.downs.count(1) > 0; }, [&] { b.progress(); }, 10));
  const int code = other.wait();
  if (code == 77) GTEST_SKIP() << "the kernel lets this process set no seccomp filter";
  EXPECT_EQ(code, 0);
}

/// Refuses it with one reason towards `pid` and with another one towards everybody else.
bool forbid_with_two_reasons(pid_t pid) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(pid), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
  };
  const sock_fprog program{sizeof code / sizeof code[0], code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(ShmRefusal, each_reason_against_cross_memory_attach_has_one_line_of_the_log_whatever_the_peers) {
  const auto peer = [](std::uint64_t id) {
    return [id](Child& up) {
      const Node node(id);
      up.send(node.address());
      return up.receive().empty() ? 1 : 0;
    };
  };
  Child one(peer(2)), two(peer(3)), three(peer(4));
  const pid_t special = one.pid();
  Child other([special](Child& up) {
    if (!forbid_with_two_reasons(special)) return 77;
    ::testing::internal::CaptureStderr();  // the level is the default one
    {
      Node node(1);
      for (std::uint64_t id = 2; id <= 4; ++id)
        if (node.connect(up.receive(), id) == nullptr) return 2;
      Node unwilling(5, {{"STRIA_SHM_CMA", "off"}});
      if (unwilling.connect(node) == nullptr) return 3;
    }
    const std::string log = ::testing::internal::GetCapturedStderr();
    if (count(log, "cross-memory attach") != 2) return 4;
    if (count(log, "Operation not permitted") != 1) return 5;
    return count(log, "Function not implemented") == 1 ? 0 : 6;
  });
  for (Child* child : {&one, &two, &three}) other.send(child->receive());
  const int code = other.wait();
  for (Child* child : {&one, &two, &three}) {
    child->send(Bytes(1));
    child->wait();
  }
  if (code == 77) GTEST_SKIP() << "the kernel lets this process set no seccomp filter";
  EXPECT_EQ(code, 0);
}

std::size_t open_descriptors() {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++n;
  return n;
}

TEST(ShmRefusal, without_descriptors_connect_and_open_fail_clearly_and_leak_nothing) {
  Child other([](Child& up) {
    Node node(2);
    up.send(node.address());
    return up.receive().empty() ? 1 : 0;
  });
  const Bytes address = other.receive();
  Node a(1);
  const std::size_t before = open_descriptors();
  rlimit old{};
  ::getrlimit(RLIMIT_NOFILE, &old);
  const rlimit tight{3, old.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &tight);
  EXPECT_EQ(a.connect(address, 2), nullptr);
  EXPECT_THAT(a.error, HasSubstr("Too many open files"));
  Node none(3);
  EXPECT_EQ(none.opened, Status::io_error);
  EXPECT_THAT(none.error, HasSubstr("Too many open files"));
  ::setrlimit(RLIMIT_NOFILE, &old);
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_NE(a.connect(address, 2), nullptr) << a.error;
  other.send(Bytes(1));
  EXPECT_EQ(other.wait(), 0);
}

/// This process may open so many descriptors more.
class Scarcity {
 public:
  explicit Scarcity(rlim_t spare) {
    const int next = ::dup(0);
    ::close(next);
    ::getrlimit(RLIMIT_NOFILE, &old_);
    const rlimit tight{static_cast<rlim_t>(next) + spare, old_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
    log::set_level(log::Level::off);  // a sanitizer looks at the logger's objects by a pipe
  }
  ~Scarcity() {
    log::set_level(before_);
    ::setrlimit(RLIMIT_NOFILE, &old_);
  }
  Scarcity(const Scarcity&) = delete;
  Scarcity& operator=(const Scarcity&) = delete;

 private:
  rlimit old_{};
  log::Level before_ = log::level();
};

/// The way to attach, and how many descriptors there are for it, which are too few.
class ShmScarcity : public ::testing::TestWithParam<std::tuple<const char*, rlim_t>> {};

TEST_P(ShmScarcity, of_descriptors_keeps_a_new_peer_waiting_with_all_it_said) {
  const Settings settings = {{"STRIA_SHM_ATTACH", std::get<0>(GetParam())}};
  Visitor visitor(
      2,
      [](const Visit& visit) {
        for (std::uint64_t tag = 0; tag < 3; ++tag)
          if (visit.node.eager(visit.link, header(tag), pattern(tag, 100 * tag)) != Status::ok) return false;
        return true;
      },
      settings);
  Node hub(1, settings);
  ASSERT_EQ(hub.opened, Status::ok) << hub.error;
  const std::size_t before = open_descriptors();
  visitor.connect_to(hub);
  visitor.act();
  // The hub's thread closes the visitor's connection some time after the visitor has its answer.
  ASSERT_TRUE(until([&] { return open_descriptors() <= before; }, [] {}, 3));
  {
    const Scarcity scarcity(std::get<1>(GetParam()));
    for (int i = 0; i < 50; ++i) hub.progress(), hub.check();
    EXPECT_TRUE(hub.ups.empty());
  }
  ASSERT_TRUE(until([&] { return hub.got.size() >= 3; }, [&] { hub.progress(), hub.check(); }, 3));
  for (std::uint64_t tag = 0; tag < 3; ++tag) EXPECT_EQ(hub.got[tag].payload, pattern(tag, 100 * tag));
  EXPECT_TRUE(hub.downs.empty());
}

INSTANTIATE_TEST_SUITE_P(Ways, ShmScarcity,
                         ::testing::Combine(::testing::Values("proc", "socket", "auto"),
                                            ::testing::Values(rlim_t{0}, rlim_t{1})),
                         [](const auto& one) {
                           return fmt::format("{}_{}_left", std::get<0>(one.param), std::get<1>(one.param));
                         });

TEST(ShmRefusal, a_full_peer_table_names_its_limit_and_has_room_again_when_a_peer_left) {
  Node hub(9, {{"STRIA_SHM_MAX_PEERS", "2"}});
  Node a(1), c(3);
  auto b = std::make_unique<Node>(2);
  ASSERT_NE(a.connect(hub), nullptr);
  ASSERT_NE(b->connect(hub), nullptr);
  EXPECT_EQ(c.connect(hub), nullptr);
  EXPECT_THAT(c.error, HasSubstr("STRIA_SHM_MAX_PEERS"));
  ASSERT_TRUE(until([&] { return hub.ups.size() == 2; }, [&] { hub.progress(); }));
  b.reset();
  hub.check();
  EXPECT_EQ(hub.downs.count(2), 1u);
  EXPECT_NE(c.connect(hub), nullptr) << c.error;
}

}  // namespace
}  // namespace stria::shm::test
