// Which devices the user asks for. STRIA_UCT_TRANSPORT is a list; each entry is a device of the worker:
//
//   tcp/eth0,rc_verbs/mlx5_0:1,posix
//   └ transport/device          └ no device is named: that of STRIA_UCT_DEVICE, or if this is empty, the
//   first
//                                 one of the transport that reaches other hosts (choosing.hpp)
//
// UCX's names of devices have colons and no commas. The place of an entry is the index of the device, and the
// device of an index connects to that of the same index at the peer, so the list is taken as a whole or not
// at all: an entry that was dropped would move those behind it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace stria::uct {

/// An entry. A name that is empty is for the provider to choose.
struct Wanted {
  std::string transport;
  std::string device;
  bool operator==(const Wanted&) const = default;
};

/// The entries of the two variables' texts; at least one, which is empty if no transport is named.
/// Errors: invalid; an entry without a transport or a device name, one that is there twice, or more of them
/// than a worker may have. The text names variable, value and remedy.
Result<std::vector<Wanted>> read_device_list(std::string_view transports, std::string_view device);

/// Refuses a device that an entry got without naming it, if another entry names it. `opened`: what the entry
/// at `index` got. Error: invalid, as above.
Result<void> check_is_single(std::span<const Wanted> list, std::size_t index, const Wanted& opened);

}  // namespace stria::uct
