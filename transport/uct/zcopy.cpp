#include "transport/uct/zcopy.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "transport/uct/ends.hpp"
#include "transport/uct/link.hpp"

namespace stria::uct {
namespace {

constexpr std::size_t kRuns = 16;  // of memory in one packet

/// The runs of the payload; 0: they are too many.
std::size_t runs_of(const transport::Payload& payload, const Shared& shared,
                    std::array<uct_iov_t, kRuns>& out) noexcept {
  std::array<iovec, kRuns> runs{};
  std::size_t count = 0;
  transport::Payload rest = payload;
  while (rest.length > 0) {
    const std::size_t room = std::min<std::size_t>(kRuns, shared.limits.zcopy_runs) - count;
    std::int64_t covered = 0;
    const std::size_t more =
        room > 0 ? shared.services->iovecs(&rest, runs.data() + count, room, &covered) : 0;
    if (more == 0) return 0;
    count += more;
    rest.offset += covered;
    rest.length -= covered;
  }
  for (std::size_t i = 0; i < count; ++i)
    out[i] = {runs[i].iov_base, runs[i].iov_len, UCT_MEM_HANDLE_NULL, 0, 1};
  return count;
}

}  // namespace

ZcopySends::Slot* ZcopySends::take() noexcept {
  if (free_ != nullptr) return std::exchange(free_, free_->next);
  try {
    return &slots_.emplace_back();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

Status ZcopySends::send(Link& link, const transport::Header& header, const transport::Payload& payload,
                        transport::Completion* completion) noexcept {
  std::array<uct_iov_t, kRuns> runs;  // NOLINT(cppcoreguidelines-pro-type-member-init): as many as are used
  const std::size_t count = runs_of(payload, shared_, runs);
  if (count == 0) return Status::unsupported;
  Slot* const slot = take();
  if (slot == nullptr) return Status::no_resource;
  const auto ended = [](uct_completion_t* self) {
    auto& one = *reinterpret_cast<Slot*>(self);
    if (one.link != nullptr)
      one.link->zcopy().end(one, self->status == UCS_OK ? Status::ok : Status::peer_failed);
  };
  *slot = {{ended, 1, UCS_OK}, completion, &link, nullptr, Status::in_progress};
  const Status status = link.send_out_of(header, runs.data(), count, &slot->ucx);
  if (status == Status::in_progress) {
    ++link.sends;
    return status;
  }
  slot->link = nullptr;
  slot->next = std::exchange(free_, slot);
  return status;
}

void ZcopySends::end(Slot& slot, Status status) noexcept {
  slot.status = status;
  slot.next = nullptr;
  --std::exchange(slot.link, nullptr)->sends;
  (ended_ == nullptr ? ended_ : last_ended_->next) = &slot;
  last_ended_ = &slot;
  shared_.ring();
}

unsigned ZcopySends::tell(unsigned budget) noexcept {
  unsigned told = 0;
  for (; ended_ != nullptr && told < budget; ++told) {
    Slot& slot = *std::exchange(ended_, ended_->next);
    transport::Completion* const completion = slot.completion;
    const Status status = slot.status;
    slot.next = std::exchange(free_, &slot);
    completion->done(completion, transport::to_c(status));
  }
  return told;
}

void ZcopySends::abandon(Link& link) noexcept {
  for (Slot& slot : slots_)
    if (slot.link == &link) end(slot, Status::peer_failed);
  while (have_ended()) tell(1);
}

}  // namespace stria::uct
