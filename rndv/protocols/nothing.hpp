// Nothing to move: the message has no bytes, and its receiver ends the send by FIN.
#pragma once

#include "rndv/protocols/protocol.hpp"

namespace stria::rndv {

struct ReceivesNothing : ReadsFromBeginning {
  static bool begin(const auto& receiver, auto& op, const auto& /*plan*/) noexcept {
    receiver.finish(op);
    return true;
  }
};

inline constexpr ReceivedBy<ReceivesNothing> kNothing{{
    .scheme = Scheme::none,
    .name = "none",
    .keys = Keys::none,
    .forced_by = bits_of({Force::get, Force::both, Force::pipeline}),
    .applies = [](const Question& q) noexcept { return q.length == 0; },
    .cost_us = [](const Question&) noexcept { return 0.0; },
    .reason = [](const Question&) noexcept { return "no bytes to move"; },
}};

}  // namespace stria::rndv
