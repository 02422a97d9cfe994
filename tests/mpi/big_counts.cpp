// Messages and counts beyond 2^31: more than 4 GiB in one message, more than 2^31 elements, displacements
// beyond 2^32. The sender repeats one block (a stride of zero), so only the receiver needs the memory;
// skipped aloud without it.
//   --mib=N   size of the large message (default 4352, that is 4.25 GiB)
#include <sys/mman.h>

#include <climits>
#include <cstdio>
#include <fstream>
#include <memory>
#include <vector>

#include "tests/mpi/harness.hpp"

namespace {

using namespace mpitest;

constexpr std::size_t kBlock = 1U << 20;

// Address space that takes memory only where it is touched.
class Reserve {
 public:
  explicit Reserve(std::size_t bytes)
      : bytes_(bytes),
        memory_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                     0)) {
    if (!expect(memory_ != MAP_FAILED, text("cannot reserve ", bytes))) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;
  ~Reserve() { munmap(memory_, bytes_); }
  [[nodiscard]] unsigned char* data() const noexcept { return static_cast<unsigned char*>(memory_); }

 private:
  std::size_t bytes_;
  void* memory_;
};

std::uint64_t available_memory() {
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("MemAvailable:")) return std::stoull(line.substr(13)) * 1024;
  }
  return 0;
}

// `mib` blocks of 1 MiB sent from one block, received at a pitch of `pitch` bytes.
void large_message(const Session& session, int mib, std::size_t pitch) {
  step(text("one message of ", mib, " MiB, received at a pitch of ", pitch));
  const double start = now_seconds();
  MPI_Datatype block = MPI_DATATYPE_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(kBlock, MPI_BYTE, &block);
  const std::int64_t stride = session.rank == 0 ? 0 : static_cast<std::int64_t>(pitch);
  MPI_Type_create_hvector(mib, 1, stride, block, &type);
  MPI_Type_commit(&type);
  MPI_Count bytes = 0;
  MPI_Type_size_x(type, &bytes);
  expect_equal(bytes, static_cast<MPI_Count>(mib) * static_cast<MPI_Count>(kBlock), "MPI_Type_size_x");
  if (session.rank == 0) {
    std::vector<unsigned char> out(kBlock);
    fill(out.data(), kBlock, 11);
    MPI_Send(out.data(), 1, type, 1, 1, MPI_COMM_WORLD);
  } else {
    const Reserve in(static_cast<std::size_t>(mib) * pitch);
    MPI_Status status = {};
    MPI_Recv(in.data(), 1, type, 0, 1, MPI_COMM_WORLD, &status);
    MPI_Count elements = 0;
    int count = 0;
    MPI_Get_elements_x(&status, MPI_BYTE, &elements);
    MPI_Get_count(&status, type, &count);
    expect_equal(elements, bytes, "MPI_Get_elements_x of bytes");
    expect_equal(count, 1, "MPI_Get_count of the whole");
    MPI_Get_count(&status, MPI_BYTE, &count);
    expect_equal(count, bytes > INT_MAX ? MPI_UNDEFINED : static_cast<int>(bytes), "MPI_Get_count of bytes");
    for (std::size_t i = 0; i < static_cast<std::size_t>(mib); ++i) {
      if (!expect_pattern(in.data() + i * pitch, kBlock, 11, text("block ", i))) break;
      bool clean = true;
      for (std::size_t k = kBlock; k < pitch; ++k) clean = clean && in.data()[i * pitch + k] == 0;
      if (!expect(clean, text("the gap behind block ", i, " was written"))) break;
    }
    std::printf("big_counts: %d MiB at a pitch of %zu in %.1f s, checked\n", mib, pitch,
                now_seconds() - start);
  }
  MPI_Type_free(&type);
  MPI_Type_free(&block);
}

// More than 2^31 elements of one byte: a count of blocks that fits an int, elements that do not.
void many_elements(const Session& session) {
  constexpr int kUnit = 65536;
  constexpr int kUnits = 33000;  // 2.16e9 bytes
  step("more than 2^31 elements");
  MPI_Datatype unit = MPI_DATATYPE_NULL;
  MPI_Datatype narrow = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(kUnit, MPI_BYTE, &unit);
  MPI_Type_create_resized(unit, 0, session.rank == 0 ? 8 : kUnit, &narrow);  // the sender's units overlap
  MPI_Type_commit(&narrow);
  if (session.rank == 0) {
    std::vector<unsigned char> out(kUnit + 8ULL * kUnits);
    fill(out.data(), out.size(), 12);
    MPI_Send(out.data(), kUnits, narrow, 1, 2, MPI_COMM_WORLD);
  } else {
    const Reserve in(std::size_t{kUnit} * kUnits);
    MPI_Status status = {};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(in.data(), kUnits, narrow, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    int count = 0;
    MPI_Count elements = 0;
    MPI_Get_count(&status, narrow, &count);
    MPI_Get_elements_x(&status, narrow, &elements);
    expect_equal(count, kUnits, "MPI_Get_count");
    expect_equal(elements, MPI_Count{kUnit} * kUnits, "MPI_Get_elements_x");
    for (std::size_t i = 0; i < kUnits; ++i) {
      if (!expect(first_wrong(in.data() + i * kUnit, kUnit, 12, 8 * i) == kUnit, text("unit ", i))) break;
    }
  }
  MPI_Type_free(&narrow);
  MPI_Type_free(&unit);
}

// Two pieces 6 GiB apart.
void far_apart(const Session& session) {
  step("displacements beyond 2^32");
  const MPI_Aint places[2] = {16, MPI_Aint{6} << 30};
  for (const int length : {100, 50000}) {
    const int lengths[2] = {length, length};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &type);
    MPI_Type_commit(&type);
    const std::size_t bytes = static_cast<std::size_t>(length) * sizeof(int);
    const Reserve memory((std::size_t{6} << 30) + 1000000);
    if (session.rank == 0) {
      for (std::uint64_t i = 0; i < 2; ++i) fill(memory.data() + places[i], bytes, i);
      MPI_Send(memory.data(), 1, type, 1, 3, MPI_COMM_WORLD);
    } else {
      MPI_Recv(memory.data(), 1, type, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (std::uint64_t i = 0; i < 2; ++i)
        expect_pattern(memory.data() + places[i], bytes, i, text("far piece ", i));
    }
    MPI_Type_free(&type);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "big_counts");
  const int mib = static_cast<int>(session.options.number("mib", 4352));
  int enough = available_memory() > (static_cast<std::uint64_t>(mib) + 4096) * kBlock ? 1 : 0;
  MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (enough == 0 || session.size != 2) {
    if (session.rank == 0)
      std::printf("big_counts: SKIPPED: needs 2 ranks and %d MiB of free memory\n", mib + 4096);
    const int code = session.finish();
    return code != 0 ? code : kSkipped;
  }
  far_apart(session);
  many_elements(session);
  large_message(session, mib, kBlock);
  large_message(session, mib, kBlock + 4096);
  return session.finish();
}
