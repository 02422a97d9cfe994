// The keys of a device: memory that peers may get. Only the owner of the memory checks a key, at each
// request. Making a key takes no system call; ending one takes some while the kernel sends out of the key's
// memory.
#pragma once

#include <cstdint>
#include <deque>

#include "base/intrusive_list.hpp"
#include "transport/contract.hpp"
#include "transport/tcp/record.hpp"

namespace stria::tcp {

class Link;

inline constexpr std::uint32_t kKeysMost = 4096;  // keys that are valid at a time

/// An access to a key's memory that is under way. It is told when the key ends.
class Access : public ListNode {
 public:
  /// The key ends. On return the memory is not touched any more.
  virtual void key_ends() noexcept = 0;

 protected:
  ~Access() = default;
};

class Keys {
 public:
  Keys() noexcept;

  /// Reads the bytes of a key. False: they are no key of this provider.
  static bool read(const transport::Key& key, KeyName& name) noexcept;

  /// Makes a key: the contract's fast_register. The layout of `memory` stays as it is until the key ends.
  /// UNSUPPORTED: the provider does not have this kind of access, or the length overflows; NO_RESOURCE: there
  /// are kKeysMost keys, or no memory.
  Status add(const Link* link, const transport::Payload& memory, unsigned access,
             transport::Key& key) noexcept;
  /// Ends a key: the contract's invalidate. ACCESS: it is no valid key.
  Status end(const transport::Key& key) noexcept;
  /// Ends a key because a message of the link's peer says so, if the key serves the link.
  void end_by_message(const Link& link, const KeyName& name) noexcept;
  /// Ends all keys that serve this link alone.
  void end_all_of(const Link& link) noexcept;

  /// Describes bytes [offset, offset + length) of a key's memory, for the peer of `link`. ACCESS: the key is
  /// not valid, or does not allow the peer to read them.
  Status find(const Link& link, const KeyName& name, std::uint64_t offset, std::uint64_t length,
              transport::Payload& memory) noexcept;
  /// Has `access` told when a key ends. Only for a key that find() has just answered OK for.
  void join(const KeyName& name, Access& access) noexcept;

 private:
  struct Own : ListNode {        // in free_ while the key is not valid
    const Link* link = nullptr;  // the only link that the key serves; null: all links
    transport::Payload memory{};
    std::uint64_t bytes = 0;
    unsigned access = 0;
    bool is_valid = false;
    KeyName name;
    IntrusiveList<Access> accesses;
  };
  Own* take() noexcept;
  Own* find(const KeyName& name) noexcept;
  void free(Own& own) noexcept;

  std::uint64_t random_;     // of the last key
  std::deque<Own> all_;      // slots do not move
  IntrusiveList<Own> free_;  // the slot that was freed first is used first, so that a name comes round late
};

}  // namespace stria::tcp
