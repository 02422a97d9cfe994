// The process id of a dead peer is given to another process before any peer has checked. The peer's
// segment, and with it the key, is still there; what the id names is a stranger's memory.
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <stdexcept>
#include <system_error>

#include "tests/transport/shm/lending.hpp"

namespace stria::shm::test {
namespace {

constexpr std::size_t kPage = 4096;

/// Memory at the same address in the peer and in the stranger: both are children of this process, and each
/// has its own.
std::byte* page() {
  alignas(kPage) static std::byte memory[kPage];
  return memory;
}
void fill_page(char with) {
  std::memset(page(), with, kPage);
}

/// A process with an id that no other process has any more.
class Stranger {
 public:
  explicit Stranger(pid_t id) {
    int ready[2];
    if (::pipe(ready) != 0) throw std::runtime_error("pipe");
    clone_args how{};
    how.exit_signal = SIGCHLD;
    how.set_tid = reinterpret_cast<std::uint64_t>(&id);
    how.set_tid_size = 1;
    pid_ = static_cast<pid_t>(::syscall(SYS_clone3, &how, sizeof how));
    char word = 1;
    if (pid_ == 0) {
      fill_page('S');
      if (::write(ready[1], &word, 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    if (pid_ < 0) why_ = std::strerror(errno);
    if (pid_ > 0) {
      EXPECT_EQ(::read(ready[0], &word, 1), 1);
    }
    ::close(ready[0]), ::close(ready[1]);
  }
  ~Stranger() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  bool exists() const { return pid_ > 0; }
  const std::string& why_not() const { return why_; }

 private:
  pid_t pid_ = -1;
  std::string why_;
};

int owner(Child& up) {
  fill_page('V');
  Node node(2);
  up.send(node.address());
  const auto* ops = &Node::ops();
  const auto column = datatype::Layout::strided(4, 1024, datatype::Layout::bytes(256));
  const stria_payload_t whole = memory(page(), kPage), strided{&*column, page(), 1, 0, 0};
  stria_provider_key_t key{}, hinted{}, column_key{};
  if (ops->fast_register(node.device(), nullptr, &whole, 3, &key) != STRIA_OK) return 2;
  if (ops->fast_register(node.device(), nullptr, &whole, STRIA_ACCESS_REMOTE_READ | STRIA_REGISTER_HINT,
                         &hinted) != STRIA_OK)
    return 3;
  if (ops->fast_register(node.device(), nullptr, &strided, 3, &column_key) != STRIA_OK) return 4;
  for (const auto& one : {key, hinted, column_key}) send_key(up, one);
  ::pause();
  return 0;
}

TEST(ShmProcessId, of_a_dead_peer_leads_no_get_and_no_put_to_the_stranger_who_has_it_now) {
  Child peer(owner);
  Node node(1);
  stria_link_t* link = node.connect(peer.receive(), 2);
  ASSERT_NE(link, nullptr) << node.error;
  if (node.limits(link).can_get == 0) GTEST_SKIP() << node.limits(link).fallback;
  const auto key = receive_key(peer), hinted = receive_key(peer), column = receive_key(peer);
  Bytes local(1024);
  for (const auto& one : {key, hinted, column}) {
    ASSERT_EQ(get(link, local, one, 0), Status::ok);
    EXPECT_EQ(local, Bytes(1024, std::byte{'V'}));
  }
  const pid_t id = peer.pid();
  peer.kill();
  const Stranger stranger(id);
  if (!stranger.exists())
    GTEST_SKIP() << "no process can be made with the id of another: clone3: " << stranger.why_not();
  EXPECT_EQ(get(link, local, key, 0), Status::peer_failed);
  EXPECT_EQ(get(link, local, hinted, 0), Status::peer_failed) << "by the hint";
  EXPECT_EQ(get(link, local, column, 0), Status::peer_failed) << "strided";
  const Bytes ours(1024, std::byte{'P'});
  EXPECT_EQ(put(link, ours, key, 0), Status::peer_failed);
  EXPECT_EQ(put(link, ours, column, 0), Status::peer_failed);
  Bytes seen(kPage);
  const iovec here{seen.data(), kPage}, there{page(), kPage};
  ASSERT_EQ(::process_vm_readv(id, &here, 1, &there, 1, 0), static_cast<ssize_t>(kPage));
  EXPECT_EQ(seen, Bytes(kPage, std::byte{'S'})) << "a stranger's memory was written";
}

}  // namespace
}  // namespace stria::shm::test
