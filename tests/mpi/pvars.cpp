// MPI_T performance variables of stria's layer: all of them exist, and each counts what its name says in
// exchanges whose path is known. Counters are compared as differences around traffic between two ranks alone.
//   --scheme=get|pipeline   the rendezvous scheme the job was forced to; default: any
//   --refused=1             cross-memory attach is refused to the ranks
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "tests/mpi/harness.hpp"
#include "tests/mpi/tool_interface.hpp"

namespace {

using namespace mpitest;

constexpr int kMessages = 20;
constexpr int kGo = 1;
constexpr int kData = 2;
constexpr int kLast = 3;

struct Variable {
  const char* name;
  int var_class;
};
constexpr Variable kVariables[] = {
    {"sent_pio", MPI_T_PVAR_CLASS_COUNTER},
    {"sent_buffered", MPI_T_PVAR_CLASS_COUNTER},
    {"sent_rendezvous", MPI_T_PVAR_CLASS_COUNTER},
    {"received_eager", MPI_T_PVAR_CLASS_COUNTER},
    {"received_get", MPI_T_PVAR_CLASS_COUNTER},
    {"received_mapped", MPI_T_PVAR_CLASS_COUNTER},
    {"received_mapped_both", MPI_T_PVAR_CLASS_COUNTER},
    {"received_pipeline", MPI_T_PVAR_CLASS_COUNTER},
    {"rail_pieces", MPI_T_PVAR_CLASS_COUNTER},
    {"copied_own", MPI_T_PVAR_CLASS_COUNTER},
    {"fallbacks", MPI_T_PVAR_CLASS_COUNTER},
    {"unexpected_messages", MPI_T_PVAR_CLASS_LEVEL},
    {"unexpected_bytes", MPI_T_PVAR_CLASS_LEVEL},
    {"unexpected_bytes_max", MPI_T_PVAR_CLASS_HIGHWATERMARK},
    {"posted_receives", MPI_T_PVAR_CLASS_LEVEL},
    {"peers", MPI_T_PVAR_CLASS_LEVEL},
};

/// All variables at one moment.
class Snapshot {
 public:
  explicit Snapshot(ToolInterface& tool) {
    for (const Variable& variable : kVariables) {
      const auto value = tool.performance(text("pml_stria_", variable.name), variable.var_class);
      expect(value.has_value(), text("there is no variable pml_stria_", variable.name));
      values_.push_back(value.value_or(0));
    }
  }
  [[nodiscard]] std::uint64_t operator[](std::string_view name) const {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (kVariables[i].name == name) return values_[i];
    }
    expect(false, text("no variable is called ", name));
    return 0;
  }

 private:
  std::vector<std::uint64_t> values_;
};

void expect_grew(const Snapshot& before, const Snapshot& after, std::string_view name, std::uint64_t by) {
  expect_equal(after[name] - before[name], by, text("growth of ", name));
}

