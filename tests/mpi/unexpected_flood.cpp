// A sender far ahead of its receiver. The last message is asked for first, so all headers have to drain; then
// the rest is received, in order or in reverse tag order. What the receiver may grow by is the layer's own
// budget for payload nobody asked for (of its configuration), 64 bytes a header, and a constant. The budget
// is of memory: sizes that a buffer fits badly must not take more of it.
//   --order=forward|reverse  --count=N (default 1000000)  --bytes=N (default 1024)
//   --ob1-count=N            count over ob1, whose unexpected list is searched from its start (reverse order
//   is quadratic)
// Over other layers than stria memory is printed, not checked. The sender prints what a waiting MPI_Isend
// costs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "tests/mpi/harness.hpp"
#include "tests/mpi/tool_interface.hpp"

namespace {

using namespace mpitest;

constexpr int kLastTag = 1;
constexpr int kFirstTag = 10;
// What is neither payload nor header, for a million or two of messages: the hash bins of the headers (8 MiB,
// and 2 MiB while they grow), the transport's shared pages.
constexpr std::uint64_t kConstant = std::uint64_t{16} << 20;

// The layer's budget in force: the environment wins over the parameter, whose default is the library's.
std::uint64_t budget_in_force() {
  if (const char* set = std::getenv("STRIA_UNEXPECTED_BUDGET")) return size_in_bytes(set);
  const ToolInterface tool;
  const auto value = ToolInterface::control("pml_stria_unexpected_budget");
  expect(value.has_value(),
         "the layer does not say its budget (control variable pml_stria_unexpected_budget)");
  return value ? size_in_bytes(*value) : 0;
}

// Message i is the words [i, i + n) of one long pattern: every message differs, and the sender needs no
// memory for each.
void send_all(int count, std::size_t bytes) {
  std::vector<std::uint64_t> pattern(static_cast<std::size_t>(count) + bytes / 8 + 1);
  fill(pattern.data(), pattern.size() * 8, 5);
  std::vector<MPI_Request> requests(static_cast<std::size_t>(count) + 1, MPI_REQUEST_NULL);
  const std::uint64_t before = own_memory("VmRSS");
  for (int i = 0; i < count; ++i) {
    MPI_Isend(&pattern[static_cast<std::size_t>(i)], static_cast<int>(bytes), MPI_BYTE, 1, kFirstTag + i,
              MPI_COMM_WORLD, &requests[static_cast<std::size_t>(i)]);
  }
  MPI_Isend(nullptr, 0, MPI_BYTE, 1, kLastTag, MPI_COMM_WORLD, &requests.back());
  const std::uint64_t growth = own_memory("VmRSS") - before;
  std::printf("unexpected_flood: sender grew by %.1f MiB (%.1f bytes a message)\n",
              static_cast<double>(growth) / 1048576.0, static_cast<double>(growth) / count);
  step("the sender waits for all");
  MPI_Waitall(count + 1, requests.data(), MPI_STATUSES_IGNORE);
}

void receive_all(int count, std::size_t bytes, bool reverse, std::uint64_t allowed) {
  Buffer in(bytes);
  const std::uint64_t before = own_memory("VmRSS");
  const double start = now_seconds();
  step("the last message is received first");
  MPI_Recv(nullptr, 0, MPI_BYTE, 0, kLastTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const double drained = now_seconds();
  step("the flood is received");
  for (int i = 0; i < count && failures() < 20; ++i) {
    const int k = reverse ? count - 1 - i : i;
    MPI_Status status = {};
    MPI_Recv(in.data(), static_cast<int>(bytes), MPI_BYTE, 0, kFirstTag + k, MPI_COMM_WORLD, &status);
    const bool right = first_wrong(in.data(), bytes, 5, static_cast<std::uint64_t>(k) * 8) == bytes;
    if (!right || status.MPI_TAG != kFirstTag + k) expect(false, text("message ", k, " is wrong"));
  }
  expect(in.untouched_beyond(bytes), "bytes outside of a message were written");
  const std::uint64_t peak = own_memory("VmHWM");
  const std::uint64_t growth = peak > before ? peak - before : 0;
  std::printf(
      "unexpected_flood: %d messages of %zu bytes: drained in %.2f s, received in %.2f s; receiver's peak "
      "%.1f MiB, "
      "growth %.1f MiB (%.1f bytes a message)\n",
      count, bytes, drained - start, now_seconds() - drained, static_cast<double>(peak) / 1048576.0,
      static_cast<double>(growth) / 1048576.0, static_cast<double>(growth) / count);
  if (allowed > 0) {
    expect(growth <= allowed,
           text("the receiver grew by ", growth, " bytes; its budget, 64 bytes a message and ",
                kConstant >> 20, " MiB are ", allowed));
  }
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "unexpected_flood");
  if (session.size != 2) {
    expect(false, "needs 2 ranks");
    return session.finish();
  }
  const char* const layer = std::getenv("OMPI_MCA_pml");
  const bool ours = layer != nullptr && std::string_view(layer) == "stria";
  const bool reverse = session.options.get("order", "forward") == "reverse";
  std::uint64_t count = session.options.number("count", 1000000);
  if (!ours) count = std::min(count, session.options.number("ob1-count", count));
  const std::size_t bytes = session.options.number("bytes", 1024) / 8 * 8;
  const std::uint64_t allowed = ours ? budget_in_force() + 64 * count + kConstant : 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (session.rank == 0) {
    send_all(static_cast<int>(count), bytes);
  } else {
    receive_all(static_cast<int>(count), bytes, reverse, allowed);
  }
  return session.finish();
}
