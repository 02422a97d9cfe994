#include "transport/verbs/mailbox.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/format.hpp"

namespace stria::verbs {
namespace {

void notify(int fd) noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(::write(fd, &one, sizeof one));
}
void drain(int fd) noexcept {
  std::uint64_t count = 0;
  static_cast<void>(::read(fd, &count, sizeof count));
}

}  // namespace

Result<void> Mailbox::open() {
  commands_fd_.reset(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  news_fd_.reset(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!commands_fd_ || !news_fd_)
    return Error{Status::io_error, fmt::format("verbs: eventfd: {}", std::strerror(errno))};
  return {};
}

void Mailbox::post(const Command& command) {
  {
    const std::lock_guard lock(mutex_);
    commands_.push_back(command);
  }
  notify(commands_fd_.get());
}

void Mailbox::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  notify(commands_fd_.get());
}

bool Mailbox::take_news(std::vector<News>& out) noexcept {
  if (!has_news()) [[likely]]
    return false;
  const std::lock_guard lock(mutex_);
  has_news_.store(false, std::memory_order_relaxed);
  out.swap(news_);
  return !out.empty();
}

void Mailbox::clear() noexcept {
  drain(news_fd_.get());
}

void Mailbox::report(News news) {
  {
    const std::lock_guard lock(mutex_);
    news_.push_back(std::move(news));
    has_news_.store(true, std::memory_order_release);  // pairs with the acquire in has_news()
  }
  notify(news_fd_.get());
}

bool Mailbox::take_commands(std::vector<Command>& out) noexcept {
  drain(commands_fd_.get());
  const std::lock_guard lock(mutex_);
  if (stopping_) return false;
  out.swap(commands_);
  return true;
}

}  // namespace stria::verbs
