// Reads which UCX devices the user asks for. STRIA_UCT_TRANSPORT is a list; for each entry the worker opens
// one device:
//
//   tcp/eth0,rc_verbs/mlx5_0:1,posix
//   └ transport/device          └ transport alone: the device is the one that STRIA_UCT_DEVICE names. If that
//                                 is empty too, the first device of the transport that reaches other hosts
//                                 is used (choosing.hpp)
//
// UCX's device names may contain colons, but no commas. The place of an entry in the list is the index of its
// device, and a device connects to the peer's device of the same index. So one wrong entry makes the whole
// list wrong: without it, the later entries would get other indexes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace stria::uct {

/// One entry of the list. Where a name is empty, the provider chooses.
struct Wanted {
  std::string transport;
  std::string device;
  bool operator==(const Wanted&) const = default;
};

/// Parses the texts of STRIA_UCT_TRANSPORT and STRIA_UCT_DEVICE. Returns at least one entry; if no transport
/// is named, its transport is empty. Errors: invalid; STRIA_UCT_DEVICE is a list, or the list has an entry
/// with a blank or without a name beside its slash, an entry that is there twice, or more entries than a
/// worker may have devices. The text names variable, value and remedy.
Result<std::vector<Wanted>> read_device_list(std::string_view transports, std::string_view device);

/// Refuses a device that the provider chose for one entry although another entry names it. `opened`: the
/// transport and device that were opened for the entry at `index`. Error: invalid; the text names both
/// entries.
Result<void> check_is_single(std::span<const Wanted> list, std::size_t index, const Wanted& opened);

}  // namespace stria::uct
