// Two devices of which one accesses the other's memory through keys: what the tests of keys stand on.
#pragma once

#include <memory>

#include "tests/contract/subject.hpp"

namespace stria::contract {

constexpr unsigned kRead = STRIA_ACCESS_REMOTE_READ;
constexpr unsigned kWrite = STRIA_ACCESS_REMOTE_WRITE;

/// `a` accesses the memory of `b` through `link`.
class KeySubject : public Contract {
 protected:
  KeySubject() { meet(); }
  /// Keys are made for the link by which `a` accesses them.
  stria_link_t* back() { return b->ups.count(1) != 0 ? b->ups[1] : b->connect(*a); }
  /// Whether a refused access ends the link, as an adapter refuses it.
  bool refusals_end_links() const { return a->limits(link).offload != 0; }
  /// The adapter refused, and ended the link; iWARP's does not say why.
  void expect_refusal(const stria_payload_t& local, const stria_provider_key_t& key) {
    const Status status = move(Way::get, local, key, 0);
    EXPECT_TRUE(status == Status::access_error || status == Status::peer_failed) << to_string(status);
  }
  /// Both anew after a refusal that ended the link.
  void start_again() {
    ASSERT_TRUE(drive({a.get(), b.get()}, [&] { return a->downs.size() == 1 && b->downs.size() == 1; }))
        << "a refused access leaves the link half alive";
    a.reset();
    b.reset();
    meet();
  }
  bool can_get() const { return b->has(STRIA_CAP_FAST_REGISTER) && a->limits(link).can_get != 0; }
  bool can_put() const { return b->has(STRIA_CAP_FAST_REGISTER) && a->limits(link).can_put != 0; }

  stria_provider_key_t key_for(const stria_payload_t& memory, unsigned access) {
    stria_provider_key_t key{};
    EXPECT_EQ(b->fast_register(memory, access, key, back()), Status::ok);
    EXPECT_GT(key.bytes, 0u);
    EXPECT_LE(key.bytes, std::uint32_t{STRIA_PROVIDER_KEY_MAX});
    // It is promised to be valid for who got a later packet, and the test hands it over by other means.
    const std::size_t before = a->received.size();
    EXPECT_EQ(send({a.get(), b.get()}, *b, back(), Path::buffered, header(0), pattern(0, 1)), Status::ok);
    EXPECT_TRUE(drive({a.get(), b.get()}, [&] { return a->received.size() > before; }));
    return key;
  }
  enum class Way { get, put };
  /// Starts a get or put and waits for its end.
  Status move(Way way, const stria_payload_t& local, const stria_provider_key_t& key, std::uint64_t offset) {
    Ending ending;
    Status status = Status::no_resource;
    EXPECT_TRUE(drive({a.get(), b.get()}, [&] {
      status = way == Way::get ? a->get(link, local, key, offset, ending)
                               : a->put(link, local, key, offset, ending);
      return status != Status::no_resource;
    }));
    b->progress();  // one in another process says what its memory holds now
    if (status != Status::in_progress) {
      EXPECT_EQ(ending.calls, 0) << "a completion of what was complete";
      return status;
    }
    EXPECT_TRUE(drive({a.get(), b.get()}, [&] { return ending.calls > 0; })) << "the completion never came";
    drive_for({a.get(), b.get()}, 20);
    EXPECT_EQ(ending.calls, 1);
    return ending.status;
  }
  std::unique_ptr<Peer> a, b;
  stria_link_t* link = nullptr;

 private:
  void meet() {
    a = open(1);
    b = open(2);
    link = a->connect(*b);
    EXPECT_EQ(send({a.get(), b.get()}, *a, link, Path::buffered, header(0), pattern(0, 8)), Status::ok);
    EXPECT_TRUE(drive({a.get(), b.get()}, [&] { return b->received.size() == 1; }));
    b->received.clear();
  }
};

}  // namespace stria::contract
