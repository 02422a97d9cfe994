#include "base/config.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>

#include "base/format.hpp"
#include "base/log.hpp"

extern char** environ;

namespace stria {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// Defaults that are measured carry their origin in docs/tuning.md.
constexpr VarSpec kTable[] = {
    {"STRIA_LOG", VarKind::choice, "warn", "", "trace|debug|info|warn|error|off", 0, 0,
     "How much is written to stderr."},
    {"STRIA_PROVIDERS", VarKind::text, "shm", "", "", 0, 0,
     "Comma-separated providers to use, best first; names beyond the built-in ones are searched in "
     "STRIA_PROVIDER_PATH."},
    {"STRIA_PROVIDER_PATH", VarKind::text, "", "", "", 0, 0,
     "Colon-separated folders searched for libstria_provider_NAME.so before the installed one."},
    {"STRIA_EAGER_LIMIT", VarKind::bytes, "256K", "bytes", "", 0, kMax,
     "Messages up to this size travel with their match header; a provider may lower it. Unless it is set, "
     "128K for what is packed, and for far peers before Zen 5."},
    {"STRIA_SELF_COPY", VarKind::choice, "on", "", "on|off", 0, 0,
     "Whether a worker's message to itself whose receive waits is copied there at once. Off: it goes as "
     "to any other peer."},
    {"STRIA_RNDV_SCHEME", VarKind::choice, "auto", "", "auto|get|both|pipeline", 0, 0,
     "How rendezvous data moves: chosen by the cost model, or forced where the path allows it."},
    {"STRIA_RNDV_FRAGMENT", VarKind::bytes, "32K", "bytes", "", 1024, 1 << 30,
     "Longest fragment of the packed pipeline; by default the cost model takes shorter ones. Set: all "
     "have this size, unless the provider's are shorter."},
    {"STRIA_RNDV_PULL_SLICE", VarKind::bytes, "4M", "bytes", "", 4096, 1 << 30,
     "A get moves at most this much before other traffic is looked after."},
    {"STRIA_RNDV_PATIENCE", VarKind::number, "5", "microseconds", "", 0, 30000,
     "A receiver of the packed pipeline waits so long for a fragment before it reads a part of the message "
     "itself, where it can."},
    {"STRIA_RNDV_FLOWS", VarKind::choice, "auto", "", "auto|on|off", 0, 0,
     "Whether what goes through memory that both sides share flows between far caches, so that long messages "
     "go there by fragments, too. Auto: where STRIA_STORE_QUEUE is deep (Zen 5 and later)."},
    {"STRIA_RNDV_SHARE", VarKind::choice, "auto", "", "auto|on|off", 0, 0,
     "Whether both sides may copy a part of a message each (schemes both, mapped by both). Auto: yes, but "
     "not in MPI jobs with more ranks than cores, where one waits for the other's turn."},
    {"STRIA_UNEXPECTED_BUDGET", VarKind::bytes, "64M", "bytes", "", 1 << 20, kMax,
     "Memory of a worker's buffers for messages nobody asked for yet; beyond it senders are turned to "
     "rendezvous."},
    {"STRIA_CLOSE_TIMEOUT_MS", VarKind::number, "5000", "milliseconds", "", 0, kMax,
     "How long closing a worker waits for sends under way, and for peers that have not answered yet."},
    {"STRIA_LIVENESS_MS", VarKind::number, "500", "milliseconds", "", 1, 3600000,
     "How often peers with work outstanding are checked for being alive."},
    {"STRIA_WAIT_SPIN_US", VarKind::number, "50", "microseconds", "", 0, 1000000,
     "How long a sleeping wait polls before it gives the core away."},
    {"STRIA_VECTORS", VarKind::choice, "auto", "", "auto|portable|avx2|avx512", 0, 0,
     "The widest vector instructions for copies. Auto: the widest that the processor has. One that it does "
     "not "
     "have is lowered, with a warning. Read once in a process, before its first context or layout."},
    {"STRIA_STORE_QUEUE", VarKind::choice, "auto", "", "auto|usual|deep", 0, 0,
     "How many stores a core can have under way, which decides between ways to copy. Auto: deep on Zen 5 and "
     "later. Read once in a process, before its first context or layout."},
    {"STRIA_FIRST_CACHE", VarKind::bytes, "0", "bytes", "", 0, 1 << 30,
     "Size of a core's first-level data cache, for STRIA_SHM_SHORT_LAPS=auto. 0: what the system says. Read "
     "once in a process, before its first context or layout."},
    {"STRIA_LAST_CACHE", VarKind::bytes, "0", "bytes", "", 0, kMax,
     "Size of the last-level cache. Messages that are longer than a quarter of it (at least 2M, at most 8M) "
     "are packed and unpacked past the caches. 0: what the system says. Read once in a process, before its "
     "first context or layout."},
    {"STRIA_SHM_WINDOWS", VarKind::number, "32", "", "", 0, 4096,
     "PIO windows a worker gives to its peers; the others use its shared inbox."},
    {"STRIA_SHM_WINDOW_BYTES", VarKind::bytes, "16K", "bytes", "", 4096, 1 << 24,
     "Size of one PIO window, a power of two; one that stays in the first-level cache is faster."},
    {"STRIA_SHM_SHORT_LAPS", VarKind::choice, "auto", "", "auto|on|off", 0, 0,
     "Whether half of a PIO window is left alone while its receiver keeps up. Auto: where two whole windows "
     "fill the first-level cache."},
    {"STRIA_SHM_PIO_MTU", VarKind::bytes, "3K", "bytes", "", 0, 1 << 20,
     "Longest message the PIO window takes, in bytes of payload; where a quarter of the window is less, that "
     "is taken."},
    {"STRIA_SHM_INBOX_SLOTS", VarKind::number, "1024", "", "", 16, 1 << 20,
     "Slots of the inbox shared by peers without a window, a power of two."},
    {"STRIA_SHM_CELLS", VarKind::number, "128", "", "", 8, 1 << 16,
     "Cells a worker packs buffered messages and pipeline fragments into."},
    {"STRIA_SHM_CELL_BYTES", VarKind::bytes, "32K", "bytes", "", 4096, (1 << 24) - 64, "Size of one cell."},
    {"STRIA_SHM_LONG_CELLS", VarKind::number, "16", "", "", 0, 1 << 15,
     "Cells for buffered messages that are longer than an ordinary one."},
    {"STRIA_SHM_LONG_CELL_BYTES", VarKind::bytes, "256K", "bytes", "", 0, (1 << 24) - 64,
     "Size of one of these; not longer than an ordinary cell: there are none."},
    {"STRIA_SHM_HUGE_PAGES", VarKind::choice, "auto", "", "auto|start|used|off", 0, 0,
     "When cells become huge pages, where the kernel (6.1 and later) gives them on demand. Auto: ordinary "
     "ones at the start, 2 MiB of each process, and long ones, 2 MiB more, when 256 KiB of messages went "
     "through them. Start: both at the start. Used: both when such messages went."},
    {"STRIA_SHM_DISTANCE", VarKind::choice, "auto", "", "auto|near|far", 0, 0,
     "Whether peers' caches are near; what goes to far ones is written in ways that do not fetch their "
     "lines. Auto: measured while messages come and go."},
    {"STRIA_SHM_STRINGS", VarKind::choice, "auto", "", "auto|on|off", 0, 0,
     "Whether contiguous bytes are stored to cells, and long ones copied within a process, by the "
     "processor's "
     "string instruction. Auto: where the processor says that this is fast; to cells from 2 KiB on (Zen 5, "
     "near: 12), and not to far peers where it turns out to be slow. On: to cells at any length."},
    {"STRIA_SHM_CMA", VarKind::choice, "auto", "", "auto|off", 0, 0,
     "Cross-memory attach: probed for each peer, or never used."},
    {"STRIA_SHM_ATTACH", VarKind::choice, "auto", "", "auto|proc|socket", 0, 0,
     "How a peer's memory is attached: through /proc, by a descriptor passed over a unix socket, or the "
     "first that "
     "works."},
    {"STRIA_SHM_MAX_PEERS", VarKind::number, "4096", "", "", 2, 1 << 20,
     "Peers that can attach to one worker."},
    {"STRIA_SHM_KEYS", VarKind::number, "16384", "", "", 64, 1 << 24, "Slots of a worker's key table."},
    {"STRIA_VERBS_DEVICE", VarKind::text, "", "", "", 0, 0,
     "The RDMA device to use, by its name or by the IP address of its interface; empty: the first that has "
     "an address and an active port."},
    {"STRIA_VERBS_LINKS", VarKind::number, "256", "", "", 1, 1 << 16,
     "Peers that a worker can be connected to; the completion queues are made for so many."},
    {"STRIA_VERBS_CREDITS", VarKind::number, "32", "", "", 4, 4096,
     "Messages that a peer may have under way to this worker; as many buffers are posted for it."},
    {"STRIA_VERBS_EAGER_BYTES", VarKind::bytes, "8K", "bytes", "", 256, 1 << 20,
     "Size of a buffer for one buffered message, both sides alike."},
    {"STRIA_VERBS_SEND_BUFFERS", VarKind::number, "256", "", "", 8, 1 << 16,
     "Buffers a worker packs messages into, for all peers together."},
    {"STRIA_VERBS_KEYS", VarKind::number, "1024", "", "", 8, 1 << 20,
     "Keys of a worker that can be valid at one time, each a memory window, a strided key or a region."},
    {"STRIA_VERBS_ACK_TIMEOUT", VarKind::number, "18", "", "", 8, 31,
     "A packet without an answer is sent again after 4 us times two to this power, six times; then its "
     "peer is given up."},
    {"STRIA_VERBS_CONNECT_MS", VarKind::number, "10000", "milliseconds", "", 10, 3600000,
     "How long connecting waits for the peer."},
    {"STRIA_VERBS_CACHE_BYTES", VarKind::bytes, "1G", "bytes", "", 0, kMax,
     "Memory that stays registered between messages, where somebody tells when it goes; 0: none."},
    {"STRIA_VERBS_MEMORY_WATCH", VarKind::choice, "auto", "", "auto|hooks|userfaultfd", 0, 0,
     "Who tells that registered memory goes away: hooks of the application, as Open MPI has them, or the "
     "kernel; auto: hooks where there are, else the kernel."},
    {"STRIA_FAKE_SEED", VarKind::number, "1", "", "", 0, kMax, "Seed of the fake provider's scheduler."},
    {"STRIA_FAKE_DELAY", VarKind::number, "4", "steps", "", 0, 1 << 20,
     "Longest delay of a packet in the fake provider, in progress steps."},
    {"STRIA_FAKE_QUEUE", VarKind::number, "16", "packets", "", 1, 1 << 20,
     "Packets a link of the fake provider holds before it answers no resource."},
};
static_assert(sizeof(kTable) / sizeof(kTable[0]) == kVarCount);

struct Override {
  std::string name, value, origin;
};
std::mutex& override_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}
std::vector<Override>& overrides() {
  static auto* list = new std::vector<Override>;
  return *list;
}
/// What the process has read once and for all, by variable; under override_mutex().
using ReadOnce = std::array<std::optional<VarValue>, kVarCount>;
ReadOnce& values_read_once() {
  static auto* values = new ReadOnce;
  return *values;
}

