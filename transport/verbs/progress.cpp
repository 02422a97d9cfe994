// What a device does when its worker makes progress: news of connections, completions of what it posted,
// packets, credits, and links that end.
#include <sys/epoll.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/format.hpp"
#include "transport/verbs/device.hpp"

namespace stria::verbs {
namespace {

// A queue pair in error is flushed at once. Where not everything is told of (siw), gets and puts are waited
// for longer, as memory of the application is in the adapter's hands.
constexpr std::uint64_t kFlushMs = 20, kFlushMovesMs = 2000;

Status status_of(ibv_wc_status status) noexcept {
  return status == IBV_WC_REM_ACCESS_ERR ? Status::access_error : Status::peer_failed;
}

}  // namespace

std::uint64_t now_ms() noexcept {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

void Device::reap() noexcept {
  if (reaping_) return;  // a completion makes room, and asks for it
  reaping_ = true;
  ibv_wc done[16];
  for (int n = 16; n == 16;) {
    n = ::ibv_poll_cq(adapter_->send_cq, 16, done);
    for (int i = 0; i < n; ++i) {
      Link* const link = links_->by_number(done[i].wr_id >> 40);
      if (link == nullptr || link->number().generation != static_cast<std::uint8_t>(done[i].wr_id >> 32))
        continue;
      // Flushed: what broke the queue pair was told before, or the peer took its leave.
      if (done[i].status == IBV_WC_WR_FLUSH_ERR)
        fail(*link, Status::peer_failed, "");
      else if (done[i].status != IBV_WC_SUCCESS)
        fail(*link, status_of(done[i].status),
             fmt::format("{} (vendor error {:#x})", ::ibv_wc_status_str(done[i].status), done[i].vendor_err));
      link->complete(static_cast<std::uint32_t>(done[i].wr_id), done[i].status);
    }
  }
  reaping_ = false;
}

void Device::fail(Link& link, Status why, const std::string& text) noexcept {
  if (link.dying) return;
  link.dying = true;
  link.why = why == Status::access_error ? Status::peer_failed : why;
  link.dying_since_ms = now_ms();
  dying_.push_back(&link);
  if (!text.empty())
    services_->log(3,
                   fmt::format("verbs: the link to worker {:#x} is broken: {}", link.worker(), text).c_str());
  if (!link.broken) connector_->disconnect(*link.connection());
  // One that has no connection yet hears from the connector what becomes of it.
  if (Link* const other = link.other_end(); other != nullptr && other->is_attached()) fail(*other, why, "");
}

Move* Device::take_move() noexcept try {
  constexpr std::size_t kBlock = 32;
  if (free_moves_.empty()) {
    move_blocks_.push_back(std::make_unique<Move[]>(kBlock));
    for (std::size_t i = 0; i < kBlock; ++i) free_moves_.push_back(&move_blocks_.back()[i]);
  }
  return free_moves_.pop_front();
} catch (const std::bad_alloc&) {
  return nullptr;
}

unsigned Device::progress(unsigned budget) noexcept {
  if (armed_) disarm();
  unsigned handled = take_news(budget);
  reap();
  if (!stalled_.empty()) {
    IntrusiveList<Move> again;  // one that still finds no room stalls anew
    while (Move* move = stalled_.pop_front()) again.push_back(move);
    while (Move* move = again.pop_front()) move->link->resume(*move);
  }
  if (!ended_.empty()) handled += end_moves(budget - handled);
  handled += receive(budget - handled);
  if (!credits_due_.empty()) return_credits();
  if (!dying_.empty()) handled += bury(budget - handled);
  return handled;
}

unsigned Device::end_moves(unsigned budget) noexcept {
  unsigned handled = 0;
  for (; !ended_.empty() && handled < budget; ++handled) {
    Move* const move = ended_.pop_front();
    transport::Completion* const completion = move->completion;
    const Status status = move->status;
    give_move(*move);
    completion->done(completion, transport::to_c(status));
  }
  return handled;
}

unsigned Device::take_news(unsigned budget) noexcept {
  unsigned handled = 0;
  if (news_next_ == news_.size()) {
    news_.clear();
    news_next_ = 0;
    if (!connector_->take_news(news_)) return 0;
  }
  for (; news_next_ < news_.size() && handled < budget; ++handled) take(news_[news_next_++]);
  return handled;
}

void Device::take(const News& news) noexcept {
  switch (news.what) {
    case News::What::up:
      take_up(*news.connection);
      break;
    case News::What::broken:
      if (Link* const link = news.connection->link) {
        link->broken = true;
        fail(*link, Status::peer_failed, "");
      }
      break;
    case News::What::failed:
      take_failed(news.worker, news.error);
      break;
  }
}

/// Gives a connection to the link that waits for one to that worker, or to one that is made for it now.
void Device::take_up(Connection& connection) noexcept {
  Link* const known = links_->to_worker(connection.worker);
  const bool is_echo = connection.worker == worker_id_ && !connection.asked;
  const bool is_due = is_echo ? known != nullptr && !known->dying && known->other_end() == nullptr
                              : known == nullptr || (!known->dying && !known->is_attached());
  if (!is_due) {  // the end that it belongs to is gone
    connector_->dispose(connection);
    return;
  }
  Link* made = nullptr;
  try {
    if (is_echo)
      made = &links_->add_echo(*this, *known);
    else if (known == nullptr)
      made = &links_->add(*this, connection.worker);
    links_->attach(made != nullptr ? *made : *known, connection);
  } catch (const std::bad_alloc&) {
    if (made != nullptr) links_->remove(*made);
    connector_->dispose(connection);
    take_failed(connection.worker, {Status::io_error, "out of memory for its connection"});
    return;
  }
  if (is_echo) return;
  Link& link = *connection.link;
  if (link.has_to_greet()) link.greet();
  if (made != nullptr) {
    link.announced = true;
    link.cookie = sink_->peer_up(sink_->self, link.worker(), reinterpret_cast<stria_link_t*>(&link));
  } else if (connection.peer.eager_bytes < settings_.eager_bytes) {
    sink_->link_changed(sink_->self, link.cookie);
  }
}

/// No connection comes for the link that waits for one.
void Device::take_failed(std::uint64_t worker, const Error& error) noexcept {
  Link* const link = links_->to_worker(worker);
  if (link == nullptr || link->is_attached() || link->dying) return;
  // That a peer closed is nothing unusual.
  services_->log(error.status == Status::peer_failed ? 2 : 3,
                 fmt::format("verbs: no connection to worker {:#x}: {}", worker, error.context).c_str());
  link->dying = link->broken = true;  // there is nothing to be flushed
  link->why = error.status;
  dying_.push_back(link);
  if (Link* const other = link->other_end()) fail(*other, Status::peer_failed, "");
}

/// The link that a completion of the receive queue belongs to; null: it is gone.
Link* Device::link_of(const ibv_wc& completion) noexcept {
  if (completion.status == IBV_WC_SUCCESS && completion.byte_len >= sizeof(Prefix)) {
    Prefix prefix;
    std::memcpy(&prefix, reinterpret_cast<ReceiveBuffer*>(completion.wr_id)->packet(), sizeof prefix);
    Link* const link = links_->by_number(prefix.link);
    if (link != nullptr && link->queue_pair_number() == completion.qp_num) [[likely]]
      return link;
  }
  Link* const link = links_->by_queue_pair(completion.qp_num);
  if (link != nullptr || (news_next_ == news_.size() && !connector_->has_news())) return link;
  // A peer's first packet may come before the news of its connection was taken.
  static_cast<void>(take_news(~0u));
  return links_->by_queue_pair(completion.qp_num);
}

unsigned Device::receive(unsigned budget) noexcept {
  unsigned handled = 0;
  while (handled < budget) {
    if (batch_next_ == batch_end_) {
      post_again();
      const int n = ::ibv_poll_cq(adapter_->recv_cq, ReceiveBuffers::kBatch, batch_);
      batch_next_ = 0;
      batch_end_ = n > 0 ? static_cast<unsigned>(n) : 0;
      drained_ = batch_end_ == 0;
      if (drained_) break;
    }
    const ibv_wc completion = batch_[batch_next_];
    batch_[batch_next_++].invalidated_rkey = 0;  // libraries write it only where there is one
    receive_one(completion);
    ++handled;
  }
  post_again();
  return handled;
}

void Device::receive_one(const ibv_wc& completion) noexcept {
  auto* const buffer = reinterpret_cast<ReceiveBuffer*>(completion.wr_id);
  Link* const link = link_of(completion);
  Link*& whose = used_by_[used_count_];
  used_[used_count_] = buffer;
  whose = nullptr;
  ++used_count_;
  if (link == nullptr) return;
  if (completion.status != IBV_WC_SUCCESS) {
    fail(*link, status_of(completion.status),
         fmt::format("receiving: {} (vendor error {:#x})", ::ibv_wc_status_str(completion.status),
                     completion.vendor_err));
    return;
  }
  const std::byte* const packet = buffer->packet();
  Prefix prefix{};
  if (completion.byte_len >= sizeof prefix) std::memcpy(&prefix, packet, sizeof prefix);
  const bool is_data = prefix.kind == PacketKind::pio || prefix.kind == PacketKind::buffered ||
                       prefix.kind == PacketKind::closing;
  const bool is_known = is_data || prefix.kind == PacketKind::greeting || prefix.kind == PacketKind::credit;
  if (!is_known || completion.byte_len < (is_data ? kHeadBytes : sizeof prefix) || !link->take(prefix)) {
    fail(*link, Status::io_error,
         fmt::format("the peer sent a packet that breaks the protocol (kind {}, {} bytes, {} credits)",
                     static_cast<unsigned>(prefix.kind), completion.byte_len, prefix.credits));
    return;
  }
  if (!is_data) {
    // Its buffer is outside of the credits; ours may flow again now.
    if (link->wants_to_return()) credits_due_.push_back(link);
    return;
  }
  whose = link;
  if (prefix.kind == PacketKind::closing) {
    // The flag of an ended key is not to be trusted (rxe sets another bit); the key is, unless the word is
    // immediate data, which the peer makes up.
    const bool is_key = (completion.wc_flags & IBV_WC_WITH_IMM) == 0;
    Window* const window = is_key ? keys_.find(completion.invalidated_rkey) : nullptr;
    if (window != nullptr && window->posted && window->link == link) {
      keys_.free(*window);
      ++counters_.closed_by_peer;
    }
  }
  deliver(*link, prefix, packet, completion.byte_len);
}

void Device::deliver(Link& link, const Prefix& prefix, const std::byte* packet,
                     std::uint32_t bytes) noexcept {
  const Link& known = link.origin != nullptr ? *link.origin : link;
  stria_header_t header;
  std::memcpy(&header, packet + sizeof prefix, sizeof header);
  const transport::Packet arrived{&header, packet + kHeadBytes, bytes - kHeadBytes,
                                  prefix.kind == PacketKind::buffered ? 1u : 0u, 0};
  sink_->deliver(sink_->self, known.cookie, &arrived);
}

/// What was used is posted first and counted as credit then: nobody is promised a buffer that is not there.
void Device::post_again() noexcept {
  if (used_count_ == 0) return;
  const unsigned count = used_count_;
  used_count_ = 0;
  if (!receives_->post(used_, count)) {
    services_->log(4, "verbs: ibv_post_srq_recv failed; buffers are lost");
    return;
  }
  for (unsigned i = 0; i < count; ++i)
    if (used_by_[i] != nullptr && used_by_[i]->give_back()) credits_due_.push_back(used_by_[i]);
}

void Device::return_credits() noexcept {
  std::erase_if(credits_due_, [](Link* link) { return link->return_credits(); });
}

/// Links that end: when all that was under way has been flushed, and all that came has been delivered.
unsigned Device::bury(unsigned budget) noexcept {
  unsigned handled = 0;
  if (!drained_ || batch_next_ != batch_end_) return 0;
  for (std::size_t i = 0; i < dying_.size() && handled < budget;) {
    Link& link = *dying_[i];
    if (link.broken) link.flush();
    const bool late = now_ms() - link.dying_since_ms > (link.has_moves() ? kFlushMovesMs : kFlushMs);
    bool moves = false;
    for (Move* move = stalled_.front(); move != nullptr && !moves; move = stalled_.next(move))
      moves = move->link == &link;
    // Packets of a connection to ourselves come out of the other end, which names this one.
    const bool has_to_wait = link.origin == nullptr && link.other_end() != nullptr;
    if (!link.broken || (!link.idle() && !late) || moves || has_to_wait) {
      ++i;
      continue;
    }
    dying_.erase(dying_.begin() + static_cast<std::ptrdiff_t>(i));
    link.abandon();
    end_windows_of(link);
    while (!ended_.empty()) handled += end_moves(1);  // link_down is last
    std::erase(credits_due_, &link);
    const bool is_told = link.announced;
    const std::unique_ptr<Link> gone = links_->remove(link);
    if (link.is_attached()) connector_->dispose(*link.connection());
    if (is_told) sink_->link_down(sink_->self, link.cookie, transport::to_c(link.why));
    ++handled;
  }
  return std::min(handled, budget);
}

void Device::disarm() noexcept {
  armed_ = false;
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  while (::ibv_get_cq_event(adapter_->completions, &cq, &context) == 0) ::ibv_ack_cq_events(cq, 1);
  connector_->silence();
}

Status Device::arm() noexcept {
  disarm();
  if (news_next_ < news_.size() || connector_->has_news() || !dying_.empty() || !ended_.empty() ||
      !stalled_.empty() || batch_next_ != batch_end_ || !credits_due_.empty())
    return Status::no_resource;
  // What completes of our own is of interest only when somebody waits for it.
  if (moves_under_way > 0 && ::ibv_req_notify_cq(adapter_->send_cq, 0) != 0) return Status::unsupported;
  if (::ibv_req_notify_cq(adapter_->recv_cq, 0) != 0) return Status::unsupported;
  armed_ = true;
  // What came before the request rings no bell.
  reap();
  const int n = ::ibv_poll_cq(adapter_->recv_cq, ReceiveBuffers::kBatch, batch_);
  batch_next_ = 0;
  batch_end_ = n > 0 ? static_cast<unsigned>(n) : 0;
  return batch_end_ == 0 && ended_.empty() && dying_.empty() && stalled_.empty() ? Status::ok
                                                                                 : Status::no_resource;
}

/// A peer whose host is gone says nothing: it is asked something that its adapter has to answer.
void Device::check() noexcept {
  const std::uint64_t now = now_ms();
  reap();
  for (const auto& link : links_->all()) {
    if (!link->announced) continue;
    link->greet_again(now);
    if (!link->probe(now))
      fail(*link, Status::peer_failed, fmt::format("no answer for {} ms", longest_silence_ms()));
  }
  static_cast<void>(take_news(~0u));
  while (receive(~0u) > 0) {
  }
  if (!ended_.empty()) static_cast<void>(end_moves(~0u));
  if (!dying_.empty()) static_cast<void>(bury(~0u));
}

}  // namespace stria::verbs
