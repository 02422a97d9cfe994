// The groups of the provider contract as a list with a row for each group. The loader checks a provider by
// it, the capability bits follow from it, and stria_info shows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stria/provider.h"

namespace stria::transport {

/// A function of the core or of a group.
struct TableEntry {
  const char* name;
  std::size_t at;  ///< offset of the function pointer in its structure
};

struct GroupRow {
  const char* name;
  std::size_t at;                         ///< offset of the pointer to the group in stria_provider_t
  std::uint32_t bytes;                    ///< size of the group's structure in this version
  std::span<const TableEntry> functions;  ///< all functions of the group
  std::uint64_t capabilities;             ///< STRIA_CAP_* bits that a provider has by declaring it
  const char* needs;                      ///< the group without which this one makes no sense; "" if none
};

/// Every group, in the order of stria_provider_t. Constant.
std::span<const GroupRow> group_rows() noexcept;
/// The functions of the core, which every table has.
std::span<const TableEntry> core_functions() noexcept;

/// The structure of a group in a provider's table; null: the provider does not declare the group.
const void* group_of(const stria_provider_t& table, const GroupRow& row) noexcept;
/// The name of the first function that is a null pointer in `table` (a provider's table, or a group's
/// structure); null: none is.
const char* missing_function(const void* table, std::span<const TableEntry> functions) noexcept;
/// The names of the groups that a provider declares.
std::vector<std::string> groups_of(const stria_provider_t& table);

}  // namespace stria::transport
