// What all links of a device use, and its parts that a link turns to. The device's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/contract.hpp"
#include "transport/shm/cells.hpp"
#include "transport/shm/home.hpp"
#include "transport/shm/settings.hpp"
#include "transport/shm/texts.hpp"
#include "transport/shm/wakeup.hpp"
#include "transport/shm/windows.hpp"

namespace stria::shm {

class Receiver;

struct Shared {
  explicit Shared(const transport::Sink* of_worker = nullptr) noexcept : sink(of_worker) {}

  // What a message touches.
  Cells cells;                 ///< that buffered messages are packed into
  std::uint32_t rounds = 0;    ///< looks at what came: progress, poll, take
  std::uint64_t streamed = 0;  ///< payloads that were part of a stream while cells were new
  const transport::Sink* const sink;
  Settings settings;
  Home home;
  Windows windows{home};         ///< that peers took here
  Receiver* receiver = nullptr;  ///< what comes by them, and by the inbox
  /// The device's own segment.
  const SegmentView& own() const noexcept { return home.segment(); }

  Wakeup wakeup;
  Texts texts;                    ///< that links show
  std::vector<std::byte> bounce;  ///< scratch memory of cross-memory attach
};

}  // namespace stria::shm
