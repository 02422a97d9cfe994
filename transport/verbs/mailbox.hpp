// The mailbox between the worker's thread and the connector's: commands go to the connector, news to the
// worker. The lock is never held during a system call that could wait, so neither thread holds the other up.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "transport/verbs/connection.hpp"
#include "transport/verbs/packets.hpp"

namespace stria::verbs {

struct Command {
  enum class What : std::uint8_t { connect, disconnect, dispose } what;
  Connection* connection;  ///< null with `connect`
  Address address;         ///< of the worker to connect to; only with `connect`
};

class Mailbox {
 public:
  Result<void> open();

  // The worker's thread.
  /// Throws std::bad_alloc.
  void post(const Command& command);
  /// Makes take_commands() return false from now on.
  void stop() noexcept;
  /// Swaps the news since the last call into `out`, which is empty; false: there are none.
  bool take_news(std::vector<News>& out) noexcept;
  bool has_news() const noexcept { return has_news_.load(std::memory_order_acquire); }
  int news_fd() const noexcept { return news_fd_.get(); }  ///< readable when news came, until clear()
  void clear() noexcept;

  // The connector's thread.
  /// Throws std::bad_alloc.
  void report(News news);
  /// Swaps the commands since the last call into `out`, which is empty; false: the thread is to stop.
  bool take_commands(std::vector<Command>& out) noexcept;
  int commands_fd() const noexcept { return commands_fd_.get(); }

 private:
  UniqueFd commands_fd_;
  UniqueFd news_fd_;
  std::atomic<bool> has_news_{false};
  std::mutex mutex_;  // guards the members below
  bool stopping_ = false;
  std::vector<Command> commands_;
  std::vector<News> news_;
};

}  // namespace stria::verbs