bool is_choice(std::string_view choices, std::string_view value) {
  while (!choices.empty()) {
    const auto bar = choices.find('|');
    if (choices.substr(0, bar) == value) return true;
    if (bar == std::string_view::npos) break;
    choices.remove_prefix(bar + 1);
  }
  return false;
}

Result<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    return Error{Status::invalid, fmt::format("'{}' is not a whole number", text)};
  return value;
}

Result<VarValue> parse(const VarSpec& spec, std::string_view text, std::string_view origin) {
  VarValue value{std::string(text), 0, std::string(origin)};
  if (spec.kind == VarKind::text) return value;
  if (spec.kind == VarKind::choice) {
    if (!is_choice(spec.choices, text))
      return Error{Status::invalid, fmt::format("{}='{}' is not one of {}", spec.name, text, spec.choices)};
    return value;
  }
  auto number = spec.kind == VarKind::bytes ? parse_bytes(text) : parse_number(text);
  if (!number) return Error{Status::invalid, fmt::format("{}: {}", spec.name, number.error().context)};
  if (*number < spec.minimum || *number > spec.maximum)
    return Error{Status::invalid,
                 fmt::format("{}={} is outside [{}, {}]", spec.name, text, spec.minimum, spec.maximum)};
  value.number = *number;
  return value;
}

