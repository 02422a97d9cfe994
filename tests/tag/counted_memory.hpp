// Linked into a test, counts every allocation of the process through `new`, with what the allocator puts
// around it. Exact while one thread allocates.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stria::test::counted {

/// In use now.
std::size_t bytes() noexcept;
/// Made so far.
std::uint64_t allocations() noexcept;

}  // namespace stria::test::counted
