// A provider's table whose devices live in the processes of contract_far (far_device.cpp), where
// STRIA_TEST_FAR says: HOST:PORT. With it the suite runs between two processes, or two hosts.
#pragma once

#include "stria/provider.h"

namespace stria::contract {

const stria_provider_t& far_provider();

}  // namespace stria::contract
