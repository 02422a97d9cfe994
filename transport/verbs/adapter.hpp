// The RDMA device that one worker's device uses, and what of it all links share: protection domain, shared
// receive queue, completion queues, the listening connection id. Chosen by address: the connection manager
// says which device an interface belongs to, for InfiniBand, RoCE and iWARP alike.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "hw/strided_library.hpp"
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
  Adapter() = default;  ///< of nothing: open() makes one, tests a stand-in
  ~Adapter();
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;

  /// Makes the queue pair of a connection, as rdma_create_qp_ex would, which knows no library but its own.
  /// From here on it is the connection's. False: errno.
  bool make_queue_pair(rdma_cm_id& id) const noexcept;
  void fill_address(Address& out) const noexcept;
  /// Queue pairs fill strided keys by this library from here on, if that is its device, and one of each can
  /// be made.
  bool use_strided_keys(const hw::StridedLibrary& library);

  rdma_event_channel* channel = nullptr;
  rdma_cm_id* listener = nullptr;
  ibv_context* context = nullptr;  // the connection manager's; not ours to close
  ibv_pd* pd = nullptr;
  ibv_comp_channel* completions = nullptr;
  ibv_cq* send_cq = nullptr;
  ibv_cq* recv_cq = nullptr;
  ibv_srq* srq = nullptr;
  hw::VerbsTraits traits;
  bool builder = false;                       ///< queue pairs have ibv_wr_*
  std::optional<hw::StridedLibrary> strided;  ///< and fill strided keys, of as many entries as traits say
  std::uint32_t max_links = 0;
  std::uint32_t max_message = 0;
  std::string name;
  sockaddr_storage local{};

 private:
  bool listen_on(const sockaddr& address, const std::string& wanted);
  Result<void> find(const Settings& settings);
  Result<void> make_queues(const Settings& settings);
  ibv_qp_init_attr_ex queue_pair() const noexcept;
  ibv_qp* create(ibv_qp_init_attr_ex& attributes) const noexcept;
  bool probe_queue_pair(bool with_builder);
  bool probe_queue_pairs();
};

}  // namespace stria::verbs
