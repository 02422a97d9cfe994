// What a message costs in work requests and doorbells, through the provider and through the whole library.
#include <algorithm>
#include <cstring>
#include <vector>

#include "datatype/layout.hpp"
#include "stria/stria.h"
#include "tag/objects.hpp"
#include "tag/worker.hpp"
#include "tests/transport/verbs/world.hpp"
#include "transport/capabilities.hpp"
#include "transport/variables.hpp"

namespace stria::verbs::test {
namespace {

using CostsOf = Pair;

TEST_F(CostsOf, an_eager_message_is_one_work_request_and_one_doorbell) {
  const std::size_t inlined = a->limits(to_b).pio_max, most = a->limits(to_b).eager_max;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, inlined, inlined + 1, most}) {
    const Costs sender(*a), receiver(*b);
    ASSERT_EQ(send({a.get(), b.get()}, *a, to_b, bytes <= inlined && inlined > 0 ? Path::pio : Path::buffered,
                   header(1), pattern(1, bytes)),
              Status::ok);
    ASSERT_TRUE(progress_until([&] { return b->received.size() == 1; }));
    EXPECT_EQ(sender.work_requests(), 1u) << bytes << " bytes";
    EXPECT_EQ(sender.doorbells(), 1u) << bytes << " bytes";
    EXPECT_EQ(receiver.work_requests(), 0u) << "credits go back with half of them";
    b->received.clear();
  }
}

TEST_F(CostsOf, credits_alone_go_back_once_for_half_of_them) {
  constexpr unsigned kMessages = 160;
  const Costs sender(*a), receiver(*b);
  for (unsigned i = 0; i < kMessages; ++i)
    ASSERT_EQ(send({a.get(), b.get()}, *a, to_b, Path::buffered, header(1), pattern(1, 8)), Status::ok);
  ASSERT_TRUE(progress_until([&] { return b->received.size() == kMessages; }));
  EXPECT_EQ(sender.work_requests(), kMessages);
  EXPECT_LE(receiver.credit_packets(), kMessages / 16);
  EXPECT_EQ(receiver.work_requests(), receiver.credit_packets());
}

TEST_F(CostsOf, a_rendezvous_binds_with_its_announcement_and_ends_with_its_read) {
  if (!has_windows()) GTEST_SKIP() << "the device has no memory windows";
  Bytes source = pattern(3, 100000), sink(100000);
  for (int round = 0; round < 20; ++round) {
    const Costs sender(*b), reader(*a);
    stria_provider_key_t key{};
    ASSERT_EQ(b->fast_register(contract::contiguous(source), STRIA_ACCESS_REMOTE_READ, key, to_a),
              Status::ok);
    EXPECT_EQ(sender.doorbells(), 0u) << "the bind waits for the announcement";
    ASSERT_EQ(send({a.get(), b.get()}, *b, to_a, Path::buffered, header(1), pattern(1, 40)), Status::ok);
    EXPECT_EQ(sender.work_requests(), 2u);
    EXPECT_EQ(sender.doorbells(), 1u);
    ASSERT_TRUE(progress_until([&] { return a->received.size() == 1; }));
    Ending ending;
    const stria_header_t fin = header(9);
    const stria_payload_t local = contract::contiguous(sink);
    ASSERT_EQ(a->ops().get_finish(to_b, &local, &key, 0, &fin, &ending.base), STRIA_IN_PROGRESS);
    EXPECT_EQ(reader.work_requests(), 2u);
    EXPECT_EQ(reader.doorbells(), 1u);
    ASSERT_TRUE(progress_until([&] { return ending.calls == 1 && b->received.size() == 1; }));
    EXPECT_EQ(ending.status, Status::ok);
    EXPECT_EQ(sink, source);
    EXPECT_EQ(b->received.front().header.sequence, 9u);
    EXPECT_EQ(sender.closed_by_peer(), 1u) << "the key that the completion names";
    EXPECT_EQ(b->invalidate(key), Status::access_error) << "nothing is left to be done here";
    EXPECT_EQ(sender.closed_here(), 0u);
    EXPECT_EQ(sender.work_requests() + reader.work_requests(), 4u);
    EXPECT_EQ(sender.doorbells() + reader.doorbells(), 2u);
    a->received.clear();
    b->received.clear();
    std::fill(sink.begin(), sink.end(), std::byte{});
  }
}

