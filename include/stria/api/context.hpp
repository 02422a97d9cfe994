// A process's context, and memory of it that peers map.
#ifndef STRIA_API_CONTEXT_HPP
#define STRIA_API_CONTEXT_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "stria/api/error.hpp"

namespace stria::api {

class Context;

/// Page-aligned memory of a context that peers on this host can load and store directly. Freed with the
/// object.
class Buffer {
 public:
  Buffer(const Context& context, std::uint64_t bytes);
  Buffer(Buffer&& other) noexcept : context_(other.context_), bytes_(std::exchange(other.bytes_, {})) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Buffer() {
    if (bytes_.data() != nullptr) static_cast<void>(stria_mem_free(context_, bytes_.data()));
  }
  std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  stria_context_t* context_;
  std::span<std::byte> bytes_;
};

/// A process's configuration, providers and memory domain.
class Context {
 public:
  /// Processes of one job share `job_secret`; without one, it is derived from the user id.
  explicit Context(std::span<const std::byte> job_secret = {}, const char* name = nullptr) {
    stria_context_params_t params{};
    params.size = sizeof params;
    params.job_secret = job_secret.empty() ? nullptr : job_secret.data();
    params.job_secret_bytes = job_secret.size();
    params.name = name;
    stria_context_t* out = nullptr;
    check(stria_context_open(&params, &out), "stria_context_open");
    handle_.reset(out);
  }
  /// Memory that peers on this host can map.
  Buffer allocate(std::uint64_t bytes) const { return Buffer(*this, bytes); }
  stria_context_t* get() const noexcept { return handle_.get(); }

 private:
  detail::Handle<stria_context_t, stria_context_close> handle_;
};

inline Buffer::Buffer(const Context& context, std::uint64_t bytes) : context_(context.get()) {
  void* out = nullptr;
  check(stria_mem_alloc(context_, bytes, &out), "stria_mem_alloc");
  bytes_ = {static_cast<std::byte*>(out), static_cast<std::size_t>(bytes)};
}

}  // namespace stria::api

#endif
