// Keys for the application's memory, as the contract asks for them: which kind serves, how one begins, and
// how this side ends it.
//
//   contiguous                          a memory window
//   lies apart, and the adapter has     a strided key: one run for the reader
//   strided keys that take it
//   equal blocks at equal distances     a window over all of it, and the blocks in the key
//   for all links, or without windows,  the last two with a region of the key's own
//   or memory that may not be written
//
// Memory that the driver does not register has no key, and its messages go packed, through the provider's
// own memory.
#pragma once

#include <cstdint>

#include "transport/blocks.hpp"
#include "transport/contract.hpp"
#include "transport/verbs/keys.hpp"
#include "transport/verbs/shared.hpp"

namespace stria::verbs {

class Link;

class KeyMaker {
 public:
  KeyMaker(Shared& shared, std::uint64_t worker_id) noexcept : shared_(shared), worker_id_(worker_id) {}
  /// For the adapter, whose memory regions are open.
  void open() noexcept;
  /// Windows go before their queue pairs.
  void close() noexcept { keys_.close(); }

  Status fast_register(Link* link, const transport::Payload& memory, unsigned access,
                       transport::Key& key) noexcept;
  Status invalidate(const transport::Key& key) noexcept;
  /// A message of the link's peer ended the key, as the adapter says. False: it is none of the link's.
  bool end_by_message(const Link& link, std::uint32_t rkey) noexcept;
  /// The link's queue pair is in error, or will be destroyed.
  void end_all_of(Link& link) noexcept;
  std::uint32_t valid() const noexcept { return keys_.valid(); }

 private:
  Status register_strided(Link& link, const transport::Payload& memory, unsigned access,
                          transport::Key& key) noexcept;
  Status hand_out(Link& owner, Window& window, const Blocks& memory, transport::Key& key) noexcept;
  Status choose(Link& owner, Window& window) noexcept;
  Status end_window(Link& owner, Window& window) noexcept;

  Shared& shared_;
  const std::uint64_t worker_id_;
  Keys keys_;
};

}  // namespace stria::verbs
