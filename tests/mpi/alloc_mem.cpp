// MPI_Alloc_mem: memory of pml stria's own, which peers map; ordinary memory where it cannot be had, and
// wherever another layer carries the messages. Its contents, what messages out of it are counted as, and that
// allocating and freeing for ever takes nothing that is not given back.
//   --most=N        allocations that may be the layer's own (default: no limit that matters here)
//   --keep=1        nothing but memory that is not freed at the end
//   --window=1      nothing but the window, and only puts into it
//   --mappings=1    nothing but that most of the mappings a process may have are left to everything else
#include <dirent.h>
#include <sys/sysinfo.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/mpi/harness.hpp"
#include "tests/mpi/tool_interface.hpp"

using namespace mpitest;

namespace {

constexpr int kTag = 1;

/// Memory of MPI_Alloc_mem, as `hints` ask for it.
class Memory {
 public:
  explicit Memory(std::size_t bytes, const char* hints = nullptr) : bytes_(bytes) {
    MPI_Info info = MPI_INFO_NULL;
    if (hints != nullptr) {
      MPI_Info_create(&info);
      MPI_Info_set(info, "mpool_hints", hints);
    }
    expect_equal(MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), info, &data_), MPI_SUCCESS, "MPI_Alloc_mem");
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  }
  Memory(Memory&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  Memory(const Memory&) = delete;
  ~Memory() {
    if (data_ != nullptr) MPI_Free_mem(data_);
  }
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }
  void keep() { data_ = nullptr; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_;
};

/// The line of the address in the list of mappings.
std::string mapping_of(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    char* rest = nullptr;
    const std::uintptr_t begin = std::strtoull(line.c_str(), &rest, 16);
    const std::uintptr_t end = std::strtoull(rest + 1, nullptr, 16);
    if (begin <= wanted && wanted < end) return line;
  }
  return {};
}

/// Whether the address lies in a mapping of the layer's kind.
bool peers_map(const void* address) {
  return mapping_of(address).find("memfd:stria-memory") != std::string::npos;
}

std::size_t lines_with(const char* text) {
  std::ifstream maps("/proc/self/maps");
  std::size_t lines = 0;
  for (std::string line; std::getline(maps, line);) lines += line.find(text) != std::string::npos ? 1 : 0;
  return lines;
}

std::size_t lines_of(const char* path) {
  std::ifstream file(path);
  std::size_t lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  return lines;
}

std::size_t descriptors() {
  std::size_t count = 0;
  DIR* folder = ::opendir("/proc/self/fd");
  while (folder != nullptr && ::readdir(folder) != nullptr) ++count;
  if (folder != nullptr) ::closedir(folder);
  return count;
}

class Test {
 public:
  explicit Test(const Session& session)
      : session_(session),
        other_(1 - session.rank),
        own_(layer() == "stria"),
        window_only_(session.options.number("window", 0) != 0) {}

  void run() {
    if (window_only_) {
      for (int i = 0; i < 50; ++i) window();
      return;
    }
    if (session_.options.number("keep", 0) != 0) {
      keep_to_the_end();
      return;
    }
    before_any_message();
    small_and_hinted();
    freed_and_taken_again();
    more_than_there_is();
    contiguous();
    // Where each number is in a line of its own two cores are faster; else loads are.
    columns("columns of a matrix", 1024, 1024, 20, false);
    columns("every third number", 20000, 3, 2, true);
    beside_ordinary_memory();
    window();
    for_ever();
  }

 private:
  static std::string_view layer() {
    const char* const name = std::getenv("OMPI_MCA_pml");
    return name == nullptr ? "" : name;
  }

  /// What the component counts; nothing when the job does not have it.
  std::uint64_t of_component(const char* name) {
    return tool_.performance(text("mpool_stria_", name), MPI_T_PVAR_CLASS_LEVEL).value_or(0);
  }
  std::uint64_t mapped_messages() {
    return own_ ? tool_.performance("pml_stria_received_mapped", MPI_T_PVAR_CLASS_COUNTER).value_or(0) : 0;
  }

