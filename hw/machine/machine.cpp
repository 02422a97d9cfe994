#include "hw/machine.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

#include "base/config.hpp"
#include "base/log.hpp"
#include "base/processor.hpp"
#include "base/system.hpp"
#include "base/variables.hpp"
#include "hw/machine/obtain.hpp"
#include "hw/machine/profile_folder.hpp"

namespace stria::hw {
namespace {

/// The value of STRIA_MACHINE. A malformed value counts as the default here; opening a context reports it.
std::string machine_setting() {
  const Variable& variable =
      *std::ranges::find(kBaseVariables, std::string_view("STRIA_MACHINE"), &Variable::name);
  const auto value = read_once(variable);
  return value ? value->text : variable.default_value;
}

std::chrono::milliseconds time_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

/// When this process had started, not more than a clock tick later; now, where the kernel does not say.
std::chrono::milliseconds time_of_start() {
  const std::uint64_t ticks = start_of_process(static_cast<std::uint32_t>(::getpid()));
  timespec uptime{};
  if (ticks == 0 || ::clock_gettime(CLOCK_BOOTTIME, &uptime) != 0) return time_now();
  const std::int64_t uptime_ms = uptime.tv_sec * 1000 + uptime.tv_nsec / 1'000'000;
  const std::int64_t start_ms = (static_cast<std::int64_t>(ticks) + 1) * 1000 / ::sysconf(_SC_CLK_TCK);
  return time_now() - std::chrono::milliseconds(uptime_ms - start_ms);
}

Profile find_profile() {
  const std::string wanted = machine_setting();
  if (wanted == "defaults") return {};
  if (wanted.find('/') != std::string::npos) {
    Profile profile = read_given(wanted);
    if (profile.source == Source::defaults)
      log::warn("STRIA_MACHINE={}: {}; the defaults are used instead", wanted, profile.remark);
    return profile;
  }
  const bool renew = wanted == "measure";
  if (!renew && wanted != "auto") {
    log::warn(
        "STRIA_MACHINE={}: neither auto, defaults or measure nor the path of a file, which has a '/'; "
        "the defaults are used instead",
        wanted);
    return {};
  }
  return obtain({ProfileFolder::candidates(), Identity::of_this_machine(), renew,
                 renew ? kPatientLimits : kUsualLimits, time_of_start(), time_now,
                 renew ? measure : measure_unless_busy});
}

const Profile& find_once() {
  static const Profile profile = [] {
    const Clock::time_point begin = Clock::now();
    Profile found = find_profile();
    found.took_ms = ns_since(begin) / 1e6;
    detail::known_choices = found.choices;
    learn_pacing(found.choices.pacing);
    log::info("machine profile: {}, in {:.1f} ms{}{}{}{}", to_string(found.source), found.took_ms,
              found.path.empty() ? "" : ", ", found.path, found.remark.empty() ? "" : "; ", found.remark);
    return found;
  }();
  return profile;
}

}  // namespace

constinit Choices detail::known_choices;

const Profile& machine_profile() noexcept {
  try {
    return find_once();
  } catch (...) {  // out of memory: the next call tries again
    static const Profile nothing;
    return nothing;
  }
}

const char* to_string(Source source) noexcept {
  switch (source) {
    case Source::defaults:
      return "defaults";
    case Source::measured:
      return "measured";
    case Source::kept:
      return "kept";
    case Source::given:
      return "given";
  }
  return "?";
}

}  // namespace stria::hw
