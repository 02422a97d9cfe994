// Keys for the application's memory, as the contract asks for them: chooses the kind of a key, makes it, and
// ends it on this side. What a key is made for, and its kind:
//
//   contiguous memory                   a memory window
//   memory that lies apart, where a     a strided key: one run for the reader
//   strided key of the adapter takes it
//   equal blocks at equal distances     a memory window over all of the memory; the key names the blocks
//   a key for all links, an adapter     a region of the key's own in place of the memory window
//   without windows, or memory that
//   may not be written
//
// Memory that the driver does not register has no key; its messages go packed, through the provider's memory.
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
  /// Prepares the keys. To be called when Shared::regions is open.
  void open() noexcept;
  /// Frees all windows and keys. To be called before queue pairs are destroyed.
  void close() noexcept { keys_.close(); }

  Status fast_register(Link* link, const transport::Payload& memory, unsigned access,
                       transport::Key& key) noexcept;
  Status invalidate(const transport::Key& key) noexcept;
  /// The adapter says that a message of the link's peer ended the key `rkey`: frees it. False: `rkey` is no
  /// key of this link.
  bool end_by_message(const Link& link, std::uint32_t rkey) noexcept;
  /// Ends all windows and strided keys of a link whose queue pair is in error or will be destroyed.
  void end_all_of(Link& link) noexcept;
  /// How many keys are valid.
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
