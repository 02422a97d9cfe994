#include "transport/verbs/completions.hpp"

#include "base/format.hpp"
#include "transport/verbs/ends.hpp"
#include "transport/verbs/links.hpp"

namespace stria::verbs {

void Completions::reap() noexcept {
  if (reaping_) return;
  reaping_ = true;
  ibv_wc done[16];
  for (int n = 16; n == 16;) {
    n = ::ibv_poll_cq(shared_.adapter->send_cq, 16, done);
    for (int i = 0; i < n; ++i) {
      const LinkNumber number = link_of(done[i].wr_id);
      Link* const link = links_.by_number(number.number);
      if (link == nullptr || link->number().generation != number.generation) continue;
      // Nothing for the log: what broke the queue pair was logged before, or the peer disconnected.
      if (done[i].status == IBV_WC_WR_FLUSH_ERR)
        shared_.ends->fail(*link, Status::peer_failed, "");
      else if (done[i].status != IBV_WC_SUCCESS)
        shared_.ends->fail(
            *link, Ends::reason_of(done[i].status),
            fmt::format("{} (vendor error {:#x})", ::ibv_wc_status_str(done[i].status), done[i].vendor_err));
      link->queue().complete(sequence_of(done[i].wr_id), done[i].status);
    }
  }
  reaping_ = false;
}

}  // namespace stria::verbs
