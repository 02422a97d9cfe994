// The memory domain of UCX that has the transport and the device which the user asks for: where memory is
// registered, and where the keys of peers are read.
#pragma once

#include <uct/api/uct.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/refused_memory.hpp"
#include "base/result.hpp"
#include "transport/uct/settings.hpp"

namespace stria::uct {

/// A failure of UCX, with what it was about.
Error failure(ucs_status_t status, const std::string& what);

class Domain {
 public:
  /// Errors: unsupported, naming what there is.
  static Result<std::unique_ptr<Domain>> find(const Settings& settings);
  ~Domain();
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;

  uct_md_h handle() const noexcept { return handle_; }
  const std::string& transport() const noexcept { return transport_; }
  const std::string& device() const noexcept { return device_; }
  uct_device_type_t type() const noexcept { return type_; }
  /// What is sent out of memory has to be registered.
  bool needs_registration() const noexcept { return needs_registration_; }
  /// Of the part of a key that is UCX's; 0: the domain registers no memory for peers, or lets them access it
  /// without a key.
  std::uint32_t key_bytes() const noexcept { return key_bytes_; }

  enum class Use : std::uint8_t { local, remote };
  /// A system call. Null: the driver does not register this memory. The same memory is then not tried each
  /// time, but when asked to `insist`.
  uct_mem_h add(const void* memory, std::uint64_t bytes, Use use, bool insist) noexcept;
  /// A system call; no adapter uses the memory on return.
  void remove(uct_mem_h memory) noexcept { uct_md_mem_dereg(handle_, memory); }

  /// Writes key_bytes() bytes. False: UCX does not.
  bool write_key(uct_mem_h memory, void* key) noexcept;
  /// For gets and puts, until release_key. False: it is none.
  bool read_key(const void* key, uct_rkey_bundle_t& out) noexcept;
  void release_key(const uct_rkey_bundle_t& key) noexcept { uct_rkey_release(component_, &key); }

 private:
  Domain() = default;
  Result<bool> find_in(uct_component_h component, const Settings& settings);
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
