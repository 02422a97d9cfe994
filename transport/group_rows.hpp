// The groups of the contract as a list: what the loader checks, what the capability bits follow from, and
// what stria_info shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stria/provider.h"

namespace stria::transport {

/// A function of a table, by its place there.
struct TableEntry {
  const char* name;
  std::size_t at;
};

struct GroupRow {
  const char* name;
  std::size_t at;                         ///< of the pointer to the group in stria_provider_t
  std::uint32_t bytes;                    ///< of the group's structure in this version
  std::span<const TableEntry> functions;  ///< all of them
  std::uint64_t capabilities;             ///< STRIA_CAP_* bits that a provider has by declaring it
  const char* needs;                      ///< the group without which it makes no sense; "" if none
};

/// Every group, in the order of stria_provider_t. Constant.
std::span<const GroupRow> group_rows() noexcept;
/// The functions of the core.
std::span<const TableEntry> core_functions() noexcept;

/// The structure of a group; null: the provider does not declare it.
const void* group_of(const stria_provider_t& table, const GroupRow& row) noexcept;
/// The first function of a table that is null; null: all are there.
const char* missing_function(const void* table, std::span<const TableEntry> functions) noexcept;
/// The names of the groups that a provider declares.
std::vector<std::string> groups_of(const stria_provider_t& table);

}  // namespace stria::transport
