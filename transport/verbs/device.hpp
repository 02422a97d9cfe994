// A worker's device: it owns the adapter's queues, the pools, the keys and the links, and moves completions.
//
// Threads: all of it is the worker's but the connector, which has its own (connector.hpp). What both touch is
// the pool of receive buffers, to which only the connector adds, and each connection, which has one owner at
// a time (connection.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "transport/contract.hpp"
#include "transport/verbs/adapter.hpp"
#include "transport/verbs/buffers.hpp"
#include "transport/verbs/connector.hpp"
#include "transport/verbs/keys.hpp"
#include "transport/verbs/link.hpp"
#include "transport/verbs/links.hpp"
#include "transport/verbs/regions.hpp"
#include "transport/verbs/settings.hpp"

namespace stria::verbs {

/// The longest payload that is gathered on the stack and travels inside the work request.
inline constexpr std::uint32_t kMostShort = 512;

/// Of a clock that never goes back.
std::uint64_t now_ms() noexcept;

class Device {
 public:
  // The contract.
  static Result<std::unique_ptr<Device>> open(const transport::DeviceParams& params);
  /// On an adapter that the caller made, and without connections coming or going by themselves: for tests
  /// with a stand-in.
  static Result<std::unique_ptr<Device>> open_on(std::unique_ptr<Adapter> adapter,
                                                 const transport::DeviceParams& params);
  void close(int timeout_ms) noexcept;
  void capabilities(transport::Capabilities& out) noexcept;
  std::uint32_t address(void* buffer, std::uint32_t bytes) noexcept;
  Result<Link*> connect(const void* address, std::uint32_t bytes, void* peer, int low_latency);
  void check() noexcept;
  int event_fd() noexcept { return events_.get(); }
  Status arm() noexcept;
  Status fast_register(Link* link, const transport::Payload& memory, unsigned access,
                       transport::Key& key) noexcept;
  Status invalidate(const transport::Key& key) noexcept;
  unsigned progress(unsigned budget) noexcept;
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // For links.
  const Adapter& adapter() const noexcept { return *adapter_; }
  const Settings& settings() const noexcept { return settings_; }
  const stria_services_t& services() const noexcept { return *services_; }
  Counters& counters() noexcept { return counters_; }
  SendSlots& slots() noexcept { return slots_; }
  SendSlots& words() noexcept { return words_; }
  Regions& regions() noexcept { return regions_; }
  std::uint32_t pio_max() const noexcept { return pio_max_; }
  std::uint32_t pio_mtu() const noexcept {
    return pio_max_ + static_cast<std::uint32_t>(sizeof(transport::Header));
  }
  /// The adapter's repetitions, generously, for one that has no end of them (rxe without its interface).
  std::uint64_t longest_silence_ms() const noexcept {
    constexpr std::uint64_t kTimes = std::uint64_t{2} * 7;
    return 2000 + kTimes * ((std::uint64_t{4096} << settings_.ack_timeout) / 1000000);
  }
  /// With iWARP a message completes before a read that was posted earlier: each request asks for a completion
  /// of its own, which says nothing of others.
  bool completes_singly() const noexcept { return adapter_->traits.iwarp; }
  /// With iWARP a write is complete when it left, which says nothing of the peer's memory.
  bool can_put() const noexcept { return !adapter_->traits.iwarp; }
  bool has_atomics() const noexcept { return adapter_->traits.atomics; }
  bool sends_invalidate() const noexcept { return sends_invalidate_; }
  static std::uint64_t request_id(LinkNumber link, std::uint32_t sequence) noexcept {
    return std::uint64_t{link.number} << 40 | std::uint64_t{link.generation} << 32 | sequence;
  }
  /// What links say of their path; of all the same.
  const char* path() const noexcept { return path_.c_str(); }
  /// Takes completions of what we posted; makes no upcall, so that any call may do it.
  void reap() noexcept;
  /// The link is of no use any more: everything under way on it ends.
  [[gnu::cold]] void fail(Link& link, Status why, const std::string& text) noexcept;
  Move* take_move() noexcept;
  void give_move(Move& move) noexcept { free_moves_.push_back(&move); }
  void end_move(Move& move) noexcept { ended_.push_back(&move); }
  void stall(Move& move) noexcept { stalled_.push_back(&move); }
  std::uint32_t moves_under_way = 0;

  // For tests with a stand-in.
  Links& links() noexcept { return *links_; }
  ReceiveBuffers& receives() noexcept { return *receives_; }
  Connector& connector() noexcept { return *connector_; }
  std::uint32_t valid_keys() const noexcept { return keys_.valid(); }

 private:
  explicit Device(const transport::DeviceParams& params);
  bool describe(const transport::Payload& memory, Blocks& out, Span& span) const noexcept;
  Status register_strided(Link& link, const transport::Payload& memory, unsigned access,
                          transport::Key& key) noexcept;
  Status hand_out(Link& owner, Window& window, const Blocks& memory, transport::Key& key) noexcept;
  Result<void> start(const transport::DeviceParams& params);
  Result<void> prepare(std::unique_ptr<Adapter> adapter, const transport::DeviceParams& params);
  void tell_limits() const noexcept;
  void tell_counts() const noexcept;
  void disarm() noexcept;
  unsigned take_news(unsigned budget) noexcept;
  void take(const News& news) noexcept;
  void take_up(Connection& connection) noexcept;
  void take_failed(std::uint64_t worker, const Error& error) noexcept;
  unsigned end_moves(unsigned budget) noexcept;
  unsigned receive(unsigned budget) noexcept;
  void receive_one(const ibv_wc& completion) noexcept;
  Link* link_of(const ibv_wc& completion) noexcept;
  void deliver(Link& link, const Prefix& prefix, const std::byte* packet, std::uint32_t bytes) noexcept;
  void post_again() noexcept;
  void return_credits() noexcept;
  unsigned bury(unsigned budget) noexcept;
  void end_windows_of(Link& link) noexcept;

  const transport::Sink* sink_;
  const stria_services_t* services_;
  const std::uint64_t worker_id_;
  Settings settings_;
  Counters counters_;
  std::unique_ptr<Adapter> adapter_;
  std::unique_ptr<ReceiveBuffers> receives_;
  SendSlots slots_;
  SendSlots words_;  // where atomics leave what a word was
  Regions regions_;
  Keys keys_;
  std::uint32_t pio_max_ = 0;
  bool sends_invalidate_ = false;
  UniqueFd events_;  // epoll: completions, news

  std::string path_;
  std::unique_ptr<Links> links_;

  ibv_wc batch_[ReceiveBuffers::kBatch]{};
  unsigned batch_next_ = 0, batch_end_ = 0;
  ReceiveBuffer* used_[ReceiveBuffers::kBatch];  // to be posted again,
  Link* used_by_[ReceiveBuffers::kBatch];        // and whose credits they are; null: nobody's
  unsigned used_count_ = 0;
  bool drained_ = false;  // the last look at the receive queue found nothing
  std::vector<Link*> credits_due_;
  std::vector<Link*> dying_;
  std::vector<News> news_;
  std::size_t news_next_ = 0;
  std::vector<std::unique_ptr<Move[]>> move_blocks_;
  IntrusiveList<Move> free_moves_;
  IntrusiveList<Move> ended_;
  IntrusiveList<Move> stalled_;
  bool reaping_ = false;
  bool armed_ = false;
  bool closed_ = false;
  std::unique_ptr<Connector> connector_;
};

}  // namespace stria::verbs
