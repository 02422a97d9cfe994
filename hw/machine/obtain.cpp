#include "hw/machine/obtain.hpp"

#include <optional>
#include <thread>

#include "base/format.hpp"
#include "hw/machine/shelf.hpp"
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

/// One folder, and this machine's file in it.
class Keeper {
 public:
  Keeper(const Request& request, Shelf shelf)
      : request_(request), shelf_(std::move(shelf)), name_(request.identity.file_name()) {}

  /// Nothing: this folder cannot be used.
  std::optional<Profile> obtain() {
    const std::optional<Record> before = read();
    if (before && !request_.renew && is_good(*before)) return kept(*before);
    const Deadline deadline(request_.limits.waiting);
    std::optional<UniqueFd> lock;
    bool waited = false;
    while ((lock = shelf_.try_lock(name_)) && !*lock) {
      waited = true;
      if (const auto now = read(); now && !request_.renew && is_good(*now)) return kept(*now);
      if (deadline.passed() && before && !request_.renew) return kept(*before);
      if (deadline.passed())
        return profile_of({}, Source::defaults, shelf_.path_of(name_), "another process is measuring");
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    if (!lock) return std::nullopt;
    // Another process may have measured since this one looked.
    const std::optional<Record> now = read();
    if (now && (request_.renew ? waited : is_good(*now))) return kept(*now);
    return measured(request_.renew ? std::nullopt : now);
  }

 private:
  /// Whether it is to be taken as it is.
  bool is_good(const Record& record) const noexcept {
    const auto age = request_.now - std::chrono::seconds(record.when);
    return record.complete || record.tries >= kMostTries || (age < kTryAfter && age > -kTryAfter);
  }
  std::optional<Record> read() const {
    const auto text = shelf_.read(name_);
    auto record = text ? parse_record(*text) : std::nullopt;
    if (record && record->fingerprint != request_.identity.fingerprint()) record.reset();
    return record;
  }
  Profile kept(const Record& record) const {
    return profile_of(record.machine, Source::kept, shelf_.path_of(name_),
                      record.complete ? "" : "not all could be measured yet");
  }
  /// With the lock held.
  std::optional<Profile> measured(const std::optional<Record>& before) const {
    const Measured found =
        request_.measure(before ? before->machine : Machine{}, Deadline(request_.limits.measuring));
    const Record record{request_.identity.fingerprint(), (before ? before->tries : 0) + (found.tried ? 1 : 0),
                        request_.now.count(), found.complete, found.machine};
    // This process decides by the figures that the others read: the text has them rounded.
    const std::string text = to_text(record);
    const auto read_back = parse_record(text);
    const Source source = found.tried ? Source::measured : before ? Source::kept : Source::defaults;
    const Machine& machine = read_back ? read_back->machine : found.machine;
    if (shelf_.write(name_, text)) return profile_of(machine, source, shelf_.path_of(name_), found.remark);
    return profile_of(machine, source, "", fmt::format("it cannot be written to {}", shelf_.path_of(name_)));
  }

  const Request& request_;
  Shelf shelf_;
  std::string name_;
};

}  // namespace

Profile obtain(const Request& request) {
  for (const std::string& folder : request.folders)
    if (auto shelf = Shelf::open(folder))
      if (auto profile = Keeper(request, *std::move(shelf)).obtain()) return *std::move(profile);
  const Measured found = request.measure({}, Deadline(request.limits.measuring));
  return profile_of(found.machine, Source::measured, "", "there is no folder to keep it in");
}

Profile read_given(const std::string& path) {
  const auto text = read_file(path, kLongestText);
  const auto record = text ? parse_record(*text) : std::nullopt;
  if (record) return profile_of(record->machine, Source::given, path, "");
  return profile_of({}, Source::defaults, path,
                    text ? "the file is no machine profile" : "the file cannot be read");
}

}  // namespace stria::hw