using Layouts = Pair;

// A gather list of the adapter holds some runs; more of them take more work requests.
TEST_F(Layouts, a_get_fills_and_a_put_reads_memory_of_many_runs) {
  using datatype::Layout;
  for (const std::int64_t runs : {2, 3, 16, 17, 40, 64, 65, 300}) {
    for (const std::int64_t bytes : {8, 1000, 5000}) {
      const Layout layout = *Layout::vector(runs, 1, bytes + 24, Layout::bytes(bytes));
      const auto total = static_cast<std::size_t>(runs * bytes);
      Bytes remote = pattern(static_cast<std::uint64_t>(runs), total);
      const auto key = key_of_b(remote, STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE);
      Bytes local(static_cast<std::size_t>(runs * (bytes + 24)), std::byte{0x22});
      Bytes expected = local;
      for (std::int64_t i = 0; i < runs; ++i)
        std::copy(remote.begin() + i * bytes, remote.begin() + (i + 1) * bytes,
                  expected.begin() + i * (bytes + 24));
      const stria_payload_t payload{&layout, local.data(), 1, 0, static_cast<std::int64_t>(total)};
      const auto move = [&](bool write) {
        Ending ending;
        Status status = Status::no_resource;
        EXPECT_TRUE(drive([&] {
          if (status == Status::no_resource)
            status = write ? a->put(to_b, payload, key, 0, ending) : a->get(to_b, payload, key, 0, ending);
          return status != Status::no_resource && (status != Status::in_progress || ending.calls > 0);
        }));
        return status == Status::in_progress ? ending.status : status;
      };
      ASSERT_EQ(move(false), Status::ok) << runs << " runs of " << bytes;
      ASSERT_EQ(local, expected) << runs << " runs of " << bytes;
      if (a->limits(to_b).can_put != 0) {
        for (std::byte& one : local) one = ~one;
        ASSERT_EQ(move(true), Status::ok) << runs << " runs of " << bytes;
        for (std::size_t i = 0; i < total; ++i) {
          const auto at = static_cast<std::int64_t>(i);
          ASSERT_EQ(remote[i], local[static_cast<std::size_t>(at / bytes * (bytes + 24) + at % bytes)]);
        }
      }
      ASSERT_EQ(b->invalidate(key), Status::ok);
    }
  }
}

