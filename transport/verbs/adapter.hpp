// The RDMA device that one worker's device uses, and its objects that all links share: protection domain,
// shared receive queue, completion queues, the listening connection id. The RDMA device is chosen by an IP
// address of this host: the connection manager says which RDMA device an interface belongs to, for
// InfiniBand, RoCE and iWARP alike.
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

/// Depth of a link's send queue: how many of its work requests may be under way.
inline constexpr std::uint32_t kSendDepth = 64;

class Adapter {
 public:
  /// Chooses the RDMA device that the settings name, or the first usable one, and makes the shared objects.
  /// Errors: unreachable (no such device with an address and an active port, none of its ports is free, or
  /// its limits are too low for one link); io_error (a call failed).
  static Result<std::unique_ptr<Adapter>> open(const Settings& settings);
  Adapter() = default;  ///< without a device: for open(), and for tests with a stand-in
  ~Adapter();
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;

  /// Makes the queue pair of a connection and gives it to `id`. This replaces rdma_create_qp_ex, which makes
  /// queue pairs through libibverbs only, without strided keys. False: it failed, for the reason in errno.
  bool make_queue_pair(rdma_cm_id& id) const noexcept;
  /// Fills in the parts of a worker's address that name this adapter; `worker` is the caller's.
  void fill_address(Address& out) const noexcept;
  /// Makes later queue pairs fill strided keys through `library`. False: the device is none of that library,
  /// or a queue pair or a key for a trial could not be made; then there are no strided keys.
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
  bool builder = false;                       ///< queue pairs have the builder API (ibv_wr_*)
  std::optional<hw::StridedLibrary> strided;  ///< set: queue pairs fill strided keys, through this library
  std::uint32_t max_links = 0;
  std::uint32_t max_message = 0;
  std::string name;
  sockaddr_storage local{};

 private:
  enum class Listening { yes, other_device, port_taken, impossible };
  Listening try_listening(const sockaddr& address, const std::string& wanted, std::string& reason);
  bool listen_on(const sockaddr& address, const std::string& wanted, std::string& reason);
  Result<void> find(const Settings& settings);
  Result<void> make_queues(const Settings& settings);
  ibv_qp_init_attr_ex queue_pair() const noexcept;
  ibv_qp* create(ibv_qp_init_attr_ex& attributes) const noexcept;
  bool probe_queue_pair(bool with_builder);
  bool probe_queue_pairs();
};

}  // namespace stria::verbs
