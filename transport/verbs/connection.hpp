// A connection of the connection manager, and what the connector's thread and the worker's tell each other of
// it. Each object has one owner at a time, so that neither needs the other's lock:
//
//   made ─── the connector's ───► up ─── News ───► the worker's ─── dispose ───► the connector's, which frees
//   it
//
// While the worker has it, the connector changes nothing of it but what is the connector's alone.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>

#include "base/result.hpp"
#include "transport/verbs/link_numbers.hpp"
#include "transport/verbs/packets.hpp"

namespace stria::verbs {

class Link;

struct Connection {
  rdma_cm_id* id = nullptr;  ///< with its queue pair
  std::uint64_t worker = 0;  ///< the peer
  bool asked = false;        ///< by us; else by the peer
  LinkNumber number;         ///< by which the peer's packets name the link
  bool has_number = false;
  Hello peer{};  ///< what the peer said of itself

  // The connector's alone.
  bool told = false;    ///< the worker knows of it, and will dispose of it
  bool broken = false;  ///< it ended, and the worker was told of that

  // The worker's alone.
  Link* link = nullptr;
};

struct News {
  enum class What : std::uint8_t {
    up,      ///< the connection carries packets; its receive buffers are posted
    broken,  ///< it ended: all that is posted to its queue pair is flushed
    failed,  ///< no connection to the worker that was asked for comes, for the reason in `error`
  } what;
  Connection* connection;  ///< null: failed
  std::uint64_t worker;
  Error error;
};

}  // namespace stria::verbs
