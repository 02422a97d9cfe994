#include "transport/verbs/send_queue.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "base/format.hpp"
#include "transport/verbs/clock.hpp"
#include "transport/verbs/completions.hpp"
#include "transport/verbs/ends.hpp"
#include "transport/verbs/link.hpp"
#include "transport/verbs/moves.hpp"

namespace stria::verbs {

void SendQueue::use(ibv_qp* queue_pair, LinkNumber number) noexcept {
  const Adapter& adapter = *shared_.adapter;
  number_ = number;
  poster_.use(queue_pair, adapter.builder, adapter.strided ? &*adapter.strided : nullptr, shared_.counters);
}

bool SendQueue::has_room(unsigned requests) noexcept {
  if (has_room_now(requests)) [[likely]]
    return true;
  shared_.completions->reap();
  return has_room_now(requests);
}

/// Builds the requests that bind the chosen windows, and fill the chosen strided keys. Returns how many.
unsigned SendQueue::build_binds(ibv_send_wr* out) noexcept {
  unsigned strided = 0;
  const unsigned count = chosen_count_;
  for (unsigned i = 0; i < count; ++i) {
    Window& window = *chosen_[i];
    ibv_send_wr& request = out[i];
    request = {};
    window.posted = true;
    if (window.strided != nullptr) {
      request.opcode = Poster::kFill;
      ++strided;
      continue;
    }
    request.opcode = IBV_WR_BIND_MW;
    request.bind_mw.mw = window.mw;
    request.bind_mw.rkey = window.rkey;
    const bool zero_based = is_from_zero(window.rights, shared_.adapter->traits.zero_based);
    const unsigned rights = window.rights | (zero_based ? unsigned{IBV_ACCESS_ZERO_BASED} : 0u);
    request.bind_mw.bind_info = {window.region->mr, window.span.begin, window.span.bytes, rights};
  }
  shared_.counters.windows_bound += count;
  shared_.counters.strided_keys += strided;
  chosen_count_ = 0;
  binds_wait_ = false;
  return count;
}

Status SendQueue::post(ibv_send_wr* requests, const Entry* entries, unsigned count, bool signal) noexcept {
  STRIA_ASSERT(poster_.queue_pair() != nullptr, "a request on a link without connection");
  ibv_send_wr together[kMostChosen + kMostChain];
  unsigned binds = 0;
  const bool acknowledges_all = shared_.adapter->traits.repeats_binds;
  if (chosen_count_ > 0 && (!acknowledges_all || is_idle())) {
    binds = build_binds(together);
    if (count > 0) std::memcpy(&together[binds], requests, count * sizeof *requests);
    requests = together;
  }
  const unsigned all = binds + count;
  for (unsigned i = 0; i < all; ++i) {
    requests[i].wr_id = Completions::request_id(number_, head_ + i);
    Entry& entry = ring_[(head_ + i) & kMask];
    entry = i < binds ? Entry{} : entries[i - binds];
    if (entry.doing == Entry::Doing::move) ++moves_;
  }
  unsignalled_ += all;
  if (shared_.can.completes_singly) {
    for (unsigned i = 0; i < all; ++i) requests[i].send_flags |= IBV_SEND_SIGNALED;
    unsignalled_ = 0;
  } else if (signal || acknowledges_all || unsignalled_ >= kSendDepth / 4) {
    requests[all - 1].send_flags |= IBV_SEND_SIGNALED;
    unsignalled_ = 0;
  }
  head_ += all;
  const int error = poster_.post(requests, all, chosen_.data());
  for (unsigned i = 0; i < binds; ++i) {
    if (requests[i].opcode == Poster::kFill) continue;
    // The library writes the new rkey into the ibv_mw only for windows that it binds itself.
    ibv_mw* const mw = requests[i].bind_mw.mw;
    mw->rkey = requests[i].bind_mw.rkey;
  }
  if (error == 0) [[likely]]
    return Status::ok;
  // The refused requests stay in the ring. The completion of a request that is flushed behind them will say
  // that they succeeded, so their moves fail here.
  for (unsigned i = 0; i < count; ++i)
    if (entries[i].move != nullptr) entries[i].move->status = Status::peer_failed;
  shared_.ends->fail(link_, Status::io_error,
                     fmt::format("posting a work request: {}", std::strerror(error)));
  return Status::peer_failed;
}

Status SendQueue::post_nothing() noexcept {
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_WRITE;
  const Entry entry{};
  return post(&request, &entry, 1, true);
}

// ---- completions -----------------------------------------------------------------------------------------

void SendQueue::complete(std::uint32_t sequence, ibv_wc_status status) noexcept {
  // A sequence number that is not under way can only come from an earlier link with this link number.
  if (sequence - tail_ >= head_ - tail_) return;
  if (shared_.can.completes_singly) {
    Entry& entry = ring_[sequence & kMask];
    if (entry.done) return;
    entry.done = true;
    const Entry ended = entry;
    while (tail_ != head_ && ring_[tail_ & kMask].done) ++tail_;
    end(ended, status);
    return;
  }
  while (tail_ != sequence + 1) {
    const Entry entry = ring_[tail_ & kMask];
    const ibv_wc_status how = tail_ == sequence ? status : IBV_WC_SUCCESS;
    ++tail_;
    end(entry, how);
  }
}

/// Does what the entry of a completed request says.
void SendQueue::end(const Entry& entry, ibv_wc_status status) noexcept {
  if (entry.doing == Entry::Doing::slot) shared_.slots.give(entry.slot);
  if (entry.doing != Entry::Doing::move) return;
  --moves_;
  shared_.moves->piece_done(*entry.move, status);
}

bool SendQueue::settle() noexcept {
  if (is_idle()) return true;
  if (unsignalled_ > 0 && has_room(1)) static_cast<void>(post_nothing());
  return false;
}

void SendQueue::flush() noexcept {
  if (flushed_ || is_idle()) return;
  chosen_count_ = 0;
  if (!has_room(1)) return;
  flushed_ = true;
  if (post_nothing() == Status::ok) return;
  // siw refuses requests on a queue pair in error, and had flushed all others when the queue pair got there.
  shared_.completions->reap();
  abandon();
}

void SendQueue::abandon() noexcept {
  while (!is_idle()) complete(tail_, IBV_WC_WR_FLUSH_ERR);
}

/// Polls for completions until done(), or until the link ends because that takes too long.
template <class Done>
void SendQueue::await(Done done) noexcept {
  constexpr unsigned kSpins = 64;
  std::uint64_t until = 0;
  for (unsigned spins = 0; !link_.dying && !done(); ++spins) {
    shared_.completions->reap();
    if (spins < kSpins) continue;
    const std::uint64_t now = now_ms();
    if (until == 0) until = now + shared_.can.longest_silence_ms;
    if (now > until)
      shared_.ends->fail(link_, Status::peer_failed, "the adapter does not complete an invalidation");
    ::sched_yield();
  }
}

void SendQueue::await_room() noexcept {
  await([this] { return has_room(1); });
}

void SendQueue::await_posted() noexcept {
  const std::uint32_t last = head_;
  await([&] { return static_cast<std::int32_t>(last - tail_) <= 0; });
}

// ---- windows ---------------------------------------------------------------------------------------------

void SendQueue::choose(Window& window) noexcept {
  chosen_[chosen_count_++] = &window;
  windows_.push_back(&window);
}

bool SendQueue::withdraw(Window& window) noexcept {
  const auto end = chosen_.begin() + chosen_count_;
  const auto at = std::find(chosen_.begin(), end, &window);
  if (at == end) return false;
  std::move(at + 1, end, at);
  --chosen_count_;
  binds_wait_ = binds_wait_ && chosen_count_ > 0;
  return true;
}

/// rxe executes a bind again when a request before it was lost, finds the window bound, and then neither
/// sends anything more nor reports an error. So with rxe binds are posted only when nothing is under way,
/// together with the packet that follows them.
bool SendQueue::binds_have_to_wait() noexcept {
  if (chosen_count_ == 0 || !shared_.adapter->traits.repeats_binds) return false;
  binds_wait_ = true;
  if (!is_idle()) shared_.completions->reap();
  binds_wait_ = !is_idle();
  return binds_wait_;
}

}  // namespace stria::verbs
