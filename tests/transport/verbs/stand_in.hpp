// An adapter with strided keys, in memory, where there is none: queue pairs that note what is posted to them
// and do it when the doorbell rings. What it knows of keys is what rdma-core's manual and sources say; that
// an adapter does the same has not been seen. rdma-core's own functions that the provider calls are replaced
// in the program that is linked with this.
#pragma once

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hw/strided_library.hpp"
#include "transport/verbs/adapter.hpp"

namespace stria::verbs::test {

class StandIn;

/// What was posted, as the adapter would see it.
struct Posted {
  ibv_wr_opcode opcode{};
  std::uint64_t id = 0;
  unsigned flags = 0;
  std::uint32_t rkey = 0;  ///< that is read through, ended, bound or filled
  std::uint64_t remote = 0;
  unsigned doorbell = 0;  ///< those with the same number went out together
  std::vector<ibv_sge> pieces;
  std::vector<std::byte> inlined;
  // of keys
  unsigned rights = 0;
  ibv_mw_bind_info bind{};
  std::uint32_t repeat = 0;
  std::vector<mlx5dv_mr_interleaved> interleaved;  ///< or with a repeat of 0 the list, without skips
};

inline constexpr std::size_t kPage = 4096;

/// On a page of its own, which is taken away when the queue pair is destroyed.
struct alignas(kPage) StandInQueuePair {
  ibv_qp_ex qp{};  // first: the provider has a pointer to it
  mlx5dv_qp_ex extension{};
  StandIn* owner = nullptr;
  StandInQueuePair* peer = nullptr;
  bool in_error = false;
  bool refuses = false;        ///< its doorbell answers EINVAL, and nothing is taken
  std::uint64_t depth = ~0ul;  ///< of its send queue; a doorbell with more answers ENOMEM
  std::uint64_t taken = 0;     ///< requests, in all,
  std::uint64_t freed = 0;     ///< and up to which of them a completion was polled
  std::vector<Posted> building;
  std::uint64_t in_queue() const { return taken - freed; }
};
static_assert(sizeof(StandInQueuePair) == kPage);

class StandIn {
 public:
  explicit StandIn(bool strided = true);
  ~StandIn();
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

  /// What a device is opened on. `inline_bytes`: that queue pairs take.
  std::unique_ptr<Adapter> adapter(std::uint32_t inline_bytes = 256);
  StandInQueuePair& queue_pair();
  static void join(StandInQueuePair& one, StandInQueuePair& other);
  /// The calls of the adapter's own library.
  static hw::StridedLibrary library();

  std::vector<Posted> posted;  ///< in order; the greetings too
  unsigned doorbells = 0;
  unsigned keys_made = 0;       ///< strided ones
  unsigned keys_destroyed = 0;  ///< likewise
  unsigned most_keys = ~0u;
  std::uint64_t completions = ~0ul;  ///< of sends, that polls still give out
  bool overflowed = false;           ///< a send queue was asked to take more than its depth
  std::string misuse;                ///< the first thing that no adapter would take
  /// Memory that is not registered: EFAULT, as of the driver. only_writes: with no right that needs writable
  /// memory it is.
  struct Refused {
    const std::byte* begin;
    std::size_t bytes;
    bool only_writes;
  };
  std::vector<Refused> refused;
  unsigned refusals = 0;  ///< so often

  /// One of its keys, by its index: what a peer reaches through it.
  struct Key {
    bool valid = false;
    std::uint32_t rkey = 0;
    unsigned rights = 0;
    std::uint64_t begin = 0;                                    // a window's addresses
    std::vector<std::pair<std::uint64_t, std::uint64_t>> runs;  // address, bytes: as the stream goes
  };
  bool is_valid(std::uint32_t rkey) const;
  std::size_t registrations() const { return regions_.size(); }
  /// A buffer comes back unused, from a queue pair of this number.
  void flush_receive(std::uint32_t queue_pair);
  /// A thread that reads it from here on dies. What it left in completion queues goes with it.
  static void destroy(ibv_qp* qp);
  /// Puts it into the error state: all that is posted to it is flushed.
  static void break_off(ibv_qp* qp);

 private:
  friend struct Calls;
  /// Of all stand-ins: the worker's thread and the connector's call them.
  static std::recursive_mutex& mutex();
  int ring(StandInQueuePair& from);
  ibv_wc_status carry_out(StandInQueuePair& from, const Posted& request);
  ibv_wc_status send(StandInQueuePair& from, const Posted& request);
  ibv_wc_status access(StandInQueuePair& from, const Posted& request);
  bool covers(std::uint32_t lkey, std::uint64_t address, std::uint64_t bytes) const;
  void wrong(const std::string& what);

  ibv_device device_{};
  ibv_context context_{};
  ibv_pd pd_{};
  ibv_cq send_cq_{}, recv_cq_{};
  ibv_srq srq_{};
  bool strided_;
  struct Sent {
    ibv_wc completion;
    StandInQueuePair* from;
    std::uint64_t up_to;  // so many requests of it are over
  };
  std::deque<Sent> sent_;
  std::deque<ibv_wc> received_;
  struct Buffer {
    std::uint64_t id;
    ibv_sge piece;
  };
  std::deque<Buffer> buffers_;
  bool is_refused(const void* memory, std::size_t bytes, unsigned rights) const;
  struct Registered {
    ibv_mr mr;
    unsigned rights;
  };
  std::map<std::uint32_t, Registered> regions_;  // by lkey
  std::map<std::uint32_t, Key> keys_;            // by index
  std::map<std::uint32_t, ibv_mw> windows_;      // likewise
  std::map<std::uint32_t, mlx5dv_mkey> mkeys_;   // likewise
  std::uint32_t next_ = 1;
  std::deque<StandInQueuePair> queue_pairs_;
};

}  // namespace stria::verbs::test
