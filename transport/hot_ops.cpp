#include "transport/hot_ops.hpp"

namespace stria::transport {

HotOps flatten(const stria_provider_t& table) noexcept {
  HotOps ops;
  ops.eager_send = table.eager_send;
  ops.progress = table.progress;
  if (table.pio != nullptr) ops.pio_send = table.pio->pio_send;
  if (table.keys != nullptr) {
    ops.fast_register = table.keys->fast_register;
    ops.invalidate = table.keys->invalidate;
    ops.send_invalidate = table.keys->send_invalidate;
  }
  if (table.get != nullptr) ops.get = table.get->get;
  if (table.put != nullptr) ops.put = table.put->put;
  if (table.atomic != nullptr) ops.atomic = table.atomic->atomic;
  if (table.offload != nullptr) ops.get_finish = table.offload->get_finish;
  if (table.bulk != nullptr) ops.zcopy_send = table.bulk->zcopy_send;
  if (table.look != nullptr) {
    ops.poll = table.look->poll;
    ops.take = table.look->take;
  }
  if (table.keep != nullptr) {
    ops.release = table.keep->release;
    ops.kept_arrived = table.keep->kept_arrived;
  }
  return ops;
}

}  // namespace stria::transport
