// What keys promise on the wire, how connections are made and refused, and how they end.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>

#include "tests/transport/verbs/world.hpp"
#include "transport/verbs/packets.hpp"

namespace stria::verbs::test {
namespace {

constexpr unsigned kRead = STRIA_ACCESS_REMOTE_READ;
using Protocol = Pair;

bool is_refusal(Status status) {
  return status == Status::access_error || status == Status::peer_failed;
}
KeyData data_of(const stria_provider_key_t& key) {
  KeyData data{};
  std::memcpy(&data, key.data, sizeof data);
  return data;
}

TEST_F(Protocol, after_a_rendezvous_a_read_through_its_key_is_refused) {
  if (!has_windows()) GTEST_SKIP() << "the device has no memory windows";
  Bytes source = pattern(1, 50000), sink(50000);
  const auto key = key_of_b(source, kRead);
  Ending ending;
  const stria_header_t fin = header(9);
  const stria_payload_t local = contract::contiguous(sink);
  ASSERT_EQ(a->ops().get_finish(to_b, &local, &key, 0, &fin, &ending.base), STRIA_IN_PROGRESS);
  ASSERT_TRUE(drive([&] { return ending.calls == 1 && b->received.size() == 1; }));
  EXPECT_EQ(sink, source);
  source = pattern(2, 50000);
  const Bytes before = sink;
  EXPECT_EQ(get(*a, to_b, sink, key), Status::access_error);
  EXPECT_EQ(sink, before) << "the read wrote something";
  EXPECT_TRUE(drive([&] { return a->downs.size() == 1 && b->downs.size() == 1; }));
}

TEST_F(Protocol, a_read_only_key_refuses_a_write_at_the_owners_adapter) {
  if (!a->has(STRIA_CAP_PUT)) GTEST_SKIP() << "the device has no put";
  Bytes memory = pattern(1, 4096);
  const Bytes before = memory;
  auto key = key_of_b(memory, kRead);
  KeyData data = data_of(key);
  data.access |= STRIA_ACCESS_REMOTE_WRITE;  // else it is refused here
  std::memcpy(key.data, &data, sizeof data);
  Bytes local = pattern(2, 4096);
  Ending ending;
  ASSERT_EQ(a->put(to_b, contract::contiguous(local), key, 0, ending), Status::in_progress);
  ASSERT_TRUE(drive([&] { return ending.calls == 1; }));
  EXPECT_TRUE(is_refusal(ending.status)) << to_string(ending.status);
  EXPECT_EQ(memory, before);
}

TEST_F(Protocol, a_window_is_of_no_use_on_another_connection) {
  if (!b->has(STRIA_CAP_WINDOW_2B)) GTEST_SKIP() << "the device has no windows of one connection";
  Peer c(verbs_provider(), 3);
  stria_link_t* from_c = c.connect(*b);
  ASSERT_TRUE(contract::drive({b.get(), &c}, [&] { return b->ups.count(3) == 1; }));
  Bytes memory = pattern(1, 4096), local(4096);
  const auto key = key_of_b(memory, kRead);
  Ending ending;
  Status status = Status::no_resource;
  ASSERT_TRUE(contract::drive({b.get(), &c}, [&] {
    if (status == Status::no_resource) status = c.get(from_c, contract::contiguous(local), key, 0, ending);
    return ending.calls == 1;
  }));
  EXPECT_TRUE(is_refusal(ending.status)) << to_string(ending.status);
  EXPECT_EQ(local, Bytes(4096));
  EXPECT_TRUE(contract::drive({b.get(), &c}, [&] { return c.downs.size() == 1; }));
  EXPECT_TRUE(a->downs.empty());
  EXPECT_EQ(get(*a, to_b, local, key), Status::ok) << "the link that it is for is not touched";
  EXPECT_EQ(local, memory);
}

TEST_F(Protocol, a_read_that_an_invalidate_overtakes_fails_or_is_whole_and_none_succeeds_after) {
  if (!has_windows()) GTEST_SKIP() << "a region's end does not stop a read that is under way (siw)";
  constexpr std::size_t kBytes = 2 << 20;
  Bytes memory = pattern(1, kBytes), local(kBytes);
  const auto key = key_of_b(memory, kRead);
  Ending ending;
  ASSERT_EQ(a->get(to_b, contract::contiguous(local), key, 0, ending), Status::in_progress);
  ASSERT_EQ(b->invalidate(key), Status::ok);
  const Bytes old = memory;
  memory.assign(kBytes, std::byte{0x77});  // the owner's again: nobody may see this
  ASSERT_TRUE(drive([&] { return ending.calls == 1; }));
  if (ending.status == Status::ok) {
    EXPECT_EQ(local, old);
    EXPECT_TRUE(is_refusal(get(*a, to_b, local, key)));
  } else {
    EXPECT_TRUE(is_refusal(ending.status)) << to_string(ending.status);
  }
  for (std::size_t i = 0; i < kBytes; ++i)
    ASSERT_TRUE(local[i] == old[i] || local[i] == std::byte{})
        << "byte " << i << " was read after the key's end";
}

// siw completes what was sent behind a read before the read.
TEST_F(Protocol, a_get_is_whole_when_it_completes_whatever_was_sent_behind_it) {
  constexpr std::size_t kBytes = 1 << 20;
  Bytes memory = pattern(1, kBytes);
  const auto key = key_of_b(memory, kRead);
  for (int round = 0; round < 5; ++round) {
    Bytes local(kBytes);
    Ending ending;
    ASSERT_EQ(a->get(to_b, contract::contiguous(local), key, 0, ending), Status::in_progress);
    const std::size_t before = b->received.size();
    unsigned sent = 0;
    for (; sent < 20; ++sent) {
      const Bytes data = pattern(sent, 300);
      if (a->try_send(to_b, Path::buffered, header(1), data.data(), data.size()) != Status::ok) break;
    }
    ASSERT_TRUE(contract::drive({a.get()}, [&] { return ending.calls > 0; })) << "the get never ended";
    ASSERT_EQ(ending.status, Status::ok);
    ASSERT_EQ(local, memory) << "round " << round;
    ASSERT_TRUE(drive([&] { return b->received.size() == before + sent; }));
  }
}

TEST_F(Protocol, what_is_pending_when_the_peer_goes_ends_with_an_error) {
  Bytes memory = pattern(1, 4 << 20), local(4 << 20);
  const auto key = key_of_b(memory, kRead);
  Ending endings[4];
  for (Ending& ending : endings)
    ASSERT_EQ(a->get(to_b, contract::contiguous(local), key, 0, ending), Status::in_progress);
  b->close(0);
  ASSERT_TRUE(contract::drive({a.get()}, [&] { return a->downs.size() == 1; }));
  for (const Ending& ending : endings) EXPECT_EQ(ending.calls, 1) << "link_down is last";
}

TEST_F(Protocol, receivers_are_never_found_not_ready) {
  const auto read_counter = [](const char* name) {
    std::ifstream file(std::string("/sys/class/infiniband/rxe0/ports/1/hw_counters/") + name);
    long long value = -1;
    file >> value;
    return value;
  };
  if (read_counter("rcvd_rnr_err") < 0) GTEST_SKIP() << "the device does not count them";
  const auto before = read_counter("rcvd_rnr_err");
  constexpr unsigned kMessages = 2000;
  for (unsigned i = 0; i < kMessages; ++i) {
    const Bytes data = pattern(i, 100);
    ASSERT_TRUE(drive([&] {
      return a->try_send(to_b, Path::buffered, header(static_cast<std::uint16_t>(i)), data.data(), 100) ==
             Status::ok;
    }));
  }
  ASSERT_TRUE(drive([&] { return b->received.size() == kMessages; }));
  EXPECT_EQ(read_counter("rcvd_rnr_err"), before);
}

TEST(Connecting, both_at_once_gives_one_link_each) {
  for (std::uint64_t round = 0; round < 20; ++round) {
    Peer a(verbs_provider(), 10 + round), b(verbs_provider(), 1000 - round);
    const Bytes address_a = a.address(), address_b = b.address();
    Contact contact_a{.worker = a.worker_id()}, contact_b{.worker = b.worker_id()};
    stria_link_t *ab = nullptr, *ba = nullptr;
    stria_status_t status_a = STRIA_OK, status_b = STRIA_OK;
    std::thread other([&] { ba = b.try_connect(address_a, contact_a, status_b); });
    ab = a.try_connect(address_b, contact_b, status_a);
    other.join();
    ASSERT_NE(ab, nullptr) << a.error();
    ASSERT_NE(ba, nullptr) << b.error();
    EXPECT_EQ(send({&a, &b}, a, ab, Path::buffered, header(1), pattern(1, 8)), Status::ok);
    EXPECT_EQ(send({&a, &b}, b, ba, Path::buffered, header(2), pattern(2, 8)), Status::ok);
    ASSERT_TRUE(contract::drive({&a, &b}, [&] { return a.received.size() == 1 && b.received.size() == 1; }));
    EXPECT_EQ(b.received[0].from, &contact_a);
    EXPECT_EQ(a.received[0].from, &contact_b);
    EXPECT_TRUE(a.ups.empty() && b.ups.empty());
  }
}

// siw does not wake a peer for what comes while it is still accepting: that has to be followed by something.
TEST(Connecting, a_peer_that_says_nothing_is_greeted_again_where_a_greeting_may_be_lost) {
  Peer a(verbs_provider(), 1), b(verbs_provider(), 2);
  if (a.has(STRIA_CAP_PUT)) GTEST_SKIP() << "not iWARP: greetings are not lost";
  stria_link_t* link = a.connect(b);
  ASSERT_TRUE(contract::drive({&a}, [&] { return a.limits(link).pio_credits > 0; })) << "it is connected";
  const Costs costs(a);
  const auto look_for = [&](std::chrono::milliseconds time, std::uint64_t greetings) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end && costs.work_requests() < greetings) {
      a.progress();
      a.check();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  look_for(std::chrono::seconds(20), kMoreGreetings);
  look_for(std::chrono::milliseconds(500), kMoreGreetings + 1);
  EXPECT_EQ(costs.work_requests(), kMoreGreetings) << "b did not look";
  // They are outside of the credits.
  constexpr unsigned kMessages = 300;
  for (unsigned i = 0; i < kMessages; ++i)
    ASSERT_EQ(send({&a, &b}, a, link, Path::buffered, header(1), pattern(i, 300)), Status::ok);
  ASSERT_TRUE(contract::drive({&a, &b}, [&] { return b.received.size() == kMessages; }));
  EXPECT_EQ(send({&a, &b}, b, b.ups.at(1), Path::buffered, header(2), pattern(2, 8)), Status::ok);
  ASSERT_TRUE(contract::drive({&a, &b}, [&] { return a.received.size() == 1; }));
}

TEST(Connecting, another_secret_is_refused) {
  Peer a(verbs_provider(), 1), b(verbs_provider(), 2, "another secret");
  Contact contact{.worker = 2};
  stria_status_t status = STRIA_OK;
  ASSERT_NE(a.try_connect(b.address(), contact, status), nullptr) << a.error();
  ASSERT_TRUE(contract::drive({&a, &b}, [&] { return contact.down; }));
  EXPECT_EQ(contact.why, Status::unreachable);
  EXPECT_TRUE(b.ups.empty());
}

TEST(Connecting, an_address_of_another_version_or_of_a_worker_that_is_gone_is_refused) {
  Peer a(verbs_provider(), 1), b(verbs_provider(), 2);
  Contact contact{.worker = 2};
  stria_status_t status = STRIA_OK;
  Address address{};
  Bytes bytes = b.address();
  std::memcpy(&address, bytes.data(), sizeof address);
  ++address.version;
  std::memcpy(bytes.data(), &address, sizeof address);
  EXPECT_EQ(a.try_connect(bytes, contact, status), nullptr);
  EXPECT_EQ(status, STRIA_ERR_UNREACHABLE);
  EXPECT_NE(a.error().find("version"), std::string::npos) << a.error();
  --address.version;
  ++address.worker;
  std::memcpy(bytes.data(), &address, sizeof address);
  ASSERT_NE(a.try_connect(bytes, contact, status), nullptr) << a.error();
  ASSERT_TRUE(contract::drive({&a, &b}, [&] { return contact.down; }));
  EXPECT_EQ(contact.why, Status::peer_failed);
}

TEST(Connecting, to_a_host_that_does_not_answer_delays_no_other_peer) {
  Peer a(verbs_provider(), 1), b(verbs_provider(), 2);
  Address address{};
  Bytes bytes = b.address();
  std::memcpy(&address, bytes.data(), sizeof address);
  ASSERT_EQ(address.family, 4) << "the laboratory's network";
  address.ip[3] = 99;  // nobody there
  address.worker = 3;
  std::memcpy(bytes.data(), &address, sizeof address);
  Contact silent{.worker = 3};
  stria_status_t status = STRIA_OK;
  stria_link_t* const unanswered = a.try_connect(bytes, silent, status);
  ASSERT_NE(unanswered, nullptr) << a.error();
  stria_link_t* link = a.connect(b);
  ASSERT_EQ(send({&a, &b}, a, link, Path::buffered, header(1), pattern(1, 8)), Status::ok);
  ASSERT_TRUE(contract::drive({&a, &b}, [&] { return b.received.size() == 1; }));
  if (!silent.down) {
    EXPECT_EQ(a.try_send(unanswered, Path::buffered, header(1), nullptr, 0), Status::no_resource);
  }
  ASSERT_TRUE(contract::drive({&a, &b}, [&] { return silent.down; }));
  EXPECT_EQ(silent.why, Status::unreachable);
  EXPECT_EQ(a.downs.size(), 1u);
}

TEST(Ends, a_killed_process_is_noticed_in_bounded_time) {
  int pipe_fds[2];
  ASSERT_EQ(::pipe(pipe_fds), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Peer b(verbs_provider(), 2);
    const Bytes address = b.address();
    if (::write(pipe_fds[1], address.data(), address.size()) < 0) ::_exit(1);
    for (;;) {
      b.progress();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  Bytes address(sizeof(Address));
  ASSERT_EQ(::read(pipe_fds[0], address.data(), address.size()), static_cast<ssize_t>(address.size()));
  Peer a(verbs_provider(), 1);
  Contact contact{.worker = 2};
  stria_status_t status = STRIA_OK;
  stria_link_t* link = a.try_connect(address, contact, status);
  ASSERT_NE(link, nullptr) << a.error();
  ASSERT_EQ(send({&a}, a, link, Path::buffered, header(1), pattern(1, 8)), Status::ok);
  ::kill(child, SIGKILL);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(contract::drive({&a}, [&] { return a.downs.size() == 1; }));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(40));
  ::waitpid(child, nullptr, 0);
  ::close(pipe_fds[0]);
  ::close(pipe_fds[1]);
}

/// What the kernel holds of each kind of object ("qp", "mr", …; windows are not told), of all devices; empty:
/// it cannot be asked.
std::map<std::string, int> resources() {
  FILE* tool = ::popen("rdma resource show 2>/dev/null", "r");
  if (tool == nullptr) return {};
  char text[512] = "";
  const std::size_t got = std::fread(text, 1, sizeof text - 1, tool);
  ::pclose(tool);
  std::map<std::string, int> out;
  std::istringstream words{std::string(text, got)};
  for (std::string kind, count; words >> kind;) {
    if (kind.back() == ':') continue;  // the number, the device's name
    int n = 0;
    if (words >> n) out[kind] += n;
  }
  return out;
}
/// The kernel lets go of a connection some time after its process did.
std::map<std::string, int> settled_resources() {
  std::map<std::string, int> last = resources();
  for (int same = 0, tries = 0; same < 3 && tries < 100; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::map<std::string, int> now = resources();
    same = now == last ? same + 1 : 0;
    last = std::move(now);
  }
  return last;
}

TEST(Ends, nothing_leaks_over_many_connections_and_rendezvous) {
  { Peer warm(verbs_provider(), 5); }
  const auto before = settled_resources();
  {
    Peer b(verbs_provider(), 2);
    Bytes memory = pattern(1, 20000), local(20000);
    for (std::uint64_t round = 0; round < 100; ++round) {
      Peer a(verbs_provider(), 100 + round);
      stria_link_t* link = a.connect(b);
      ASSERT_TRUE(contract::drive({&a, &b}, [&] { return b.ups.count(100 + round) == 1; }));
      for (int i = 0; i < 10; ++i) {
        stria_provider_key_t key{};
        ASSERT_EQ(b.fast_register(contract::contiguous(memory), kRead, key, b.ups[100 + round]), Status::ok);
        const std::size_t seen = a.received.size();
        ASSERT_EQ(send({&a, &b}, b, b.ups[100 + round], Path::buffered, header(1), pattern(1, 8)),
                  Status::ok);
        ASSERT_TRUE(contract::drive({&a, &b}, [&] { return a.received.size() > seen; }));
        Ending ending;
        ASSERT_EQ(a.get(link, contract::contiguous(local), key, 0, ending), Status::in_progress);
        ASSERT_TRUE(contract::drive({&a, &b}, [&] { return ending.calls == 1; }));
        ASSERT_EQ(ending.status, Status::ok);
        if (i < 8) {
          ASSERT_EQ(b.invalidate(key), Status::ok);
        }  // the last two end with their link
      }
      a.close(2000);
      ASSERT_TRUE(contract::drive({&b}, [&] { return b.downs.size() == round + 1; }));
    }
  }
  if (before.empty()) GTEST_SKIP() << "no rdma tool to count the kernel's objects";
  // The kernel may take its time.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (resources() != before && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(resources(), before);
}

}  // namespace
}  // namespace stria::verbs::test
