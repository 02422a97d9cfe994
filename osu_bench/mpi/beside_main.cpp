// osu_beside: how long a short message takes while long ones go from process 0 to process 1. One thread of
// each process does both: while it waits for the short message it starts the next long one.
#include <array>
#include <cstring>
#include <vector>

#include "osu_bench/common/measure.hpp"
#include "osu_bench/common/pattern.hpp"
#include "osu_bench/mpi/between_two.hpp"
#include "osu_bench/mpi/mpi_peer.hpp"

namespace {

using namespace stria::bench;

constexpr std::size_t kLongBytes = 1U << 20U;
constexpr int kLongOnes = 8;  // under way
constexpr int kShortTag = 1, kLongTag = 2;
constexpr std::uint64_t kLongSeed = 3;
constexpr double kNsInUs = 1e3;
constexpr double kWays = 2;  // of a ping-pong
constexpr std::size_t kEdge = 64;

/// Long messages, one behind the other, from process 0 to process 1.
class Stream {
 public:
  Stream(MpiPeer& peer, const Options& options) : receives_(peer.rank() == 1), partner_(1 - peer.rank()) {
    for (Buffer& memory : memory_) {
      memory = make_buffer(peer, options, kLongBytes);
      fill_pattern(memory.data(), kLongBytes, receives_ ? kLongSeed + 1 : kLongSeed);
    }
    requests_.fill(MPI_REQUEST_NULL);
  }
  void begin() {
    for (std::size_t i = 0; i < kLongOnes; ++i) start(i);
  }
  /// One that has ended is followed by the next.
  void go_on() {
    int which = MPI_UNDEFINED, ended = 0;
    MPI_Testany(kLongOnes, requests_.data(), &which, &ended, MPI_STATUS_IGNORE);
    if (ended != 0 && which != MPI_UNDEFINED) start(static_cast<std::size_t>(which));
  }
  /// Both processes have begun equally many, and all have ended.
  void end() {
    long others = 0;
    MPI_Sendrecv(&begun_, 1, MPI_LONG, partner_, kShortTag, &others, 1, MPI_LONG, partner_, kShortTag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    while (begun_ < others) {
      int which = MPI_UNDEFINED;
      MPI_Waitany(kLongOnes, requests_.data(), &which, MPI_STATUS_IGNORE);
      start(static_cast<std::size_t>(which));
    }
    MPI_Waitall(kLongOnes, requests_.data(), MPI_STATUSES_IGNORE);
  }
  long begun() const { return begun_; }
  bool is_right() const {
    for (const Buffer& memory : memory_)
      if (!has_pattern(memory.data(), kLongBytes, kLongSeed)) return false;
    return true;
  }

 private:
  void start(std::size_t which) {
    std::byte* const memory = memory_[which].data();
    const auto bytes = static_cast<int>(kLongBytes);
    ++begun_;
    if (!receives_) {
      MPI_Isend(memory, bytes, MPI_BYTE, partner_, kLongTag, MPI_COMM_WORLD, &requests_[which]);
      return;
    }
    std::memset(memory, 0, kEdge);  // what is left from the message before would be seen
    std::memset(memory + kLongBytes - kEdge, 0, kEdge);
    MPI_Irecv(memory, bytes, MPI_BYTE, partner_, kLongTag, MPI_COMM_WORLD, &requests_[which]);
  }
  const bool receives_;
  const int partner_;
  std::array<Buffer, kLongOnes> memory_;
  std::array<MPI_Request, kLongOnes> requests_{};
  long begun_ = 0;
};

/// A ping-pong of short messages, the stream going on meanwhile where there is one.
class ShortOnes {
 public:
  ShortOnes(MpiPeer& peer, const Options& options, std::size_t bytes)
      : first_(peer.rank() == 0),
        partner_(1 - peer.rank()),
        bytes_(bytes),
        out_(make_buffer(peer, options, bytes)),
        in_(make_buffer(peer, options, bytes)) {
    fill_pattern(out_.data(), bytes_, first_ ? 0 : 1);
  }
  void step(Stream* stream) {
    if (first_) move(true, stream);
    move(false, stream);
    if (!first_) move(true, stream);
  }
  bool is_right() const { return has_pattern(in_.data(), bytes_, first_ ? 1 : 0); }

 private:
  void move(bool sends, Stream* stream) {
    MPI_Request request = MPI_REQUEST_NULL;
    const auto count = static_cast<int>(bytes_);
    if (sends)
      MPI_Isend(out_.data(), count, MPI_BYTE, partner_, kShortTag, MPI_COMM_WORLD, &request);
    else
      MPI_Irecv(in_.data(), count, MPI_BYTE, partner_, kShortTag, MPI_COMM_WORLD, &request);
    for (int done = 0;;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done != 0) return;
      if (stream != nullptr) stream->go_on();
    }
  }
  const bool first_;
  const int partner_;
  const std::size_t bytes_;
  Buffer out_, in_;
};

bool row(const Between& between, std::size_t bytes) {
  const auto& [peer, distance, options, report] = between;
  ShortOnes short_ones(peer, options, bytes);
  Stream stream(peer, options);
  const double line = distance.us();
  const Plan plan = plan_for(options, bytes, false);
  const Measured alone = measure(peer, plan, [&] { short_ones.step(nullptr); });
  stream.begin();
  const double from = now_ns();
  const long begun = stream.begun();
  const Measured beside = measure(peer, plan, [&] { short_ones.step(&stream); });
  const double rate = static_cast<double>(stream.begun() - begun) * kLongBytes * kNsInUs / (now_ns() - from);
  stream.end();
  const double line_after = distance.us();
  const bool mine = short_ones.is_right() && (peer.rank() == 0 || stream.is_right());
  const bool right = !options.validate || all_agree(peer, mine);
  const auto us = [](double ns) { return ns / kWays / kNsInUs; };
  report.row({static_cast<std::int64_t>(bytes), us(alone.ns.median), us(beside.ns.median), us(beside.ns.p99),
              rate, static_cast<std::int64_t>(beside.iterations), right, line, line_after});
  return right;
}

int run(int argc, char** argv) {
  Program program{.name = "osu_beside", .title = "MPI Latency Beside a Stream Test"};
  program.max_size = kLongBytes;
  program.usual_sizes = {8, 1024, 65536};
  return run_between_two(argc, argv, program,
                         {{"size", "Size"},
                          {"alone_us", "Alone (us)"},
                          {"beside_us", "Beside (us)"},
                          {"beside_p99_us", "P99 (us)"},
                          {"stream_mb_s", "Stream (MB/s)"},
                          {"iterations", "Iterations"},
                          {"valid", "Validation"}},
                         row);
}

}  // namespace

int main(int argc, char** argv) {
  return stria::bench::with_mpi(argc, argv, run);
}
