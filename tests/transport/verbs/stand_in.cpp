#include "tests/transport/verbs/stand_in.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace stria::verbs::test {
namespace {

std::map<const ibv_context*, StandIn*>& by_context() {
  static std::map<const ibv_context*, StandIn*> all;
  return all;
}
StandInQueuePair& of(ibv_qp_ex* qp) {
  return *reinterpret_cast<StandInQueuePair*>(qp);
}
StandInQueuePair& of(mlx5dv_qp_ex* extension) {
  return *reinterpret_cast<StandInQueuePair*>(reinterpret_cast<std::byte*>(extension) -
                                              offsetof(StandInQueuePair, extension));
}
Posted& begin(StandInQueuePair& to, ibv_wr_opcode opcode) {
  Posted& request = to.building.emplace_back();
  request.opcode = opcode;
  request.id = to.qp.wr_id;
  request.flags = to.qp.wr_flags;
  return request;
}

}  // namespace

/// What rdma-core would call.
struct Calls {
  static StandIn& at(const ibv_context* context) { return *by_context().at(context); }

  static int poll(ibv_cq* cq, int most, ibv_wc* out) {
    const std::lock_guard lock(StandIn::mutex());
    StandIn& self = at(cq->context);
    int n = 0;
    if (cq == &self.send_cq_) {
      for (; n < most && !self.sent_.empty() && self.completions > 0; ++n, --self.completions) {
        const StandIn::Sent& next = self.sent_.front();
        out[n] = next.completion;
        next.from->freed = next.up_to;
        self.sent_.pop_front();
      }
      return n;
    }
    for (; n < most && !self.received_.empty(); ++n) {
      // As libmlx5 does: the word of the key or of immediate data is left alone where there is neither.
      const std::uint32_t before = out[n].invalidated_rkey;
      out[n] = self.received_.front();
      if ((out[n].wc_flags & (IBV_WC_WITH_INV | IBV_WC_WITH_IMM)) == 0) out[n].invalidated_rkey = before;
      self.received_.pop_front();
    }
    return n;
  }
  static int post_receive(ibv_srq* srq, ibv_recv_wr* request, ibv_recv_wr**) {
    const std::lock_guard lock(StandIn::mutex());
    for (; request != nullptr; request = request->next)
      at(srq->context).buffers_.push_back({request->wr_id, *request->sg_list});
    return 0;
  }
  static int post_send(ibv_qp* qp, ibv_send_wr*, ibv_send_wr**) {
    at(qp->context).wrong("a request past the builder");
    return EINVAL;
  }
  static ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
    const std::lock_guard lock(StandIn::mutex());
    StandIn& self = at(pd->context);
    const std::uint32_t index = self.next_++;
    ibv_mw& mw = self.windows_[index];
    mw = {pd->context, pd, index << 8, 0, type};
    self.keys_[index] = {};
    return &mw;
  }
  static int dealloc_mw(ibv_mw* mw) {
    const std::lock_guard lock(StandIn::mutex());
    StandIn& self = at(mw->context);
    self.keys_.erase(mw->rkey >> 8);
    self.windows_.erase(mw->rkey >> 8);
    return 0;
  }
  static ibv_mr* reg_mr(ibv_pd* pd, void* memory, std::size_t bytes, unsigned rights) {
    const std::lock_guard lock(StandIn::mutex());
    StandIn& self = at(pd->context);
    if (self.is_refused(memory, bytes, rights)) {
      ++self.refusals;
      errno = EFAULT;
      return nullptr;
    }
    const std::uint32_t key = self.next_++ << 8;
    auto& [mr, kept_rights] = self.regions_[key];
    mr = {pd->context, pd, memory, bytes, 0, key, key};
    kept_rights = rights;
    if ((rights & (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)) != 0) {
      const auto begin = reinterpret_cast<std::uint64_t>(memory);
      self.keys_[key >> 8] = {true, key, rights, begin, {{begin, bytes}}};
    }
    return &mr;
  }
  static void dereg_mr(ibv_mr* mr) {
    const std::lock_guard lock(StandIn::mutex());
    StandIn& self = at(mr->context);
    self.keys_.erase(mr->rkey >> 8);
    self.regions_.erase(mr->lkey);
  }

  static mlx5dv_mkey* create_key(mlx5dv_mkey_init_attr* attributes) {
    const std::lock_guard lock(StandIn::mutex());
    StandIn& self = at(attributes->pd->context);
    constexpr std::uint32_t kWanted = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
                                      MLX5DV_MKEY_INIT_ATTR_FLAGS_REMOTE_INVALIDATE |
                                      MLX5DV_MKEY_INIT_ATTR_FLAGS_UPDATE_TAG;
    if (attributes->create_flags != kWanted) self.wrong("a strided key that cannot be ended or turned");
    if (self.keys_made - self.keys_destroyed >= self.most_keys) return nullptr;
    ++self.keys_made;
    const std::uint32_t index = self.next_++;
    self.keys_[index] = {};
    return &(self.mkeys_[index] = {index << 8, index << 8});
  }
  static int destroy_key(mlx5dv_mkey* key) {
    const std::lock_guard lock(StandIn::mutex());
    const std::uint32_t index = key->rkey >> 8;
    for (const auto& [context, self] : by_context())
      if (const auto found = self->mkeys_.find(index); found != self->mkeys_.end() && &found->second == key) {
        ++self->keys_destroyed;
        self->keys_.erase(index);
        self->mkeys_.erase(index);
        return 0;
      }
    return EINVAL;
  }
  static ibv_qp* create_qp(ibv_context* context, ibv_qp_init_attr_ex*, mlx5dv_qp_init_attr*) {
    const std::lock_guard lock(StandIn::mutex());
    return &at(context).queue_pair().qp.qp_base;
  }

  static void start(ibv_qp_ex* qp) {
    if (!of(qp).building.empty()) of(qp).owner->wrong("started twice");
  }
  static int complete(ibv_qp_ex* qp) { return of(qp).owner->ring(of(qp)); }
  static void fill(mlx5dv_qp_ex* qp, mlx5dv_mkey* key, std::uint32_t rights, std::uint32_t repeat) {
    StandInQueuePair& to = of(qp);
    Posted& request = begin(to, IBV_WR_DRIVER1);
    // The library's own rules.
    constexpr std::uint32_t kRights =
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    if ((rights & ~kRights) != 0) to.owner->wrong("more than rights for a strided key");
    if ((request.flags & IBV_SEND_INLINE) == 0) to.owner->wrong("a strided key that is not inline");
    if (key->lkey != key->rkey) to.owner->wrong("two consumer keys");
    request.rkey = key->rkey;
    request.rights = rights;
    request.repeat = repeat;
  }
  static void interleaved(mlx5dv_qp_ex* qp, mlx5dv_mkey* key, std::uint32_t rights, std::uint32_t repeat,
                          std::uint16_t count, mlx5dv_mr_interleaved* data) {
    fill(qp, key, rights, repeat);
    of(qp).building.back().interleaved.assign(data, data + count);
  }
  static void list(mlx5dv_qp_ex* qp, mlx5dv_mkey* key, std::uint32_t rights, std::uint16_t count,
                   ibv_sge* data) {
    fill(qp, key, rights, 0);
    for (std::uint16_t i = 0; i < count; ++i)
      of(qp).building.back().interleaved.push_back({data[i].addr, data[i].length, 0, data[i].lkey});
  }
};

