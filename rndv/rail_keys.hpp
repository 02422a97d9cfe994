// RailKeys: the sender's half of a message that is read by several links (rail_reader.hpp). A receiver asks
// for a key by a rail; the answer goes by that rail, and behind the key, so that the key is valid when it
// comes. The receiver ends each key by a packet of its rail, before or behind its FIN, and the send is over
// when all of these are there (rail_ends.cpp). Other keys end with the message, with the rail, or when the
// receiver asks for fragments instead.
#pragma once

#include "rndv/ends.hpp"
#include "rndv/operations.hpp"

namespace stria::rndv {

/// Threads: the worker's lock.
class RailKeys {
 public:
  RailKeys(Operations& operations, RailKeyPool& pool, Ends& ends) noexcept
      : operations_(operations), pool_(pool), ends_(ends) {}
  RailKeys(const RailKeys&) = delete;
  RailKeys& operator=(const RailKeys&) = delete;

  /// The receiver asks for a key by the rail (null: by the main link). False: the request does not fit the
  /// send that it names, or is malformed.
  [[nodiscard]] bool on_request(const transport::LinkRef& link, const transport::Packet& packet,
                                const transport::LinkRef* rail) noexcept;
  /// The receiver ended the rail's key. False: the rail has none, or the packet is malformed.
  [[nodiscard]] bool on_end(const transport::LinkRef& link, const transport::Packet& packet,
                            const transport::LinkRef* rail) noexcept;
  /// Sends answers that found no room before. True when one went.
  bool step(SendOp& op) noexcept;
  /// The rail is dead: its keys end, and sends that waited for no other one.
  void fail_rail(const transport::LinkRef& link, const transport::LinkRef& rail) noexcept;

 private:
  static void make(const SendOp& op, const transport::LinkRef& rail, RailKey& out) noexcept;
  static bool answer(const RailKeysOfSend& keys, RailKey& one) noexcept;

  Operations& operations_;
  RailKeyPool& pool_;
  Ends& ends_;
};

}  // namespace stria::rndv
