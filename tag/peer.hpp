// Peer: everything a worker knows of one remote worker, whoever spoke first. Endpoints point to it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/intrusive_list.hpp"
#include "base/log.hpp"
#include "eager/credit.hpp"
#include "rndv/operation.hpp"
#include "transport/link_ref.hpp"

namespace stria::tag {

class Worker;
struct Device;

/// A matchable packet that overtook an earlier one of its peer on another path.
struct Stashed {
  stria_header_t header;
  bool buffered;
  std::vector<std::byte> payload;
};

/// In the worker's backlog list while something waits to be sent to it.
struct Peer : ListNode {
  enum class State : std::uint8_t { unconnected, up, failed };

  // What a send looks at comes first.
  transport::LinkRef link;
  std::uint64_t credit = eager::kFirstGrant;  ///< payload bytes we may still send eagerly
  std::uint64_t eager_limit = 0;
  std::uint16_t send_sequence = 0;
  std::uint16_t recv_sequence = 0;
  State state = State::unconnected;
  bool low_latency = false;
  bool window_due = false;     ///< it came to us while an endpoint wants a window: connect once more
  bool window_wanted = false;  ///< an endpoint wants a window, and there was none
  std::uint32_t index = 0;
  IntrusiveList<rndv::Operation> pending;  ///< sends in order, waiting for room

  Worker* worker = nullptr;
  Device* device = nullptr;
  std::uint64_t worker_id = 0;
  eager::Grant grant;
  std::map<std::uint16_t, Stashed> stash;
  log::Repeated malformed;         ///< packets of it that were dropped
  std::vector<std::byte> address;  ///< as its owner gave it; empty when the peer came to us
};

}  // namespace stria::tag
