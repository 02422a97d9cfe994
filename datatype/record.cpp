#include "datatype/record.hpp"

#include <algorithm>
#include <cstdlib>
#include <type_traits>

#include "datatype/node.hpp"

namespace stria::datatype {
namespace {

/// Appends a move for each run of a node whose first byte lies at offset `memory` of the record.
void write_out(const Node& node, std::int64_t memory, std::vector<Move>& out) {
  if (const Block* block = node.block()) {
    const std::int64_t stream = out.empty() ? 0 : out.back().stream + out.back().bytes;
    out.push_back({memory, stream, block->bytes});
  } else if (const Strided* s = node.strided(); s != nullptr && s->child->block() != nullptr) {
    const std::int64_t bytes = s->child->size;
    const std::int64_t stream = out.empty() ? 0 : out.back().stream + out.back().bytes;
    const std::size_t at = out.size();
    out.resize(at + static_cast<std::size_t>(s->count));
    for (std::int64_t i = 0; i < s->count; ++i)
      out[at + static_cast<std::size_t>(i)] = {memory + i * s->stride, stream + i * bytes, bytes};
  } else if (s != nullptr) {
    for (std::int64_t i = 0; i < s->count; ++i) write_out(*s->child, memory + i * s->stride, out);
  } else if (const auto* x = std::get_if<Indexed>(&node.form)) {
    for (std::size_t i = 0; i < x->displacements.size(); ++i)
      write_out(*x->child, memory + x->displacements[i], out);
  } else if (const auto* b = std::get_if<Blocks>(&node.form)) {
    for (std::size_t i = 0; i < b->displacements.size(); ++i) {
      const std::int64_t stream = out.empty() ? 0 : out.back().stream + out.back().bytes;
      out.push_back({memory + b->displacements[i], stream, b->starts[i + 1] - b->starts[i]});
    }
  } else {
    const auto& c = *std::get_if<Composite>(&node.form);
    for (std::size_t i = 0; i < c.children.size(); ++i)
      write_out(*c.children[i], memory + c.displacements[i], out);
  }
}

std::vector<Move> moves_of(const Node& element) {
  std::vector<Move> moves;
  moves.reserve(static_cast<std::size_t>(element.runs));
  write_out(element, 0, moves);
  return moves;
}

/// How many records `stride` apart are certainly disjoint. 0 when a record overlaps itself, or the stride is
/// less than a move; any number when each record lies beyond the one before; otherwise as often as each move
/// can be repeated before it meets the next higher move of the record (columns side by side). `typemap_moves`
/// are the moves in typemap order.
std::int64_t disjoint_records(const std::vector<Move>& typemap_moves, std::int64_t true_extent,
                              std::int64_t stride) {
  const auto is_lower = [](const Move& a, const Move& b) { return a.memory < b.memory; };
  std::vector<Move> sorted;
  if (!std::is_sorted(typemap_moves.begin(), typemap_moves.end(), is_lower)) {
    sorted = typemap_moves;
    std::sort(sorted.begin(), sorted.end(), is_lower);
  }
  const std::vector<Move>& moves = sorted.empty() ? typemap_moves : sorted;
  // A stride may be any number when there is only one record, also INT64_MIN, which has no absolute value.
  const std::int64_t step = stride == INT64_MIN ? INT64_MAX : std::abs(stride);
  std::int64_t count = INT64_MAX;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const bool last = i + 1 == moves.size();
    const std::int64_t gap = last ? INT64_MAX : moves[i + 1].memory - moves[i].memory - moves[i].bytes;
    if (gap < 0) return 0;
    if (step >= true_extent) continue;
    if (step < moves[i].bytes) return 0;
    if (!last) count = std::min(count, gap / step + 1);
  }
  return count;
}

Permutation permutation_of(const Node& element, const std::vector<Move>& moves, std::int64_t stride) {
  Permutation p;
  const std::int64_t span = element.true_ub - element.true_lb;
  const auto runs = static_cast<std::int64_t>(moves.size());
  if (stride < span || span > 64) return p;
  p.records = (64 - span) / stride + 1;
  // A permutation pays from two runs a vector on: it takes three instructions a vector, and copying runs
  // singly takes two loads and two stores a run.
  if (p.records * runs < 2) return Permutation{};
  p.low = element.true_lb;
  p.span = span;
  p.record_bytes = element.size;
  p.packed_bytes = p.records * element.size;
  for (std::int64_t r = 0; r < p.records; ++r)
    for (const Move& m : moves)
      for (std::int64_t b = 0; b < m.bytes; ++b) {
        const auto memory = static_cast<std::uint8_t>(r * stride + m.memory - p.low + b);
        const auto stream = static_cast<std::uint8_t>(r * element.size + m.stream + b);
        p.pack[stream] = memory;
        p.unpack[memory] = stream;
        p.memory_mask |= std::uint64_t{1} << memory;
      }
  return p;
}

/// Record::stretch of a record whose memory takes at most `apart` bytes until the next one begins.
std::int64_t stretch_of(const Record& record, std::int64_t apart) {
  // Bytes of a stretch, in memory and in the stream together: they stay in a first-level cache of 32 KiB.
  constexpr std::int64_t kBytes = 12288;
  constexpr std::int64_t kLeast = 8, kMost = 128;  // records
  if (record.bytes >= kBytes) return kLeast;       // its sums may leave 64 bits
  const auto runs = static_cast<std::int64_t>(record.moves.size());
  const std::int64_t touched = std::min(apart, record.bytes + 64 * runs) + record.bytes;
  return std::clamp(kBytes / touched, kLeast, kMost);
}

}  // namespace

std::unique_ptr<const Record> make_record(const Node& element, std::int64_t stride) {
  if (element.runs == 0 || element.runs > kRecordMoves) return nullptr;
  auto record = std::make_unique<Record>();
  record->moves = moves_of(element);
  record->bytes = element.size;
  record->disjoint_count = disjoint_records(record->moves, element.true_ub - element.true_lb, stride);
  if (record->disjoint_count == INT64_MAX)
    record->permutation = permutation_of(element, record->moves, stride);
  if (element.block() != nullptr && record->permutation.records == 0) return nullptr;
  record->stretch = stretch_of(*record, stride == INT64_MIN ? INT64_MAX : std::abs(stride));
  return record;
}

std::unique_ptr<const Record> make_listed_record(const Node& element, std::int64_t distance) {
  if (element.block() != nullptr || element.runs > kRecordMoves) return nullptr;
  auto record = std::make_unique<Record>();
  record->moves = moves_of(element);
  record->bytes = element.size;
  const std::int64_t true_extent = element.true_ub - element.true_lb;
  if (distance >= true_extent)
    record->disjoint_count = disjoint_records(record->moves, true_extent, distance);
  record->stretch = stretch_of(*record, INT64_MAX);
  return record;
}

}  // namespace stria::datatype
