// NextProvider tells the user that a peer is reached by another device than the best one that both sides
// have. The job goes on, but slower, and the user may be able to mend that. One line for each host and each
// device that is taken instead; for each peer where its host is not known. The first few are warnings, the
// others informative.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

namespace stria::tag {

class NextProvider {
 public:
  /// `host`: of the peer, as the peer says; may be empty. `reasons`: of the devices that failed, with their
  /// names. `taken`: the device that is used now.
  [[gnu::cold, gnu::noinline]] void tell(std::uint64_t worker_id, std::string_view host,
                                         std::string_view reasons, std::string_view taken) noexcept;

 private:
  static constexpr std::size_t kWarnings = 3;
  std::unordered_set<std::string> told_;
};

}  // namespace stria::tag
