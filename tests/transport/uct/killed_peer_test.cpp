// A peer process that is killed: its link goes down with PEER_FAILED, whether this side waits for it, sends
// to it without end, or has only asked it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "tests/contract/peer.hpp"
#include "transport/uct/uct.hpp"

namespace stria::uct {
namespace {

using contract::Bytes;
using contract::Contact;
using contract::drive;
using contract::header;
using contract::pattern;
using contract::Peer;

/// Another process with a device, that makes progress, or does not.
class Victim {
 public:
  /// It sends `packets` when it has a link, and `more` when it is told to.
  explicit Victim(bool progresses, unsigned packets = 0, unsigned more = 0) {
    std::array<int, 2> up{}, down{};
    EXPECT_EQ(::pipe(up.data()), 0);
    EXPECT_EQ(::pipe(down.data()), 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      run(up[1], down[0], progresses, packets, more);
    }
    from_ = up[0];
    to_ = down[1];
    address_.resize(256);
    const ssize_t bytes = ::read(up[0], address_.data(), address_.size());
    address_.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
    ::close(up[1]);
    ::close(down[0]);
  }
  ~Victim() {
    kill();
    ::close(from_);
    ::close(to_);
  }
  /// Returns when it has given all of `more` to UCX.
  void send_more() {
    char one = 0;
    EXPECT_EQ(::write(to_, &one, 1), 1);
    EXPECT_EQ(::read(from_, &one, 1), 1);
  }
  void kill() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = -1;
  }
  const Bytes& address() const { return address_; }

 private:
  [[noreturn]] static void run(int up, int down, bool progresses, unsigned packets, unsigned more) {
    Peer peer(uct_provider(), 2);
    const Bytes address = peer.address();
    if (::write(up, address.data(), address.size()) < 0) ::_exit(1);
    std::uint16_t sent = 0;
    bool tells = false;
    for (;;) {
      if (!progresses) ::pause();
      peer.progress();
      const auto link = peer.ups.find(1);
      if (link == peer.ups.end()) continue;
      char one = 0;
      if (sent == packets && more > 0) {
        if (::read(down, &one, 1) < 1) ::_exit(1);
        packets += std::exchange(more, 0);
        tells = true;
      }
      if (sent == packets) {
        if (std::exchange(tells, false) && ::write(up, &one, 1) < 0) ::_exit(1);
        continue;
      }
      const Bytes data = pattern(sent, 100);
      if (peer.try_send(link->second, contract::Path::buffered, header(sent), data.data(), data.size()) ==
          Status::ok)
        ++sent;
    }
  }
  pid_t child_ = -1;
  int from_ = -1, to_ = -1;
  Bytes address_;
};

class KilledPeer : public testing::TestWithParam<const char*> {
 protected:
  KilledPeer() {
    const std::string way = GetParam();
    ::setenv("STRIA_UCT_TRANSPORT", way.substr(0, way.find('_')).c_str(), 1);
    if (way.ends_with("_joined")) ::setenv("STRIA_UCT_JOIN_ENDPOINTS", "1", 1);
  }
  ~KilledPeer() override { ::unsetenv("STRIA_UCT_JOIN_ENDPOINTS"); }
  stria_link_t* connect(Peer& peer, const Victim& victim) {
    stria_status_t status = STRIA_OK;
    stria_link_t* const link = peer.try_connect(victim.address(), contact, status);
    EXPECT_NE(link, nullptr) << peer.error();
    return link;
  }
  void expect_down(Peer& peer) {
    ASSERT_TRUE(drive({&peer}, [&] { return contact.down; })) << "nobody noticed";
    EXPECT_EQ(contact.why, Status::peer_failed);
    EXPECT_EQ(peer.downs.size(), 1u);
  }
  Contact contact{.worker = 2};
};

TEST_P(KilledPeer, that_sent_something_has_it_delivered_before_its_link_is_down) {
  Victim victim(true, 30);
  Peer peer(uct_provider(), 1);
  connect(peer, victim);
  ASSERT_TRUE(drive({&peer}, [&] { return peer.received.size() == 30; }));
  victim.kill();
  expect_down(peer);
  for (std::uint16_t i = 0; i < 30; ++i) {
    EXPECT_EQ(peer.received[i].header.sequence, i);
    EXPECT_EQ(peer.received[i].payload, pattern(i, 100));
  }
}

TEST_P(KilledPeer, that_sent_much_has_it_delivered_to_a_peer_that_calls_seldom) {
  constexpr unsigned kFirst = 1, kMore = 2000, kBudget = 256;
  if (std::string(GetParam()) == "posix") GTEST_SKIP() << "a call delivers all that its queue holds";
  Victim victim(true, kFirst, kMore);
  Peer peer(uct_provider(), 1);
  connect(peer, victim);
  ASSERT_TRUE(drive({&peer}, [&] { return peer.received.size() == kFirst; }));
  victim.send_more();
  victim.kill();
  peer.check();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // it computes
  ASSERT_TRUE(drive({}, [&] {
    peer.progress(kBudget);
    return contact.down;
  }));
  EXPECT_EQ(contact.why, Status::peer_failed);
  EXPECT_EQ(peer.received.size(), kFirst + kMore);
}

TEST_P(KilledPeer, that_takes_nothing_any_more_ends_an_endless_sender) {
  Victim victim(true);
  Peer peer(uct_provider(), 1);
  stria_link_t* const link = connect(peer, victim);
  const Bytes data = pattern(1, 2000);
  std::uint16_t sent = 0;
  const auto send = [&] {
    const Status status =
        peer.try_send(link, contract::Path::buffered, header(sent), data.data(), data.size());
    if (status == Status::ok) ++sent;
    return status;
  };
  ASSERT_TRUE(drive({&peer}, [&] { return send() == Status::ok && sent > 500; }));
  victim.kill();
  ASSERT_TRUE(drive({&peer}, [&] {
    if (!contact.down) static_cast<void>(send());
    return contact.down;
  }));
  EXPECT_EQ(contact.why, Status::peer_failed);
}

TEST_P(KilledPeer, that_was_asked_and_never_answered_is_gone_when_it_is_killed) {
  Victim victim(false);
  Peer peer(uct_provider(), 1);
  stria_link_t* const link = connect(peer, victim);
  contract::drive_for({&peer}, 200);
  const Bytes data = pattern(1, 10);
  EXPECT_EQ(peer.try_send(link, contract::Path::buffered, header(1), data.data(), data.size()),
            Status::no_resource)
      << "it computes: nothing says that it will not answer";
  peer.check();
  EXPECT_FALSE(contact.down);
  victim.kill();
  expect_down(peer);
}

TEST_P(KilledPeer, that_is_connected_to_later_is_refused_as_gone) {
  Victim victim(true);
  victim.kill();
  Peer peer(uct_provider(), 1);
  stria_status_t status = STRIA_OK;
  EXPECT_EQ(peer.try_connect(victim.address(), contact, status), nullptr);
  EXPECT_EQ(status, STRIA_ERR_PEER_FAILED);
  EXPECT_NE(peer.error(), "");
}

INSTANTIATE_TEST_SUITE_P(Uct, KilledPeer, testing::Values("tcp", "tcp_joined", "posix"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace stria::uct
