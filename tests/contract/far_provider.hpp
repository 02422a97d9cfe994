// A provider's table whose devices live in the processes of contract_far (far_device.cpp), where
// STRIA_TEST_FAR says: HOST:PORT. With it the suite runs between two processes, or two hosts.
#pragma once

#include "stria/provider.h"

namespace stria::contract {

/// `near`: the provider that drives the devices there; the table declares those of its groups that the wire
/// carries.
const stria_provider_t& far_provider(const stria_provider_t& near);

/// Kills the process of such a device by SIGKILL, and returns when its sockets are closed. All that may be
/// called for the device afterwards is close.
void kill_far_device(stria_device_t* device);

}  // namespace stria::contract