// The sender's side does nothing, and nobody packs: one read a block, whatever the distance.
TEST_F(Layouts, strided_memory_of_the_peer_is_one_key_and_one_read_a_block) {
  using datatype::Layout;
  constexpr std::int64_t kBlock = 5000;
  for (const std::int64_t stride : {std::int64_t{6000}, std::int64_t{-9000}, kBlock + 1}) {
    for (const std::int64_t blocks : {2, 3, 4, 5, 33, 200}) {
      const Layout layout = *Layout::vector(blocks, 1, stride, Layout::bytes(kBlock));
      const auto total = static_cast<std::size_t>(blocks * kBlock);
      const std::int64_t lowest = stride < 0 ? (blocks - 1) * stride : 0;
      Bytes memory =
          pattern(static_cast<std::uint64_t>(blocks), static_cast<std::size_t>(blocks * std::abs(stride)));
      Bytes stream;
      for (std::int64_t i = 0; i < blocks; ++i)
        stream.insert(stream.end(), memory.begin() + (i * stride - lowest),
                      memory.begin() + (i * stride - lowest) + kBlock);
      stria_provider_key_t key{};
      ASSERT_EQ(
          b->fast_register({&layout, memory.data() - lowest, 1, 0, 0}, STRIA_ACCESS_REMOTE_READ, key, to_a),
          Status::ok);
      exchange(*b, to_a, *a);
      Bytes local(total);
      const Costs reader(*a), sender(*b);
      Ending ending;
      ASSERT_EQ(a->get(to_b, contract::contiguous(local), key, 0, ending), Status::in_progress);
      ASSERT_TRUE(progress_until([&] { return ending.calls > 0; }));
      EXPECT_EQ(ending.status, Status::ok);
      EXPECT_EQ(local, stream) << blocks << " blocks, stride " << stride;
      EXPECT_EQ(reader.work_requests(), static_cast<std::uint64_t>(blocks));
      EXPECT_EQ(sender.work_requests(), 0u);
      // A part that begins and ends within blocks, into memory of other blocks.
      const Layout other = *Layout::vector(blocks * 5, 1, 1200, Layout::bytes(1000));
      Bytes places(static_cast<std::size_t>(blocks * 5 * 1200), std::byte{0x22});
      Bytes expected = places;
      const std::size_t from = 1234, bytes = total - 2345;
      for (std::size_t i = 0; i < bytes; ++i)
        expected[(500 + i) / 1000 * 1200 + (500 + i) % 1000] = stream[from + i];
      Ending part;
      ASSERT_EQ(
          a->get(to_b, {&other, places.data(), 1, 500, static_cast<std::int64_t>(bytes)}, key, from, part),
          Status::in_progress);
      ASSERT_TRUE(drive([&] { return part.calls > 0; }));
      EXPECT_EQ(part.status, Status::ok);
      EXPECT_TRUE(places == expected) << blocks << " blocks, stride " << stride;
      ASSERT_EQ(b->invalidate(key), Status::ok);
    }
  }
}

TEST_F(Layouts, what_no_key_can_describe_is_unsupported) {
  using datatype::Layout;
  Bytes memory(1 << 20);
  stria_provider_key_t key{};
  const Layout row = *Layout::vector(4, 1, 5000, Layout::bytes(4096));
  const Layout nested = *Layout::strided(3, 100000, row);
  const Layout sparse = *Layout::vector(100, 1, 10000, Layout::bytes(8));
  const Layout many = *Layout::vector(5000, 1, 100, Layout::bytes(64));
  for (const Layout* layout : {&nested, &sparse, &many})
    EXPECT_EQ(b->fast_register({layout, memory.data(), 1, 0, 0}, STRIA_ACCESS_REMOTE_READ, key, to_a),
              Status::unsupported)
        << layout->to_string();
}

// Runs of different lengths: what each piece holds counts, not what the first does.
TEST_F(Layouts, runs_of_different_lengths_are_each_filled) {
  std::vector<std::int64_t> lengths, places;
  std::int64_t place = 0;
  std::size_t total = 0;
  for (std::int64_t i = 0; i < 50; ++i) {
    lengths.push_back(1 + (i * 7) % 23);
    places.push_back(place);
    place += lengths.back() + 3;
    total += static_cast<std::size_t>(lengths.back());
  }
  const auto layout = *datatype::Layout::indexed(lengths, places, datatype::Layout::bytes(1));
  Bytes remote = pattern(9, total), local(static_cast<std::size_t>(place)), expected = local;
  auto from = remote.begin();
  for (std::size_t i = 0; i < lengths.size(); ++i, from += lengths[i - 1])
    std::copy(from, from + lengths[i], expected.begin() + places[i]);
  const auto key = key_of_b(remote, STRIA_ACCESS_REMOTE_READ);
  const stria_payload_t payload{&layout, local.data(), 1, 0, static_cast<std::int64_t>(total)};
  Ending ending;
  ASSERT_EQ(a->get(to_b, payload, key, 0, ending), Status::in_progress);
  ASSERT_TRUE(drive([&] { return ending.calls > 0; }));
  EXPECT_EQ(ending.status, Status::ok);
  for (std::size_t i = 0; i < local.size(); ++i)
    EXPECT_EQ(local[i], expected[i]) << "byte " << i << " of " << local.size();
}

