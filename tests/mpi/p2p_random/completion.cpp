// One function a family of calls; each is given some open requests and says which ended. See completion.hpp.
#include "tests/mpi/p2p_random/completion.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace p2p_random {
namespace {

using mpitest::expect;
using mpitest::expect_equal;
using mpitest::Rng;
using mpitest::text;

// The arrays that one call is given.
struct Call {
  std::vector<Pending*> pending;  // null beside a null request
  std::vector<MPI_Request> requests;
  std::vector<MPI_Status> statuses;

  explicit Call(std::vector<Pending*> given)
      : pending(std::move(given)), requests(pending.size(), MPI_REQUEST_NULL), statuses(pending.size()) {
    for (std::size_t i = 0; i < pending.size(); ++i) {
      if (pending[i] != nullptr) requests[i] = pending[i]->request;
      statuses[i].MPI_ERROR = MPI_SUCCESS;  // calls that succeed do not write it
    }
  }
  [[nodiscard]] int size() const { return static_cast<int>(requests.size()); }

  // What MPI made of the handle tells whether it gave back this request and no other.
  void end(int index, const MPI_Status& status, int error, const char* by) {
    if (!expect(index >= 0 && index < size(), text(by, " names request ", index, " of ", size()))) return;
    const auto i = static_cast<std::size_t>(index);
    if (!expect(pending[i] != nullptr, text(by, " ended a null request"))) return;
    Pending& p = *pending[i];
    if (!expect(!p.ended, text(by, " ended a request twice"))) return;
    p.ended = true;
    p.status = status;
    p.error = error;
    p.ended_by = by;
    p.request = requests[i];
    // Open MPI frees what failed, a persistent request too.
    const bool freed = p.request == MPI_REQUEST_NULL;
    expect(freed != p.persistent || (freed && error != MPI_SUCCESS),
           text(by, error == MPI_SUCCESS ? "" : ", with an error", ": handle of a request that ended"));
  }
  // All that this call did not end are as they were.
  void expect_others_untouched(const char* by) const {
    for (std::size_t i = 0; i < pending.size(); ++i) {
      if (pending[i] == nullptr || pending[i]->ended) continue;
      expect(requests[i] == pending[i]->request, text(by, " changed the handle of a request under way"));
    }
  }
};

void wait(Call call) {
  const int error = MPI_Wait(call.requests.data(), call.statuses.data());
  call.end(0, call.statuses[0], error, "MPI_Wait");
}

void test(Call call) {
  int done = 0;
  const int error = MPI_Test(call.requests.data(), &done, call.statuses.data());
  if (done != 0) call.end(0, call.statuses[0], error, "MPI_Test");
  call.expect_others_untouched("MPI_Test");
}

// Looks first; what it sees is what the end says.
void get_status_and_wait(Call call) {
  int done = 0;
  MPI_Status seen = {};
  MPI_Request_get_status(call.requests[0], &done, &seen);
  call.expect_others_untouched("MPI_Request_get_status");
  if (done == 0) return;
  const int error = MPI_Wait(call.requests.data(), call.statuses.data());
  call.end(0, call.statuses[0], error, "MPI_Request_get_status and MPI_Wait");
  const MPI_Status& end = call.statuses[0];
  expect(seen.MPI_SOURCE == end.MPI_SOURCE && seen.MPI_TAG == end.MPI_TAG, "MPI_Request_get_status differs");
}

void any(Call call, bool waits) {
  const char* const by = waits ? "MPI_Waitany" : "MPI_Testany";
  int index = MPI_UNDEFINED;
  int done = 1;
  MPI_Status status = {};
  const int error = waits ? MPI_Waitany(call.size(), call.requests.data(), &index, &status)
                          : MPI_Testany(call.size(), call.requests.data(), &index, &done, &status);
  if (done != 0) call.end(index, status, error, by);
  call.expect_others_untouched(by);
}

void some(Call call, bool waits) {
  const char* const by = waits ? "MPI_Waitsome" : "MPI_Testsome";
  const auto function = waits ? MPI_Waitsome : MPI_Testsome;
  std::vector<int> indices(call.requests.size());
  int ended = 0;
  const int error = function(call.size(), call.requests.data(), &ended, indices.data(), call.statuses.data());
  if (error != MPI_SUCCESS) expect_equal(class_of(error), MPI_ERR_IN_STATUS, by);
  if (!expect(ended != MPI_UNDEFINED && (ended > 0 || !waits), text(by, " ended ", ended))) return;
  for (int k = 0; k < ended; ++k) {
    const MPI_Status& status = call.statuses[static_cast<std::size_t>(k)];
    call.end(indices[static_cast<std::size_t>(k)], status, error == MPI_SUCCESS ? error : status.MPI_ERROR,
             by);
  }
  call.expect_others_untouched(by);
}

// After an error those that MPI calls pending are still open.
void all(Call call, bool waits) {
  const char* const by = waits ? "MPI_Waitall" : "MPI_Testall";
  int done = 1;
  const int error = waits ? MPI_Waitall(call.size(), call.requests.data(), call.statuses.data())
                          : MPI_Testall(call.size(), call.requests.data(), &done, call.statuses.data());
  if (error != MPI_SUCCESS) expect_equal(class_of(error), MPI_ERR_IN_STATUS, by);
  for (int i = 0; i < call.size() && done != 0; ++i) {
    const MPI_Status& status = call.statuses[static_cast<std::size_t>(i)];
    const int own = error == MPI_SUCCESS ? error : status.MPI_ERROR;
    if (call.pending[static_cast<std::size_t>(i)] != nullptr && own != MPI_ERR_PENDING)
      call.end(i, status, own, by);
  }
  call.expect_others_untouched(by);
}

enum class Family { one, any, some, all, kinds };

// Whether Open MPI says the error of this request in such a call (README.md).
bool tells_error(const Pending& p, Family family, bool waits, bool threads) {
  if (family == Family::all) return !p.persistent && !threads;
  return !p.persistent || family != Family::any || waits;
}

// Which of the open ones a call is given. Open MPI frees failed requests that a call on any or some does not
// name, so such a call is given at most one that may fail.
std::vector<Pending*> draw_group(Rng& rng, std::vector<Pending*> open, Family family, bool waits,
                                 bool threads) {
  for (std::size_t i = open.size(); i > 1; --i) std::swap(open[i - 1], open[rng.below(i)]);
  if (family == Family::one) return {open.front()};
  const std::size_t few = std::min<std::size_t>(open.size(), 4);  // or every call would end all that is left
  const std::size_t most = 1 + rng.below(family == Family::all && rng.chance(80) ? few : open.size());
  std::size_t may_fail = family == Family::all ? most : 1;
  std::vector<Pending*> group;
  for (Pending* const p : open) {
    if (group.size() >= most) break;
    if (p->may_fail && (may_fail == 0 || !tells_error(*p, family, waits, threads))) continue;
    if (p->may_fail) --may_fail;
    group.push_back(p);
    if (rng.chance(5)) group.push_back(nullptr);
  }
  return group;
}

void end_some(Rng& rng, const std::vector<Pending*>& open, bool threads) {
  const auto family = static_cast<Family>(rng.below(static_cast<std::uint64_t>(Family::kinds)));
  const bool waits = rng.chance(40);
  Call call(draw_group(rng, open, family, waits, threads));
  if (call.pending.empty()) return;
  switch (family) {
    case Family::one:
      if (rng.chance(30)) {
        get_status_and_wait(std::move(call));
      } else if (waits) {
        wait(std::move(call));
      } else {
        test(std::move(call));
      }
      break;
    case Family::any:
      any(std::move(call), waits);
      break;
    case Family::some:
      some(std::move(call), waits);
      break;
    case Family::all:
    case Family::kinds:
      all(std::move(call), waits);
      break;
  }
}

}  // namespace

int class_of(int error) {
  int result = error;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &result);
  return result;
}

void complete(Rng& rng, std::vector<Pending*> open, bool threads) {
  const auto take_out_ended = [&] { std::erase_if(open, [](const Pending* p) { return p->ended; }); };
  for (take_out_ended(); !open.empty() && mpitest::failures() == 0; take_out_ended()) {
    end_some(rng, open, threads);
    for (Pending* const p : open) {
      if (p->ended && p->request != MPI_REQUEST_NULL) MPI_Request_free(&p->request);  // a persistent one
    }
  }
}

}  // namespace p2p_random
