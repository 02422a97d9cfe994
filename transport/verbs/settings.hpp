// The settings of one device: what the STRIA_VERBS_* variables say. variables.hpp describes them.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "stria/provider.h"
#include "transport/verbs/memory_watch.hpp"

namespace stria::verbs {

struct Settings {
  std::string device;  ///< name of an RDMA device, or address of its interface; empty: any
  std::uint32_t links = 256;
  std::uint32_t credits = 32;
  std::uint32_t eager_bytes = 8192;
  std::uint32_t send_buffers = 256;
  std::uint32_t keys = 1024;
  std::uint8_t ack_timeout = 18;
  std::uint32_t connect_ms = 10000;
  MemoryWatch::Source memory_watch = MemoryWatch::Source::any;
  std::uint64_t cache_bytes = 1u << 30;
};

/// How many devices STRIA_VERBS_DEVICE names; 1 when it names none.
std::uint32_t count_devices(const stria_device_params_t& params);

/// Reads the settings of the device with index params.device. Errors: invalid; the text names the variable
/// and its value.
Result<Settings> read_settings(const stria_device_params_t& params);

}  // namespace stria::verbs
