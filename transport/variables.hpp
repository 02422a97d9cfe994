// The variables of the loader: which providers a context uses, and where they are searched.
#pragma once

#include "base/variable.hpp"

namespace stria::transport {

inline constexpr Variable kVariables[] = {
    text_variable(
        Level::user, "STRIA_PROVIDERS", "auto",
        "Comma-separated providers to use, best first; names beyond the built-in ones are searched "
        "in STRIA_PROVIDER_PATH. auto: shm, verbs where there is an adapter, and tcp. A peer is reached "
        "by the first one that can reach it."),
    text_variable(Level::expert, "STRIA_PROVIDER_PATH", "",
                  "Colon-separated folders searched for libstria_provider_NAME.so before the installed one."),
};

}  // namespace stria::transport
