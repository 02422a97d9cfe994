// The list of all protocols.
#pragma once

#include <cstddef>

#include "rndv/protocols/get.hpp"
#include "rndv/protocols/mapped.hpp"
#include "rndv/protocols/mapped_both.hpp"
#include "rndv/protocols/nothing.hpp"
#include "rndv/protocols/pipeline.hpp"

namespace stria::rndv {

/// A list that is known when the code is compiled, so that the functions of its protocols are called
/// directly.
template <const auto&... kProtocols>
struct ProtocolList {
  static constexpr std::size_t kCount = sizeof...(kProtocols);
  static_assert(kCount < kProtocolsMax);

  /// The place of a protocol in the list; kCount where it is not in it.
  static constexpr std::size_t index_of(const Protocol& protocol) noexcept {
    std::size_t at = 0;
    static_cast<void>(((&protocol == &kProtocols || (++at, false)) || ...));
    return at;
  }
  /// Calls f with each protocol, as a Protocol or as its own type.
  template <class F>
  static constexpr void for_each(F&& f) {
    (f(kProtocols), ...);
  }
  /// Calls f with that one of the list which `protocol` is, as its own type.
  template <class F>
  static constexpr void call(const Protocol* protocol, F&& f) {
    static_cast<void>(((protocol == &kProtocols && (f(kProtocols), true)) || ...));
  }
};

/// The order counts. Of the protocols that a user forces, the first that applies is taken. Of protocols that
/// cost equally much the last is taken.
using Protocols = ProtocolList<kNothing, kMappedBoth, kPipeline, kGet, kMapped>;

}  // namespace stria::rndv
