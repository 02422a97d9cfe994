// The RDMA device that one worker's device uses, and what of it all links share: protection domain, shared
// receive queue, completion queues, the listening connection id. Chosen by address: the connection manager
// says which device an interface belongs to, for InfiniBand, RoCE and iWARP alike.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "hw/verbs_capabilities.hpp"
#include "transport/verbs/packets.hpp"
#include "transport/verbs/settings.hpp"

namespace stria::verbs {

/// Work requests of one link that may be under way.
inline constexpr std::uint32_t kSendDepth = 64;

class Adapter {
 public:
  /// Errors: unreachable (no RDMA device, or none with an address), with what was looked for.
  static Result<std::unique_ptr<Adapter>> open(const Settings& settings);
  ~Adapter();
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;

  /// How queue pairs are made; the caller sets nothing but the context.
  ibv_qp_init_attr_ex queue_pair(bool builder) const noexcept;
  void fill_address(Address& out) const noexcept;

  rdma_event_channel* channel = nullptr;
  rdma_cm_id* listener = nullptr;
  ibv_context* context = nullptr;  // the connection manager's; not ours to close
  ibv_pd* pd = nullptr;
  ibv_comp_channel* completions = nullptr;
  ibv_cq* send_cq = nullptr;
  ibv_cq* recv_cq = nullptr;
  ibv_srq* srq = nullptr;
  hw::VerbsTraits traits;
  bool builder = false;  ///< queue pairs have ibv_wr_*
  std::uint32_t max_links = 0;
  std::uint32_t max_message = 0;
  std::string name;
  sockaddr_storage local{};

 private:
  Adapter() = default;
  bool listen_on(const sockaddr& address, const std::string& wanted);
  Result<void> find(const Settings& settings);
  Result<void> make_queues(const Settings& settings);
  bool probe_queue_pair(bool with_builder, std::uint32_t inline_bytes, std::uint32_t& got);
};

}  // namespace stria::verbs
