#include "tests/mpi/tool_interface.hpp"

#include <cstddef>
#include <vector>

namespace mpitest {

ToolInterface::ToolInterface() {
  int provided = 0;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_T_pvar_session_create(&session_);
}

ToolInterface::~ToolInterface() {
  for (auto& [name, handle] : handles_) MPI_T_pvar_handle_free(session_, &handle);
  MPI_T_pvar_session_free(&session_);
  MPI_T_finalize();
}

std::optional<std::string> ToolInterface::control(const std::string& name) {
  int index = 0;
  if (MPI_T_cvar_get_index(name.c_str(), &index) != MPI_SUCCESS) return std::nullopt;
  MPI_T_cvar_handle handle = nullptr;
  int count = 0;
  if (MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) return std::nullopt;
  std::vector<char> value(static_cast<std::size_t>(count) + 1, '\0');
  const bool read = MPI_T_cvar_read(handle, value.data()) == MPI_SUCCESS;
  MPI_T_cvar_handle_free(&handle);
  if (!read) return std::nullopt;
  return std::string(value.data());
}

std::optional<std::uint64_t> ToolInterface::performance(const std::string& name, int var_class) {
  auto known = handles_.find(name);
  if (known == handles_.end()) {
    int index = 0;
    int count = 0;
    MPI_T_pvar_handle handle = nullptr;
    if (MPI_T_pvar_get_index(name.c_str(), var_class, &index) != MPI_SUCCESS ||
        MPI_T_pvar_handle_alloc(session_, index, nullptr, &handle, &count) != MPI_SUCCESS) {
      return std::nullopt;
    }
    known = handles_.emplace(name, handle).first;
    if (count != 1) return std::nullopt;
  }
  unsigned long long value = 0;
  if (MPI_T_pvar_read(session_, known->second, &value) != MPI_SUCCESS) return std::nullopt;
  return value;
}

std::uint64_t size_in_bytes(const std::string& text) {
  std::size_t digits = 0;
  const std::uint64_t value = std::stoull(text, &digits);
  switch (digits < text.size() ? text[digits] : ' ') {
    case 'k':
    case 'K':
      return value << 10;
    case 'm':
    case 'M':
      return value << 20;
    case 'g':
    case 'G':
      return value << 30;
    default:
      return value;
  }
}

}  // namespace mpitest
