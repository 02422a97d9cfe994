// Nothing to move: the message has no bytes, and its receiver ends the send by FIN.
#pragma once

#include "rndv/protocols/protocol.hpp"

namespace stria::rndv {

struct ReceivesNothing : ReadsFromBeginning {
  static bool begin(const auto& starter, auto& op, const auto& /*plan*/) noexcept {
    starter.finish_empty(op);
    return true;
  }
};

inline constexpr ReceivedBy<ReceivesNothing> kNothing{{
    .name = "none",
    .keys = Keys::none,
    .forced_by = bits_of({Force::get, Force::both, Force::pipeline}),
    .applies = [](const MessageFacts& facts) noexcept { return facts.length == 0; },
    .cost_us = [](const MessageFacts&) noexcept { return 0.0; },
    .reason = [](const MessageFacts&) noexcept { return "no bytes to move"; },
}};

}  // namespace stria::rndv
