// Names the processor and the hypervisor, so that what was measured on one machine is not taken for what
// another machine can do. The texts are compared and shown; nothing is decided by what they say.
// may_be_guest() is for what a virtual machine's system cannot know.
#pragma once

#include <string>

namespace stria {

struct ProcessorIdentity {
  std::string processor;   ///< vendor, model, stepping and features, in the processor's own words; "" unknown
  std::string hypervisor;  ///< what runs this machine as a guest; "" none, or unknown
};

/// Asks the processor itself where it answers, else the system. Takes some microseconds; /proc/cpuinfo is not
/// read, which takes milliseconds on some kernels.
ProcessorIdentity processor_identity();

/// Whether this machine may be a virtual one: its processor says so, or is of a kind that cannot say.
bool may_be_guest() noexcept;

}  // namespace stria
