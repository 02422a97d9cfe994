// Which processors are measured: the one that the caller runs on, and two others, of which one shares a cache
// with it and the other does not, as far as the system tells.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace stria::hw {

/// "0-3,8" -> 0, 1, 2, 3, 8, as the system lists processors. Empty: it is no such list.
std::vector<unsigned> parse_processors(const std::string& text);

/// Binds the calling thread to the processor that it runs on. The destructor binds the thread to the
/// processors that it was bound to before.
class ScopedBinding {
 public:
  ScopedBinding();
  ~ScopedBinding();
  ScopedBinding(const ScopedBinding&) = delete;
  ScopedBinding& operator=(const ScopedBinding&) = delete;

  /// The processor that the thread is bound to.
  unsigned own() const noexcept { return own_; }
  /// Processors to choose partners from, in rising order: those that the thread was bound to or, where that
  /// was one, those that the kernel lets this process use. Launchers bind each rank to one core.
  const std::vector<unsigned>& permitted() const noexcept { return permitted_; }

 private:
  std::vector<unsigned> before_, permitted_;
  unsigned own_ = 0;
};

/// Whether clearly more threads want to run now than there are processors (five for four): then measuring
/// takes long and says little. A job that fills a machine is no more than the launcher beside it.
bool processors_are_busy();

/// What the system says of one processor, in lists that have the processor itself, too. Empty: not known.
struct Neighbours {
  std::vector<unsigned> core;   ///< processors of the same core
  std::vector<unsigned> cache;  ///< processors that share its last-level cache
};
/// Reads files of the system.
Neighbours neighbours_of(unsigned processor);

/// The partners to measure `own` with: one that shares the last-level cache, and one that does not. Where the
/// system does not tell, the next and the last one: then what is measured tells which of them is near.
struct Partners {
  std::optional<unsigned> near, far;
};
Partners choose_partners(unsigned own, const std::vector<unsigned>& permitted, const Neighbours& neighbours);

}  // namespace stria::hw
