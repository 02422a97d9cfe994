// Two connected queue pairs of one process on the guest's device, over rdma_cm: the same for RoCE and iWARP.
// What a test asks for is posted by plain verbs, and every wait sleeps and ends: guests have one processor.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace stria::lab {

constexpr int kPatienceMs = 5000;

struct Options {
  bool shared_receives = false;  ///< receives come from one shared queue
  std::uint32_t inline_bytes = 64;
  std::uint32_t max_sge = 4;
};

/// How a wait for one completion ended; status -1 when none came in time.
struct Ended {
  int status = -1;
  ibv_wc_opcode opcode{};
  std::uint32_t bytes = 0;
  std::uint32_t immediate = 0;
  std::uint32_t invalidated_rkey = 0;
  unsigned flags = 0;
  std::string name() const {
    return status < 0 ? "no completion in time" : ibv_wc_status_str(static_cast<ibv_wc_status>(status));
  }
};

/// Memory and its registration.
class Region {
 public:
  Region(ibv_pd* domain, std::size_t bytes, int access, std::byte fill);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  std::byte* data() { return memory_.data(); }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(memory_.data()); }
  std::size_t size() const { return memory_.size(); }
  ibv_mr* mr() const { return registered_; }
  ibv_sge piece(std::size_t offset, std::size_t bytes) const {
    return {address() + offset, static_cast<std::uint32_t>(bytes), registered_->lkey};
  }
  bool is_all(std::byte value) const;
  /// Deregisters now; errno of the refusal, 0 when it went.
  int deregister();

 private:
  std::vector<std::byte> memory_;
  ibv_mr* registered_ = nullptr;
};

/// One end: a queue pair with completion queues for what it sends and what it receives.
class End {
 public:
  End(rdma_cm_id* id, const Options& options, ibv_srq* shared);
  ~End();
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  ibv_qp* qp() const { return id_->qp; }
  rdma_cm_id* id() const { return id_; }

  /// Posts and gives errno, 0 when it was taken.
  int post(ibv_send_wr& request);
  int post_receive(const ibv_sge& where);
  int read(const ibv_sge& into, std::uint64_t address, std::uint32_t rkey);
  int write(const ibv_sge& from, std::uint64_t address, std::uint32_t rkey);
  int send(const ibv_sge& from, unsigned flags = 0);
  int send_invalidating(const ibv_sge& from, std::uint32_t rkey);
  int invalidate(std::uint32_t rkey);

  Ended sent(int patience_ms = kPatienceMs) { return next(send_queue_, send_channel_, patience_ms); }
  Ended received(int patience_ms = kPatienceMs) {
    return next(receive_queue_, receive_channel_, patience_ms);
  }

 private:
  static Ended next(ibv_cq* queue, ibv_comp_channel* channel, int patience_ms);
  rdma_cm_id* id_;
  ibv_comp_channel* send_channel_;
  ibv_comp_channel* receive_channel_;
  ibv_cq* send_queue_;
  ibv_cq* receive_queue_;
};

/// Connected ends `a` (which asked for the connection) and `b`, in one protection domain.
class Pair {
 public:
  explicit Pair(const Options& options = {});
  ~Pair();
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  End& a() { return *a_; }
  End& b() { return *b_; }
  ibv_pd* domain() const { return domain_; }
  ibv_context* device() const { return a_->id()->verbs; }
  ibv_srq* shared() const { return shared_; }

 private:
  rdma_event_channel* events_;
  rdma_cm_id* listener_ = nullptr;
  ibv_pd* domain_ = nullptr;
  ibv_srq* shared_ = nullptr;
  std::unique_ptr<End> a_, b_;
};

/// A type 2 window on one end's queue pair; a new one has no key that works.
class Window {
 public:
  explicit Window(ibv_pd* domain);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  /// Posts the bind of [offset, offset + bytes) under the next key; errno.
  int bind(End& end, Region& region, std::size_t offset, std::size_t bytes, int access);
  /// The same in two steps: the request, and that it was taken.
  ibv_send_wr request(Region& region, std::size_t offset, std::size_t bytes, int access) const;
  void bound_by(const ibv_send_wr& request);
  std::uint32_t key() const { return window_->rkey; }

 private:
  ibv_mw* window_;
};

/// A finite number of retries: 7, the highest, means for ever to rxe.
rdma_conn_param connection_parameters();

/// What the device says of itself, asked once.
struct Device {
  bool iwarp = false;
  ibv_device_attr attributes{};
};
const Device& device();

}  // namespace stria::lab