void warn_unknown_variables() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line = *entry;
    if (!line.starts_with("STRIA_") || line.starts_with("STRIA_TEST_") || line.starts_with("STRIA_LAB_"))
      continue;
    const auto name = line.substr(0, line.find('='));
    bool known = false;
    for (const VarSpec& spec : kTable) known = known || name == spec.name;
    if (!known) log::warn("{} is set but is no variable of stria; 'stria_info --config' lists them", name);
  }
}

}  // namespace

std::span<const VarSpec> config_table() noexcept {
  return kTable;
}

Result<std::int64_t> parse_bytes(std::string_view text) {
  const Error malformed{Status::invalid, fmt::format("'{}' is not a size such as 4096, 64K, 1M or 2G", text)};
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value < 0) return malformed;
  std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (suffix.empty()) return value;
  if (suffix.size() > 1) return malformed;
  int shift = 0;
  switch (suffix[0]) {
    case 'k':
    case 'K':
      shift = 10;
      break;
    case 'm':
    case 'M':
      shift = 20;
      break;
    case 'g':
    case 'G':
      shift = 30;
      break;
    default:
      return malformed;
  }
  if (value > (kMax >> shift)) return malformed;
  return value << shift;
}

Config::Config() {
  values_.reserve(kVarCount);
  for (const VarSpec& spec : kTable) {
    auto value = parse(spec, spec.default_value, "default");
    STRIA_CHECK(value.has_value(), "a default does not parse");
    values_.push_back(*std::move(value));
  }
}

