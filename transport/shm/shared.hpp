// What all links of a device use: settings, cells, and the parts of the device that a link calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/contract.hpp"
#include "transport/shm/cells.hpp"
#include "transport/shm/own_segment.hpp"
#include "transport/shm/settings.hpp"
#include "transport/shm/texts.hpp"
#include "transport/shm/wakeup.hpp"
#include "transport/shm/windows.hpp"

namespace stria::shm {

class Receiver;

/// Threads: the device's thread only.
struct Shared {
  explicit Shared(const transport::Sink* of_worker = nullptr) noexcept : sink(of_worker) {}

  // What each message touches comes first.
  Cells cells;              ///< into which buffered messages are packed
  std::uint32_t polls = 0;  ///< how often arriving messages were polled for: progress(), poll(), take()
  const transport::Sink* const sink;
  Settings settings;
  OwnSegment own;
  Windows windows{own};          ///< windows that peers took in the own segment
  Receiver* receiver = nullptr;  ///< receives from these windows and from the inbox

  Wakeup wakeup;
  Texts texts;                    ///< texts that links show about themselves
  std::vector<std::byte> bounce;  ///< bounce buffer of cross-memory attach
};

}  // namespace stria::shm
