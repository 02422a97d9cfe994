// The shm provider: connects processes of one host through shared memory that the receiver owns. Begin with
// README.md in this folder.
#pragma once

#include "transport/provider_table.hpp"
#include "transport/shm/device.hpp"
#include "transport/shm/memory.hpp"
#include "transport/shm/variables.hpp"

namespace stria::shm {

struct ShmProvider {
  using Device = shm::Device;
  using Link = shm::Link;
  using Groups = transport::GroupList<transport::group::Pio, transport::group::Keys, transport::group::Get,
                                      transport::group::Put, transport::group::Atomic, transport::group::Look,
                                      transport::group::Keep, transport::group::Memory>;
  static constexpr const char* kName = "shm";
  static constexpr const char* kDescription = "processes of one host, through shared memory";
  // Allocations belong to the process, not to a device: peers of any of its devices, open now or later, can
  // map them.
  static Result<void*> mem_alloc(Device*, std::uint64_t bytes) { return allocate_memory(bytes); }
  static Status mem_free(Device*, void* memory) noexcept { return free_memory(memory); }
  static constexpr Variables kVariables = shm::kVariables;
};

/// The provider's table. Constant, lives as long as the program.
const stria_provider_t& shm_provider() noexcept;

}  // namespace stria::shm