StandIn::StandIn(bool strided) : strided_(strided) {
  by_context()[&context_] = this;
  context_.device = &device_;
  context_.ops.poll_cq = &Calls::poll;
  context_.ops.post_srq_recv = &Calls::post_receive;
  context_.ops.post_send = &Calls::post_send;
  context_.ops.alloc_mw = &Calls::alloc_mw;
  context_.ops.dealloc_mw = &Calls::dealloc_mw;
  pd_.context = send_cq_.context = recv_cq_.context = srq_.context = &context_;
}
StandIn::~StandIn() {
  by_context().erase(&context_);
  for (StandInQueuePair& one : queue_pairs_) ::mprotect(&one, sizeof one, PROT_READ | PROT_WRITE);
}

hw::StridedLibrary StandIn::library() {
  hw::StridedLibrary out;
  out.is_supported = [](ibv_device* device) {
    return std::any_of(by_context().begin(), by_context().end(), [&](const auto& one) {
      return one.second->strided_ && &one.second->device_ == device;
    });
  };
  out.create_qp = &Calls::create_qp;
  out.extension_of = [](ibv_qp_ex* qp) { return &of(qp).extension; };
  out.create_key = &Calls::create_key;
  out.destroy_key = &Calls::destroy_key;
  return out;
}

std::unique_ptr<Adapter> StandIn::adapter(std::uint32_t inline_bytes) {
  auto out = std::make_unique<Adapter>();
  out->context = &context_;
  out->pd = &pd_;
  out->send_cq = &send_cq_;
  out->recv_cq = &recv_cq_;
  out->srq = &srq_;
  out->name = "stand-in";
  out->builder = true;
  out->max_links = 4;
  out->max_message = 1u << 26;
  hw::VerbsTraits& traits = out->traits;
  traits.window_2b = traits.zero_based = traits.local_invalidate = traits.send_invalidate = true;
  traits.max_windows = 1024;
  traits.inline_bytes = inline_bytes;
  traits.max_sge = traits.max_read_sge = 16;
  traits.max_reads = 16;
  return out;
}

