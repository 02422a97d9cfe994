// What a stand-in for an adapter does with what is posted to it: keys are bound, filled and ended, packets go
// to the other side's buffers, memory is read and written; and what becomes of all that when a queue pair
// ends.
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/transport/verbs/stand_in.hpp"

namespace stria::verbs::test {

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
