// Messages out of and into memory that a process uses and the kernel does not reach for another one
// (tests/unpinnable.hpp), contiguous and strided, around the thresholds, with every byte checked. Run in each
// rendezvous scheme, near and far.
//   --memory=secret   memfd_secret, whole buffers and parts of them, at the sender, the receiver, and both
//   --memory=mapped   the same at one side, and at the other one memory of MPI_Alloc_mem, which peers map
//   --memory=page     a page of a driver's kind in the middle of a message
//   --memory=all      the kernel refuses all memory, after a first message of which it refuses none
#include "tests/unpinnable.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/mpi/harness.hpp"
#include "tests/mpi/tool_interface.hpp"

namespace {

using namespace mpitest;
using stria::test::SecretMemory;

constexpr std::uint64_t kPage = 4096, kPart = 64 * kPage;
constexpr std::uint64_t kRoom = 5 * kPart;
constexpr std::uint64_t kBlock = 2000, kPitch = 3000;

enum Kind : unsigned { kOrdinary, kSecret, kMixed, kKinds };

/// Memory of each kind; of the mixed one the second part is secret.
class Memory {
 public:
  Memory() : secret_(kRoom), part_(kPart, mixed_ + kPart) {}
  std::byte* at(unsigned kind) {
    return kind == kOrdinary ? ordinary_ : kind == kSecret ? secret_.data() : mixed_;
  }
  bool is_whole() const { return secret_.data() != nullptr && part_.data() != nullptr; }
  std::string why() const { return secret_.why() + part_.why(); }

