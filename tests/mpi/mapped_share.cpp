// A message between memories of MPI_Alloc_mem is copied by both ranks, but where these give their core away
// while they wait, as there are more of them than cores: then by its receiver alone.
//   --shares=0|1   which of the two (default 1)
#include <algorithm>
#include <cstring>

#include "tests/mpi/harness.hpp"
#include "tests/mpi/tool_interface.hpp"

using namespace mpitest;

namespace {

void send_and_count(const Session& session) {
  constexpr int kBytes = 1 << 20;
  constexpr std::uint64_t kMessages = 10;
  const bool shares = session.options.number("shares", 1) != 0;
  ToolInterface tool;
  const auto count = [&](const char* name) {
    const auto value = tool.performance(name, MPI_T_PVAR_CLASS_COUNTER);
    expect(value.has_value(), name);
    return value.value_or(0);
  };
  for (const char* name :
       {"pml_stria_received_pipeline", "pml_stria_received_mapped_both", "pml_stria_received_mapped"})
    static_cast<void>(count(name));  // they count from the first look on
  void* got = nullptr;
  expect_equal(MPI_Alloc_mem(kBytes, MPI_INFO_NULL, &got), MPI_SUCCESS, "MPI_Alloc_mem");
  auto* const memory = static_cast<std::byte*>(got);
  for (int i = 0; i < static_cast<int>(kMessages); ++i) {
    const auto value = static_cast<std::byte>(i + 1);
    if (session.rank == 0) {
      std::memset(memory, i + 1, kBytes);
      MPI_Send(memory, kBytes, MPI_BYTE, 1, i, MPI_COMM_WORLD);
    } else {
      std::memset(memory, 0, kBytes);
      MPI_Recv(memory, kBytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      expect(std::all_of(memory, memory + kBytes, [&](std::byte b) { return b == value; }), "a message");
    }
  }
  if (session.rank == 1) {
    expect_equal(count("pml_stria_received_pipeline"), std::uint64_t{0}, "in fragments");
    expect_equal(count("pml_stria_received_mapped_both"), shares ? kMessages : 0, "by both");
    expect_equal(count("pml_stria_received_mapped"), shares ? 0 : kMessages, "by the receiver");
  }
  MPI_Free_mem(memory);
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "mapped_share");
  send_and_count(session);
  return session.finish();
}
