#include "osu_bench/mpi/mpi_peer.hpp"

#include <cstring>
#include <string>

#include "osu_bench/common/machine.hpp"

namespace stria::bench {
namespace {

/// An uncommitted type, owned by the caller.
MPI_Datatype build(const Recipe& recipe) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  std::vector<MPI_Datatype> children;
  for (const Recipe& child : recipe.children()) children.push_back(build(child));
  const std::vector<MPI_Aint> at(recipe.displacements().begin(), recipe.displacements().end());
  const int count = static_cast<int>(recipe.count());
  switch (recipe.kind()) {
    case Recipe::Kind::int8:
      MPI_Type_dup(MPI_CHAR, &made);
      break;
    case Recipe::Kind::int32:
      MPI_Type_dup(MPI_INT, &made);
      break;
    case Recipe::Kind::float32:
      MPI_Type_dup(MPI_FLOAT, &made);
      break;
    case Recipe::Kind::float64:
      MPI_Type_dup(MPI_DOUBLE, &made);
      break;
    case Recipe::Kind::contiguous:
      MPI_Type_contiguous(count, children[0], &made);
      break;
    case Recipe::Kind::vector:
      MPI_Type_create_hvector(count, static_cast<int>(recipe.blocklen()), recipe.stride(), children[0],
                              &made);
      break;
    case Recipe::Kind::indexed: {
      const std::vector<int> lengths(recipe.lengths().begin(), recipe.lengths().end());
      MPI_Type_create_hindexed(static_cast<int>(at.size()), lengths.data(), at.data(), children[0], &made);
      break;
    }
    case Recipe::Kind::composite: {
      const std::vector<int> ones(at.size(), 1);
      MPI_Type_create_struct(static_cast<int>(at.size()), ones.data(), at.data(), children.data(), &made);
      break;
    }
    case Recipe::Kind::resized:
      MPI_Type_create_resized(children[0], 0, recipe.stride(), &made);
      break;
  }
  for (MPI_Datatype& child : children) MPI_Type_free(&child);
  return made;
}

/// The value the MCA parameter "pml" was given; only Open MPI has it.
std::string selected_pml() {
  std::string answer;
  int provided = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return answer;
  int index = 0;
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  int length = 0;
  if (MPI_T_cvar_get_index("pml", &index) == MPI_SUCCESS &&
      MPI_T_cvar_handle_alloc(index, nullptr, &handle, &length) == MPI_SUCCESS) {
    std::vector<char> text(static_cast<std::size_t>(length > 0 ? length : 0) + 4096, '\0');
    if (MPI_T_cvar_read(handle, text.data()) == MPI_SUCCESS) answer = text.data();
    MPI_T_cvar_handle_free(&handle);
    if (answer.empty()) answer = "chosen by Open MPI";
  }
  MPI_T_finalize();
  return answer;
}

}  // namespace

MpiPeer::MpiPeer() {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  const int half = size_ / 2;
  partner_ = rank_ < half ? rank_ + half : rank_ - half;
}

MpiType MpiPeer::make_type(const Recipe& recipe) {
  MPI_Datatype type = build(recipe);
  MPI_Type_commit(&type);
  return MpiType(type);
}

Buffer MpiPeer::allocate(std::size_t bytes) {
  std::byte* memory = nullptr;
  MPI_Alloc_mem(static_cast<MPI_Aint>(bytes == 0 ? 1 : bytes), MPI_INFO_NULL, &memory);
  return {memory, bytes, [](std::byte* owned) { MPI_Free_mem(owned); }};
}

long MpiPeer::largest_tag() const {
  int* bound = nullptr;
  int known = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &known);
  constexpr long kStandard = 32767;  // what MPI promises
  return known != 0 ? *bound : kStandard;
}

long MpiPeer::broadcast(long number) {
  MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  return number;
}

std::vector<double> MpiPeer::gather(double mine) {
  std::vector<double> all(rank_ == 0 ? static_cast<std::size_t>(size_) : 0);
  MPI_Gather(&mine, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return all;
}

Environment MpiPeer::environment() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(version, &length);
  std::string library(version, static_cast<std::size_t>(length));
  library = library.substr(0, library.find_first_of(",\n"));
  for (char& c : library) c = c == '\t' ? ' ' : c;

  constexpr std::size_t kRoom = 128;
  char mine[kRoom] = {};
  std::strncpy(mine, pinning().c_str(), kRoom - 1);
  std::vector<char> all(rank_ == 0 ? kRoom * static_cast<std::size_t>(size_) : 0);
  MPI_Gather(mine, kRoom, MPI_CHAR, all.data(), kRoom, MPI_CHAR, 0, MPI_COMM_WORLD);
  std::string bound;
  const std::size_t ranks = all.size() / kRoom;
  const auto pinned = [&](std::size_t i) { return std::string(&all[i * kRoom]); };
  for (std::size_t first = 0, next = 1; first < ranks; first = next++) {
    while (next < ranks && pinned(next) == pinned(first)) ++next;
    const std::string to = next - first > 1 ? "-" + std::to_string(next - 1) : "";
    bound += (first == 0 ? "rank " : "; rank ") + std::to_string(first) + to + " " + pinned(first);
  }
  Environment environment = {{"mpi", library}};
  if (const std::string pml = selected_pml(); !pml.empty()) environment.emplace_back("pml", pml);
  environment.emplace_back("pinning", bound);
  return environment;
}

}  // namespace stria::bench