// siw answers short reads out of memory on two pages with wrong bytes.
TEST_F(Layouts, a_short_get_of_memory_on_two_pages_is_right) {
  constexpr std::size_t kPage = 4096;
  Bytes memory = pattern(4, 3 * kPage), local(64);
  const std::size_t to_page = kPage - reinterpret_cast<std::uintptr_t>(memory.data()) % kPage;
  const auto key = key_of_b(memory, STRIA_ACCESS_REMOTE_READ);
  for (std::size_t bytes = 1; bytes <= 40; ++bytes) {
    for (std::size_t before = 0; before <= bytes; ++before) {
      const std::size_t offset = to_page + kPage - before;
      Ending ending;
      Status status = Status::no_resource;
      ASSERT_TRUE(drive([&] {
        if (status == Status::no_resource)
          status = a->get(to_b, contract::contiguous(local.data(), bytes), key, offset, ending);
        return status != Status::no_resource && ending.calls > 0;
      }));
      ASSERT_EQ(ending.status, Status::ok);
      ASSERT_TRUE(std::equal(local.begin(), local.begin() + static_cast<std::ptrdiff_t>(bytes),
                             memory.begin() + static_cast<std::ptrdiff_t>(offset)))
          << bytes << " bytes, " << before << " of them on the first page";
    }
  }
}

/// The provider under two workers of the library, with its devices in sight.
std::vector<stria_device_t*>& opened() {
  static std::vector<stria_device_t*> list;
  return list;
}
const stria_provider_t& watched() {
  static const stria_provider_t table = [] {
    stria_provider_t copy = verbs_provider();
    copy.open = [](const stria_device_params_t* params, stria_device_t** device, char* error,
                   std::uint32_t bytes) {
      const stria_status_t status = verbs_provider().open(params, device, error, bytes);
      if (*device != nullptr) opened().push_back(*device);
      return status;
    };
    return copy;
  }();
  return table;
}

class Library : public ::testing::Test {
 protected:
  Library() {
    EXPECT_TRUE(set_config_override({transport::kVariables}, "STRIA_PROVIDERS", "verbs", "test").has_value());
    static const stria_provider_t* const kBuiltin[] = {&watched()};
    context_ = *tag::open_context(nullptr, kBuiltin);
    opened().clear();
    for (auto& worker : workers_) worker = *tag::Worker::open(*context_, STRIA_THREAD_SINGLE);
    stria_endpoint_params_t params{};
    params.size = sizeof params;
    params.address = workers_[1]->address().data();
    params.address_bytes = workers_[1]->address().size();
    endpoint_ = *workers_[0]->peers().open(*workers_[0], params);
  }
  bool progress_until(const std::function<bool()>& done) {
    for (int i = 0; i < 2000000; ++i) {
      if (done()) return true;
      if (workers_[0]->progress() + workers_[1]->progress() == 0) sched_yield();
    }
    return done();
  }
  void transfer(const void* from, void* to, std::uint64_t bytes, const stria_layout_t* layout = nullptr) {
    stria_request_t send_request, recv_request;
    stria_recv_t recv{};
    recv.base = to;
    recv.count = layout == nullptr ? bytes : static_cast<std::uint64_t>(layout->value.size());
    recv.match.ignore = ~0ull;
    stria_send_t send{};
    send.base = from;
    send.layout = layout;
    send.count = layout == nullptr ? bytes : 1;
    const Status received = workers_[1]->receives().recv(recv, nullptr, &recv_request);
    ASSERT_EQ(received, Status::in_progress);
    const Status sent = workers_[0]->sends().send(*endpoint_->peer, send, &send_request);
    ASSERT_TRUE(sent == Status::ok || sent == Status::in_progress) << to_string(sent);
    const auto is_done = [](stria_request_t& request) {
      return reinterpret_cast<tag::Request*>(&request)->state.load() == tag::RequestState::done;
    };
    ASSERT_TRUE(progress_until(
        [&] { return is_done(recv_request) && (sent == Status::ok || is_done(send_request)); }));
    EXPECT_EQ(reinterpret_cast<tag::Request*>(&recv_request)->info.status, STRIA_OK);
  }
  struct Sum {
    std::uint64_t work_requests = 0, doorbells = 0;
  };
  static Sum sum() {
    Sum out;
    for (stria_device_t* device : opened()) {
      out.work_requests += counters_of(device).work_requests;
      out.doorbells += counters_of(device).doorbells;
    }
    return out;
  }
  std::unique_ptr<tag::Context> context_;
  std::unique_ptr<tag::Worker> workers_[2];
  tag::Endpoint* endpoint_ = nullptr;
};

