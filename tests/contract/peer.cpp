#include "tests/contract/peer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "transport/capabilities.hpp"
#include "transport/contract.hpp"
#include "transport/device_config.hpp"
#include "transport/payload.hpp"
#include "transport/services.hpp"

namespace stria::contract {
Ending::Ending() {
  static_assert(offsetof(Ending, base) == 0);
  base.done = [](stria_completion_t* self, stria_status_t how) {
    auto* ending = reinterpret_cast<Ending*>(self);
    ++ending->calls;
    ending->status = transport::from_c(how);
  };
}

Peer::Peer(const stria_provider_t& table, std::uint64_t worker_id, std::string_view secret,
           std::uint32_t device)
    : table_(table), ops_(transport::flatten(table)), worker_id_(worker_id) {
  sink_.self = this;
  sink_.deliver = [](void* self, void* cookie, const stria_packet_t* packet) {
    if (transport::arrival(*packet) == transport::Arrival::later) return STRIA_DELIVERED_LATER;
    return static_cast<Peer*>(self)->deliver(cookie, *packet);
  };
  sink_.peer_up = [](void* self, std::uint64_t worker, stria_link_t* link) {
    return static_cast<Peer*>(self)->peer_up(worker, link);
  };
  sink_.link_changed = [](void*, void*) {};
  sink_.link_down = [](void* self, void* cookie, stria_status_t why) {
    static_cast<Peer*>(self)->link_down(cookie, why);
  };
  sink_.place = [](void* self, void* cookie, const stria_header_t* header, std::uint32_t bytes,
                   stria_payload_t* place) {
    return static_cast<Peer*>(self)->place(cookie, *header, bytes, *place) ? 1 : 0;
  };
  stria_device_params_t params{};
  params.size = sizeof params;
  params.worker_id = worker_id;
  params.job_secret = secret.data();
  params.job_secret_bytes = static_cast<std::uint32_t>(secret.size());
  params.sink = &sink_;
  params.services = &transport::services();
  if (auto given = Config::from_environment({{table.variables, table.variable_count}}))
    config_ = *std::move(given);
  params.config_self = &config_;
  params.config = transport::config_text;
  params.config_number = transport::config_number;
  params.device = device;
  char error[256] = "";
  const stria_status_t status = table.open(&params, &device_, error, sizeof error);
  EXPECT_EQ(status, STRIA_OK) << error;
  if (device_ == nullptr) throw std::runtime_error(std::string("cannot open a device: ") + error);
}

Peer::~Peer() {
  close(100);  // the other one is of this thread as a rule, and takes nothing any more
}

void Peer::close(int timeout_ms) {
  if (device_ != nullptr) table_.close(device_, timeout_ms);
  device_ = nullptr;
}

Bytes Peer::address() const {
  Bytes bytes(256);
  const std::uint32_t needed =
      table_.address(device_, bytes.data(), static_cast<std::uint32_t>(bytes.size()));
  EXPECT_GT(needed, 0u);
  EXPECT_LE(needed, 256u);
  bytes.resize(std::min<std::size_t>(needed, 256));
  return bytes;
}

stria_link_t* Peer::connect(const Peer& other, int low_latency) {
  stria_status_t status = STRIA_OK;
  stria_link_t* link = try_connect(other.address(), contact(other.worker_id()), status, low_latency);
  EXPECT_NE(link, nullptr) << error_;
  if (link == nullptr) throw std::runtime_error("cannot connect: " + error_);
  return link;
}

stria_link_t* Peer::try_connect(const Bytes& address, Contact& contact, stria_status_t& status,
                                int low_latency) {
  if (!knows(&contact)) foreign_.push_back(&contact);
  stria_link_t* link = nullptr;
  char error[256] = "";
  status = table_.connect(device_, address.data(), static_cast<std::uint32_t>(address.size()), &contact,
                          low_latency, &link, error, sizeof error);
  error_ = error;
  EXPECT_EQ(link == nullptr, status < 0) << "a link exactly when it was not refused";
  return link;
}

unsigned Peer::progress(unsigned budget) {
  inside_ = true;
  const unsigned handled = ops_.progress(device_, budget);
  inside_ = false;
  EXPECT_LE(handled, budget);
  return handled;
}

void Peer::check() {
  inside_ = true;
  table_.check(device_);
  inside_ = false;
}

stria_capabilities_t Peer::capabilities() const {
  return transport::capabilities_of(table_, device_);
}

stria_link_limits_t Peer::limits(stria_link_t* link) const {
  stria_link_limits_t out{};
  table_.link_limits(link, &out);
  return out;
}

Status Peer::try_send(stria_link_t* link, Path path, const stria_header_t& header, const void* data,
                      std::size_t bytes) {
  if (path == Path::pio)
    return transport::from_c(ops_.pio_send(link, &header, data, static_cast<std::uint32_t>(bytes)));
  return try_send(link, header, contiguous(const_cast<void*>(data), bytes));
}
Status Peer::try_send(stria_link_t* link, const stria_header_t& header, const stria_payload_t& payload) {
  return transport::from_c(ops_.eager_send(link, &header, &payload));
}
Status Peer::try_send_invalidate(stria_link_t* link, const stria_header_t& header, const Bytes& data,
                                 const stria_provider_key_t& key) {
  return transport::from_c(
      ops_.send_invalidate(link, &header, data.data(), static_cast<std::uint32_t>(data.size()), &key));
}
Status Peer::fast_register(const stria_payload_t& memory, unsigned access, stria_provider_key_t& key,
                           stria_link_t* link) {
  return transport::from_c(ops_.fast_register(device_, link, &memory, access, &key));
}
Status Peer::invalidate(const stria_provider_key_t& key) {
  return transport::from_c(ops_.invalidate(device_, &key));
}
Status Peer::get(stria_link_t* link, const stria_payload_t& local, const stria_provider_key_t& key,
                 std::uint64_t offset, Ending& ending) {
  return transport::from_c(ops_.get(link, &local, &key, offset, &ending.base));
}
Status Peer::put(stria_link_t* link, const stria_payload_t& local, const stria_provider_key_t& key,
                 std::uint64_t offset, Ending& ending) {
  return transport::from_c(ops_.put(link, &local, &key, offset, &ending.base));
}

Status Peer::zcopy_send(stria_link_t* link, const stria_header_t& header, const stria_payload_t& payload,
                        Ending& ending) {
  return transport::from_c(ops_.zcopy_send(link, &header, &payload, &ending.base));
}

Status Peer::atomic(stria_link_t* link, const stria_remote_atomic_t& atomic, const stria_provider_key_t& key,
                    Ending& ending) {
  return transport::from_c(ops_.atomic(link, &atomic, &key, &ending.base));
}

bool Peer::knows(const void* cookie) const {
  return std::any_of(contacts_.begin(), contacts_.end(), [&](const Contact& c) { return &c == cookie; }) ||
         std::find(foreign_.begin(), foreign_.end(), cookie) != foreign_.end();
}

Contact& Peer::contact(std::uint64_t worker) {
  for (Contact& known : contacts_)
    if (known.worker == worker) return known;
  contacts_.push_back({.worker = worker});
  return contacts_.back();
}

std::uint32_t Peer::deliver(void* cookie, const stria_packet_t& packet) {
  EXPECT_TRUE(inside_) << "deliver outside of progress and check";
  EXPECT_TRUE(knows(cookie)) << "a packet with a cookie that nobody gave";
  if (!knows(cookie)) return STRIA_DELIVERED_GO_ON;
  auto* from = static_cast<Contact*>(cookie);
  EXPECT_FALSE(from->down) << "a packet after link_down";
  ++from->packets;
  if (packet.keep != 0) {
    EXPECT_NE(table_.keep, nullptr) << "a packet that may stay, of a provider without the group keep";
  }
  const transport::Arrival came = transport::arrival(packet);
  if (came == transport::Arrival::later) {
    --from->packets;
    return STRIA_DELIVERED_LATER;
  }
  if (came == transport::Arrival::never) return STRIA_DELIVERED_GO_ON;  // its sender died; link_down follows
  if (packet.keep != 0 && keeps && keeps(packet)) return STRIA_DELIVERED_GO_ON | STRIA_DELIVERED_KEPT;
  Received got;
  got.header = *packet.header;
  got.placed = (packet.buffered & STRIA_PACKET_PLACED) != 0;
  const auto asked = std::find(placing_.begin(), placing_.end(),
                               std::pair<const void*, std::uint16_t>(cookie, packet.header->sequence));
  EXPECT_EQ(asked != placing_.end(), got.placed) << "placed exactly when there was a place";
  if (asked != placing_.end()) placing_.erase(asked);
  if (got.placed) {
    EXPECT_EQ(packet.payload, nullptr);
  } else {
    const auto* data = static_cast<const std::byte*>(packet.payload);
    got.payload.assign(data, data + packet.bytes);
  }
  got.path = packet.buffered != 0 ? Path::buffered : Path::pio;
  got.from = from;
  received.push_back(got);
  if (on_deliver) on_deliver(got);
  return goes_on ? STRIA_DELIVERED_GO_ON : 0u;
}

void* Peer::peer_up(std::uint64_t worker, stria_link_t* link) {
  EXPECT_TRUE(inside_) << "peer_up outside of progress and check";
  EXPECT_NE(link, nullptr);
  Contact& known = contact(worker);
  if (known.down) {  // a new link to a peer whose last one ended
    ups.erase(worker);
    known = {.worker = worker};
  }
  EXPECT_TRUE(ups.emplace(worker, link).second) << "peer_up twice for one worker";
  EXPECT_EQ(known.packets, 0) << "a packet before peer_up";
  known.named_by_peer_up = true;
  if (on_peer_up) on_peer_up(worker, link);
  return &known;
}

bool Peer::place(void* cookie, const stria_header_t& header, std::uint32_t bytes, stria_payload_t& place) {
  EXPECT_TRUE(inside_) << "place outside of progress and check";
  EXPECT_TRUE(knows(cookie)) << "a payload with a cookie that nobody gave";
  EXPECT_GT(bytes, 0u);
  if (!knows(cookie) || !places) return false;
  EXPECT_FALSE(static_cast<Contact*>(cookie)->down) << "a payload after link_down";
  if (!places(header, bytes, place)) return false;
  placing_.emplace_back(cookie, header.sequence);
  return true;
}

void Peer::link_down(void* cookie, stria_status_t why) {
  EXPECT_TRUE(inside_) << "link_down outside of progress and check";
  EXPECT_LT(why, 0) << "link_down without a reason";
  ASSERT_TRUE(knows(cookie)) << "link_down with a cookie that nobody gave";
  auto* from = static_cast<Contact*>(cookie);
  EXPECT_FALSE(from->down) << "link_down twice";
  from->down = true;
  from->why = transport::from_c(why);
  downs.push_back(from);
}

bool drive(const std::vector<Peer*>& peers, const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (unsigned round = 0; !done(); ++round) {
    unsigned handled = 0;
    for (Peer* peer : peers)
      if (peer->is_open()) handled += peer->progress();
    if (handled > 0) continue;
    if (round % 64 == 63) {
      for (Peer* peer : peers)
        if (peer->is_open()) peer->check();
      if (std::chrono::steady_clock::now() > end) return done();
    }
    // For peers in other processes. Not each time: beside a busy process that costs all of its time slice.
    if (round > 1000 && round % 16 == 0) std::this_thread::yield();
  }
  return true;
}
bool drive(std::initializer_list<Peer*> peers, const std::function<bool()>& done) {
  return drive(std::vector<Peer*>(peers), done);
}

void drive_for(std::initializer_list<Peer*> peers, int rounds) {
  for (int i = 0; i < rounds; ++i)
    for (Peer* peer : peers)
      if (peer->is_open()) peer->progress();
}

Status send(std::initializer_list<Peer*> peers, Peer& from, stria_link_t* link, Path path,
            const stria_header_t& header, const Bytes& data) {
  Status status = Status::no_resource;
  drive(peers, [&] {
    status = from.try_send(link, path, header, data.data(), data.size());
    return status != Status::no_resource;
  });
  return status;
}

Bytes pattern(std::uint64_t seed, std::size_t bytes) {
  Bytes out(bytes);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (std::byte& byte : out) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    byte = static_cast<std::byte>(state >> 32);
  }
  return out;
}

stria_header_t header(std::uint16_t sequence, std::uint64_t tag) {
  stria_header_t made{};
  made.kind = 1;
  made.flags = 0x5a;
  made.sequence = sequence;
  made.immediate = 0xdeadbeefu ^ sequence;
  made.tag = tag;
  return made;
}

stria_payload_t contiguous(void* base, std::size_t bytes) {
  return {nullptr, base, static_cast<std::int64_t>(bytes), 0, static_cast<std::int64_t>(bytes)};
}

}  // namespace stria::contract
