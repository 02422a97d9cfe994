#include "eager/send.hpp"

namespace stria::eager {

Status Sender::send_credit(Flow& flow) noexcept {
  const transport::Header header = wire::make_header(wire::Kind::credit, flow.grant.due);
  const Status sent = flow.link.send_control(header, nullptr, 0);
  if (sent != Status::no_resource) flow.grant.due = 0;
  return sent;
}

}  // namespace stria::eager
