// Drawing a case and judging its outcome; see case.hpp.
#include "tests/mpi/datatype_random/case.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/mpi/datatype_random/typemap.hpp"

namespace mpitest {
namespace {

constexpr std::int64_t kGuard = 64;
constexpr std::uint64_t kReceiverKey = 0x5EED0FF;  // the receiver's memory before the message

bool avoid = false;

// A short pattern of basic types, repeated, then single bytes up to the size.
Signature draw_signature(Rng& rng, std::uint64_t bytes, std::size_t& unit, std::int64_t& repeats) {
  const auto basics = basic_types();
  Signature pattern;
  std::uint64_t pattern_bytes = 0;
  const bool coarse = bytes >= 65536 && rng.chance(85);  // keeps the walk of long messages cheap
  for (std::uint64_t wanted = 1 + rng.below(5); wanted > 0; --wanted) {
    BasicId id = static_cast<BasicId>(rng.below(basics.size()));
    if (rng.chance(30) && !pattern.empty()) id = pattern.back();
    if (coarse && basics[id].bytes < 8) id = static_cast<BasicId>(12 + rng.below(basics.size() - 12));
    if (avoid && id + 1U == basics.size()) --id;  // the last is the one of 32 bytes
    if (pattern_bytes + static_cast<std::uint64_t>(basics[id].bytes) > bytes) continue;
    pattern.push_back(id);
    pattern_bytes += static_cast<std::uint64_t>(basics[id].bytes);
  }
  if (pattern.empty() && bytes > 0) {
    pattern.push_back(static_cast<BasicId>(rng.below(6)));
    pattern_bytes = 1;
  }
  Signature signature;
  unit = pattern.size();
  repeats = pattern.empty() ? 0 : static_cast<std::int64_t>(bytes / pattern_bytes);
  for (std::int64_t i = 0; i < repeats; ++i)
    signature.insert(signature.end(), pattern.begin(), pattern.end());
  for (std::uint64_t left = bytes - static_cast<std::uint64_t>(repeats) * pattern_bytes; left > 0; --left) {
    signature.push_back(3);
    unit = 0;  // no longer a plain repetition
  }
  return signature;
}

std::int64_t draw_count(Rng& rng, std::size_t unit, std::int64_t repeats) {
  if (unit == 0 || repeats == 0 || rng.chance(30)) return 1;
  std::int64_t count = 1;
  for (int tries = 0; tries < 6; ++tries) {
    const std::int64_t candidate = rng.chance(20) ? repeats : rng.between(1, repeats);
    if (repeats % candidate == 0) count = candidate;
  }
  return count;
}

Side draw_side(std::uint64_t seed, const Signature& signature, std::int64_t count, bool receives,
               std::uint64_t bytes) {
  const auto limit = static_cast<std::int64_t>(12 * bytes + 65536);
  for (std::uint64_t attempt = 0;; ++attempt) {
    Rng rng(mix(seed) + attempt);
    const int spread = attempt < 4 ? 2 : attempt < 8 ? 1 : 0;
    TypeMaker maker(rng, spread);
    const std::size_t part = signature.size() / static_cast<std::size_t>(count);
    const int depth = attempt < 12 ? static_cast<int>(rng.between(1, 4)) : 0;
    RandomType type = maker.make(std::span(signature).first(part), depth);
    const Span covered = span_of(type, count);
    if (covered.high - covered.low > limit) continue;
    if (receives && overlaps(type, count)) continue;
    return {std::move(type), static_cast<int>(count), rng.chance(50) ? 0 : rng.below(16)};
  }
}

}  // namespace

void avoid_peer_bugs() {
  avoid = true;
}

Side::Side(RandomType given, int instances, std::size_t misalignment)
    : type(std::move(given)), count(instances) {
  const Span covered = span_of(type, count);
  origin_ = kGuard + static_cast<std::int64_t>(misalignment) - covered.low;
  memory_.resize(static_cast<std::size_t>(covered.high - covered.low + 2 * kGuard) + misalignment);
}

std::int64_t Side::displacement(std::size_t item) const noexcept {
  const std::size_t each = type.map.size();
  return type.map[item % each].displacement + static_cast<std::int64_t>(item / each) * type.extent();
}

std::string Case::text() const {
  return mpitest::text("case ", number, ", ", bytes, " bytes, sent as ", sent.count, " x ",
                       sent.type.text.substr(0, 700), ", received as ", received.count, " x ",
                       received.type.text.substr(0, 700));
}

Case draw_case(std::uint64_t seed, std::uint64_t number, std::uint64_t bytes) {
  Case c;
  c.number = number;
  c.bytes = bytes;
  c.key = mix(seed ^ mix(number));
  Rng rng(c.key);
  std::size_t unit = 0;
  std::int64_t repeats = 0;
  c.signature = draw_signature(rng, bytes, unit, repeats);
  c.sent = draw_side(c.key + 1, c.signature, draw_count(rng, unit, repeats), false, bytes);

  Signature room = c.signature;
  std::int64_t count = draw_count(rng, unit, repeats);
  if (rng.chance(15) && !c.signature.empty()) {  // the receive has room for more than comes
    const std::size_t part = room.size() / static_cast<std::size_t>(count);
    if (rng.chance(50)) {
      const Signature extra(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(part));
      room.insert(room.end(), extra.begin(), extra.end());
      ++count;
    } else {
      for (std::uint64_t i = rng.between(1, 5); i > 0; --i)
        room.push_back(static_cast<BasicId>(rng.below(12)));
      count = 1;
    }
  }
  c.spare = room.size() - c.signature.size();
  c.received = draw_side(c.key + 2, room, count, true, bytes);
  expect_equal(c.sent.type.map.size() * static_cast<std::size_t>(c.sent.count), c.signature.size(),
               "items sent");
  expect_equal(c.received.type.map.size() * static_cast<std::size_t>(c.received.count), room.size(),
               "items received");
  return c;
}

void fill_sent(Case& c) {
  fill(c.sent.memory().data(), c.sent.memory().size(), c.key);
}

void fill_received(Case& c) {
  fill(c.received.memory().data(), c.received.memory().size(), kReceiverKey);
}

void check_sent(const Case& c) {
  const auto& memory = c.sent.memory();
  if (first_wrong(memory.data(), memory.size(), c.key) != memory.size()) {
    expect(false, "sending changed the sender's memory: " + c.text());
  } else {
    expect(true);
  }
}

void check_received(const Case& c, const MPI_Status& status, int source, int tag) {
  if (status.MPI_SOURCE != source || status.MPI_TAG != tag) {
    expect(false, text("status has source ", status.MPI_SOURCE, " tag ", status.MPI_TAG, ": ", c.text()));
  }
  std::vector<std::byte> sent(c.sent.memory().size());
  std::vector<std::byte> wanted(c.received.memory().size());
  fill(sent.data(), sent.size(), c.key);
  fill(wanted.data(), wanted.size(), kReceiverKey);
  const std::byte* const from = sent.data() + (c.sent.at(0) - c.sent.memory().data());
  std::byte* const to = wanted.data() + (c.received.at(0) - c.received.memory().data());
  const auto basics = basic_types();
  for (std::size_t i = 0; i < c.signature.size(); ++i) {
    std::memcpy(to + c.received.displacement(i), from + c.sent.displacement(i),
                static_cast<std::size_t>(basics[c.signature[i]].bytes));
  }
  const auto& got = c.received.memory();
  if (!std::equal(got.begin(), got.end(), wanted.begin())) {
    const auto place = std::mismatch(got.begin(), got.end(), wanted.begin()).first - got.begin();
    expect(false, text("byte ", place - (c.received.at(0) - got.data()),
                       " of the receive buffer is wrong: ", c.text()));
  } else {
    expect(true);
  }

  // The status: whole instances, or none that can be named; and basic elements.
  const std::size_t each = c.received.type.map.size();
  int count = -1;
  MPI_Get_count(&status, c.received.type.handle, &count);
  const int whole = each == 0                        ? 0
                    : c.signature.size() % each == 0 ? static_cast<int>(c.signature.size() / each)
                                                     : MPI_UNDEFINED;
  if (count != whole) expect(false, text("MPI_Get_count ", count, ", wanted ", whole, ": ", c.text()));
  if (c.received.type.has_pair || each == 0) return;  // whether a pair counts once or twice is not settled
  MPI_Count elements = -1;
  MPI_Get_elements_x(&status, c.received.type.handle, &elements);
  if (elements != static_cast<MPI_Count>(c.signature.size())) {
    expect(false, text("MPI_Get_elements_x ", elements, ", wanted ", c.signature.size(), ": ", c.text()));
  }
}

}  // namespace mpitest
