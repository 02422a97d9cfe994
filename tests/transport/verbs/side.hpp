// A device of the provider on a stand-in for an adapter, with what its worker would hear, and a link whose
// connection nobody had to make.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/contract/peer.hpp"
#include "tests/transport/verbs/stand_in.hpp"
#include "transport/services.hpp"
#include "transport/verbs/device.hpp"

namespace stria::verbs::test {

using contract::Bytes;
using contract::Ending;

/// As if the connection manager had made it. Both ends have the same number, unless they are of one device.
struct MadeConnection {
  void make(std::uint64_t worker, bool asked, std::uint32_t number, StandInQueuePair& queue,
            std::uint32_t far_number = 0) {
    id.qp = &queue.qp.qp_base;
    connection.id = &id;
    connection.worker = worker;
    connection.asked = asked;
    connection.number = {number, 1};
    connection.peer.credits = 32;
    connection.peer.link = far_number;
    connection.peer.eager_bytes = 8192;
  }
  rdma_cm_id id{};
  Connection connection;
};

/// A device with what its worker would hear.
struct Side {
  explicit Side(std::uint64_t worker, std::unique_ptr<Adapter> adapter, const char* keys = "64",
                const char* patience = "100")
      : most_keys(keys), connect_ms(patience) {
    sink.self = this;
    sink.deliver = [](void* self, void* peer, const stria_packet_t* packet) {
      static_cast<Side*>(self)->arrived.push_back(packet->header->sequence);
      static_cast<Side*>(self)->arrived_from = peer;
      return 1u;
    };
    sink.peer_up = [](void* self, std::uint64_t, stria_link_t* up) {
      static_cast<Side*>(self)->ups.push_back(reinterpret_cast<Link*>(up));
      return self;
    };
    sink.link_down = [](void* self, void* peer, stria_status_t why) {
      ++static_cast<Side*>(self)->downs;
      static_cast<Side*>(self)->ended[peer] = transport::from_c(why);
    };
    sink.link_changed = [](void*, void*) {};
    transport::DeviceParams params{};
    params.size = sizeof params;
    params.worker_id = worker;
    params.job_secret = "a secret of sixteen";
    params.job_secret_bytes = 19;
    params.sink = &sink;
    params.services = &transport::services();
    params.config_self = this;
    params.config = [](void* self, const char* name) -> const char* {
      if (std::string_view(name) == "STRIA_VERBS_CONNECT_MS")
        return static_cast<Side*>(self)->connect_ms.c_str();
      return std::string_view(name) == "STRIA_VERBS_KEYS" ? static_cast<Side*>(self)->most_keys.c_str() : "";
    };
    auto opened = Device::open_on(std::move(adapter), params);
    EXPECT_TRUE(opened.has_value());
    device = *std::move(opened);
  }
  /// Gives the device a link with a connection that nobody had to make, over this queue pair.
  void connect(std::uint64_t to, bool asked, StandInQueuePair& queue, std::uint32_t far_number = 0) {
    ASSERT_TRUE(device->receives().provide_for(1));
    made.make(to, asked, 0, queue, far_number);
    link = &device->links().add(device->shared(), to);
    link->announced = true;
    device->links().attach(*link, made.connection);
  }

  std::string most_keys, connect_ms;
  stria_sink_t sink{};
  MadeConnection made;  // outlives the device, which lets go of its links when it closes
  std::unique_ptr<Device> device;
  Link* link = nullptr;
  std::vector<std::uint16_t> arrived;  // sequence numbers
  void* arrived_from = nullptr;        // the cookie of the last
  std::vector<Link*> ups;              // links that peers made
  int downs = 0;
  std::map<void*, Status> ended;  // why, by cookie
};

}  // namespace stria::verbs::test
