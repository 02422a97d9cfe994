// What tests of outcomes look at: the reason that stria_last_error() gives, and the status that it explains.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>

#include "stria/stria.h"

namespace stria::test {

inline std::string hex(std::uint64_t id) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(id));
  return text;
}

/// The thread's last error explains `status`, and has all of `parts`.
inline ::testing::AssertionResult explained(stria_status_t status, std::initializer_list<std::string> parts) {
  const std::string text = stria_last_error();
  if (stria_last_error_status() != status)
    return ::testing::AssertionFailure()
           << "'" << text << "' explains " << stria_status_string(stria_last_error_status());
  for (const std::string& part : parts)
    if (text.find(part) == std::string::npos)
      return ::testing::AssertionFailure() << "'" << text << "' does not say '" << part << "'";
  return ::testing::AssertionSuccess();
}

/// A reason that every outcome has to replace.
inline void fail_otherwise() {
  EXPECT_EQ(stria_config_set("STRIA_NONE", "1", "test"), STRIA_ERR_INVALID);
}

}  // namespace stria::test