Result<void> Config::set(std::string_view name, std::string_view value, std::string_view origin) {
  for (std::size_t i = 0; i < kVarCount; ++i) {
    if (name != kTable[i].name) continue;
    auto parsed = parse(kTable[i], value, origin);
    if (!parsed) return std::move(parsed).error();
    values_[i] = *std::move(parsed);
    return {};
  }
  return Error{Status::invalid, fmt::format("no variable is called '{}'", name)};
}

Result<Config> Config::from_environment() {
  Config config;
  for (const VarSpec& spec : kTable) {
    const char* text = std::getenv(spec.name);
    if (text == nullptr) continue;
    auto done = config.set(spec.name, text, "environment");
    if (!done) return std::move(done).error();
  }
  {
    const std::lock_guard lock(override_mutex());
    for (const Override& entry : overrides()) {
      auto done = config.set(entry.name, entry.value, entry.origin);
      if (!done) return std::move(done).error();
    }
  }
  static std::once_flag reported;
  std::call_once(reported, warn_unknown_variables);
  return config;
}

Result<VarValue> read_once(Var var) {
  const auto index = static_cast<std::size_t>(var);
  const VarSpec& spec = kTable[index];
  const std::lock_guard lock(override_mutex());
  VarValue value = Config().value(var);
  const auto take = [&](std::string_view text, std::string_view origin) -> Result<void> {
    auto parsed = parse(spec, text, origin);
    if (!parsed) return std::move(parsed).error();
    value = *std::move(parsed);
    return {};
  };
  if (const char* text = std::getenv(spec.name))
    if (auto done = take(text, "environment"); !done) return std::move(done).error();
  for (const Override& entry : overrides())
    if (entry.name == spec.name)
      if (auto done = take(entry.value, entry.origin); !done) return std::move(done).error();
  values_read_once()[index] = value;
  return value;
}

Result<void> set_config_override(std::string_view name, std::string_view value, std::string_view origin) {
  Config scratch;
  auto checked = scratch.set(name, value, origin);
  if (!checked) return checked;
  const std::lock_guard lock(override_mutex());
  for (const Var var : {Var::vectors, Var::store_queue, Var::first_cache, Var::last_cache}) {
    const auto& read = values_read_once()[static_cast<std::size_t>(var)];
    const VarValue& wanted = scratch.value(var);
    if (name == kTable[static_cast<std::size_t>(var)].name && read &&
        (wanted.text != read->text || wanted.number != read->number))
      return Error{Status::invalid,
                   fmt::format("{}={}: this process has read the variable already, as {}; set it before the "
                               "first context or layout, or in the environment",
                               name, value, read->text)};
  }
  overrides().push_back({std::string(name), std::string(value), std::string(origin)});
  return {};
}

}  // namespace stria
