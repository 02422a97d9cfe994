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

struct Limits {
  std::chrono::microseconds measuring, waiting;  ///< `waiting`: for another process that measures
};
inline constexpr Limits kUsualLimits{std::chrono::milliseconds(6), std::chrono::milliseconds(10)};
/// Where the user asks for a measurement, and waits for it.
inline constexpr Limits kPatientLimits{std::chrono::milliseconds(300), std::chrono::milliseconds(600)};
/// A profile that is not complete, as the processors were busy, is measured further by later processes, so
/// many in all, each a while after the one before: processes that start together are to agree.
inline constexpr unsigned kMostTries = 8;
inline constexpr std::chrono::seconds kTryAfter{60};

struct Request {
  std::vector<std::string> folders;  ///< where to keep it, the best place first
  Identity identity;
  bool renew = false;  ///< measure although there is one
  Limits limits = kUsualLimits;
  std::chrono::seconds now{};                                              ///< since 1970
  std::function<Measured(const Machine& known, const Deadline&)> measure;  ///< hw::measure(), but in tests
};
Profile obtain(const Request& request);

/// The profile of a file that the user names, whatever machine it is of. The file is no profile: the
/// defaults, and remark says so.
Profile read_given(const std::string& path);

}  // namespace stria::hw
