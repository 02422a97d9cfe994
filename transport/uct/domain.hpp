// The memory domain of UCX that has a certain transport and device. A memory domain registers memory, and
// unpacks the keys of peers.
#pragma once

#include <uct/api/uct.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/refused_memory.hpp"
#include "base/result.hpp"
#include "transport/uct/device_list.hpp"

namespace stria::uct {

/// Turns a failure of UCX into an error; `what` says what failed.
Error failure(ucs_status_t status, const std::string& what);

class Domain {
 public:
  /// Lists the transports and devices of all domains that UCX can open. Error: io_error.
  static Result<std::vector<uct_tl_resource_desc_t>> list_all();
  /// Finds and opens the domain of a transport, and of a device or, where `wanted` names none, of the first
  /// device that reaches other hosts. Errors: io_error, UCX lists no components; unsupported, no domain has
  /// the transport and device: the text lists those that exist.
  static Result<std::unique_ptr<Domain>> find(const Wanted& wanted);
  ~Domain();
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;

  uct_md_h handle() const noexcept { return handle_; }
  const std::string& transport() const noexcept { return transport_; }
  const std::string& device() const noexcept { return device_; }
  uct_device_type_t type() const noexcept { return type_; }
  /// Memory has to be registered before packets can be sent out of it.
  bool needs_registration() const noexcept { return needs_registration_; }
  /// The size of UCX's part of a key. 0: the provider makes no keys, because the domain registers no memory
  /// for peers, lets peers access it without a key, or has keys that are too long.
  std::uint32_t key_bytes() const noexcept { return key_bytes_; }

  enum class Use : std::uint8_t { local, remote };
  /// Registers memory, which is a system call. Null: the memory is not registered. Memory that was refused
  /// before is not tried at each call, unless the caller asks to `insist`.
  uct_mem_h add(const void* memory, std::uint64_t bytes, Use use, bool insist) noexcept;
  /// Ends a registration, which is a system call. On return no adapter uses the memory any more.
  void remove(uct_mem_h memory) noexcept { uct_md_mem_dereg(handle_, memory); }

  /// Writes UCX's part of a key for registered memory: key_bytes() bytes. False: UCX failed.
  bool write_key(uct_mem_h memory, void* key) noexcept;
  /// Unpacks UCX's part of a peer's key for gets, puts and atomics; release_key() frees `out`. False: UCX
  /// cannot read it.
  bool read_key(const void* key, uct_rkey_bundle_t& out) noexcept;
  void release_key(const uct_rkey_bundle_t& key) noexcept { uct_rkey_release(component_, &key); }

 private:
  Domain() = default;
  bool find_in(uct_component_h component, const Wanted& wanted);
  void read_abilities() noexcept;

  uct_component_h component_ = nullptr;
  uct_md_h handle_ = nullptr;
  std::string transport_, device_;
  uct_device_type_t type_ = UCT_DEVICE_TYPE_NET;
  bool needs_registration_ = false;
  std::uint32_t key_bytes_ = 0;
  RefusedMemory refused_;
};

}  // namespace stria::uct