  /// Both ranks send to each other at once, and check what they get.
  void send_and_receive(std::byte* out, std::byte* in, std::size_t bytes, std::uint64_t key) {
    fill(out, bytes, key + static_cast<std::uint64_t>(session_.rank));
    std::memset(in, 0, bytes);
    MPI_Sendrecv(out, static_cast<int>(bytes), MPI_BYTE, other_, kTag, in, static_cast<int>(bytes), MPI_BYTE,
                 other_, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect_pattern(in, bytes, key + static_cast<std::uint64_t>(other_), text("message ", key));
  }

  void before_any_message() {
    step("memory before any message");
    if (own_) {
      expect(tool_.performance("mpool_stria_allocations", MPI_T_PVAR_CLASS_LEVEL).has_value(),
             "the job has no mpool stria");
    }
    expect_equal(of_component("allocations"), std::uint64_t{0}, "allocations at the start");
    {
      const Memory memory(3 << 20);
      fill(memory.data(), memory.size(), 1);
      expect_pattern(memory.data(), memory.size(), 1, "own memory");
      expect_equal(peers_map(memory.data()), own_, "whether peers map it");
      expect_equal(of_component("allocations"), std::uint64_t{own_ ? 1U : 0U}, "allocations");
      expect_equal(of_component("bytes"), std::uint64_t{own_ ? 3U << 20U : 0U}, "bytes");
    }
    expect_equal(of_component("allocations"), std::uint64_t{0}, "allocations after the last was freed");
    expect_equal(of_component("bytes"), std::uint64_t{0}, "bytes after the last was freed");
    void* none = &none;
    expect_equal(MPI_Alloc_mem(0, MPI_INFO_NULL, &none), MPI_SUCCESS, "no bytes");
  }

  void small_and_hinted() {
    step("small memory and memory that is asked for by name");
    expect(!peers_map(Memory(100).data()), "100 bytes do not pay for a mapping");
    expect_equal(peers_map(Memory(1 << 16, "mpool=stria").data()), own_, "mpool=stria");
    expect_equal(peers_map(Memory(1 << 16, "page_size=4k,mpool=Stria").data()), own_, "mpool=Stria");
    expect_equal(peers_map(Memory(1 << 16, "unknown=1,,").data()), own_, "hints that are not for it");
    expect(!peers_map(Memory(1 << 16, "mpool=hugepage").data()), "mpool=hugepage");
    expect(!peers_map(Memory(1 << 16, "mpool=stria2").data()), "mpool=stria2");
  }

  /// What is short is kept when it is freed: MPI_Sendrecv_replace, for one, takes a buffer for each call. The
  /// line names the file by number, and a new one has another.
  void freed_and_taken_again() {
    step("memory that is freed and taken again");
    if (!own_) return;
    const auto taken = [](std::size_t bytes) { return mapping_of(Memory(bytes).data()); };
    const std::string first = taken(100000);
    expect_equal(taken(100000), first, "the same bytes again");
    expect_equal(taken(60000), first, "fewer bytes");
    expect(taken(120000) != first, "more bytes are other memory");
    expect(taken(10000) != first, "so are few");
    expect(taken(1 << 20) != taken(1 << 20), "long memory goes back to the system");
    std::vector<Memory> many;
    many.reserve(40);
    for (int i = 0; i < 40; ++i) many.emplace_back(8192);
    many.clear();
    expect_equal(of_component("allocations"), std::uint64_t{0}, "allocations");
    expect_equal(of_component("bytes"), std::uint64_t{0}, "bytes");
    expect_equal(lines_with("memfd:stria-memory"), std::size_t{8}, "mappings that are kept");
  }

  /// Refused as malloc refuses it; not given, to be found out by a store.
  static void more_than_there_is() {
#ifndef __SANITIZE_ADDRESS__  // there malloc ends the process
    step("more memory than the machine has");
    struct sysinfo all {};
    expect_equal(::sysinfo(&all), 0, "sysinfo");
    const std::size_t bytes = (all.totalram + all.totalswap) * all.mem_unit + (1 << 30);
    void* ordinary = std::malloc(bytes);
    std::free(ordinary);
    if (ordinary != nullptr) return;  // the system promises anything (vm.overcommit_memory)
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    void* memory = nullptr;
    const int answer = MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, &memory);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    int error = MPI_SUCCESS;
    MPI_Error_class(answer, &error);
    expect_equal(error, MPI_ERR_NO_MEM, text(bytes, " bytes"));
    if (answer == MPI_SUCCESS) MPI_Free_mem(memory);
#endif
  }

