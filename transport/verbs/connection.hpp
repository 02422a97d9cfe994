// A connection of the connection manager, and the news of connections that the connector's thread gives the
// worker's thread. A Connection has one owner at a time, so that its fields need no lock:
//
//   made ─── the connector's ───► up ─── News ───► the worker's ─── dispose ───► the connector's: freed
//
// While the worker owns a Connection, the connector changes only the fields that are the connector's alone.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>

#include "base/result.hpp"
#include "transport/verbs/link_numbers.hpp"
#include "transport/verbs/packets.hpp"

namespace stria::verbs {

class Link;

struct Connection {
  rdma_cm_id* id = nullptr;  ///< it holds the queue pair, too
  std::uint64_t worker = 0;  ///< the peer's worker id
  bool asked = false;        ///< true: this side asked for it; false: the peer did
  LinkNumber number;         ///< by which the peer's packets name the link
  bool has_number = false;
  Hello peer{};  ///< what the peer said of itself

  // The connector's alone.
  bool told = false;    ///< news `up` was given: the worker will dispose of the connection
  bool broken = false;  ///< the connection ended, and news `broken` was given

  // The worker's alone.
  Link* link = nullptr;
};

/// From the connector's thread to the worker's.
struct News {
  enum class What : std::uint8_t {
    up,      ///< the connection carries packets; its receive buffers are posted
    broken,  ///< the connection ended: all that is posted to its queue pair is flushed
    failed,  ///< no connection to `worker`, which was asked for, comes, for the reason in `error`
  } what;
  Connection* connection;  ///< null with `failed`
  std::uint64_t worker;
  Error error;
};

}  // namespace stria::verbs
