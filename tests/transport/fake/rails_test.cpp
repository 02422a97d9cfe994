// Several devices of one worker: each has its own speed, and one, or one link, may end while the others go
// on.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/contract/peer.hpp"
#include "transport/fake/control.hpp"
#include "transport/fake/fake.hpp"

namespace stria::fake {
namespace {

using contract::Bytes;
using contract::Contact;
using contract::drive;
using contract::drive_for;
using contract::Ending;
using contract::header;
using contract::Path;
using contract::pattern;
using contract::Peer;

/// Workers 1, 2, ... with all their devices.
struct Rails {
  explicit Rails(const FabricOptions& options, std::uint64_t workers = 2) : fabric(make_fabric(options)) {
    const UseFabric use(fabric);
    for (std::uint64_t worker = 1; worker <= workers; ++worker)
      for (std::uint32_t device = 0; device < options.devices; ++device)
        peers.push_back(std::make_unique<Peer>(fake_provider(), worker, "a secret of sixteen", device));
  }
  Peer& of(std::uint64_t worker, std::uint32_t device) {
    return *peers[(worker - 1) * (peers.size() / workers()) + device];
  }
  std::uint64_t workers() const { return peers.back()->worker_id(); }
  std::vector<Peer*> all() const {
    std::vector<Peer*> out;
    for (const auto& peer : peers) out.push_back(peer.get());
    return out;
  }
  std::shared_ptr<Fabric> fabric;
  std::vector<std::unique_ptr<Peer>> peers;
};

TEST(FakeRails, there_are_as_many_devices_of_a_worker_as_the_fabric_says) {
  for (const std::uint32_t devices : {1u, 4u}) {
    const UseFabric use(make_fabric({.devices = devices}));
    stria_device_params_t params{};
    params.size = sizeof params;
    EXPECT_EQ(fake_provider().devices->count(&params), devices);
    EXPECT_NO_THROW(Peer(fake_provider(), 1, "", devices - 1));
    char error[256] = "";
    stria_device_t* device = nullptr;
    const stria_sink_t sink{};
    const stria_services_t services{};
    params.worker_id = 1;
    params.sink = &sink;
    params.services = &services;
    params.device = devices;
    EXPECT_EQ(fake_provider().open(&params, &device, error, sizeof error), STRIA_ERR_INVALID);
    EXPECT_NE(std::string(error).find("no device " + std::to_string(devices)), std::string::npos) << error;
  }
}

TEST(FakeRails, a_slow_device_moves_fewer_packets_in_as_many_rounds) {
  Rails rails({.seed = 11, .devices = 2, .delay = 0, .queue = 4, .idle_percent = {0, 75}});
  stria_link_t* const links[] = {rails.of(1, 0).connect(rails.of(2, 0)),
                                 rails.of(1, 1).connect(rails.of(2, 1))};
  const Bytes data = pattern(1, 20);
  for (int round = 0; round < 400; ++round) {
    for (const std::uint32_t device : {0u, 1u}) {
      while (rails.of(1, device).try_send(links[device], Path::buffered, header(1), data.data(),
                                          data.size()) == Status::ok) {
      }
      rails.of(2, device).progress(2);
    }
  }
  const auto fast = rails.of(2, 0).received.size(), slow = rails.of(2, 1).received.size();
  EXPECT_GT(fast, 3 * slow);
  EXPECT_LT(fast, 6 * slow);
}

TEST(FakeRails, a_device_that_is_cut_off_ends_its_links_at_both_ends_and_no_others) {
  int first_here = 0, first_there = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Rails rails({.seed = seed, .devices = 2, .delay = 3});
    Peer &here = rails.of(1, 1), &there = rails.of(2, 1);
    stria_link_t* const dying = here.connect(there);
    stria_link_t* const living = rails.of(1, 0).connect(rails.of(2, 0));
    const Bytes data = pattern(seed, 30);
    ASSERT_EQ(here.try_send(dying, Path::buffered, header(1), data.data(), data.size()), Status::ok);
    ASSERT_TRUE(cut_device(*rails.fabric, 1, 1, Loss::none));
    for (int i = 0; here.downs.empty() || there.downs.empty(); ++i) {
      ASSERT_LT(i, 100) << "seed " << seed;
      here.progress();
      there.progress();
      if (here.downs.size() + there.downs.size() == 1) ++(here.downs.empty() ? first_there : first_here);
    }
    EXPECT_EQ(here.downs.front()->why, Status::io_error);
    EXPECT_EQ(there.downs.front()->why, Status::io_error);
    ASSERT_EQ(there.received.size(), 1u) << "what was not lost comes before link_down";
    Contact contact{.worker = 2};
    stria_status_t status = STRIA_OK;
    for (int way = 0; way < 2; ++way) {
      Peer& from = way == 0 ? here : there;
      EXPECT_EQ(from.try_connect((way == 0 ? there : here).address(), contact, status), nullptr);
      EXPECT_EQ(status, STRIA_ERR_UNREACHABLE);
    }
    ASSERT_EQ(rails.of(1, 0).try_send(living, Path::buffered, header(2), data.data(), data.size()),
              Status::ok);
    ASSERT_TRUE(drive({&rails.of(1, 0), &rails.of(2, 0)}, [&] { return !rails.of(2, 0).received.empty(); }));
    EXPECT_TRUE(rails.of(1, 0).downs.empty());
  }
  EXPECT_GT(first_here, 0);
  EXPECT_GT(first_there, 0);
}

TEST(FakeRails, a_cut_link_leaves_the_other_links_of_its_devices) {
  Rails rails({.seed = 5, .devices = 2, .delay = 2}, 3);
  Peer &a = rails.of(1, 1), &b = rails.of(2, 1), &c = rails.of(3, 1);
  a.connect(b);
  stria_link_t* const living = a.connect(c);
  EXPECT_FALSE(cut_link(*rails.fabric, 1, 2, 0, Loss::none)) << "there is no such link";
  ASSERT_TRUE(cut_link(*rails.fabric, 2, 1, 1, Loss::random));
  Contact contact{.worker = 2};
  stria_status_t status = STRIA_OK;
  EXPECT_EQ(a.try_connect(b.address(), contact, status), nullptr) << "the end of the last link comes first";
  EXPECT_EQ(status, STRIA_ERR_UNREACHABLE);
  ASSERT_TRUE(drive({&a, &b, &c}, [&] { return a.downs.size() == 1 && b.downs.size() == 1; }));
  const Bytes data = pattern(1, 20);
  for (stria_link_t* link : {living, a.connect(b)})
    EXPECT_EQ(a.try_send(link, Path::buffered, header(1), data.data(), data.size()), Status::ok);
  EXPECT_TRUE(drive({&a, &b, &c}, [&] { return b.received.size() == 1 && c.received.size() == 1; }));
  EXPECT_TRUE(c.downs.empty());
}

TEST(FakeRails, death_takes_all_devices_of_a_worker) {
  Rails rails({.devices = 3});
  for (std::uint32_t i = 0; i < 3; ++i) rails.of(1, i).connect(rails.of(2, i));
  ASSERT_TRUE(kill(*rails.fabric, 2, Loss::none));
  EXPECT_TRUE(drive({&rails.of(1, 0), &rails.of(1, 1), &rails.of(1, 2)}, [&] {
    return std::ranges::all_of(std::vector{0u, 1u, 2u},
                               [&](std::uint32_t i) { return !rails.of(1, i).downs.empty(); });
  }));
  EXPECT_EQ(rails.of(1, 1).downs.front()->why, Status::peer_failed);
}

// Memory of a zero-copy send or a get is its owner's again when the completion is called, also where the link
// is cut in the middle: then it is called before link_down.
TEST(FakeRails, what_is_under_way_on_a_cut_link_ends_before_link_down) {
  int failed = 0, done = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rails rails({.seed = seed, .devices = 2, .delay = 4, .async_percent = 60});
    Peer &a = rails.of(1, 1), &b = rails.of(2, 1);
    stria_link_t* const link = a.connect(b);
    constexpr std::size_t kBytes = 500, kSends = 8;
    std::vector<Bytes> sent;
    std::deque<Ending> endings(2 * kSends);
    Bytes remote = pattern(77, kBytes), room(2 * kSends * kBytes);
    stria_provider_key_t key{};
    ASSERT_EQ(b.fast_register(contract::contiguous(remote), STRIA_ACCESS_REMOTE_READ, key), Status::ok);
    b.places = [&](const stria_header_t& h, std::uint32_t bytes, stria_payload_t& place) {
      place = contract::contiguous(room.data() + h.sequence * kBytes, bytes);
      return true;
    };
    for (std::uint16_t i = 0; i < kSends; ++i) {
      sent.push_back(pattern(i, kBytes));
      const Status zcopy = a.zcopy_send(link, header(i), contract::contiguous(sent[i]), endings[i]);
      if (zcopy != Status::in_progress) endings[i].calls = 1;
      Ending& got = endings[kSends + i];
      const auto local = contract::contiguous(room.data() + (kSends + i) * kBytes, kBytes);
      if (a.get(link, local, key, 0, got) != Status::in_progress) got.calls = 1;
      if (i % 3 == 0) b.progress(2);
    }
    drive_for({&a, &b}, static_cast<int>(seed % 8));
    ASSERT_TRUE(cut_device(*rails.fabric, 1 + seed % 2, 1, Loss::random));
    Bytes before;
    ASSERT_TRUE(drive({&a, &b}, [&] {
      for (std::size_t i = 0; i < kSends; ++i)
        if (endings[i].calls == 1) std::ranges::fill(sent[i], std::byte{0xee});  // used anew
      return !a.downs.empty() && !b.downs.empty();
    }));
    for (const Ending& ending : endings) {
      EXPECT_EQ(ending.calls, 1);
      ++(ending.status == Status::peer_failed ? failed : done);
    }
    before = room;
    for (const contract::Received& got : b.received) {
      const std::uint16_t i = got.header.sequence;
      const Bytes placed(room.begin() + i * kBytes, room.begin() + (i + 1) * kBytes);
      EXPECT_EQ(got.placed ? placed : got.payload, pattern(i, kBytes));
    }
    drive_for({&a, &b}, 30);
    EXPECT_EQ(room, before) << "nothing is written after link_down";
  }
  EXPECT_GT(failed, 0);
  EXPECT_GT(done, 0);
}

}  // namespace
}  // namespace stria::fake
