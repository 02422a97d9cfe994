// Two workers of one process, driven one by one; the first sends to the second.
#pragma once

#include <span>

#include "tests/tag/shm_team.hpp"
#include "tests/tag/world.hpp"

namespace stria::test {

class ShmPair : public testing::Test {
 protected:
  static constexpr std::uint64_t kTag = 7;
  explicit ShmPair(const ShmTeam::Variables& variables = {}) {
    team_.join(variables);
    team_.join(variables);
    to_ = team_.endpoint(0, 1);
    from_ = team_.endpoint(1, 0);
  }
  stria_status_t send(Op& op, const std::vector<unsigned char>& data, stria_layout_t* layout = nullptr,
                      std::size_t count = 0) {
    stria_send_t send{};
    send.base = data.data();
    send.layout = layout;
    send.count = layout == nullptr ? data.size() : count;
    send.tag = kTag;
    send.callback = &Op::on_done;
    send.user = &op;
    return op.answer = stria_send(to_, &send, &op.request);
  }
  stria_status_t recv(Op& op, std::span<unsigned char> room) {
    stria_recv_t recv{};
    recv.base = room.data();
    recv.count = room.size();
    recv.match = {from_, kTag, 0};
    recv.callback = &Op::on_done;
    recv.user = &op;
    return op.answer = stria_recv(team_.worker(1), &recv, &op.request);
  }

  ShmTeam team_;
  stria_endpoint_t* to_ = nullptr;
  stria_endpoint_t* from_ = nullptr;
};

}  // namespace stria::test
