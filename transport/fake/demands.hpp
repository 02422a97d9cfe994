// What the fake demands of a call's arguments.
#pragma once

#include "transport/contract.hpp"
#include "transport/fake/callers.hpp"

namespace stria::fake {

inline void demand(bool condition, const char* call, const char* what) noexcept {
  if (!condition) broken_contract(call, what);
}

inline void demand_range(const transport::Payload& payload, const char* call) noexcept {
  demand(payload.length >= 0 && payload.offset >= 0, call, "a payload with a negative offset or length");
  demand(payload.base != nullptr || payload.length == 0 || payload.layout != nullptr, call,
         "no payload memory");
  if (const auto* layout = transport::layout_of(payload))
    demand(payload.length <= layout->size() * payload.count - payload.offset, call,
           "a payload range beyond the end of its stream");
}

inline transport::Payload plain(const void* data, std::uint32_t bytes) noexcept {
  return {nullptr, const_cast<void*>(data), bytes, 0, bytes};
}

}  // namespace stria::fake
