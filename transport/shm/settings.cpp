#include "transport/shm/settings.hpp"

#include <algorithm>

#include "base/config.hpp"
#include "base/format.hpp"
#include "base/processor.hpp"
#include "transport/shm/record.hpp"

namespace stria::shm {

Result<Settings> read_settings(const stria_device_params_t& params) {
  Config config;
  for (const VarSpec& spec : config_table()) {
    if (!std::string_view(spec.name).starts_with("STRIA_SHM_") || params.config == nullptr) continue;
    const char* text = params.config(params.config_self, spec.name);
    if (text == nullptr || *text == '\0') continue;
    auto set = config.set(spec.name, text, "device");
    if (!set) return std::move(set).error();
  }
  const auto number = [&](Var var) { return static_cast<std::uint32_t>(config.number(var)); };
  for (const Var var : {Var::shm_window_bytes, Var::shm_inbox_slots})
    if ((number(var) & (number(var) - 1)) != 0)
      return Error{Status::invalid,
                   fmt::format("{}={} is not a power of two",
                               config_table()[static_cast<std::size_t>(var)].name, number(var))};
  Settings settings;
  Shape& shape = settings.shape;
  shape.max_peers = number(Var::shm_max_peers);
  shape.windows = number(Var::shm_windows);
  shape.window_bytes = number(Var::shm_window_bytes);
  if (const std::uint32_t most = number(Var::shm_pio_mtu); most > 0)
    shape.pio_mtu = std::min(most, most_pio_payload(shape.window_bytes)) + kRecordHeader;
  shape.inbox_slots = number(Var::shm_inbox_slots);
  shape.cells = number(Var::shm_cells);
  shape.cell_bytes = static_cast<std::uint32_t>(align_up(number(Var::shm_cell_bytes), kLine));
  shape.long_cell_bytes = static_cast<std::uint32_t>(align_up(number(Var::shm_long_cell_bytes), kLine));
  // Ordinary cells come first: both together have 16 bits.
  shape.long_cells = shape.long_cell_bytes > shape.cell_bytes
                         ? std::min(number(Var::shm_long_cells), kMaxCells - shape.cells)
                         : 0;
  shape.keys = number(Var::shm_keys);
  settings.pio_max = shape.pio_mtu > kRecordHeader ? shape.pio_mtu - kRecordHeader : 0;
  // One window that is written and one that is read, beside the caller's buffers.
  const std::string& laps = config.text(Var::shm_short_laps);
  const std::int64_t cache = processor().first_cache_bytes;
  settings.short_laps = laps == "on" || (laps == "auto" && cache > 0 && 2L * shape.window_bytes >= cache);
  const std::string& huge = config.text(Var::shm_huge_pages);
  settings.huge_pages = huge == "off"     ? HugePages::off
                        : huge == "used"  ? HugePages::used
                        : huge == "start" ? HugePages::start
                                          : HugePages::ordinary;
  settings.cma = config.text(Var::shm_cma) != "off";
  const std::string& attach = config.text(Var::shm_attach);
  settings.attach = attach == "proc"     ? AttachMode::proc
                    : attach == "socket" ? AttachMode::socket
                                         : AttachMode::any;
  const std::string& distance = config.text(Var::shm_distance);
  settings.distance = distance == "near"  ? DistanceMode::near
                      : distance == "far" ? DistanceMode::far
                                          : DistanceMode::learnt;
  const std::string& strings = config.text(Var::shm_strings);
  if (strings == "on") {
    settings.near_string_least = settings.far_string_least = 0;
  } else if (strings == "auto" && processor().fast_strings) {
    settings.near_string_least = processor().deep_store_queue ? kDeepQueueStringLeast : kStringLeast;
    settings.far_string_least = kStringLeast;
  }
  if (plan(shape).bytes == 0)
    return Error{Status::invalid, "shm: the STRIA_SHM_* sizes do not make a segment"};
  return settings;
}

}  // namespace stria::shm
