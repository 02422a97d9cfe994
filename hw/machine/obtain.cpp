#include "hw/machine/obtain.hpp"

#include <optional>
#include <thread>

#include "base/format.hpp"
#include "hw/machine/profile_folder.hpp"
#include "hw/machine/text.hpp"

namespace stria::hw {
namespace {

Profile profile_of(const Machine& machine, Source source, std::string path, std::string remark) {
  Profile out;
  out.machine = machine;
  out.choices = choices_of(machine);
  out.source = source;
  out.path = std::move(path);
  out.remark = std::move(remark);
  return out;
}

/// The file of this machine's profile in one folder.
class ProfileFile {
 public:
  ProfileFile(const ProfileRequest& request, ProfileFolder folder)
      : request_(request), folder_(std::move(folder)), name_(request.identity.file_name()) {}

  /// Reads the profile; measures and writes it where the file is missing or of no use. Nothing: this folder
  /// cannot be used.
  std::optional<Profile> obtain() {
    const std::optional<StoredProfile> before = read();
    if (before && is_usable(*before)) return kept_profile(*before);
    const Deadline deadline(request_.limits.waiting);
    std::optional<UniqueFd> lock;
    while ((lock = folder_.try_lock(name_)) && !*lock) {
      if (const auto now = read(); now && is_usable(*now)) return kept_profile(*now);
      if (deadline.passed() && before && !request_.renew) return kept_profile(*before);
      if (deadline.passed())
        return profile_of({}, Source::defaults, folder_.path_of(name_), "another process is measuring");
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    if (!lock) return std::nullopt;
    // Another process may have measured since this one looked.
    const std::optional<StoredProfile> now = read();
    if (now && is_usable(*now)) return kept_profile(*now);
    return measure_and_keep(request_.renew ? std::nullopt : now);
  }

 private:
  /// Whether the profile is taken as it is, and nothing is measured.
  bool is_usable(const StoredProfile& record) const {
    const std::chrono::milliseconds when(record.when);
    if (request_.renew && when < request_.started) return false;
    const auto age = request_.clock() - when;
    return record.complete || record.tries >= kMostTries || (age < kTryAfter && age > -kTryAfter);
  }
  std::optional<StoredProfile> read() const {
    const auto text = folder_.read(name_);
    auto record = text ? parse_profile(*text) : std::nullopt;
    if (record && record->fingerprint != request_.identity.fingerprint()) record.reset();
    return record;
  }
  Profile kept_profile(const StoredProfile& record) const {
    return profile_of(record.machine, Source::kept, folder_.path_of(name_),
                      record.complete ? "" : "not all could be measured yet");
  }
  /// Measures what `before` does not have, and writes the file. The lock is held.
  std::optional<Profile> measure_and_keep(const std::optional<StoredProfile>& before) const {
    const Measured found =
        request_.measure(before ? before->machine : Machine{}, Deadline(request_.limits.measuring));
    const StoredProfile record{request_.identity.fingerprint(),
                               (before ? before->tries : 0) + (found.tried ? 1 : 0), request_.clock().count(),
                               found.complete, found.machine};
    // This process decides by the figures that the others read: the text has them rounded.
    const std::string text = to_text(record);
    const auto read_back = parse_profile(text);
    const Source source = found.tried ? Source::measured : before ? Source::kept : Source::defaults;
    const Machine& machine = read_back ? read_back->machine : found.machine;
    if (folder_.write(name_, text)) return profile_of(machine, source, folder_.path_of(name_), found.remark);
    return profile_of(machine, source, "", fmt::format("it cannot be written to {}", folder_.path_of(name_)));
  }

  const ProfileRequest& request_;
  ProfileFolder folder_;
  std::string name_;
};

}  // namespace

Profile obtain(const ProfileRequest& request) {
  for (const std::string& folder : request.folders)
    if (auto opened = ProfileFolder::open(folder))
      if (auto profile = ProfileFile(request, *std::move(opened)).obtain()) return *std::move(profile);
  const Measured found = request.measure({}, Deadline(request.limits.measuring));
  return profile_of(found.machine, Source::measured, "", "there is no folder to keep it in");
}

Profile read_given(const std::string& path) {
  const auto text = read_file(path, kLongestText);
  const auto record = text ? parse_profile(*text) : std::nullopt;
  if (record) return profile_of(record->machine, Source::given, path, "");
  return profile_of({}, Source::defaults, path,
                    text ? "the file is no machine profile" : "the file cannot be read");
}

}  // namespace stria::hw
