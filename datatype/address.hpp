// Addresses as integers. A displacement may be absolute; the base is then no object, and arithmetic on a
// pointer to it would not be allowed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stria::datatype {

using Address = std::uintptr_t;

[[gnu::always_inline]] inline std::byte* at(Address address) noexcept {
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}
[[gnu::always_inline]] inline Address address_of(const void* p) noexcept {
  return reinterpret_cast<Address>(p);
}
[[gnu::always_inline]] inline Address moved(Address a, std::int64_t by) noexcept {
  return a + static_cast<Address>(by);
}

}  // namespace stria::datatype
