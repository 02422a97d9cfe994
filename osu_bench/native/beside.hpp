// One thread waits for what another sends, both on one worker: the usual division of labour, and where a lock
// that one of them takes all the time makes the other wait.
#pragma once

#include "osu_bench/common/statistics.hpp"
#include "osu_bench/native/self.hpp"

namespace stria::bench {

struct Beside {
  Summary call_us;     ///< of stria_send()
  Summary arrival_us;  ///< from before it until the other thread's stria_request_wait() returned
};

/// Messages for about `row_ms`, one at a time, some microseconds apart. Each payload is checked.
Beside send_beside_a_wait(Self& self, std::size_t bytes, double row_ms);

}  // namespace stria::bench