 private:
  static std::byte* map() {
    return static_cast<std::byte*>(
        mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  std::byte *ordinary_ = map(), *mixed_ = map();
  SecretMemory secret_, part_;
};

/// Ends the program of all ranks when one of them lacks something.
void need(const Session& session, bool here, const std::string& what) {
  int mine = here ? 1 : 0, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (all == 1) return;
  if (!here) printf("unpinnable: SKIPPED on rank %d: %s\n", session.rank, what.c_str());
  fflush(stdout);
  MPI_Finalize();
  exit(kSkipped);
}

MPI_Datatype rows_of(std::uint64_t bytes) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(static_cast<int>(bytes / kBlock), kBlock, kPitch, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  return type;
}

std::uint64_t place(std::uint64_t i, bool rows) {
  return rows ? i / kBlock * kPitch + i % kBlock : i;
}

/// From rank 0 to rank 1; what a rank has is its own memory.
void exchange(const Session& session, std::byte* memory, std::uint64_t bytes, bool rows, std::uint64_t key) {
  MPI_Datatype type = rows ? rows_of(bytes) : MPI_BYTE;
  const int count = rows ? 1 : static_cast<int>(bytes);
  std::vector<std::byte> wanted(bytes);
  fill(wanted.data(), bytes, key);
  if (session.rank == 0) {
    for (std::uint64_t i = 0; i < bytes; ++i) memory[place(i, rows)] = wanted[i];
    MPI_Send(memory, count, type, 1, 3, MPI_COMM_WORLD);
  } else {
    const std::uint64_t looked_at = std::min(kRoom, place(bytes, rows) + kPage);
    memset(memory, 0xa5, looked_at);
    MPI_Status status;
    MPI_Recv(memory, count, type, 0, 3, MPI_COMM_WORLD, &status);
    int got = 0;
    MPI_Get_count(&status, MPI_BYTE, &got);
    expect_equal(static_cast<std::uint64_t>(got), bytes, "bytes received");
    std::uint64_t wrong = 0, astray = 0;
    for (std::uint64_t i = 0; i < bytes; ++i) {
      wrong += memory[place(i, rows)] != wanted[i] ? 1 : 0;
      memory[place(i, rows)] = std::byte{0xa5};
    }
    for (std::uint64_t i = 0; i < looked_at; ++i) astray += memory[i] != std::byte{0xa5} ? 1 : 0;
    expect_equal(wrong, std::uint64_t{0}, "wrong bytes");
    expect_equal(astray, std::uint64_t{0}, "bytes beside the message that were written");
  }
  if (rows) MPI_Type_free(&type);
}

/// Both ranks at once.
void exchange_both_ways(const Session& session, std::byte* out, std::byte* in, std::uint64_t bytes,
                        std::uint64_t key) {
  MPI_Request requests[2];
  fill(out, bytes, key + static_cast<std::uint64_t>(session.rank));
  memset(in, 0, bytes);
  MPI_Irecv(in, static_cast<int>(bytes), MPI_BYTE, 1 - session.rank, 4, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, static_cast<int>(bytes), MPI_BYTE, 1 - session.rank, 4, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  expect_pattern(in, bytes, key + static_cast<std::uint64_t>(1 - session.rank), "both ways");
}

std::vector<std::uint64_t> sizes() {
  std::vector<std::uint64_t> out;
  for (const std::uint64_t bytes : threshold_sizes())
    if (bytes >= 4096 && bytes / kBlock * kPitch + kBlock <= kRoom && bytes <= kRoom) out.push_back(bytes);
  out.push_back(800000);
  return out;
}

void all_sizes(const Session& session, const std::vector<std::byte*>& memories) {
  std::uint64_t key = 0;
  for (const std::uint64_t bytes : sizes())
    for (std::size_t kinds = 0; kinds < memories.size() * memories.size(); ++kinds)
      for (unsigned rows = 0; rows < 4; ++rows) {
        const std::size_t kind = session.rank == 0 ? kinds % memories.size() : kinds / memories.size();
        const std::uint64_t whole = rows == 0 ? bytes : bytes / kBlock * kBlock;
        if (whole == 0) continue;
        step(text(whole, " bytes, kinds of memory ", kinds, ", rows ", rows));
        exchange(session, memories[kind], whole, (rows & (session.rank == 0 ? 1U : 2U)) != 0, ++key);
      }
}

void secret_memory(const Session& session) {
  Memory memory, other;
  need(session, memory.is_whole() && other.is_whole(), memory.why() + other.why());
  all_sizes(session, {memory.at(kOrdinary), memory.at(kSecret), memory.at(kMixed)});
  for (std::uint64_t round = 0; round < 30; ++round) {
    step(text("round ", round, " of both ways"));
    exchange_both_ways(session, memory.at(1 + round % 2), other.at(round / 2 % kKinds), 700000 + round,
                       round * 2);
  }
}

void beside_mapped_memory(const Session& session) {
  Memory memory;
  need(session, memory.is_whole(), memory.why());
  void* made = nullptr;
  expect_equal(MPI_Alloc_mem(kRoom, MPI_INFO_NULL, &made), MPI_SUCCESS, "MPI_Alloc_mem");
  auto* const mapped = static_cast<std::byte*>(made);
  ToolInterface tool;
  const auto by_loads = [&] {
    return tool.performance("pml_stria_received_mapped", MPI_T_PVAR_CLASS_COUNTER);
  };
  const auto before = by_loads();
  std::uint64_t key = 0, out_of_it = 0;
  for (const std::uint64_t bytes : {300000U, 700000U})
    for (const Kind kind : {kSecret, kMixed})
      for (unsigned rows = 0; rows < 4; ++rows)
        for (const int mapping : {0, 1}) {
          step(text(bytes, " bytes, kind ", kind, ", rows ", rows, ", mapped memory on rank ", mapping));
          out_of_it += mapping == 0 ? 1 : 0;
          exchange(session, session.rank == mapping ? mapped : memory.at(kind), bytes,
                   (rows & (session.rank == 0 ? 1U : 2U)) != 0, ++key);
        }
  if (session.rank == 1 && before)
    expect_equal(*by_loads() - *before, out_of_it, "messages out of mapped memory that were loaded");
  MPI_Free_mem(made);
}

void page_of_a_driver(const Session& session) {
  const std::byte* const page = stria::test::time_page();
  need(session, page != nullptr, "this process has no [vvar] mapping");
  std::vector<std::byte> memory(2 * kPart + kPage);
  for (std::uint64_t round = 0; round < 20; ++round) {
    step(text("round ", round));
    const auto key = round;
    if (session.rank == 1) {
      std::fill(memory.begin(), memory.end(), std::byte{0});
      MPI_Recv(memory.data(), static_cast<int>(memory.size()), MPI_BYTE, 0, 5, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      expect_pattern(memory.data(), kPart, key, "before the page");
      expect_pattern(memory.data() + kPart + kPage, kPart, key + 1000, "behind the page");
      continue;
    }
    fill(memory.data(), kPart, key);
    fill(memory.data() + kPart, kPart, key + 1000);
    int lengths[3] = {static_cast<int>(kPart), static_cast<int>(kPage), static_cast<int>(kPart)};
    MPI_Aint places[3];
    MPI_Get_address(memory.data(), &places[0]);
    MPI_Get_address(page, &places[1]);
    MPI_Get_address(memory.data() + kPart, &places[2]);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed(3, lengths, places, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Send(MPI_BOTTOM, 1, type, 1, 5, MPI_COMM_WORLD);
    MPI_Type_free(&type);
  }
}

void all_memory(const Session& session) {
  std::vector<std::byte> memory(kRoom), other(kRoom);
  exchange_both_ways(session, memory.data(), other.data(), 700000, 1);  // the way is found to be open
  need(session, stria::test::answer_with(EFAULT, true, true), "the kernel has no seccomp");
  all_sizes(session, {memory.data()});
  for (std::uint64_t round = 0; round < 30; ++round)
    exchange_both_ways(session, memory.data(), other.data(), 700000 + round, round * 2);
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "unpinnable");
  const std::string memory = session.options.get("memory", "secret");
  if (memory == "secret") secret_memory(session);
  if (memory == "mapped") beside_mapped_memory(session);
  if (memory == "page") page_of_a_driver(session);
  if (memory == "all") all_memory(session);
  return session.finish();
}