StandInQueuePair& StandIn::queue_pair() {
  StandInQueuePair& made = queue_pairs_.emplace_back();
  made.owner = this;
  made.qp.qp_base.context = &context_;
  made.qp.qp_base.qp_num = static_cast<std::uint32_t>(queue_pairs_.size());
  made.qp.wr_start = &Calls::start;
  made.qp.wr_complete = &Calls::complete;
  made.qp.wr_send = [](ibv_qp_ex* qp) { begin(of(qp), IBV_WR_SEND); };
  made.qp.wr_send_inv = [](ibv_qp_ex* qp, std::uint32_t rkey) {
    begin(of(qp), IBV_WR_SEND_WITH_INV).rkey = rkey;
  };
  made.qp.wr_send_imm = [](ibv_qp_ex* qp, __be32 immediate) {
    begin(of(qp), IBV_WR_SEND_WITH_IMM).rkey = immediate;
  };
  made.qp.wr_atomic_fetch_add = [](ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote, std::uint64_t) {
    Posted& request = begin(of(qp), IBV_WR_ATOMIC_FETCH_AND_ADD);
    request.rkey = rkey;
    request.remote = remote;
  };
  made.qp.wr_rdma_read = [](ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote) {
    Posted& request = begin(of(qp), IBV_WR_RDMA_READ);
    request.rkey = rkey;
    request.remote = remote;
  };
  made.qp.wr_rdma_write = [](ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote) {
    Posted& request = begin(of(qp), IBV_WR_RDMA_WRITE);
    request.rkey = rkey;
    request.remote = remote;
  };
  made.qp.wr_bind_mw = [](ibv_qp_ex* qp, ibv_mw*, std::uint32_t rkey, const ibv_mw_bind_info* info) {
    Posted& request = begin(of(qp), IBV_WR_BIND_MW);
    request.rkey = rkey;
    request.bind = *info;
  };
  made.qp.wr_local_inv = [](ibv_qp_ex* qp, std::uint32_t rkey) {
    begin(of(qp), IBV_WR_LOCAL_INV).rkey = rkey;
  };
  made.qp.wr_set_inline_data = [](ibv_qp_ex* qp, void* data, std::size_t bytes) {
    const auto* from = static_cast<const std::byte*>(data);
    of(qp).building.back().inlined.assign(from, from + bytes);
  };
  made.qp.wr_set_sge = [](ibv_qp_ex* qp, std::uint32_t lkey, std::uint64_t address, std::uint32_t bytes) {
    of(qp).building.back().pieces.push_back({address, bytes, lkey});
  };
  made.qp.wr_set_sge_list = [](ibv_qp_ex* qp, std::size_t count, const ibv_sge* list) {
    of(qp).building.back().pieces.assign(list, list + count);
  };
  made.extension.wr_mr_interleaved = &Calls::interleaved;
  made.extension.wr_mr_list = &Calls::list;
  return made;
}

void StandIn::wrong(const std::string& what) {
  if (misuse.empty()) misuse = what;
}

bool StandIn::is_valid(std::uint32_t rkey) const {
  const auto found = keys_.find(rkey >> 8);
  return found != keys_.end() && found->second.valid && found->second.rkey == rkey;
}

bool StandIn::covers(std::uint32_t lkey, std::uint64_t address, std::uint64_t bytes) const {
  const auto found = regions_.find(lkey);
  if (found == regions_.end()) return false;
  const auto begin = reinterpret_cast<std::uint64_t>(found->second.mr.addr);
  return address >= begin && address + bytes <= begin + found->second.mr.length;
}

bool StandIn::is_refused(const void* memory, std::size_t bytes, unsigned rights) const {
  constexpr unsigned kWrites =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;
  const auto* const begin = static_cast<const std::byte*>(memory);
  return std::any_of(refused.begin(), refused.end(), [&](const Refused& one) {
    return begin < one.begin + one.bytes && one.begin < begin + bytes &&
           (!one.only_writes || (rights & kWrites) != 0);
  });
}

