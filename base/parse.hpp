// Values of variables, from the texts that people write.
#pragma once

#include <string_view>

#include "base/config.hpp"

namespace stria {

/// The value that `text` stands for. The error names the variable, the text and what is allowed.
Result<VarValue> parse_value(const Variable& variable, std::string_view text, std::string_view origin);

}  // namespace stria
