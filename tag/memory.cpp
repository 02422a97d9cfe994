#include "tag/memory.hpp"

namespace stria::tag {

Status describe_layout(const void* base, const stria_layout_t& layout, std::uint64_t count,
                       stria_payload_t& out) noexcept {
  auto* memory = static_cast<std::byte*>(const_cast<void*>(base));
  const auto n = static_cast<std::int64_t>(count);
  if (n < 0) return Status::invalid;
  const datatype::Layout& shape = layout.value;
  const auto reach = shape.reach(n);
  if (!reach) return Status::invalid;
  if (shape.is_contiguous(n)) {
    out = {nullptr, memory + shape.true_lb(), reach->bytes, 0, reach->bytes};
  } else {
    out = {&shape, memory, n, 0, reach->bytes};
  }
  return Status::ok;
}

}  // namespace stria::tag
