// Keys and copies. Registering is O(1): a slot of the key table {layout, base, count, access}; whoever copies
// looks the slot up, checks right and bounds, and copies with its own CPU. A get asks afterwards whether the
// key was valid all the time; a put, and a get by plain loads, pin the key meanwhile (hw/key_table.hpp says
// why).
#include <cstring>

#include "transport/shm/device.hpp"

namespace stria::shm {
namespace {

// Below this mean run the remote side's list entries cost more than packing does: the engines take the
// pipeline.
constexpr std::int64_t kSmallestRemoteRun = 128;

bool read_word(const transport::Key& key, hw::KeyWord& word) noexcept {
  if (key.bytes < sizeof word || key.bytes > STRIA_PROVIDER_KEY_MAX) return false;
  std::memcpy(&word, key.data, sizeof word);
  return true;
}

Stream stream_of(const transport::Payload& payload) noexcept {
  return {transport::layout_of(payload), reinterpret_cast<std::uint64_t>(payload.base), payload.count,
          payload.offset};
}

}  // namespace

Status Device::fast_register(const transport::Payload& memory, unsigned access,
                             transport::Key& key) noexcept {
  const datatype::Layout* layout = transport::layout_of(memory);
  hw::KeyRecord record;
  record.base = reinterpret_cast<std::uint64_t>(memory.base);
  record.count = memory.count;
  if (memory.count < 0) return Status::invalid;
  LayoutName name;
  if (layout == nullptr) {
    record.bytes = memory.count;
  } else if (layout->is_contiguous(memory.count)) {
    record.bytes = layout->size() * memory.count;
    record.base += static_cast<std::uint64_t>(layout->true_lb());
  } else {
    if (!layout->reach(memory.count)) return Status::invalid;
    record.bytes = layout->size() * memory.count;
    if (const Status status = published_.acquire(*layout, name); status != Status::ok) return status;
  }
  record.layout = name.number;
  record.layout_generation = name.generation;
  std::uint32_t index = 0;
  hw::KeyWord word = 0;
  if (const Status status = keys_.allocate(index); status != Status::ok) {
    published_.release(name.number);
    return status;
  }
  key_layouts_[index] = name.number;
  const Status bound = keys_.bind(index, record, static_cast<std::uint8_t>(access & 3u), word);
  if (bound != Status::ok) return bound;
  key.bytes = sizeof word;
  std::memcpy(key.data, &word, sizeof word);
  return Status::ok;
}

Status Device::invalidate(const transport::Key& key) noexcept {
  hw::KeyWord word = 0;
  if (!read_word(key, word)) return Status::invalid;
  const Status status =
      keys_.invalidate(word, slots_used(), [this](std::uint32_t slot) { return is_accessor_alive(slot); });
  if (status != Status::ok) return status;
  published_.release(key_layouts_[hw::key_index(word)]);
  keys_.release(hw::key_index(word));
  return Status::ok;
}

Status Link::get(const transport::Payload& local, const transport::Key& key, std::uint64_t remote_offset,
                 transport::Completion* /*completion*/) noexcept {
  return move(Direction::get, local, key, remote_offset);
}

Status Link::put(const transport::Payload& local, const transport::Key& key, std::uint64_t remote_offset,
                 transport::Completion* /*completion*/) noexcept {
  return move(Direction::put, local, key, remote_offset);
}

Status Link::move(Direction direction, const transport::Payload& local, const transport::Key& key,
                  std::uint64_t remote_offset) noexcept {
  if (state_ == State::down) return Status::peer_failed;
  if (!can_copy_) return Status::unsupported;
  if (local.length < 0) return Status::invalid;
  hw::KeyWord word = 0;
  if (!read_word(key, word)) return Status::access_error;
  hw::KeyRecord record;
  Status status;
  if (direction == Direction::put || attached_.same_process) {
    const std::uint8_t right = direction == Direction::put ? hw::kKeyWrite : hw::kKeyRead;
    status = keys_.begin_pinned(tx_slot_, word, right, record);
    if (status != Status::ok) return status;
    status = copy(direction, local, record, remote_offset);
    keys_.end_pinned(tx_slot_);
  } else {
    std::uint64_t control = 0;
    status = keys_.look_up(word, hw::kKeyRead, record, control);
    if (status != Status::ok) return status;
    status = copy(direction, local, record, remote_offset);
    if (keys_.still(word, control) != Status::ok) status = Status::access_error;
  }
  if (status == Status::unsupported && !attached_.is_alive()) status = Status::peer_failed;
  return status;
}

Status Link::copy(Direction direction, const transport::Payload& local, const hw::KeyRecord& record,
                  std::uint64_t remote_offset) noexcept {
  if (!hw::in_bounds(record, remote_offset, local.length)) return Status::access_error;
  if (local.length == 0) return Status::ok;
  Stream remote{nullptr, record.base, record.count, static_cast<std::int64_t>(remote_offset)};
  if (record.layout != 0) {
    remote.layout = layouts_.find(remote_, {record.layout, record.layout_generation});
    if (remote.layout == nullptr) return Status::access_error;
    // The owner's figures are not believed where they would lead outside the layout's own stream.
    const auto reach = remote.layout->reach(record.count);
    if (!reach || reach->bytes != record.bytes) return Status::access_error;
  }
  const Stream here = stream_of(local);
  if (attached_.same_process) {
    copy_mapped(direction, here, remote, local.length);
    return Status::ok;
  }
  if (mean_run(remote) < kSmallestRemoteRun) return Status::unsupported;
  const Status status = copy_cma(direction, attached_.pid, here, remote, local.length, device_->bounce_);
  if (status == Status::unsupported) {
    can_copy_ = false;
    fallback_ = "cross-memory attach: refused by the system during use";
  }
  return status;
}

}  // namespace stria::shm
