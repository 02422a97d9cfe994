// How a process comes to its profile: it reads the file of this machine or, where there is none, measures and
// keeps one. Of processes that start together one measures, and the others wait for its file.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "hw/machine.hpp"
#include "hw/machine/identity.hpp"
#include "hw/machine/measure.hpp"

namespace stria::hw {

struct TimeLimits {
  std::chrono::microseconds measuring;  ///< for measuring
  std::chrono::microseconds waiting;    ///< for waiting for another process that measures
};
inline constexpr TimeLimits kUsualLimits{std::chrono::milliseconds(6), std::chrono::milliseconds(10)};
/// The limits where the user asks for a measurement, and waits for it.
inline constexpr TimeLimits kPatientLimits{std::chrono::milliseconds(300), std::chrono::milliseconds(600)};
/// A profile that is not complete, because the processors were busy, is measured further by later processes:
/// by kMostTries in all, each at least kTryAfter later than the one before, so that processes that start
/// together agree.
inline constexpr unsigned kMostTries = 8;
inline constexpr std::chrono::seconds kTryAfter{60};

struct ProfileRequest {
  std::vector<std::string> folders;  ///< where to keep the profile, the best place first
  Identity identity;
  /// Measure although a profile is kept, unless that was measured after this process had started: then
  /// another one that started with it has renewed it.
  bool renew = false;
  TimeLimits limits = kUsualLimits;
  std::chrono::milliseconds started{};               ///< when this process started, since 1970
  std::function<std::chrono::milliseconds()> clock;  ///< the time since 1970
  std::function<Measured(const Machine& known, const Deadline&)> measure;  ///< hw::measure(), but in tests
};
/// The profile of this machine: the kept one, or a new one. Waits and measures within request.limits.
Profile obtain(const ProfileRequest& request);

/// The profile of a file that the user names, whatever machine it is of. When the file is no profile, the
/// profile has the defaults, and its remark says why.
Profile read_given(const std::string& path);

}  // namespace stria::hw
