// The shared memory of a process that has a name, and so would stay when the process is killed. The library's
// has none. This is asked of the process, not of the folder, where others have files of their own.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace stria::test {

/// The files in /dev/shm that the process, this one or a child, maps or has open, and that are not unlinked.
inline std::vector<std::string> named_memory(pid_t process) {
  constexpr std::string_view kFolder = "/dev/shm/", kUnlinked = " (deleted)";
  std::vector<std::string> found;
  const auto add = [&](std::string_view path) {
    if (path.starts_with(kFolder) && !path.ends_with(kUnlinked)) found.emplace_back(path);
  };
  const std::filesystem::path about = "/proc/" + std::to_string(process);
  std::ifstream maps(about / "maps");
  for (std::string line; std::getline(maps, line);)
    if (const std::size_t path = line.find(kFolder); path != std::string::npos)
      add(std::string_view(line).substr(path));
  std::error_code closed_meanwhile;
  for (const auto& open : std::filesystem::directory_iterator(about / "fd", closed_meanwhile))
    add(std::filesystem::read_symlink(open.path(), closed_meanwhile).string());
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace stria::test