void StandIn::flush_receive(std::uint32_t queue_pair) {
  ibv_wc came{};
  came.wr_id = buffers_.front().id;
  came.status = IBV_WC_WR_FLUSH_ERR;
  came.qp_num = queue_pair;
  buffers_.pop_front();
  received_.push_back(came);
}

void StandIn::destroy(ibv_qp* qp) {
  const std::lock_guard lock(mutex());
  auto& gone = *reinterpret_cast<StandInQueuePair*>(qp);
  StandIn& self = *gone.owner;
  std::erase_if(self.sent_, [&](const Sent& one) { return one.from == &gone; });
  std::erase_if(self.received_, [&](const ibv_wc& one) { return one.qp_num == qp->qp_num; });
  if (gone.peer != nullptr) gone.peer->peer = nullptr;
  ::mprotect(qp, sizeof(StandInQueuePair), PROT_NONE);
}

void StandIn::join(StandInQueuePair& one, StandInQueuePair& other) {
  const std::lock_guard lock(mutex());
  one.peer = &other;
  other.peer = &one;
}

void StandIn::break_off(ibv_qp* qp) {
  const std::lock_guard lock(mutex());
  reinterpret_cast<StandInQueuePair*>(qp)->in_error = true;
}

std::recursive_mutex& StandIn::mutex() {
  static std::recursive_mutex one;
  return one;
}

int StandIn::ring(StandInQueuePair& from) {
  const std::lock_guard lock(mutex());
  ++doorbells;
  const std::vector<Posted> requests = std::move(from.building);
  from.building.clear();
  if (from.refuses) return EINVAL;
  if (from.in_queue() + requests.size() > from.depth) {
    overflowed = true;
    return ENOMEM;
  }
  for (Posted request : requests) {
    request.doorbell = doorbells;
    posted.push_back(request);
    ++from.taken;
    ibv_wc_status status = from.in_error ? IBV_WC_WR_FLUSH_ERR : carry_out(from, request);
    if (status == IBV_WC_SUCCESS && (request.flags & IBV_SEND_SIGNALED) == 0) continue;
    if (status != IBV_WC_SUCCESS) from.in_error = true;
    ibv_wc done{};
    done.wr_id = request.id;
    done.status = status;
    sent_.push_back({done, &from, from.taken});
  }
  return 0;
}

