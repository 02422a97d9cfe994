// A device under test with everything that happened to it. Peers of one test are driven by one thread; the
// rules that hold for every upcall are checked as they happen.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "base/status.hpp"
#include "transport/hot_ops.hpp"

namespace stria::contract {

using Bytes = std::vector<std::byte>;

enum class Path { pio, buffered };

/// What a cookie points to: who the packets come from, as the device's owner knows it.
struct Contact {
  std::uint64_t worker = 0;
  bool named_by_peer_up = false;
  bool down = false;
  Status why = Status::ok;  ///< it is down
  int packets = 0;
};

struct Received {
  stria_header_t header{};
  Bytes payload;
  Path path = Path::pio;
  bool placed = false;  ///< the payload is not here, but where `places` said
  Contact* from = nullptr;
};

/// Remembers how a get, put or atomic ended; alive until then.
struct Ending {
  stria_completion_t base{};
  int calls = 0;
  Status status = Status::in_progress;
  Ending();
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
};

class Peer {
 public:
  Peer(const stria_provider_t& table, std::uint64_t worker_id,
       std::string_view secret = "a secret of sixteen", std::uint32_t device = 0);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  void close(int timeout_ms);
  bool is_open() const { return device_ != nullptr; }

  Bytes address() const;
  /// Connects; fails the test when it is refused.
  stria_link_t* connect(const Peer& other, int low_latency = 0);
  /// Connects to address bytes. Null and `error()` when refused.
  stria_link_t* try_connect(const Bytes& address, Contact& contact, stria_status_t& status,
                            int low_latency = 0);
  const std::string& error() const { return error_; }

  unsigned progress(unsigned budget = 64);
  void check();
  /// What engines see: the bits of the table beside the facts.
  stria_capabilities_t capabilities() const;
  bool has(std::uint64_t flags) const { return (capabilities().flags & flags) == flags; }
  stria_link_limits_t limits(stria_link_t* link) const;

  Status try_send(stria_link_t* link, Path path, const stria_header_t& header, const void* data,
                  std::size_t bytes);
  Status try_send(stria_link_t* link, const stria_header_t& header, const stria_payload_t& payload);
  Status try_send_invalidate(stria_link_t* link, const stria_header_t& header, const Bytes& data,
                             const stria_provider_key_t& key);
  /// link null: a key for any link.
  Status fast_register(const stria_payload_t& memory, unsigned access, stria_provider_key_t& key,
                       stria_link_t* link = nullptr);
  Status invalidate(const stria_provider_key_t& key);
  Status get(stria_link_t* link, const stria_payload_t& local, const stria_provider_key_t& key,
             std::uint64_t offset, Ending& ending);
  Status put(stria_link_t* link, const stria_payload_t& local, const stria_provider_key_t& key,
             std::uint64_t offset, Ending& ending);

  Status zcopy_send(stria_link_t* link, const stria_header_t& header, const stria_payload_t& payload,
                    Ending& ending);
  Status atomic(stria_link_t* link, const stria_remote_atomic_t& atomic, const stria_provider_key_t& key,
                Ending& ending);

  const stria_provider_t& table() const { return table_; }
  const transport::HotOps& ops() const { return ops_; }
  stria_device_t* device() const { return device_; }
  std::uint64_t worker_id() const { return worker_id_; }

  std::deque<Received> received;
  std::map<std::uint64_t, stria_link_t*> ups;  ///< links that peer_up announced, by worker
  std::vector<Contact*> downs;                 ///< in the order of link_down
  std::function<void(const Received&)> on_deliver;
  bool goes_on =
      true;  ///< false: no receive waits for another packet (STRIA_DELIVERED_GO_ON is not answered)
  /// Not empty: is asked whether a packet that may stay where it is shall be kept.
  std::function<bool(const stria_packet_t&)> keeps;
  /// Not empty: answers for the sink's `place`.
  std::function<bool(const stria_header_t&, std::uint32_t bytes, stria_payload_t& place)> places;
  std::function<void(std::uint64_t, stria_link_t*)> on_peer_up;

 private:
  std::uint32_t deliver(void* cookie, const stria_packet_t& packet);
  void* peer_up(std::uint64_t worker, stria_link_t* link);
  void link_down(void* cookie, stria_status_t why);
  bool place(void* cookie, const stria_header_t& header, std::uint32_t bytes, stria_payload_t& place);
  bool knows(const void* cookie) const;
  Contact& contact(std::uint64_t worker);

  const stria_provider_t& table_;
  const transport::HotOps ops_;
  std::uint64_t worker_id_;
  Config config_;
  stria_sink_t sink_{};
  stria_device_t* device_ = nullptr;
  std::deque<Contact> contacts_;
  std::vector<const Contact*> foreign_;  // contacts of the test itself
  std::string error_;
  std::vector<std::pair<const void*, std::uint16_t>> placing_;  // cookie and sequence number of a packet
  bool inside_ = false;                                         // progress or check is running
};

/// Progresses all peers in turn, checks them now and then, until `done` or 20 s have passed. Returns done().
bool drive(std::initializer_list<Peer*> peers, const std::function<bool()>& done);
bool drive(const std::vector<Peer*>& peers, const std::function<bool()>& done);
/// Progresses for `rounds` rounds.
void drive_for(std::initializer_list<Peer*> peers, int rounds);

/// Sends, progressing all peers while there is no resource. The last answer.
Status send(std::initializer_list<Peer*> peers, Peer& from, stria_link_t* link, Path path,
            const stria_header_t& header, const Bytes& data);

/// Bytes that depend on the seed and on their position.
Bytes pattern(std::uint64_t seed, std::size_t bytes);
stria_header_t header(std::uint16_t sequence, std::uint64_t tag = 7);
stria_payload_t contiguous(void* base, std::size_t bytes);
inline stria_payload_t contiguous(const Bytes& bytes) {
  return contiguous(const_cast<std::byte*>(bytes.data()), bytes.size());
}

}  // namespace stria::contract
