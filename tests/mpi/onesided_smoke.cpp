// One-sided communication: put, get, accumulate, fetch-and-op and compare-and-swap under fence, lock and
// post/start/complete/wait. On one host Open MPI serves these by osc/sm or vader, so this does NOT
// necessarily exercise the point-to-point layer under test; it shows that the layer does not stand in their
// way. Over osc/pt2pt it does, with --gets=0 (README.md says why).
#include <algorithm>
#include <vector>

#include "tests/mpi/harness.hpp"

using namespace mpitest;

int main(int argc, char** argv) {
  Session session(argc, argv, "onesided_smoke");
  const bool gets = session.options.number("gets", 1) != 0;
  const int right = (session.rank + 1) % session.size;
  const int left = (session.rank + session.size - 1) % session.size;
  constexpr std::size_t kWords = 100000;
  long* window = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_allocate(kWords * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
  std::vector<long> out(kWords);
  std::vector<long> in(kWords);
  const auto bytes_of = [](std::size_t words) { return words * sizeof(long); };

  step("put and get under fence");
  for (const std::size_t words : {std::size_t{1}, std::size_t{500}, kWords}) {
    MPI_Win_fence(0, win);
    fill(out.data(), bytes_of(words), words + static_cast<std::uint64_t>(session.rank));
    MPI_Put(out.data(), static_cast<int>(words), MPI_LONG, right, 0, static_cast<int>(words), MPI_LONG, win);
    MPI_Win_fence(0, win);
    expect_pattern(window, bytes_of(words), words + static_cast<std::uint64_t>(left), text("put of ", words));
    if (!gets) continue;
    MPI_Win_fence(0, win);
    MPI_Get(in.data(), static_cast<int>(words), MPI_LONG, right, 0, static_cast<int>(words), MPI_LONG, win);
    MPI_Win_fence(0, win);
    expect_pattern(in.data(), bytes_of(words), words + static_cast<std::uint64_t>(session.rank),
                   text("get of ", words));
  }

  step("accumulate under fence");
  std::fill_n(window, 1000, 0L);
  std::fill_n(out.begin(), 1000, long{session.rank} + 1);
  MPI_Win_fence(0, win);
  for (int target = 0; target < session.size; ++target) {
    MPI_Accumulate(out.data(), 1000, MPI_LONG, target, 0, 1000, MPI_LONG, MPI_SUM, win);
  }
  MPI_Win_fence(0, win);
  const long sum = static_cast<long>(session.size) * (session.size + 1) / 2;
  expect(std::all_of(window, window + 1000, [&](long v) { return v == sum; }), "accumulated sum");

  step("fetch-and-op and compare-and-swap under lock");
  window[0] = 0;
  window[1] = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  constexpr int kTimes = 200;
  std::vector<long> seen;
  for (int i = 0; i < kTimes; ++i) {
    const long one = 1;
    long before = -1;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, win);
    MPI_Win_unlock(0, win);
    expect(seen.empty() || before > seen.back(), "the counter grows");
    seen.push_back(before);
  }
  const long mine = session.rank;
  const long nobody = -1;
  long owner = -2;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  MPI_Compare_and_swap(&mine, &nobody, &owner, MPI_LONG, 0, 1, win);
  MPI_Win_unlock(0, win);
  int winners = owner == nobody ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &winners, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect_equal(winners, 1, "ranks that won the swap");
  if (session.rank == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    expect_equal(window[0], static_cast<long>(kTimes) * session.size, "the counter");
    MPI_Win_unlock(0, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);

  step("post, start, complete, wait");
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group origin = MPI_GROUP_NULL;
  MPI_Group target = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &left, &origin);
  MPI_Group_incl(world, 1, &right, &target);
  fill(out.data(), bytes_of(3000), 5 + static_cast<std::uint64_t>(session.rank));
  MPI_Win_post(origin, 0, win);
  MPI_Win_start(target, 0, win);
  MPI_Put(out.data(), 3000, MPI_LONG, right, 7, 3000, MPI_LONG, win);
  MPI_Win_complete(win);
  MPI_Win_wait(win);
  expect_pattern(window + 7, bytes_of(3000), 5 + static_cast<std::uint64_t>(left),
                 "put in an exposure epoch");
  MPI_Group_free(&world);
  MPI_Group_free(&origin);
  MPI_Group_free(&target);
  MPI_Win_free(&win);
  return session.finish();
}
