#include "hw/descriptor_encoders.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>

#include "datatype/pack.hpp"
#include "datatype/walk.hpp"

namespace stria::hw {
namespace {

using datatype::Layout;

Error refuse(std::string what) {
  return Error{Status::unsupported, std::move(what)};
}
std::uint64_t largest(unsigned bits) {
  return bits >= 64 ? UINT64_MAX : (std::uint64_t{1} << bits) - 1;
}
/// An error such as "interleaved: stride 70000 > 65535" if a value needs more than `bits` bits; else nothing.
std::optional<Error> too_wide(const char* form, const char* field, std::uint64_t value, unsigned bits) {
  if (value <= largest(bits)) return std::nullopt;
  return refuse(std::string(form) + ": " + field + " " + std::to_string(value) + " > " +
                std::to_string(largest(bits)));
}
std::optional<Error> too_many(const char* form, std::uint64_t entries, std::uint32_t most) {
  if (entries <= most) return std::nullopt;
  return refuse(std::string(form) + ": " + std::to_string(entries) + " entries > " + std::to_string(most));
}

/// The runs of the packed stream, neighbours merged, until enough(runs) is true.
template <class Enough>
std::vector<SgEntry> runs_of(const Layout& layout, std::int64_t count, std::uint64_t base, Enough enough) {
  constexpr std::size_t kStep = 256;
  std::vector<struct iovec> step(kStep);
  std::vector<SgEntry> out;
  const std::int64_t total = layout.size() * count;
  for (std::int64_t at = 0; at < total && !enough(out);) {
    std::int64_t covered = 0;
    // Only addresses are computed: nothing is read there.
    auto* memory = datatype::at(static_cast<datatype::Address>(base));
    const std::size_t n =
        datatype::iovecs({&layout, memory, count, at, total - at}, step.data(), kStep, &covered);
    for (std::size_t i = 0; i < n; ++i) {
      const SgEntry run{datatype::address_of(step[i].iov_base), step[i].iov_len};
      if (!out.empty() && out.back().address + out.back().bytes == run.address)
        out.back().bytes += run.bytes;
      else
        out.push_back(run);
    }
    at += covered;
  }
  return out;
}

/// What an interleaved description repeats: how often, at which distance in bytes, and the runs of one round.
struct Round {
  std::int64_t repeat = 1;
  std::int64_t stride = 0;
  std::vector<datatype::Move> moves;
};
std::optional<Round> round_of(const Layout& layout, std::int64_t count) {
  if (layout.is_contiguous(count)) return Round{1, 0, {{0, 0, layout.size() * count}}};
  const datatype::Repeat repeat = datatype::repeat_of(layout, count);
  Round round{repeat.count, repeat.count == 1 ? 0 : repeat.stride, {}};  // a single round has no stride
  if (const datatype::Block* block = repeat.child->block()) {
    round.moves.push_back({0, 0, block->bytes});
  } else {
    const auto record = datatype::make_record(*repeat.child, repeat.stride);
    if (record == nullptr) return std::nullopt;
    round.moves = record->moves;
  }
  return round;
}

}  // namespace

Result<Interleaved> encode_interleaved(const Layout& layout, std::int64_t count, std::uint64_t base,
                                       const InterleavedLimits& limits) {
  constexpr const char* kForm = "interleaved";
  if (limits.entries == 0) return refuse("interleaved: the device has no such form");
  if (layout.size() == 0 || count == 0) return refuse("interleaved: no bytes");
  const std::optional<Round> round = round_of(layout, count);
  if (!round) return refuse("interleaved: the element is no short list of runs: " + layout.to_string());
  if (round->stride < 0) return refuse("interleaved: stride " + std::to_string(round->stride) + " < 0");
  if (auto error = too_many(kForm, round->moves.size(), limits.entries)) return *std::move(error);
  const auto repeat = static_cast<std::uint64_t>(round->repeat);
  const auto stride = static_cast<std::uint64_t>(round->stride);
  if (auto error = too_wide(kForm, "repeat count", repeat, limits.repeat_bits)) return *std::move(error);
  if (auto error = too_wide(kForm, "stride", stride, limits.stride_bits)) return *std::move(error);
  Interleaved out{repeat, {}};
  for (const datatype::Move& move : round->moves) {
    const auto bytes = static_cast<std::uint64_t>(move.bytes);
    if (auto error = too_wide(kForm, "bytes of an entry", bytes, limits.bytes_bits)) return *std::move(error);
    out.entries.push_back({base + static_cast<std::uint64_t>(layout.origin() + move.memory), bytes, stride});
  }
  return out;
}

Result<std::vector<SgEntry>> encode_sg(const Layout& layout, std::int64_t count, std::uint64_t base,
                                       const SgLimits& limits) {
  if (limits.entries == 0) return refuse("SG: the device has no such form");
  const auto enough = [&](const auto& list) { return list.size() > limits.entries; };
  std::vector<SgEntry> list = runs_of(layout, count, base, enough);
  if (enough(list)) return refuse("SG: more than " + std::to_string(limits.entries) + " entries");
  for (const SgEntry& entry : list)
    if (auto error = too_wide("SG", "bytes of an entry", entry.bytes, limits.bytes_bits))
      return *std::move(error);
  return list;
}

Result<BlockList> encode_block_list(const Layout& layout, std::int64_t count, std::uint64_t base,
                                    const BlockListLimits& limits) {
  if (limits.entries == 0) return refuse("block list: the device has no such form");
  if (layout.size() == 0 || count == 0) return refuse("block list: no bytes");
  // Every run but the first and the last holds at least a whole block: so there are at most entries + 2 runs.
  const auto enough = [&](const auto& list) { return list.size() > std::size_t{limits.entries} + 2; };
  const std::vector<SgEntry> runs = runs_of(layout, count, base, enough);
  if (enough(runs)) return refuse("block list: more than " + std::to_string(limits.entries) + " entries");
  // Where a run ends and the next one begins, a block ends and another one begins: the alignment of these
  // addresses bounds the block size.
  std::uint64_t seams = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i > 0) seams |= runs[i].address;
    if (i + 1 < runs.size()) seams |= runs[i].address + runs[i].bytes;
  }
  const unsigned aligned = seams == 0 ? 63 : static_cast<unsigned>(std::countr_zero(seams));
  if (aligned < limits.smallest_log2)
    return refuse("block list: a run ends or begins at a multiple of 2^" + std::to_string(aligned) +
                  " bytes, smallest block 2^" + std::to_string(limits.smallest_log2));
  BlockList out;
  out.block_log2 = std::min({aligned, limits.largest_log2, 62U});
  const std::uint64_t block = std::uint64_t{1} << out.block_log2;
  out.first_offset = runs.front().address & (block - 1);
  out.bytes = static_cast<std::uint64_t>(layout.size() * count);
  for (const SgEntry& run : runs) {
    const std::uint64_t first = run.address & ~(block - 1);
    const std::uint64_t blocks = (run.address - first + run.bytes - 1) / block + 1;
    if (auto error = too_many("block list", out.blocks.size() + blocks, limits.entries))
      return *std::move(error);
    for (std::uint64_t i = 0; i < blocks; ++i) out.blocks.push_back(first + i * block);
  }
  return out;
}

std::string describe_forms(const Layout& layout, std::uint32_t entries) {
  const auto entries_of = [](std::size_t n) { return std::to_string(n) + (n == 1 ? " entry" : " entries"); };
  const auto size_of = [](const auto& form) {
    return " in " + std::to_string(descriptor_bytes(form)) + " bytes";
  };
  std::string out;
  if (const auto form = encode_interleaved(layout, 1, 0, {.entries = entries}))
    out += "interleaved: " + entries_of(form->entries.size()) + ", repeated " + std::to_string(form->repeat) +
           "," + size_of(*form) + "\n";
  else
    out += "no " + form.error().context + "\n";
  if (const auto form = encode_sg(layout, 1, 0, {.entries = entries}))
    out += "SG: " + entries_of(form->size()) + size_of(*form) + "\n";
  else
    out += "no " + form.error().context + "\n";
  if (const auto form = encode_block_list(layout, 1, 0, {.entries = entries}))
    out += "block list: " + entries_of(form->blocks.size()) + size_of(*form) + ", of blocks of 2^" +
           std::to_string(form->block_log2) + " bytes\n";
  else
    out += "no " + form.error().context + "\n";
  return out;
}

}  // namespace stria::hw
