// What links say about themselves to people, each text once: most links of a device say the same.
#pragma once

#include <new>
#include <set>
#include <string>

namespace stria::shm {

class Texts {
 public:
  struct Kept {
    const char* text;  ///< valid as long as the object that keeps it; "" when there is no memory for it
    bool is_new;
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
