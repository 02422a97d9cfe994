// Memory that peers map: in one process all of it is mapped by every device. A device gives it, and it lives
// on when that is closed.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "transport/contract.hpp"

namespace stria::fake {

class Device;

/// Page aligned, of zero bytes; of the device, or of none where it is null. Any thread.
Result<void*> allocate_mapped(const Device* device, std::uint64_t bytes);
/// invalid: it is not the beginning of memory of that device. Any thread.
Status free_mapped(const Device* device, void* memory) noexcept;
/// The device is closed: its memory is of no device any more.
void disown_mapped(const Device& device) noexcept;
/// Whether all bytes are in one piece of such memory.
bool is_mapped_memory(const transport::Payload& memory) noexcept;

}  // namespace stria::fake