  void contiguous() {
    step("contiguous messages");
    const Memory out(4 << 20);
    const Memory in(4 << 20);
    const std::uint64_t before = mapped_messages();
    constexpr std::uint64_t kMessages = 10;
    for (std::uint64_t i = 0; i < kMessages; ++i)
      send_and_receive(out.data() + 1000 * i, in.data() + 7 * i, (4 << 20) - 9000, 100 + 2 * i);
    if (own_) expect_equal(mapped_messages() - before, kMessages, "messages by loads");
  }

  /// Columns of a matrix, one after the other.
  void columns(const char* what, std::size_t rows, std::size_t stride, std::size_t columns, bool by_loads) {
    step(what);
    const Memory out(rows * stride * sizeof(std::uint64_t));
    const Memory in(rows * stride * sizeof(std::uint64_t));
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(static_cast<int>(rows), 1, static_cast<int>(stride), MPI_UINT64_T, &type);
    MPI_Type_commit(&type);
    auto* sent = reinterpret_cast<std::uint64_t*>(out.data());
    auto* got = reinterpret_cast<std::uint64_t*>(in.data());
    std::memset(got, 0, in.size());
    const std::uint64_t before = mapped_messages();
    for (std::size_t column = 0; column < columns; ++column) {
      for (std::size_t row = 0; row < rows; ++row)
        sent[row * stride + column] = mix(row * stride + column + static_cast<std::uint64_t>(session_.rank));
      MPI_Sendrecv(sent + column, 1, type, other_, kTag, got + column, 1, type, other_, kTag, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
    }
    if (own_)
      expect_equal(mapped_messages() - before, std::uint64_t{by_loads ? columns : 0}, "columns by loads");
    bool right = true;
    for (std::size_t i = 0; i < rows * stride; ++i) {
      const std::uint64_t wanted = i % stride < columns ? mix(i + static_cast<std::uint64_t>(other_)) : 0;
      right = right && got[i] == wanted;
    }
    expect(right, "the columns and what is between them");
    MPI_Type_free(&type);
  }

  void beside_ordinary_memory() {
    step("messages between such memory and any other");
    const Memory special(1 << 20);
    std::vector<std::byte> ordinary(1 << 20);
    std::vector<std::byte> second(1 << 20);
    send_and_receive(special.data(), ordinary.data(), ordinary.size(), 200);
    send_and_receive(ordinary.data(), special.data(), ordinary.size(), 202);
    send_and_receive(ordinary.data(), second.data(), ordinary.size(), 204);
  }

  void window() {
    step("a window in it");
    constexpr std::size_t kBytes = 1 << 20;
    const Memory memory(kBytes);
    const Memory local(kBytes);
    MPI_Win win = MPI_WIN_NULL;
    MPI_Win_create(memory.data(), kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    fill(local.data(), kBytes, 300 + static_cast<std::uint64_t>(session_.rank));
    MPI_Win_fence(0, win);
    MPI_Put(local.data(), kBytes, MPI_BYTE, other_, 0, kBytes, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    expect_pattern(memory.data(), kBytes, 300 + static_cast<std::uint64_t>(other_), "put");
    if (!window_only_) {
      std::memset(local.data(), 0, kBytes);
      MPI_Win_fence(0, win);
      MPI_Get(local.data(), kBytes, MPI_BYTE, other_, 0, kBytes, MPI_BYTE, win);
      MPI_Win_fence(0, win);
      expect_pattern(local.data(), kBytes, 300 + static_cast<std::uint64_t>(session_.rank), "get");
    }
    MPI_Win_free(&win);
  }

  void keep_to_the_end() {
    step("memory that is never freed");
    Memory kept(1 << 20);
    expect_equal(peers_map(kept.data()), own_, "whether peers map it");
    send_and_receive(kept.data(), kept.data() + (1 << 19), 1 << 19, 99);
    kept.keep();
  }

  /// Several thousand allocations, some with a message; the process is as large after them as after a few.
  void for_ever() {
    step("allocating and freeing for ever");
    constexpr std::size_t kBytes = 1 << 18;
    const auto many = [&](std::uint64_t times) {
      for (std::uint64_t i = 0; i < times; ++i) {
        const Memory out(kBytes);
        const Memory in(kBytes);
        out.data()[kBytes - 1] = in.data()[0] = std::byte{1};
        if (i % 8 == 0) send_and_receive(out.data(), in.data(), kBytes, 1000 + i);
      }
      // Peers let go of what was freed when they look at their links, some times a second.
      MPI_Barrier(MPI_COMM_WORLD);
    };
    // Other layers are not this test's business, and slow where cores are shared.
    many(own_ ? 800 : 80);
    const std::size_t fds = descriptors();
    const std::size_t maps = lines_of("/proc/self/maps");
    const std::uint64_t memory = own_memory("RssAnon") + own_memory("RssShmem");
    many(own_ ? 4000 : 200);
    expect(descriptors() <= fds + 8, text(descriptors(), " descriptors, before ", fds));
    expect(lines_of("/proc/self/maps") <= maps + 80,
           text(lines_of("/proc/self/maps"), " mappings, before ", maps));
    const std::uint64_t now = own_memory("RssAnon") + own_memory("RssShmem");
    expect(now <= memory + 64 * kBytes + (4 << 20), text(now, " bytes of memory, before ", memory));
    expect_equal(of_component("allocations"), std::uint64_t{0}, "allocations at the end");
  }

  const Session& session_;
  ToolInterface tool_;
  int other_;
  bool own_;
  bool window_only_;
};

/// More buffers at once than may be the layer's own: the others are ordinary, and all of them work.
void too_many(const Session& session, std::uint64_t most) {
  step("more allocations than there may be");
  constexpr std::size_t kBytes = 100000;
  constexpr std::size_t kCount = 40;
  const int other = 1 - session.rank;
  std::vector<Memory> all;
  std::uint64_t mapped = 0;
  MPI_Barrier(MPI_COMM_WORLD);  // connecting takes descriptors, of which there may be none later
  for (std::size_t i = 0; i < 2 * kCount; ++i) {
    all.emplace_back(kBytes);
    mapped += peers_map(all.back().data()) ? 1 : 0;
  }
  expect(mapped > 0 && mapped <= most, text(mapped, " allocations are mapped by peers, at most ", most));
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto key = [&](int rank) { return 10 * i + static_cast<std::uint64_t>(rank); };
    fill(all[i].data(), kBytes, key(session.rank));
    MPI_Sendrecv(all[i].data(), kBytes, MPI_BYTE, other, kTag, all[2 * kCount - 1 - i].data(), kBytes,
                 MPI_BYTE, other, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect_pattern(all[2 * kCount - 1 - i].data(), kBytes, key(other), text("buffer ", i));
  }
}

/// Allocates as often as descriptors allow, which is far more than a quarter of the mappings. One rank.
int few_mappings() {
  step("mappings are left");
  constexpr std::uint64_t kCount = 17000;
  std::uint64_t limit = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> limit;
  if (limit == 0 || limit / 4 > kCount - 500) {
    std::printf("alloc_mem: SKIPPED: vm.max_map_count is %llu\n", static_cast<unsigned long long>(limit));
    return kSkipped;
  }
  ToolInterface tool;
  std::vector<Memory> all;
  for (std::uint64_t i = 0; i < kCount; ++i) all.emplace_back(4096);
  const auto mapped = tool.performance("mpool_stria_allocations", MPI_T_PVAR_CLASS_LEVEL).value_or(0);
  expect(mapped > 0 && mapped <= limit / 4, text(mapped, " allocations are mapped, limit ", limit));
  const std::size_t maps = lines_of("/proc/self/maps");
  expect(maps < limit / 2, text(maps, " mappings, limit ", limit));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // Which way a message goes is counted, and must not depend on what was measured of this machine.
  ::setenv("STRIA_SHM_DISTANCE", "near", 1);
  ::setenv("STRIA_MACHINE", "defaults", 1);
  // With it the first message may be copied by both sides, where the receiver is late.
  ::setenv("STRIA_RNDV_SHARE", "off", 1);
  Session session(argc, argv, "alloc_mem");
  int skipped = 0;
  if (session.options.number("mappings", 0) != 0) {
    skipped = few_mappings();
  } else if (const std::uint64_t most = session.options.number("most", 0); most != 0) {
    too_many(session, most);
  } else {
    Test(session).run();
  }
  const int verdict = session.finish();
  return verdict != 0 ? verdict : skipped;
}
