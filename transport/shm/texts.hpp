// Texts that links show to people, such as the path that a link uses. Each text is stored once, because most
// links of a device show the same one.
#pragma once

#include <new>
#include <set>
#include <string>

namespace stria::shm {

class Texts {
 public:
  struct Kept {
    const char* text;  ///< valid as long as the Texts object; "" when there is no memory for it
    bool is_new;       ///< the text was not stored before
  };
  Kept keep(const std::string& text) noexcept try {
    const auto [at, is_new] = texts_.insert(text);
    return {at->c_str(), is_new};
  } catch (const std::bad_alloc&) {
    return {"", false};
  }

 private:
  std::set<std::string> texts_;
};

}  // namespace stria::shm
