// Open MPI's MPI_T variables by name: what the layer under test was configured with, and what it counts.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace mpitest {

/// MPI_T from start to end. Open it after MPI_Init, when the layer has registered its variables.
class ToolInterface {
 public:
  ToolInterface();
  ~ToolInterface();
  ToolInterface(const ToolInterface&) = delete;
  ToolInterface& operator=(const ToolInterface&) = delete;

  /// The value of a control variable of text; nothing when there is no such variable.
  [[nodiscard]] static std::optional<std::string> control(const std::string& name);
  /// The value of a performance variable of 64 bits that no object binds; nothing when there is none. Open
  /// MPI counts counters from the first look at them.
  [[nodiscard]] std::optional<std::uint64_t> performance(const std::string& name, int var_class);

 private:
  MPI_T_pvar_session session_ = nullptr;
  std::map<std::string, MPI_T_pvar_handle> handles_;
};

/// "64M" in bytes, as stria's variables of sizes are written.
std::uint64_t size_in_bytes(const std::string& text);

}  // namespace mpitest
