#include "transport/uct/zcopy.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>

#include "transport/uct/link.hpp"
#include "transport/uct/operations.hpp"

namespace stria::uct {
namespace {

constexpr std::size_t kRuns = 16;  // most runs of memory in one packet

/// Sets `out` to the runs of the payload and returns their number; 0: the payload has too many runs.
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

Status send_out_of_memory(const Shared& shared, Link& link, const transport::Header& header,
                          const transport::Payload& payload, transport::Completion* completion) noexcept {
  std::array<uct_iov_t, kRuns>
      runs;  // NOLINT(cppcoreguidelines-pro-type-member-init): runs_of() sets those used
  const std::size_t count = runs_of(payload, shared, runs);
  if (count == 0) return Status::unsupported;
  Operation* const operation = shared.operations->take(link, completion, 1);
  if (operation == nullptr) return Status::no_resource;
  const Status status = link.send_out_of(header, runs.data(), count, operation);
  if (status != Status::in_progress) shared.operations->give_back(*operation);
  return status;
}

}  // namespace stria::uct
