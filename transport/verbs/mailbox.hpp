// What the worker's thread and the connector's tell each other: commands one way, news the other. The lock is
// held for no system call that could wait, so that neither holds the other up.
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
  Connection* connection;  ///< null: connect
  Address address;
};

class Mailbox {
 public:
  Result<void> open();

  // The worker's thread.
  /// Throws std::bad_alloc.
  void post(const Command& command);
  void stop() noexcept;
  /// News since the last time; false: there are none.
  bool take_news(std::vector<News>& out) noexcept;
  bool has_news() const noexcept { return has_news_.load(std::memory_order_acquire); }
  int news_fd() const noexcept { return news_fd_.get(); }  ///< readable when there were news, until clear()
  void clear() noexcept;

  // The connector's thread.
  /// Throws std::bad_alloc.
  void report(News news);
  /// Commands since the last time; false: it is to stop.
  bool take_commands(std::vector<Command>& out) noexcept;
  int commands_fd() const noexcept { return commands_fd_.get(); }

 private:
  UniqueFd commands_fd_;
  UniqueFd news_fd_;
  std::atomic<bool> has_news_{false};
  std::mutex mutex_;  // guards all below
  bool stopping_ = false;
  std::vector<Command> commands_;
  std::vector<News> news_;
};

}  // namespace stria::verbs
