#include "transport/shm/settings.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/processor.hpp"
#include "hw/machine.hpp"
#include "transport/device_config.hpp"
#include "transport/shm/record.hpp"
#include "transport/shm/variables.hpp"

namespace stria::shm {
namespace {

std::uint32_t near_string_least(const hw::Choices& choices) noexcept {
  return choices.near_vectors_up_to == 0      ? kStringLeast
         : choices.near_vectors_up_to <= 4096 ? kLongStringLeast
                                              : Settings::kNever;
}

}  // namespace

Result<Settings> read_settings(const stria_device_params_t& params) {
  auto read = transport::read_device_config(kVariables, params);
  if (!read) return std::move(read).error();
  const Config config = *std::move(read);
  const auto number = [&](std::string_view name) { return static_cast<std::uint32_t>(config.number(name)); };
  for (const char* name : {"STRIA_SHM_WINDOW_BYTES", "STRIA_SHM_INBOX_SLOTS"})
    if ((number(name) & (number(name) - 1)) != 0)
      return Error{Status::invalid, fmt::format("{}={} is not a power of two", name, number(name))};
  Settings settings;
  Shape& shape = settings.shape;
  shape.max_peers = number("STRIA_SHM_MAX_PEERS");
  shape.windows = number("STRIA_SHM_WINDOWS");
  shape.window_bytes = number("STRIA_SHM_WINDOW_BYTES");
  if (const std::uint32_t most = number("STRIA_SHM_PIO_MTU"); most > 0)
    shape.pio_mtu = std::min(most, most_pio_payload(shape.window_bytes)) + kRecordHeader;
  shape.inbox_slots = number("STRIA_SHM_INBOX_SLOTS");
  shape.cells = number("STRIA_SHM_CELLS");
  shape.cell_bytes = static_cast<std::uint32_t>(align_up(number("STRIA_SHM_CELL_BYTES"), kLine));
  shape.long_cell_bytes = static_cast<std::uint32_t>(align_up(number("STRIA_SHM_LONG_CELL_BYTES"), kLine));
  // Long cells get the numbers that ordinary cells leave: kMaxCells is for both.
  shape.long_cells = shape.long_cell_bytes > shape.cell_bytes
                         ? std::min(number("STRIA_SHM_LONG_CELLS"), kMaxCells - shape.cells)
                         : 0;
  shape.keys = number("STRIA_SHM_KEYS");
  settings.pio_max = shape.pio_mtu > kRecordHeader ? shape.pio_mtu - kRecordHeader : 0;
  // A ping-pong touches two windows, one that it writes and one that it reads, and the caller's buffers.
  const std::string& laps = config.text("STRIA_SHM_SHORT_LAPS");
  const std::int64_t cache = processor().first_cache_bytes;
  settings.short_laps = laps == "on" || (laps == "auto" && cache > 0 && 2L * shape.window_bytes >= cache);
  const std::string& huge = config.text("STRIA_SHM_HUGE_PAGES");
  settings.huge_pages = huge == "off"     ? HugePages::off
                        : huge == "used"  ? HugePages::used
                        : huge == "start" ? HugePages::start
                                          : HugePages::ordinary;
  settings.cma = config.text("STRIA_SHM_CMA") != "off";
  const std::string& attach = config.text("STRIA_SHM_ATTACH");
  settings.attach = attach == "proc"     ? AttachMode::proc
                    : attach == "socket" ? AttachMode::socket
                                         : AttachMode::any;
  const std::string& distance = config.text("STRIA_SHM_DISTANCE");
  settings.distance = distance == "near"  ? DistanceMode::near
                      : distance == "far" ? DistanceMode::far
                                          : DistanceMode::automatic;
  const std::string& strings = config.text("STRIA_SHM_STRINGS");
  const hw::Choices& choices = hw::machine_profile().choices;
  if (settings.distance == DistanceMode::automatic && choices.far_vectors)
    settings.far_cell_least = kStringLeast;
  if (strings == "on") {
    settings.near_string_least = settings.far_string_least = 0;
  } else if (strings == "auto" && processor().fast_strings) {
    settings.near_string_least = near_string_least(choices);
    if (choices.far_strings) settings.far_string_least = kStringLeast;
  }
  if (plan(shape).bytes == 0)
    return Error{Status::invalid, "shm: the STRIA_SHM_* sizes do not make a segment"};
  return settings;
}

}  // namespace stria::shm
