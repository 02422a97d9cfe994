// The keys of a device: memory that peers may ask for. A key is checked by its owner alone, at each request;
// to make one, or to end it, takes no system call.
#pragma once

#include <cstdint>
#include <deque>

#include "base/intrusive_list.hpp"
#include "transport/contract.hpp"
#include "transport/tcp/record.hpp"

namespace stria::tcp {

class Link;

inline constexpr std::uint32_t kKeysMost = 4096;  // valid at a time

/// An access to a key's memory that is under way, and hears of the key's end.
class Access : public ListNode {
 public:
  /// The memory is not to be touched any more.
  virtual void key_ends() noexcept = 0;

 protected:
  ~Access() = default;
};

class Keys {
 public:
  Keys() noexcept;

  /// What a key's bytes say. False: they are no key of this provider.
  static bool read(const transport::Key& key, KeyName& name) noexcept;

  /// The contract's fast_register. The layout of `memory` stays as it is until the key ends.
  Status add(const Link* link, const transport::Payload& memory, unsigned access,
             transport::Key& key) noexcept;
  /// The contract's invalidate.
  Status end(const transport::Key& key) noexcept;
  /// A message of the link's peer ends the key, if the key serves the link.
  void end_by_message(const Link& link, const KeyName& name) noexcept;
  void end_all_of(const Link& link) noexcept;

  /// Bytes [offset, offset + length) of the memory, for the peer of a link. ACCESS: the key does not allow
  /// it.
  Status find(const Link& link, const KeyName& name, std::uint64_t offset, std::uint64_t length,
              transport::Payload& memory) noexcept;
  /// `access` hears when the key that find() has just answered for ends.
  void join(const KeyName& name, Access& access) noexcept;

 private:
  struct Own : ListNode {        // in free_ while it is not valid
    const Link* link = nullptr;  // null: for every link
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

  std::uint64_t random_;
  std::deque<Own> all_;      // they do not move
  IntrusiveList<Own> free_;  // oldest first: a name comes round late
};

}  // namespace stria::tcp