ibv_wc_status StandIn::carry_out(StandInQueuePair& from, const Posted& request) {
  if (from.peer == nullptr) return IBV_WC_RETRY_EXC_ERR;
  switch (request.opcode) {
    case IBV_WR_DRIVER1: {
      Key key{true, request.rkey, request.rights, 0, {}};
      for (std::uint64_t i = 0; i < std::max(1u, request.repeat); ++i)
        for (const auto& entry : request.interleaved) {
          // In the widths that the adapter has.
          const auto bytes =
              request.repeat != 0 ? static_cast<std::uint16_t>(entry.bytes_count) : entry.bytes_count;
          const auto stride = static_cast<std::uint16_t>(entry.bytes_count + entry.bytes_skip);
          if (!covers(entry.lkey, entry.addr + i * stride, bytes)) return IBV_WC_MW_BIND_ERR;
          key.runs.emplace_back(entry.addr + i * stride, bytes);
        }
      keys_.at(request.rkey >> 8) = key;
      return IBV_WC_SUCCESS;
    }
    case IBV_WR_BIND_MW: {
      Key& key = keys_.at(request.rkey >> 8);
      if (key.valid || !covers(request.bind.mr->lkey, request.bind.addr, request.bind.length))
        return IBV_WC_MW_BIND_ERR;
      if ((regions_.at(request.bind.mr->lkey).rights & IBV_ACCESS_MW_BIND) == 0) return IBV_WC_MW_BIND_ERR;
      key = {true,
             request.rkey,
             request.bind.mw_access_flags,
             (request.bind.mw_access_flags & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : request.bind.addr,
             {{request.bind.addr, request.bind.length}}};
      return IBV_WC_SUCCESS;
    }
    case IBV_WR_LOCAL_INV:
      if (!is_valid(request.rkey)) return IBV_WC_MW_BIND_ERR;
      keys_.at(request.rkey >> 8).valid = false;
      return IBV_WC_SUCCESS;
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_INV:
    case IBV_WR_SEND_WITH_IMM:
      return send(from, request);
    default:
      return access(from, request);
  }
}

ibv_wc_status StandIn::send(StandInQueuePair& from, const Posted& request) {
  StandIn& to = *from.peer->owner;
  if (to.buffers_.empty()) return IBV_WC_RNR_RETRY_EXC_ERR;
  const Buffer buffer = to.buffers_.front();
  to.buffers_.pop_front();
  std::vector<std::byte> bytes = request.inlined;
  for (const ibv_sge& piece : request.pieces) {
    const auto* data = reinterpret_cast<const std::byte*>(piece.addr);
    bytes.insert(bytes.end(), data, data + piece.length);
  }
  std::memcpy(reinterpret_cast<void*>(buffer.piece.addr), bytes.data(), bytes.size());
  ibv_wc came{};
  came.wr_id = buffer.id;
  came.byte_len = static_cast<std::uint32_t>(bytes.size());
  came.qp_num = from.peer->qp.qp_base.qp_num;
  if (request.opcode == IBV_WR_SEND_WITH_INV) {
    if (!to.is_valid(request.rkey)) return IBV_WC_REM_ACCESS_ERR;
    to.keys_.at(request.rkey >> 8).valid = false;
    came.wc_flags = IBV_WC_WITH_INV;
    came.invalidated_rkey = request.rkey;
  }
  if (request.opcode == IBV_WR_SEND_WITH_IMM) {
    came.wc_flags = IBV_WC_WITH_IMM;
    came.imm_data = request.rkey;
  }
  to.received_.push_back(came);
  return IBV_WC_SUCCESS;
}

/// A read or a write, byte by byte.
ibv_wc_status StandIn::access(StandInQueuePair& from, const Posted& request) {
  const bool write = request.opcode == IBV_WR_RDMA_WRITE;
  if (request.pieces.empty())
    return IBV_WC_SUCCESS;  // a write of nothing, which asks whether somebody is there
  StandIn& to = *from.peer->owner;
  const unsigned right = write ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ;
  for (const ibv_sge& piece : request.pieces) {
    const bool writes_here = !write;
    const bool may = regions_.count(piece.lkey) != 0 && covers(piece.lkey, piece.addr, piece.length) &&
                     (!writes_here || (regions_.at(piece.lkey).rights & IBV_ACCESS_LOCAL_WRITE) != 0);
    if (!may) return IBV_WC_LOC_PROT_ERR;
  }
  if (!to.is_valid(request.rkey) || (to.keys_.at(request.rkey >> 8).rights & right) == 0)
    return IBV_WC_REM_ACCESS_ERR;
  const Key& key = to.keys_.at(request.rkey >> 8);
  std::uint64_t at = request.remote - key.begin;
  for (const ibv_sge& piece : request.pieces)
    for (std::uint32_t i = 0; i < piece.length; ++i, ++at) {
      std::uint64_t within = at;
      auto run = key.runs.begin();
      while (run != key.runs.end() && within >= run->second) within -= run++->second;
      if (run == key.runs.end()) return IBV_WC_REM_ACCESS_ERR;
      auto* const far = reinterpret_cast<std::byte*>(run->first + within);
      auto* const near = reinterpret_cast<std::byte*>(piece.addr + i);
      (write ? *far : *near) = write ? *near : *far;
    }
  return IBV_WC_SUCCESS;
}

}  // namespace stria::verbs::test

// ---- in place of rdma-core's
// --------------------------------------------------------------------------------

using stria::verbs::test::Calls;
#undef ibv_reg_mr
extern "C" {
ibv_mr* ibv_reg_mr(ibv_pd* pd, void* memory, std::size_t bytes, int rights) {
  return Calls::reg_mr(pd, memory, bytes, static_cast<unsigned>(rights));
}
ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* memory, std::size_t bytes, std::uint64_t, unsigned rights) {
  return Calls::reg_mr(pd, memory, bytes, rights);
}
int ibv_dereg_mr(ibv_mr* mr) {
  Calls::dereg_mr(mr);
  return 0;
}
ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  return reinterpret_cast<ibv_qp_ex*>(qp);
}
int ibv_destroy_qp(ibv_qp*) {
  return 0;
}
int ibv_dealloc_pd(ibv_pd*) {
  return 0;
}
int ibv_destroy_cq(ibv_cq*) {
  return 0;
}
int ibv_destroy_srq(ibv_srq*) {
  return 0;
}
}
