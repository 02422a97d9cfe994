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
