// Peers: the remote workers that a worker knows. The class has the endpoints and the addresses, connects on
// first use, keeps what each link can do up to date, and looks after peers that have no link, or not the
// window that an endpoint asked for. It neither sends nor receives messages.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/stable_array.hpp"
#include "eager/receive.hpp"
#include "tag/activity.hpp"
#include "tag/address_store.hpp"
#include "tag/devices.hpp"
#include "tag/fail_peer.hpp"
#include "tag/next_provider.hpp"
#include "tag/peer_table.hpp"

namespace stria::tag {

/// Threads: called with the worker's lock held.
class Peers {
 public:
  /// `receiver` hears when the main link of a peer comes up and ends: its grant to the peer begins and ends
  /// then.
  Peers(const Settings& settings, const Devices& devices, Activity& activity, eager::Receiver& receiver,
        const FailPeer& fail) noexcept;

  std::uint32_t size() const noexcept { return table_.size(); }
  Peer& operator[](std::uint32_t index) const noexcept { return table_[index]; }

  // Endpoints.
  Result<Endpoint*> open(Worker& worker, const stria_endpoint_params_t& params);
  void close(Endpoint* endpoint) noexcept;
  void describe(const Endpoint& endpoint, stria_endpoint_state_t& out) const noexcept;

  /// Connects to the peer unless it is up. ok: the peer has a link. Else why not, and stria_last_error() has
  /// the reasons.
  Status connect(Peer& peer) noexcept;
  /// Connects to the peer, as connect() does. in_progress: there is a link, but its provider has not reached
  /// the peer yet.
  Status reach(Peer& peer) noexcept;
  /// A receive or a probe names the peer. If the peer is unconnected, the worker asks from now on whether it
  /// lives.
  void await(Peer& peer) noexcept {
    if (peer.state == Peer::State::unconnected && peer.address != nullptr) set_awaited(peer, true);
  }
  /// Whether the peer is the worker itself, and messages to it are copied at once.
  bool is_own(const Peer& peer) const noexcept {
    return settings_.copies_own && peer.worker_id == activity_.worker_id();
  }

  // Links that come in, and what providers say of links.
  /// A remote worker connected: returns its peer. When that peer has failed, or has the index kNobody, its
  /// packets are dropped.
  Peer& joined(const Device& device, std::uint64_t worker_id, stria_link_t* link) noexcept;
  /// Asks the provider what the peer's main link can do now, and stores that. No effect on a peer that is not
  /// up.
  stria_link_limits_t renew_limits(Peer& peer) noexcept;

  /// Marks the peer as failed, for Worker::fail_peer(). False: it had failed already.
  bool leave(Peer& peer) noexcept;
  // A link that goes down because its peer cannot be reached (refused_link.cpp).
  /// Marks the peer as failed while what was under way ends. False, and nothing changed: a message went by
  /// the link, so the peer is lost; or the peer came by itself, and there is no other way to it.
  bool refuse(Peer& peer) noexcept;
  /// After refuse(): connects by the providers behind the one that had the link. False: none of them can.
  bool reach_by_others(Peer& peer) noexcept;
  /// Awaits the peer, as await() does, after an attempt to connect to it that just failed.
  void await_unmet(Peer& peer) noexcept;
  /// Has the next connect() answer that the peer cannot be reached, as no operation waited that could be
  /// told.
  void report_refusal(Peer& peer) noexcept;
  /// The peer of that worker id, if it is up by a link of another device than this one, and that link has not
  /// reached the peer yet; else null.
  Peer* coming_by_other(const Device& device, std::uint64_t worker_id) noexcept;
  /// No send goes by the short way of stria_send() any more.
  void stop_inline() noexcept;

  // Looking after peers (peer_care.cpp).
  /// Connects once more, so that the peer's provider hears that an endpoint wants a window.
  void ask_for_window(Peer& peer) noexcept;
  /// Asks for some windows again, and connects to peers that are awaited. False: some awaited peers are left,
  /// and the next call is to come soon.
  bool look_after() noexcept;

  /// Links whose best path was refused from the start.
  std::uint64_t fallbacks() const noexcept { return fallbacks_; }

 private:
  /// Connects to the peer by the first device that accepts, from the number `first` on.
  Result<void> connect_new(Peer& peer, std::size_t first = 0);
  static bool is_lost(const Peer& peer) noexcept;
  void link_up(Peer& peer, const Device& device, stria_link_t* link) noexcept;
  [[gnu::cold, gnu::noinline]] void lose(Peer& peer, std::string_view why) noexcept;
  void set_awaited(Peer& peer, bool awaited) noexcept;
  bool meet_awaited() noexcept;
  void want_window(Peer& peer, bool wanted) noexcept;
  void ask_for_windows_again() noexcept;
  bool is_coming(Peer& peer) noexcept;  // the peer is up by a link that has not reached it yet
  stria_status_t ask(const Device& device, Peer& peer, stria_link_t*& link, std::span<char> error) noexcept;

  const Settings& settings_;
  const Devices& devices_;
  Activity& activity_;
  eager::Receiver& receiver_;
  const FailPeer fail_;

  PeerTable table_;
  AddressStore addresses_;
  std::unordered_map<std::uint32_t, std::string>
      why_lost_;                               // by peer index: why the peer failed while it had no link
  std::unordered_set<std::uint32_t> coming_;   // by peer index: its link had not reached it when last asked
  std::unordered_set<std::uint32_t> refused_;  // by peer index: report_refusal()
  NextProvider next_provider_;
  StableArray<Endpoint, 4> endpoints_;
  Endpoint* free_endpoint_ = nullptr;
  Peer nobody_;  // given up from the start: stands for peers that there was no memory for
  std::uint64_t fallbacks_ = 0;
  std::uint32_t wishes_ = 0;        // peers whose window_wanted is set
  std::uint32_t next_wish_ = 0;     // index of the peer from which on windows are asked for again
  std::uint32_t awaited_ = 0;       // peers whose awaited is set
  std::uint32_t next_awaited_ = 0;  // index of the peer from which on meet_awaited() goes on
  unsigned meetings_ = 0;           // rounds of meet_awaited() through all peers
};

}  // namespace stria::tag
