// RailKeys: the sender's half of a message that is read by several links (rail_reader.hpp). The receiver asks
// for a key by a rail. The answer goes by the same rail, behind the registration of the key, so the key is
// valid when the answer comes. The receiver ends each key by a packet of its rail, before or behind its FIN,
// and the send is over when all of these packets are there (end_rail_keys.cpp). Keys for which no such packet
// comes end with the message, with the rail, or when the receiver asks for fragments instead.
#pragma once

#include "rndv/finisher.hpp"
#include "rndv/operations.hpp"

namespace stria::rndv {

/// Threads: called with the worker's lock held.
class RailKeys {
 public:
  RailKeys(Operations& operations, RailKeyPool& pool, Finisher& finisher) noexcept
      : operations_(operations), pool_(pool), finisher_(finisher) {}
  RailKeys(const RailKeys&) = delete;
  RailKeys& operator=(const RailKeys&) = delete;

  /// Handles a request for a key, which came by `rail` (null: by the main link). False: the request does not
  /// fit the send that it names, or is malformed.
  [[nodiscard]] bool on_ask_key(const transport::LinkRef& link, const transport::Packet& packet,
                                const transport::LinkRef* rail) noexcept;
  /// Handles END_KEY: the receiver ended the rail's key. False: the rail has no key, or the packet is
  /// malformed.
  [[nodiscard]] bool on_end_key(const transport::LinkRef& link, const transport::Packet& packet,
                                const transport::LinkRef* rail) noexcept;
  /// Sends the answers of the send that found no room before. True when one went.
  bool step(SendOp& op) noexcept;
  /// The rail is dead: ends its keys, and the sends that waited for no other key.
  void fail_rail(const transport::LinkRef& link, const transport::LinkRef& rail) noexcept;

 private:
  static void make_key(const SendOp& op, const transport::LinkRef& rail, RailKey& out) noexcept;
  static bool send_key(const RailKeysOfSend& keys, RailKey& one) noexcept;

  Operations& operations_;
  RailKeyPool& pool_;
  Finisher& finisher_;
};

}  // namespace stria::rndv
