// What threads cost: messages a second of threads that send to themselves and receive, each on a worker of
// its own or all on one. A thread keeps a window of sends and receives under way, as osu_mbw_mr does.
//
//   alone           one thread, its worker open for one thread
//   own workers     as many threads as --threads says, each with a worker for one thread
//   shared, one     one thread on a worker open for several
//   shared          all threads on one worker, each with tags of its own
//   beside a wait   what a send takes while another thread waits on that worker, and until that thread has it
#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "osu_bench/common/buffer.hpp"
#include "osu_bench/common/options.hpp"
#include "osu_bench/common/report.hpp"
#include "osu_bench/floor/cores.hpp"
#include "osu_bench/native/beside.hpp"
#include "osu_bench/native/self.hpp"

namespace {
using namespace stria::bench;

/// Windows of messages from a thread to itself until told to stop. Each payload is checked.
class Loop {
 public:
  Loop(Self& self, std::uint64_t tag, std::size_t bytes, int window)
      : self_(self),
        tag_(tag),
        bytes_(bytes),
        window_(window),
        requests_(2 * static_cast<std::size_t>(window)),
        out_(bytes),
        in_(bytes * static_cast<std::size_t>(window)) {}

  void run(const std::atomic<bool>& stop) {
    do {
      turn();
      messages += static_cast<std::uint64_t>(window_);
    } while (!stop.load(std::memory_order_relaxed));
  }

  std::uint64_t messages = 0;

 private:
  void turn() {
    const auto mark = static_cast<std::byte>(++turns_);
    std::memset(out_.data(), static_cast<int>(mark), bytes_);
    stria_worker_t* worker = self_.worker.get();
    const auto window = static_cast<std::size_t>(window_);
    for (std::size_t i = 0; i < window; ++i) {
      stria_recv_t recv{};
      recv.base = in_.data() + i * bytes_;
      recv.count = bytes_;
      recv.match = {self_.endpoint, tag_, 0};
      need(stria_recv(worker, &recv, &requests_[i]), "receiving");
    }
    for (std::size_t i = 0; i < window; ++i) {
      stria_send_t send{};
      send.base = out_.data();
      send.count = bytes_;
      send.tag = tag_;
      const stria_status_t sent = stria_send(self_.endpoint, &send, &requests_[window + i]);
      need(sent, "sending");
      if (sent == STRIA_IN_PROGRESS)
        need(stria_request_wait(worker, &requests_[window + i], nullptr), "sending");
    }
    for (std::size_t i = 0; i < window; ++i) {
      stria_info_t info{};
      need(stria_request_wait(worker, &requests_[i], &info), "receiving");
      if (info.received != bytes_ || (bytes_ > 0 && in_.data()[i * bytes_] != mark)) {
        fmt::print(stderr, "osu_threads: message {} of a window is wrong\n", i);
        std::exit(1);
      }
    }
  }

  Self& self_;
  std::uint64_t tag_;
  std::size_t bytes_;
  int window_;
  std::vector<stria_request_t> requests_;
  Buffer out_, in_;
  unsigned turns_ = 0;
};

/// Messages a second of all threads, thread i on selves[i % selves].
double rate(const std::vector<std::unique_ptr<Self>>& selves, int threads, std::size_t bytes,
            const Options& options) {
  const std::vector<int> on = cores();
  std::vector<std::unique_ptr<Loop>> loops;
  for (int i = 0; i < threads; ++i)
    loops.push_back(std::make_unique<Loop>(*selves[static_cast<std::size_t>(i) % selves.size()],
                                           static_cast<std::uint64_t>(i) + 1, bytes, options.window));
  std::atomic<bool> stop{false};
  const double begin = now_ns();
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i)
    running.emplace_back([&, i] {
      bind_to(on[static_cast<std::size_t>(i) % on.size()]);
      loops[static_cast<std::size_t>(i)]->run(stop);
    });
  while (now_ns() < begin + options.row_ms * 1e6) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  stop.store(true, std::memory_order_relaxed);
  for (auto& thread : running) thread.join();
  const double seconds = (now_ns() - begin) / 1e9;
  std::uint64_t messages = 0;
  for (const auto& loop : loops) messages += loop->messages;
  return static_cast<double>(messages) / seconds;
}

std::vector<std::unique_ptr<Self>> open(const stria::api::Context& context, int workers,
                                        stria_thread_mode_t mode) {
  std::vector<std::unique_ptr<Self>> selves;
  for (int i = 0; i < workers; ++i) selves.push_back(std::make_unique<Self>(context, mode));
  return selves;
}

}  // namespace

int main(int argc, char** argv) {
  Program program{.name = "osu_threads", .title = "Messages of threads to themselves", .window = true};
  program.messages = false;
  program.processes = true;
  program.max_size = 65536;
  const Parsed parsed = parse(argc, argv, program, true);
  if (!parsed.options) return parsed.exit_code;
  const Options& options = *parsed.options;
  const int threads = options.processes;
  const Report report(program, options,
                      {{"size", "Size"},
                       {"alone_per_s", "Alone", 0},
                       {"own_per_s", "Own workers", 0},
                       {"shared_one_per_s", "Shared, one", 0},
                       {"shared_per_s", "Shared", 0},
                       {"own_ratio", "Own/alone"},
                       {"shared_one_ratio", "Shared, one/alone"},
                       {"shared_ratio", "Shared/alone"},
                       {"beside_us", "Beside a wait, us"},
                       {"beside_p99_us", "its p99"},
                       {"arrives_us", "Arrives, us"},
                       {"arrives_p99_us", "its p99"}},
                      true);
  report.header({{"threads", fmt::format("{} on {} cores; messages a second", threads, cores().size())}});
  const stria::api::Context context;
  for (const std::size_t bytes : options.sizes) {
    constexpr int kRounds = 5;  // in turn, for machines drift; the best of each
    double alone = 0, own = 0, one = 0, shared = 0;
    for (int round = 0; round < kRounds; ++round) {
      alone = std::max(alone, rate(open(context, 1, STRIA_THREAD_SINGLE), 1, bytes, options));
      own = std::max(own, rate(open(context, threads, STRIA_THREAD_SINGLE), threads, bytes, options));
      one = std::max(one, rate(open(context, 1, STRIA_THREAD_MULTIPLE), 1, bytes, options));
      shared = std::max(shared, rate(open(context, 1, STRIA_THREAD_MULTIPLE), threads, bytes, options));
    }
    Self both(context, STRIA_THREAD_MULTIPLE);
    const Beside beside = send_beside_a_wait(both, bytes, options.row_ms);
    report.row({static_cast<std::int64_t>(bytes), alone, own, one, shared, own / alone, one / alone,
                shared / alone, beside.call_us.median, beside.call_us.p99, beside.arrival_us.median,
                beside.arrival_us.p99});
  }
  return 0;
}
