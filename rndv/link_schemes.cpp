// Names, for people, the schemes by which receives on a link are planned. They are found by planning messages
// that stand for all others.
#include <algorithm>
#include <array>

#include "rndv/plan.hpp"
#include "rndv/protocols/list.hpp"

namespace stria::rndv {
namespace {

using transport::LinkRef;

/// A set of protocols: a bit for each, by its place in the list.
constexpr unsigned kSets = 1u << Protocols::kCount;

struct Sentence {
  char text[96] = "";
  std::size_t length = 0;

  constexpr void add(std::string_view more) {
    for (const char letter : more) text[length++] = letter;
  }
};

/// "get, mapped or pipeline (forced)", in alphabetical order.
constexpr Sentence sentence_of(unsigned set, std::string_view end) {
  std::array<std::string_view, Protocols::kCount> names{};
  std::size_t count = 0;
  Protocols::for_each([&](const Protocol& one) {
    if ((set >> Protocols::index_of(one) & 1u) != 0) names[count++] = one.name;
  });
  std::sort(names.begin(), names.begin() + count);
  Sentence out;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) out.add(i + 1 == count ? " or " : ", ");
    out.add(names[i]);
  }
  out.add(end);
  return out;
}

constexpr std::array<Sentence, kSets> sentences(std::string_view end) {
  std::array<Sentence, kSets> out;
  for (unsigned set = 0; set < kSets; ++set) out[set] = sentence_of(set, end);
  return out;
}
constexpr std::array<Sentence, kSets> kChosen = sentences(""), kForced = sentences(" (forced)"),
                                      kRefused = sentences(", as what is forced is refused");

}  // namespace

const char* schemes_of_link(const LinkRef& link, const Options& options) noexcept {
  constexpr std::uint64_t kLengths[] = {8192, 65536, 1u << 20, 64u << 20};
  constexpr std::uint32_t kMeans[] = {0, 8, 65536};
  const std::uint8_t wanted = bits_of({options.force});
  unsigned set = 0;
  bool is_met = true;  // each of the messages goes by what is forced
  LinkRef path = link;
  for (const bool far : {false, true})
    for (const bool is_mapped : {false, true})
      for (const std::uint64_t length : kLengths)
        for (const std::uint32_t mean : kMeans) {
          path.far = far && !link.offload && !link.distant && !link.self;
          const Blocks blocks{.mean_bytes = mean};
          const Message message{.length = length,
                                .source = blocks,
                                .sink = blocks,
                                .has_key = true,
                                .source_mapped = is_mapped};
          const Protocol& taken = *plan_receive(message, path, options).choice.protocol;
          set |= 1u << Protocols::index_of(taken);
          is_met = is_met && (taken.forced_by & wanted) != 0;
        }
  if (options.force == Force::automatic) return kChosen[set].text;
  return (is_met ? kForced : kRefused)[set].text;
}

}  // namespace stria::rndv