TEST_F(Library, a_contiguous_rendezvous_is_four_work_requests_and_two_doorbells) {
  const Bytes source = pattern(5, 1 << 20);
  Bytes sink(source.size());
  transfer(source.data(), sink.data(), 8);  // connects
  for (int round = 0; round < 5; ++round) {
    std::fill(sink.begin(), sink.end(), std::byte{});
    const Sum before = sum();
    transfer(source.data(), sink.data(), source.size());
    const Sum after = sum();
    EXPECT_EQ(sink, source);
    const stria_capabilities_t can = transport::capabilities_of(watched(), opened().front());
    if ((can.flags & STRIA_CAP_SEND_INVALIDATE) == 0) GTEST_SKIP() << "the device has no memory windows";
    EXPECT_EQ(after.work_requests - before.work_requests, 4u);
    EXPECT_EQ(after.doorbells - before.doorbells, 2u);
  }
  stria_counters_t counters{};
  counters.size = sizeof counters;
  workers_[1]->counters(counters);
  EXPECT_EQ(counters.received_get, 5u);
}

TEST_F(Library, a_message_of_large_blocks_is_read_in_place_and_one_of_small_blocks_is_packed) {
  using datatype::Layout;
  const Bytes memory = pattern(5, 2 << 20);
  Bytes sink(1 << 20);
  transfer(memory.data(), sink.data(), 8);  // connects
  const auto exchange = [&](std::int64_t block) {
    const auto blocks = static_cast<std::int64_t>(sink.size()) / block;
    const stria_layout_t layout{*Layout::vector(blocks, 1, 2 * block, Layout::bytes(block))};
    std::fill(sink.begin(), sink.end(), std::byte{});
    transfer(memory.data(), sink.data(), 0, &layout);
    Bytes expected;
    for (std::int64_t i = 0; i < blocks; ++i)
      expected.insert(expected.end(), memory.begin() + 2 * i * block, memory.begin() + (2 * i + 1) * block);
    EXPECT_TRUE(sink == expected) << "blocks of " << block;
  };
  const auto counters = [&] {
    stria_counters_t out{};
    out.size = sizeof out;
    workers_[1]->counters(out);
    return out;
  };
  const Sum before = sum();
  exchange(32768);
  const Sum after = sum();
  EXPECT_EQ(counters().received_get, 1u);
  EXPECT_EQ(counters().received_pipeline, 0u);
  exchange(1024);
  EXPECT_EQ(counters().received_get, 1u);
  EXPECT_EQ(counters().received_pipeline, 1u);
  const stria_capabilities_t can = transport::capabilities_of(watched(), opened().front());
  const bool binds = (can.flags & STRIA_CAP_SEND_INVALIDATE) != 0;
  EXPECT_EQ(after.work_requests - before.work_requests, (binds ? 1u : 0u) + 1u + 32u + 1u)
      << "bind and announcement, a read for each block, the end";
}

TEST_F(Library, every_size_arrives) {
  const Bytes source = pattern(6, 3000000);
  for (const std::size_t bytes :
       {0ul, 1ul, 231ul, 232ul, 233ul, 8191ul, 8192ul, 8193ul, 65536ul, 3000000ul}) {
    Bytes sink(source.size(), std::byte{0x33});
    transfer(source.data(), sink.data(), bytes);
    EXPECT_TRUE(std::equal(sink.begin(), sink.begin() + static_cast<std::ptrdiff_t>(bytes), source.begin()))
        << bytes;
    EXPECT_TRUE(std::all_of(sink.begin() + static_cast<std::ptrdiff_t>(bytes), sink.end(), [](std::byte one) {
      return one == std::byte{0x33};
    })) << bytes;
  }
}

}  // namespace
}  // namespace stria::verbs::test
