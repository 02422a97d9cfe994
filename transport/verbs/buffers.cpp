#include "transport/verbs/buffers.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/format.hpp"

namespace stria::verbs {
namespace {

/// Rounds a buffer's size up to whole cache lines.
std::size_t stride_of(std::size_t bytes) noexcept {
  constexpr std::size_t kLine = 64;
  return (bytes + kLine - 1) / kLine * kLine;
}

}  // namespace

std::string locked_memory_hint(int error) {
  rlimit limit{};
  if (error != ENOMEM && error != EPERM && error != EAGAIN) return "";
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return fmt::format(" (the limit of locked memory is {} KiB: raise it with ulimit -l, or in limits.conf)",
                     limit.rlim_cur / 1024);
}

Chunk::Chunk(Chunk&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      region_(std::exchange(other.region_, nullptr)) {}

Chunk::~Chunk() {
  if (region_ != nullptr) ::ibv_dereg_mr(region_);
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

Result<Chunk> Chunk::make(ibv_pd* pd, std::size_t bytes) {
  Chunk chunk;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return Error{Status::io_error, fmt::format("verbs: no memory for {} bytes of buffers", bytes)};
  chunk.data_ = static_cast<std::byte*>(memory);
  chunk.bytes_ = bytes;
  constexpr int kRights = IBV_ACCESS_LOCAL_WRITE;  // the macro combines it with another enumeration's values
  chunk.region_ = ::ibv_reg_mr(pd, memory, bytes, kRights);
  if (chunk.region_ == nullptr) {
    const int error = errno;
    return Error{Status::io_error, fmt::format("verbs: {} bytes of buffers cannot be registered: {}{}", bytes,
                                               std::strerror(error), locked_memory_hint(error))};
  }
  return chunk;
}

Result<void> ReceiveBuffers::provide_for(std::uint32_t links) {
  const std::size_t stride = stride_of(sizeof(ReceiveBuffer) + packet_bytes_);
  while (chunks_.size() < links) {
    auto made = Chunk::make(pd_, stride * per_link_);
    if (!made) return std::move(made).error();
    chunks_.push_back(*std::move(made));
    const Chunk& chunk = chunks_.back();
    for (std::uint32_t i = 0; i < per_link_; ++i) {
      auto* buffer = reinterpret_cast<ReceiveBuffer*>(chunk.data() + stride * i);
      buffer->lkey = chunk.lkey();
      if (!post(&buffer, 1)) return Error{Status::io_error, "verbs: ibv_post_srq_recv"};
    }
  }
  return {};
}

bool ReceiveBuffers::post(ReceiveBuffer* const* buffers, unsigned count) noexcept {
  ibv_recv_wr requests[kBatch];
  ibv_sge pieces[kBatch];
  for (unsigned i = 0; i < count; ++i) {
    pieces[i] = {reinterpret_cast<std::uint64_t>(buffers[i]->packet()), packet_bytes_, buffers[i]->lkey};
    requests[i] = {reinterpret_cast<std::uint64_t>(buffers[i]), i + 1 < count ? &requests[i + 1] : nullptr,
                   &pieces[i], 1};
  }
  ibv_recv_wr* refused = nullptr;
  return count == 0 || ::ibv_post_srq_recv(srq_, requests, &refused) == 0;
}

Result<void> SendSlots::open(ibv_pd* pd, std::uint32_t count, std::uint32_t packet_bytes) {
  stride_ = stride_of(packet_bytes);
  auto made = Chunk::make(pd, stride_ * count);
  if (!made) return std::move(made).error();
  chunk_.push_back(*std::move(made));
  count_ = count;
  free_.reserve(count);
  for (std::uint32_t i = count; i > 0; --i) free_.push_back(i - 1);
  return {};
}

}  // namespace stria::verbs
