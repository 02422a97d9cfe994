// A variable that a test sets, for as long as it needs it; then it has the value that it had before, which a
// forced profile (tests/host) may have given.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "stria/stria.h"

namespace stria::test {

class Variable {
 public:
  Variable(std::string name, const std::string& value) : name_(std::move(name)) {
    for (size_t i = 0; i < stria_config_count(); ++i) {
      stria_config_variable_t found{};
      if (stria_config_get(i, &found) == STRIA_OK && name_ == found.name) before_ = found.value;
    }
    EXPECT_EQ(stria_config_set(name_.c_str(), value.c_str(), "test"), STRIA_OK) << stria_last_error();
  }
  ~Variable() {
    EXPECT_EQ(stria_config_set(name_.c_str(), before_.c_str(), "test"), STRIA_OK) << stria_last_error();
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  std::string name_, before_;
};

}  // namespace stria::test
