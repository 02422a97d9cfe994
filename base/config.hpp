// Configuration: one table of variables, each with default, unit and meaning, and a snapshot of their values
// that a context takes when it opens. Values come from the default, the environment (STRIA_*), or an override
// such as an MCA parameter, each of which wins over those before it, and remember where they came from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace stria {

/// The variables, in the order of the table in config.cpp.
enum class Var : std::uint8_t {
  log,
  providers,
  provider_path,
  eager_limit,
  self_copy,
  rndv_scheme,
  rndv_fragment,
  rndv_pull_slice,
  rndv_patience,
  rndv_flows,
  rndv_share,
  unexpected_budget,
  close_timeout_ms,
  liveness_ms,
  wait_spin_us,
  vectors,
  store_queue,
  first_cache,
  last_cache,
  shm_windows,
  shm_window_bytes,
  shm_short_laps,
  shm_pio_mtu,
  shm_inbox_slots,
  shm_cells,
  shm_cell_bytes,
  shm_long_cells,
  shm_long_cell_bytes,
  shm_huge_pages,
  shm_distance,
  shm_strings,
  shm_cma,
  shm_attach,
  shm_max_peers,
  shm_keys,
  verbs_device,
  verbs_links,
  verbs_credits,
  verbs_eager_bytes,
  verbs_send_buffers,
  verbs_keys,
  verbs_ack_timeout,
  verbs_connect_ms,
  verbs_cache_bytes,
  verbs_memory_watch,
  fake_seed,
  fake_delay,
  fake_queue,
  kCount
};
inline constexpr std::size_t kVarCount = static_cast<std::size_t>(Var::kCount);

enum class VarKind : std::uint8_t { text, choice, number, bytes };

struct VarSpec {
  const char* name;  ///< "STRIA_EAGER_LIMIT"
  VarKind kind;
  const char* default_value;  ///< as a user would write it
  const char* unit;
  const char* choices;  ///< for VarKind::choice: "auto|on|off"
  std::int64_t minimum;
  std::int64_t maximum;
  const char* meaning;
};

/// The table, kVarCount long. Constant.
std::span<const VarSpec> config_table() noexcept;

/// A value with its origin.
struct VarValue {
  std::string text;
  std::int64_t number = 0;  ///< for number and bytes
  std::string origin;       ///< "default", "environment", …
};

/// A snapshot of all variables. Immutable once a context holds it, so any thread may read it.
class Config {
 public:
  /// All defaults.
  Config();
  /// Defaults, then the environment, then overrides: what a command line says in so many words wins over what
  /// was left in the environment. Malformed values are errors that name the variable, the
  /// value and what is allowed; STRIA_* variables that are not in the table are reported by one warning each.
  static Result<Config> from_environment();

  /// Parses and sets. Errors: unknown name, malformed value.
  Result<void> set(std::string_view name, std::string_view value, std::string_view origin);

  std::int64_t number(Var var) const noexcept { return values_[static_cast<std::size_t>(var)].number; }
  const std::string& text(Var var) const noexcept { return values_[static_cast<std::size_t>(var)].text; }
  const VarValue& value(Var var) const noexcept { return values_[static_cast<std::size_t>(var)]; }
  const VarValue& value(std::size_t index) const noexcept { return values_[index]; }
  /// Somebody set it: what is chosen by measurement otherwise has to be as they say.
  bool is_given(Var var) const noexcept { return value(var).origin != "default"; }

 private:
  std::vector<VarValue> values_;
};

/// Overrides for snapshots taken afterwards (MCA parameters, stria_config_set). Thread safe. Errors: unknown
/// name, malformed value; another value for a variable that the process has read once and for all.
Result<void> set_config_override(std::string_view name, std::string_view value, std::string_view origin);

/// The value of a variable that decides something once in a process (base/processor.hpp): override, else
/// environment, else default. Error: malformed. From then on set_config_override() refuses another value for
/// STRIA_VECTORS, STRIA_STORE_QUEUE, STRIA_FIRST_CACHE and STRIA_LAST_CACHE, which nothing else reads. Thread
/// safe.
Result<VarValue> read_once(Var var);

/// "64K", "1M", "2g", "4096" -> bytes; nothing else. Empty Result value means malformed.
Result<std::int64_t> parse_bytes(std::string_view text);

}  // namespace stria
