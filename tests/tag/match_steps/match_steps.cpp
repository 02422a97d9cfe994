// Pushes and matches in queues of several depths, for `count`, which has callgrind count what counted()
// executes. Prints a line for each call of it: queue, receives, order, what was matched, depth, number of
// matches. Nothing here depends on time or on addresses, so the counts are the same in every run.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tag/posted_queue.hpp"
#include "tag/unexpected_queue.hpp"

/// callgrind collects inside of this function alone.
extern "C" [[gnu::noinline]] void stria_counted(void (*work)(void*), void* argument) {
  work(argument);
  asm volatile("" ::: "memory");
}

namespace stria::test {
namespace {

using tag::kAnySource;

constexpr unsigned kWindow = 64;
constexpr unsigned kRounds = 16;
constexpr std::uint64_t kStanding = 1000;  // numbers from here on are those of the standing queue
constexpr std::uint32_t kSource = 3;

/// What receives name. Those of any tag are the window's alone, and name another source than the standing
/// queue has: else they would take it.
struct Receives {
  const char* name;
  bool any_source;
  bool any_tag;
  bool scattered;  ///< tags without a rule; else neighbours

  std::uint64_t tag_of(std::uint64_t number) const {
    return scattered ? (number * 0x9e3779b97f4a7c15ull) >> 34 : number;
  }
};
constexpr Receives kReceives[] = {{"exact", false, false, false},
                                  {"scattered", false, false, true},
                                  {"any-source", true, false, false},
                                  {"any-tag", false, true, false}};

template <class Work>
void counted(Work work) {
  stria_counted([](void* of) { (*static_cast<Work*>(of))(); }, &work);
}

void expect(bool right) {
  if (right) return;
  std::fputs("a match was wrong\n", stderr);
  std::exit(1);
}

class Posted {
 public:
  static constexpr const char* kName = "posted";

  Posted(const Receives& receives, std::size_t depth)
      : receives_(receives), standing_(depth), window_(kWindow) {
    for (std::size_t i = 0; i < depth; ++i) post(standing_[i], kStanding + i, false);
  }
  void window(bool reversed) {
    for (unsigned i = 0; i < kWindow; ++i) post(window_[i], i, receives_.any_tag);
    for (unsigned i = 0; i < kWindow; ++i) {
      const unsigned at = reversed ? kWindow - 1 - i : i;
      expect(queue_.match(kSource + receives_.any_tag, receives_.tag_of(at)) == &window_[at]);
    }
  }
  void drain(bool reversed) {
    for (std::size_t i = 0; i < standing_.size(); ++i) {
      const std::size_t at = reversed ? standing_.size() - 1 - i : i;
      expect(queue_.match(kSource, receives_.tag_of(kStanding + at)) == &standing_[at]);
    }
  }

 private:
  void post(tag::PostedRecv& recv, std::uint64_t number, bool any_tag) {
    recv.tag = receives_.tag_of(number);
    recv.source = receives_.any_source ? kAnySource : kSource + any_tag;
    recv.ignore = any_tag ? 0xffffffff : 0;
    queue_.push(&recv);
  }
  const Receives receives_;
  tag::PostedQueue queue_;
  std::vector<tag::PostedRecv> standing_, window_;
};

class Unexpected {
 public:
  static constexpr const char* kName = "unexpected";

  Unexpected(const Receives& receives, std::size_t depth) : receives_(receives), depth_(depth) {
    for (std::size_t i = 0; i < depth; ++i) arrive(kStanding + i, kSource);
  }
  void window(bool reversed) {
    for (unsigned i = 0; i < kWindow; ++i) arrive(i, kSource + receives_.any_tag);
    for (unsigned i = 0; i < kWindow; ++i) receive(reversed ? kWindow - 1 - i : i, receives_.any_tag);
  }
  void drain(bool reversed) {
    for (std::size_t i = 0; i < depth_; ++i) receive(kStanding + (reversed ? depth_ - 1 - i : i), false);
  }

 private:
  void arrive(std::uint64_t number, std::uint32_t source) {
    tag::Unexpected* const entry = queue_.allocate();
    entry->tag = receives_.tag_of(number);
    entry->source = source;
    queue_.push(entry);
  }
  void receive(std::uint64_t number, bool any_tag) {
    const std::uint64_t with = receives_.tag_of(number);
    tag::Unexpected* const found = queue_.take(receives_.any_source ? kAnySource : kSource + any_tag, with,
                                               any_tag ? std::uint64_t{0xffffffff} : 0);
    expect(found != nullptr && found->tag == with);
    queue_.release(found);
  }
  const Receives receives_;
  const std::size_t depth_;
  tag::UnexpectedQueue queue_;
};

template <class Queue>
void measure(const Receives& receives, bool reversed, std::size_t depth) {
  Queue queue(receives, depth);
  queue.window(reversed);  // an index for wildcards is made once
  counted([&] {
    for (unsigned i = 0; i < kRounds; ++i) queue.window(reversed);
  });
  const char* const order = reversed ? "reversed" : "in-order";
  std::printf("%s %s %s window %zu %u\n", Queue::kName, receives.name, order, depth, kRounds * kWindow);
  if (depth < kWindow || receives.any_tag) return;
  counted([&] { queue.drain(reversed); });
  std::printf("%s %s %s drain %zu %zu\n", Queue::kName, receives.name, order, depth, depth);
}

}  // namespace
}  // namespace stria::test

int main() {
  using namespace stria::test;
  for (const Receives& receives : kReceives) {
    for (const bool reversed : {false, true}) {
      if (reversed && receives.any_tag) continue;  // any tag: matched as posted, or as they came
      for (const std::size_t depth : {1, 1000, 100000}) {
        measure<Posted>(receives, reversed, depth);
        measure<Unexpected>(receives, reversed, depth);
      }
    }
  }
}
