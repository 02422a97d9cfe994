// Memory runs out while a device has records of its own to send, which no caller sends again: when there is
// memory again, they go.
#include <algorithm>
#include <vector>

#include "tests/replaced_new.hpp"
#include "tests/transport/tcp/device_rig.hpp"

namespace {

constexpr std::size_t kBufferLeast = 4096;  // least size of an allocation that is refused

bool refuses = false;  // allocations of arrays that are long enough to be a buffer fail
unsigned refused = 0;  // how many have failed

}  // namespace

bool stria::test::may_allocate(std::size_t bytes, bool is_optional) noexcept {
  if (!refuses || !is_optional || bytes < kBufferLeast) return true;
  ++refused;
  return false;
}

namespace stria::tcp {
namespace {

using contract::Bytes;
using contract::contiguous;
using contract::Ending;

/// A device that reads, a device that owns memory, and devices that take nothing, so that what is sent to
/// them stays in buffers.
struct Devices {
  Devices() {
    to_owner = reader.connect(owner);
    EXPECT_EQ(contract::send({&reader, &owner}, reader, to_owner, contract::Path::buffered,
                             contract::header(0), {}),
              Status::ok);
    EXPECT_TRUE(run([&] { return owner.received.size() == 1; }));
  }
  bool run(const std::function<bool()>& done) { return drive({&reader, &owner}, done); }
  /// A get of all of `remote`.
  Status get(Bytes& remote, Bytes& local, Ending& ending) {
    stria_provider_key_t key{};
    EXPECT_EQ(owner.fast_register(contiguous(remote), STRIA_ACCESS_REMOTE_READ, key, owner.ups[1]),
              Status::ok);
    return reader.get(to_owner, contiguous(local), key, 0, ending);
  }
  /// Lets the reader have no buffer: neither a new one, nor one that it keeps.
  void take_buffers() {
    refuses = true;
    refused = 0;
    const Bytes record(4000);  // is copied, and does not wait for others
    for (std::uint64_t id = 10; refused == 0 && id < 40; ++id) {
      Peer& idle = *idlers.emplace_back(std::make_unique<Peer>(tcp_provider(), id));
      refuses = false;
      stria_link_t* const link = reader.connect(idle);
      EXPECT_EQ(
          contract::send({&reader, &idle}, reader, link, contract::Path::buffered, contract::header(0), {}),
          Status::ok);
      EXPECT_TRUE(drive({&reader, &idle}, [&] { return idle.received.size() == 1; }));
      refuses = true;
      while (reader.try_send(link, contract::Path::buffered, contract::header(0), record.data(),
                             record.size()) == Status::ok) {
      }
    }
    EXPECT_GT(refused, 0u) << "the reader has buffers left";
  }
  void give_buffers() {
    EXPECT_GT(std::exchange(refused, 0), 0u) << "nothing needed a buffer";
    refuses = false;
  }
  Peer reader{tcp_provider(), 1}, owner{tcp_provider(), 2};
  stria_link_t* to_owner = nullptr;
  std::vector<std::unique_ptr<Peer>> idlers;
};

TEST(TcpMemoryOut, leaves_a_get_that_is_requested_when_there_is_memory_again) {
  Devices devices;
  Bytes remote = contract::pattern(1, 300000), first(remote.size()), second(remote.size());
  Ending one, other;
  ASSERT_EQ(devices.get(remote, first, one), Status::in_progress);
  ASSERT_TRUE(devices.run([&] { return one.calls > 0; }));  // there are bulk connections now
  devices.take_buffers();
  refused = 0;
  ASSERT_EQ(devices.get(remote, second, other), Status::in_progress);
  devices.give_buffers();
  ASSERT_TRUE(devices.run([&] { return other.calls > 0; }));
  EXPECT_EQ(other.status, Status::ok);
  EXPECT_EQ(second, remote);
}

// Until it has heard something, the dialled device retains all that it sends, and then waits.
TEST(TcpMemoryOut, leaves_a_greeting_that_goes_when_there_is_memory_again) {
  Devices devices;
  devices.take_buffers();
  refused = 0;
  Peer dialled(tcp_provider(), 3);
  devices.reader.connect(dialled);
  ASSERT_TRUE(drive({&devices.reader, &dialled}, [&] { return dialled.ups.count(1) > 0 && refused > 0; }));
  devices.give_buffers();
  constexpr std::size_t kCount = 2000;
  const Bytes record = contract::pattern(1, 4000);
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(contract::send({&devices.reader, &dialled}, dialled, dialled.ups[1], contract::Path::buffered,
                             contract::header(1), record),
              Status::ok)
        << "record " << i;
  }
  ASSERT_TRUE(drive({&devices.reader, &dialled}, [&] { return devices.reader.received.size() == kCount; }));
}

}  // namespace
}  // namespace stria::tcp
