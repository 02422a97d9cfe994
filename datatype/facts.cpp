#include "datatype/facts.hpp"

#include "base/cache_line.hpp"
#include "datatype/checked.hpp"
#include "datatype/node.hpp"

namespace stria::datatype {
namespace {

constexpr auto kLine = static_cast<std::int64_t>(kCacheLine);
/// Mean distance in bytes from which the lines between two runs keep the processor from prefetching.
constexpr std::int64_t kFar = 4 * kLine;

/// `distance`: from the first run to the last, or from instance to instance.
bool is_sparse(const Node& root, std::int64_t distance) noexcept {
  if (root.runs == 0) return false;
  const std::int64_t magnitude = distance < 0 ? -(distance + 1) : distance;  // also of INT64_MIN
  return root.size / root.runs < kLine && magnitude / root.runs >= kFar;
}

/// The columns `inner`, each `apart` bytes from the one before.
Columns columns_of(const Strided* inner, std::int64_t apart) noexcept {
  const Block* block = inner == nullptr ? nullptr : inner->child->block();
  const auto is_near = [](std::int64_t stride) { return -kLine < stride && stride < kLine; };
  if (block == nullptr || block->bytes >= kLine || apart == 0 || !is_near(apart) || is_near(inner->stride))
    return {};
  const std::int64_t columns = kLine / (apart < 0 ? -apart : apart), column = block->bytes * inner->count;
  const Checked most = Checked(columns) * (Checked(column) + 1) - 1;
  if (!most.ok()) return {column, INT64_MAX};
  return {columns * column, most.value()};
}

}  // namespace

Facts facts_of(const Node& root, std::int64_t extent) noexcept {
  const Strided* const outer = root.strided();
  Facts facts;
  facts.mean_run = root.runs == 0 ? 0 : root.size / root.runs;
  facts.one.sparse = is_sparse(root, root.true_ub - root.true_lb);
  facts.several.sparse = is_sparse(root, extent);
  if (outer != nullptr) {
    facts.one.columns = columns_of(outer->child->strided(), outer->stride);
    facts.several.columns = columns_of(outer, extent);
  }
  return facts;
}

}  // namespace stria::datatype
