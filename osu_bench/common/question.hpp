// What a benchmark program asks.
#pragma once

namespace stria::bench {

enum class Question { latency, multi_lat, bw, bibw, mbw_mr, datatype, match };

}  // namespace stria::bench
