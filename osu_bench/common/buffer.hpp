// Page-aligned memory of a benchmark, every page of it there from the begin: a matrix of which only a
// column's pages existed would have that column in neighbouring pages, which no cache finds as hard as a real
// one.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <functional>
#include <new>
#include <utility>

namespace stria::bench {

class Buffer {
 public:
  Buffer() = default;
  /// `bytes` may be 0: the pointer is valid all the same. Throws std::bad_alloc.
  explicit Buffer(std::size_t bytes) : bytes_(bytes == 0 ? 1 : bytes) {
    void* at =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<std::byte*>(at);
  }
  /// Memory from elsewhere, given back by `release`.
  Buffer(std::byte* data, std::size_t bytes, std::function<void(std::byte*)> release)
      : data_(data), bytes_(bytes), release_(std::move(release)) {}
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        release_(std::move(other.release_)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Buffer() {
    if (data_ == nullptr) return;
    if (release_) {
      release_(data_);
    } else {
      ::munmap(data_, bytes_);
    }
  }

  std::byte* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::function<void(std::byte*)> release_;  // empty: munmap
};

}  // namespace stria::bench
