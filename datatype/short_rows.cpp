#include "datatype/short_rows.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace stria::datatype {
namespace {

bool is_row(const Piece& piece) noexcept {
  return piece.node != nullptr && piece.node->strided() != nullptr;
}

/// Neighbouring pieces that are one part of a composite.
struct Group {
  std::size_t begin, end;
  bool is_list, is_short_row;  ///< single blocks; short rows of one shape. Neither: a part that stays
};
std::vector<Group> groups_of(const Pieces& pieces) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < pieces.size();) {
    std::size_t end = i + 1;
    while (end < pieces.size() && same_group(pieces[i], pieces[end])) ++end;
    const auto n = static_cast<std::int64_t>(end - i);
    groups.push_back(
        {i, end, !pieces[i].node, is_row(pieces[i]) && are_short(n, pieces[i].runs(), pieces[i].bytes)});
    i = end;
  }
  return groups;
}

void count(const Group& group, const Pieces& pieces, ShortParts& parts) noexcept {
  const std::int64_t n = static_cast<std::int64_t>(group.end - group.begin) * pieces[group.begin].runs();
  (group.is_list ? parts.lists : parts.rows) += 1;
  (group.is_list ? parts.in_lists : parts.in_rows) += n;
}

}  // namespace

bool same_group(const Piece& a, const Piece& b) noexcept {
  return (!a.node && !b.node) || same_shape(a, b);
}

Pieces open_short_rows(Pieces pieces) {
  const std::vector<Group> groups = groups_of(pieces);
  ShortParts all;
  for (const Group& group : groups)
    if (group.is_list || group.is_short_row) count(group, pieces, all);
  if (all.rows == 0 || !all.matter()) return pieces;
  Pieces out;
  out.reserve(pieces.size());
  for (std::size_t g = 0; g < groups.size();) {
    ShortParts near;
    std::size_t end = g;
    for (; end < groups.size() && (groups[end].is_list || groups[end].is_short_row); ++end)
      count(groups[end], pieces, near);
    end = std::max(end, g + 1);
    for (std::size_t i = groups[g].begin; i < groups[end - 1].end; ++i) {
      if (near.join())
        expand_piece(pieces[i], out);
      else
        out.push_back(std::move(pieces[i]));
    }
    g = end;
  }
  merge_adjacent(out);
  return out;
}

}  // namespace stria::datatype
