// What a device's scheduler picks under the fabric's lock, and what is told to the code above without it.
#pragma once

#include "transport/fake/device.hpp"

namespace stria::fake {

struct Device::Event {
  /// placing: some bytes of a payload were written. sent: a zero-copy send is due; its event is an `access`.
  enum class Kind : std::uint8_t { none, up, ask, placing, packet, down, sent, access };
  Kind kind = Kind::none;
  Link* link = nullptr;
  void* cookie = nullptr;
  QueuedPacket packet{};
  transport::Completion* completion = nullptr;
  Status status = Status::ok;
};

}  // namespace stria::fake
