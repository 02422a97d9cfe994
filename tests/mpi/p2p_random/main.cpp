// A random point-to-point campaign: in each round all ranks draw one plan of messages and
// receives, execute their parts of it with calls, types and memory of their own choice, and
// compare every byte and status with it.
//   --rounds=N        how many (default 200; times STRIA_TEST_ROUNDS)
//   --only=N          round N alone, as it would be drawn in the whole run
//   --threads=N       N campaigns at once under MPI_THREAD_MULTIPLE
//   --largest=BYTES   of a message
//   --peer-bugs=avoid leave out what is known to fail over Open MPI's own layers (README.md)
#include <cstdio>
#include <thread>
#include <vector>

#include "tests/mpi/harness.hpp"
#include "tests/mpi/p2p_random/communicators.hpp"
#include "tests/mpi/p2p_random/plan.hpp"
#include "tests/mpi/p2p_random/round.hpp"
#include "tests/mpi/p2p_random/verdict.hpp"
#include "tests/rounds.hpp"

namespace {

using namespace p2p_random;
using mpitest::Rng;
using mpitest::text;

struct Campaign {
  std::uint64_t seed;
  std::uint64_t first;  // round
  std::uint64_t last;
  PlanRules rules;
};

// What a request holds or a message carries is unknown after a failure, and the
// other ranks may wait for ever.
void end_job_after_failure(std::uint64_t round) {
  if (mpitest::failures() == 0) return;
  std::fprintf(stderr, "p2p_random: ends in round %llu\n", static_cast<unsigned long long>(round));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

void expect_nothing_left(const Communicators& comms) {
  for (int comm = 0; comm < kComms; ++comm) {
    int left = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comms[comm], &left, MPI_STATUS_IGNORE);
    mpitest::expect(left == 0, text("a message is left on communicator ", comm));
  }
}

void run(const Campaign& campaign, MPI_Comm base) {
  Communicators comms(base);
  for (std::uint64_t number = campaign.first; number < campaign.last; ++number) {
    if (!campaign.rules.threads) mpitest::step(text("round ", number));  // one text for all threads
    const Plan plan = draw_plan(campaign.seed, number, campaign.rules);
    const auto rank = static_cast<std::uint64_t>(comms.rank());
    Round round(comms, plan, Rng(mpitest::mix(campaign.seed + rank) ^ number), campaign.rules.threads);
    round.run();
    end_job_after_failure(number);
    check_round(round, plan, comms);
    end_job_after_failure(number);
    comms.end_round();
    MPI_Barrier(base);  // also sends that were freed are over: everybody has what they sent
  }
  expect_nothing_left(comms);
}

void run_threads(const Campaign& campaign, std::uint64_t threads) {
  std::vector<MPI_Comm> bases(threads, MPI_COMM_NULL);
  for (MPI_Comm& base : bases) MPI_Comm_dup(MPI_COMM_WORLD, &base);
  std::vector<std::thread> running;
  for (std::uint64_t i = 0; i < threads; ++i) {
    Campaign own = campaign;
    own.seed = mpitest::mix(campaign.seed + i);
    running.emplace_back([own, base = bases[i]] { run(own, base); });
  }
  for (std::thread& thread : running) thread.join();
  for (MPI_Comm& base : bases) MPI_Comm_free(&base);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t threads = mpitest::Options(argc, argv).number("threads", 0);
  mpitest::Session session(argc, argv, "p2p_random", threads > 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  const auto usual = static_cast<std::int64_t>(session.options.number("rounds", 200));
  const auto rounds = static_cast<std::uint64_t>(stria::test::rounds(usual));
  Campaign campaign{session.seed, 0, rounds, {}};
  campaign.rules.ranks = session.size;
  campaign.rules.threads = threads > 0;
  campaign.rules.truncate = session.options.get("peer-bugs", "meet") != "avoid";
  campaign.rules.largest = session.options.number("largest", campaign.rules.largest);
  if (const std::uint64_t only = session.options.number("only", rounds); only < rounds) {
    campaign.first = only;
    campaign.last = only + 1;
  }
  const double start = mpitest::now_seconds();
  if (threads > 0) {
    run_threads(campaign, threads);
  } else {
    run(campaign, MPI_COMM_WORLD);
  }
  if (session.rank == 0) {
    std::printf("p2p_random: %llu rounds in %.1f s\n",
                static_cast<unsigned long long>(campaign.last - campaign.first),
                mpitest::now_seconds() - start);
  }
  return session.finish();
}
