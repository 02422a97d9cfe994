#include "tag/last_error.hpp"

namespace stria::tag {
namespace {

struct LastError {
  char text[kLastErrorBytes] = "";
  Status status = Status::ok;
  bool unclaimed = false;
};
thread_local LastError kept;

}  // namespace

void set_last_error(std::string_view text) noexcept {
  set_last_error(Status::ok, text);
  kept.unclaimed = true;
}

void set_last_error(Status status, std::string_view text) noexcept {
  kept.text[text.copy(kept.text, sizeof(kept.text) - 1)] = '\0';
  kept.status = status;
  kept.unclaimed = false;
}

bool claim_last_error(Status status) noexcept {
  if (!std::exchange(kept.unclaimed, false)) return false;
  kept.status = status;
  return true;
}

const char* last_error() noexcept {
  return kept.text;
}

Status last_error_status() noexcept {
  return kept.status;
}

}  // namespace stria::tag
