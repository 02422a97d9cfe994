// ProfileFolder: where profiles are kept, a folder of the user's own, in which a profile is a file that is
// replaced whole.
//
// The folder is ${XDG_CACHE_HOME:-~/.cache}/stria or, where that cannot be written, a folder of the user's
// own in ${TMPDIR:-/tmp}. What belongs to another user, is writable by others or is a symbolic link is not
// used. No failure is an error: then there is no profile, or it is not kept.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"

namespace stria::hw {

class ProfileFolder {
 public:
  /// The folders to try, by the environment; none for a program that runs with another user's rights.
  static std::vector<std::string> candidates();
  /// Opens a folder and makes it if it is missing, with the folder that it lies in. Nothing: it cannot be
  /// used.
  static std::optional<ProfileFolder> open(const std::string& folder);

  std::string path_of(const std::string& name) const { return folder_ + "/" + name; }
  /// The text of a file of the folder; nothing: it is missing, too long, or none of the user's own files.
  std::optional<std::string> read(const std::string& name) const;
  /// Replaces a file whole. False: the file is as it was.
  bool write(const std::string& name, const std::string& text) const;
  /// Locks this name against other processes of the user until the descriptor is closed. Empty descriptor:
  /// another process holds the lock. Nothing: no lock can be had in this folder.
  std::optional<UniqueFd> try_lock(const std::string& name) const;

 private:
  std::string folder_;
  UniqueFd fd_;
};

/// The text of any regular file, at most `most` bytes of it; nothing: it cannot be read, or is longer.
std::optional<std::string> read_file(const std::string& path, std::size_t most);

}  // namespace stria::hw