// kMessages messages, each to a receive that is posted. What they added, on each side.
void expected_messages(const Session& session, ToolInterface& tool, int bytes, std::string_view path,
                       std::string_view arrival) {
  step(text(bytes, " bytes go by ", path));
  std::vector<std::byte> memory(static_cast<std::size_t>(bytes));
  if (session.rank == 0) {
    fill(memory.data(), memory.size(), 3);
    const Snapshot before(tool);
    for (int i = 0; i < kMessages; ++i) {
      MPI_Recv(nullptr, 0, MPI_BYTE, 1, kGo, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(memory.data(), bytes, MPI_BYTE, 1, kData, MPI_COMM_WORLD);
    }
    const Snapshot after(tool);
    for (const std::string_view sent : {"sent_pio", "sent_buffered", "sent_rendezvous"}) {
      expect_grew(before, after, sent, sent == path ? kMessages : 0);
    }
    expect_grew(before, after, "received_eager", kMessages);  // of the other side's "go"
  } else {
    const Snapshot before(tool);
    for (int i = 0; i < kMessages; ++i) {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Irecv(memory.data(), bytes, MPI_BYTE, 0, kData, MPI_COMM_WORLD, &request);
      if (i == 0) expect_equal(Snapshot(tool)["posted_receives"], before["posted_receives"] + 1, "posted");
      MPI_Send(nullptr, 0, MPI_BYTE, 0, kGo, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      expect_pattern(memory.data(), memory.size(), 3, "message");
    }
    const Snapshot after(tool);
    expect_grew(before, after, "sent_pio", kMessages);
    expect_grew(before, after, "posted_receives", 0);
    std::uint64_t all = 0;
    for (const std::string_view received :
         {"received_eager", "received_get", "received_mapped", "received_mapped_both", "received_pipeline"}) {
      all += after[received] - before[received];
      if (!arrival.empty()) expect_grew(before, after, received, received == arrival ? kMessages : 0);
    }
    expect_equal(all, std::uint64_t{kMessages}, "messages received in all");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// A forced get of blocks too small for it is refused and goes packed: counted as a fallback and as what it
// was.
void refused_gets(const Session& session, ToolInterface& tool) {
  constexpr int kBlocks = 1 << 16;
  step("gets that are refused");
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Type_vector(kBlocks, 1, 3, MPI_UINT64_T, &column);
  MPI_Type_commit(&column);
  std::vector<std::uint64_t> memory(std::size_t{3} * kBlocks, 0);
  const Snapshot before(tool);
  for (int i = 0; i < kMessages; ++i) {
    if (session.rank == 0) {
      for (std::size_t k = 0; k < memory.size(); k += 3) memory[k] = mix(k);
      MPI_Recv(nullptr, 0, MPI_BYTE, 1, kGo, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(memory.data(), 1, column, 1, kData, MPI_COMM_WORLD);
    } else {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Irecv(memory.data(), 1, column, 0, kData, MPI_COMM_WORLD, &request);
      MPI_Send(nullptr, 0, MPI_BYTE, 0, kGo, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      for (std::size_t k = 0; k < memory.size(); ++k) {
        if (memory[k] != (k % 3 == 0 ? mix(k) : 0)) {
          expect(false, text("word ", k, " is wrong"));
          break;
        }
      }
    }
  }
  const Snapshot after(tool);
  if (session.rank == 1) {
    expect_grew(before, after, "fallbacks", kMessages);
    expect_grew(before, after, "received_pipeline", kMessages);
    expect_grew(before, after, "received_get", 0);
  }
  MPI_Type_free(&column);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Messages nobody asked for are counted while they wait, and no longer.
void unexpected_messages(const Session& session, ToolInterface& tool) {
  constexpr int kBytes = 1000;
  step("unexpected messages");
  std::vector<std::byte> memory(kBytes);
  if (session.rank == 0) {
    fill(memory.data(), memory.size(), 4);
    for (int i = 0; i < kMessages; ++i) MPI_Send(memory.data(), kBytes, MPI_BYTE, 1, kData, MPI_COMM_WORLD);
    MPI_Send(nullptr, 0, MPI_BYTE, 1, kLast, MPI_COMM_WORLD);
    // The next barrier's message would be unexpected too.
    MPI_Recv(nullptr, 0, MPI_BYTE, 1, kGo, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(nullptr, 0, MPI_BYTE, 0, kLast, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const Snapshot waiting(tool);
    expect_equal(waiting["unexpected_messages"], std::uint64_t{kMessages}, "waiting messages");
    // Buffers come in sizes; the bytes are those of the messages at least, and not twice as many.
    const auto bytes = waiting["unexpected_bytes"];
    expect(bytes >= std::uint64_t{kMessages} * kBytes && bytes < 2 * std::uint64_t{kMessages} * kBytes,
           text(bytes, " bytes wait"));
    for (int i = 0; i < kMessages; ++i) {
      MPI_Recv(memory.data(), kBytes, MPI_BYTE, 0, kData, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      expect_pattern(memory.data(), memory.size(), 4, "message");
    }
    const Snapshot after(tool);
    expect_equal(after["unexpected_messages"], std::uint64_t{0}, "waiting messages at the end");
    expect_equal(after["unexpected_bytes"], std::uint64_t{0}, "waiting bytes at the end");
    expect(after["unexpected_bytes_max"] >= bytes, "the most that waited");
    MPI_Send(nullptr, 0, MPI_BYTE, 0, kGo, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "pvars");
  const char* const layer = std::getenv("OMPI_MCA_pml");
  if (layer == nullptr || std::string_view(layer) != "stria" || session.size != 2) {
    session.finish();
    std::fprintf(stderr, "pvars: SKIPPED: the variables are those of pml stria, between 2 ranks\n");
    return kSkipped;
  }
  {
    ToolInterface tool;
    const std::string scheme = session.options.get("scheme", "");
    const std::string arrival = scheme.empty() ? "" : text("received_", scheme);
    const std::uint64_t refused = session.options.number("refused", 0);
    const Snapshot unconnected(tool);
    MPI_Barrier(MPI_COMM_WORLD);  // connects the two
    const Snapshot start(tool);
    expect_equal(start["fallbacks"] - unconnected["fallbacks"], refused, "fallbacks of the link");
    expected_messages(session, tool, 8, "sent_pio", "received_eager");
    expected_messages(session, tool, 4000, "sent_buffered", "received_eager");
    expected_messages(session, tool, 3 << 20, "sent_rendezvous", arrival);
    unexpected_messages(session, tool);
    expect_equal(Snapshot(tool)["fallbacks"], start["fallbacks"], "fallbacks of messages");
    if (scheme == "get") refused_gets(session, tool);
  }
  return session.finish();
}
