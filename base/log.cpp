#include "base/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace stria::log {

Level level_of(std::string_view name) noexcept {
  if (name == "trace") return Level::trace;
  if (name == "debug") return Level::debug;
  if (name == "info") return Level::info;
  if (name == "error") return Level::error;
  if (name == "off") return Level::off;
  return Level::warn;
}

namespace {

/// The level in force. STRIA_LOG sets it at the first call; set_level() may change it later.
std::atomic<Level>& current_level() noexcept {
  const char* const environment = std::getenv("STRIA_LOG");
  static std::atomic<Level> level{level_of(environment == nullptr ? "" : environment)};
  return level;
}

spdlog::logger& logger() {
  // Never destroyed: other objects may log while the process ends.
  static auto* instance = [] {
    auto* made = new spdlog::logger("stria", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("stria[%P] %l: %v");
    made->set_level(spdlog::level::trace);
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *instance;
}

}  // namespace

Level level() noexcept {
  return current_level().load(std::memory_order_relaxed);
}
void set_level(Level level) noexcept {
  current_level().store(level, std::memory_order_relaxed);
}

void write(Level level, std::string_view text) noexcept {
  try {
    logger().log(static_cast<spdlog::level::level_enum>(level), "{}", text);
  } catch (...) {
    std::fprintf(stderr, "stria: %.*s\n", static_cast<int>(text.size()), text.data());
  }
}

}  // namespace stria::log
