#include "transport/uct/ends.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/format.hpp"
#include "transport/uct/clock.hpp"
#include "transport/uct/keys.hpp"
#include "transport/uct/moves.hpp"
#include "transport/uct/operations.hpp"

namespace stria::uct {
namespace {

// How long an endpoint may take to send what it holds; and, together with kPatienceCalls, how long a dying
// link waits for the rest of its messages while the network is busy.
constexpr std::uint64_t kPatienceMs = 200;
// Calls of bury() that a dying link waits at least. The time alone is not enough: a worker that computes
// calls rarely, and it may take many calls to deliver what arrived by the link.
constexpr std::uint64_t kPatienceCalls = 4096;

}  // namespace

void Ends::fail(Link& link, Status why, std::string_view text) noexcept {
  if (link.dying) return;
  link.dying = true;
  link.why = why;
  link.dying_since_ms = now_ms();
  dying_.push_back({&link, calls_});
  shared_.notify();
  if (!text.empty())
    shared_.services->log(
        2, fmt::format("uct: the link to worker {:#x} by {} ends: {}", link.peer().worker, shared_.path, text)
               .c_str());
}

void Ends::reserve(std::size_t links) {
  dying_.reserve(links);
  endpoints_.reserve(links + endpoints_.size());
  retired_.reserve(links + retired_.size());
}

bool Ends::may_go(const Dying& one, bool all_came) const noexcept {
  const Link& link = *one.link;
  const bool late = calls_ - one.since_call > kPatienceCalls && now_ms() - link.dying_since_ms > kPatienceMs;
  return late || (all_came && (link.broken || (link.owed & Link::kParted) == 0));
}

unsigned Ends::bury(bool all_came, unsigned budget) noexcept {
  unsigned handled = 0;
  ++calls_;
  for (std::size_t i = 0; i < dying_.size() && handled < budget;) {
    if (!may_go(dying_[i], all_came)) {
      ++i;
      continue;
    }
    take_down(*dying_[i].link);
    ++handled;
  }
  destroy_flushed();
  return handled;
}

/// Cancels the operations of a link before its endpoint is destroyed. Without this UCX complains that an
/// endpoint is destroyed with operations under way. Done on transports with keys only.
void Ends::cancel(Link& link) noexcept {
  constexpr unsigned kCalls = 4096;
  if (!shared_.limits.keys || uct_ep_flush(link.endpoint, UCT_FLUSH_FLAG_CANCEL, nullptr) != UCS_INPROGRESS)
    return;
  const bool inside = std::exchange(shared_.inside_ucx, true);
  for (unsigned i = 0; i < kCalls && !link.operations.empty(); ++i) {
    shared_.interface->progress();
    if (i % 64 == 63) std::this_thread::yield();
  }
  shared_.inside_ucx = inside;
}

void Ends::take_down(Link& link) noexcept {
  std::erase_if(dying_, [&](const Dying& one) { return one.link == &link; });
  std::erase(shared_.owing, &link);
  shared_.moves->drop(link);
  if (!link.operations.empty()) {  // UCX may use their memory until the endpoint is destroyed
    cancel(link);
    uct_ep_destroy(std::exchange(link.endpoint, nullptr));
  }
  shared_.operations->abandon(link);
  shared_.keys->end_all_of(link);
  link.ask.reset();
  std::unique_ptr<Link> gone = links_.remove(link);
  if (gone->endpoint != nullptr)
    endpoints_.push_back({gone->endpoint, gone->broken ? 0 : now_ms(), std::move(gone->pack_buffer)});
  void* const cookie = gone->cookie;
  const Status why = gone->why;
  gone->retired = gone->kept > 0;
  if (gone->retired) retired_.push_back(std::move(gone));
  sink_.link_down(sink_.self, cookie, transport::to_c(why));
}

void Ends::destroy_flushed() noexcept {
  const auto is_done = [](const Endpoint& one) {
    if (now_ms() - one.since_ms < kPatienceMs) {
      const ucs_status_t status = uct_ep_flush(one.handle, UCT_FLUSH_FLAG_LOCAL, nullptr);
      if (status == UCS_INPROGRESS || status == UCS_ERR_NO_RESOURCE) return false;
    }
    uct_ep_destroy(one.handle);
    return true;
  };
  std::erase_if(endpoints_, is_done);
}

void Ends::forget(Link& link) noexcept {
  std::erase_if(retired_, [&](const std::unique_ptr<Link>& one) { return one.get() == &link; });
}

void Ends::close() noexcept {
  for (const Endpoint& one : endpoints_) uct_ep_destroy(one.handle);
  endpoints_.clear();
  dying_.clear();
}

}  // namespace stria::uct
