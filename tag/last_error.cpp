#include "tag/last_error.hpp"

namespace stria::tag {
namespace {

struct LastError {
  char text[kLastErrorBytes] = "";
  Status status = Status::ok;
  bool unclaimed = false;
};
thread_local LastError last;

}  // namespace

void set_last_error(std::string_view text) noexcept {
  set_last_error(Status::ok, text);
  last.unclaimed = true;
}

void set_last_error(Status status, std::string_view text) noexcept {
  last.text[text.copy(last.text, sizeof(last.text) - 1)] = '\0';
  last.status = status;
  last.unclaimed = false;
}

bool claim_last_error(Status status) noexcept {
  if (!std::exchange(last.unclaimed, false)) return false;
  last.status = status;
  return true;
}

const char* last_error() noexcept {
  return last.text;
}

Status last_error_status() noexcept {
  return last.status;
}

}  // namespace stria::tag
