// stria's own API as a Peer: tagged messages between workers that know each other by address bytes alone.
#pragma once

#include <stria/stria.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "osu_bench/common/peer.hpp"
#include "osu_bench/common/recipe.hpp"
#include "osu_bench/native/team.hpp"

namespace stria::bench {

/// Prints what `call` answered and ends the process: a benchmark has no use for a failed message.
[[noreturn, gnu::cold]] void give_up(const char* call, stria_status_t status);

class NativePeer {
 public:
  struct FreeLayout {
    void operator()(stria_layout_t* layout) const { stria_layout_free(layout); }
  };
  using Type = std::unique_ptr<stria_layout_t, FreeLayout>;
  using Match = stria_match_t;

  NativePeer(int rank, Team& team);
  ~NativePeer();
  NativePeer(const NativePeer&) = delete;
  NativePeer& operator=(const NativePeer&) = delete;

  int rank() const { return rank_; }
  int size() const { return team_.size(); }

  void send(const void* from, std::size_t bytes) {
    finish(post_send(from, nullptr, bytes, request_), request_);
  }
  /// As MPI_Recv: nothing else is done until it is there.
  void recv(void* to, std::size_t bytes) {
    stria_info_t info;
    const stria_recv_t message = {
        to,   nullptr, bytes, {endpoint_, kTag, 0}, nullptr, nullptr, STRIA_RECV_LOOK | STRIA_RECV_WAITS,
        &info};
    const stria_status_t status = stria_recv(worker_, &message, &request_);
    check("stria_recv", status);
    if (status == STRIA_OK) [[likely]]
      check("stria_recv", info.status);
    else
      finish(status, request_);
  }
  void send_typed(const void* base, const Type& type) {
    finish(post_send(base, type.get(), 1, request_), request_);
  }
  void recv_typed(void* base, const Type& type) {
    finish(post_recv(base, type.get(), 1, request_), request_);
  }
  void start_send(int slot, const void* from, std::size_t bytes) {
    Slot& at = slots_[static_cast<std::size_t>(slot)];
    at.active = post_send(from, nullptr, bytes, at.request) == STRIA_IN_PROGRESS;
  }
  void start_recv(int slot, void* to, std::size_t bytes) {
    Slot& at = slots_[static_cast<std::size_t>(slot)];
    at.active = post_recv(to, nullptr, bytes, at.request) == STRIA_IN_PROGRESS;
  }
  void wait_slots(int count) { wait_slots(0, count); }
  void make_slots(int count) { slots_ = std::vector<Slot>(static_cast<std::size_t>(count)); }

  Match make_match(int tag, bool any_source, bool any_tag) const {
    return {any_source ? nullptr : endpoint_, static_cast<std::uint64_t>(tag),
            any_tag ? std::uint64_t{0xffffffff} : 0};
  }
  void start_send(int slot, const void* from, std::size_t bytes, int tag) {
    Slot& at = slots_[static_cast<std::size_t>(slot)];
    at.active =
        post_send(from, nullptr, bytes, at.request, static_cast<std::uint64_t>(tag)) == STRIA_IN_PROGRESS;
  }
  void start_recv(int slot, void* to, std::size_t bytes, const Match& match) {
    Slot& at = slots_[static_cast<std::size_t>(slot)];
    at.active = post_recv(to, nullptr, bytes, at.request, match) == STRIA_IN_PROGRESS;
  }
  void wait_slots(int first, int count) {
    for (int i = first; i < first + count; ++i) {
      Slot& at = slots_[static_cast<std::size_t>(i)];
      if (!at.active) continue;
      finish(STRIA_IN_PROGRESS, at.request);
      at.active = false;
    }
  }
  long largest_tag() const { return std::numeric_limits<int>::max(); }

  Type make_type(const Recipe& recipe);
  void pack(const void* base, const Type& type, void* to, std::size_t bytes) {
    check("stria_layout_pack",
          stria_layout_pack(type.get(), base, 1, 0, static_cast<std::int64_t>(bytes), to));
  }
  void unpack(const void* from, std::size_t bytes, void* base, const Type& type) {
    check("stria_layout_unpack",
          stria_layout_unpack(type.get(), base, 1, 0, static_cast<std::int64_t>(bytes), from));
  }

  Buffer allocate(std::size_t bytes);
  void barrier() { team_.barrier(); }
  long broadcast(long number);
  std::vector<double> gather(double mine);
  /// Library version, the path to the partner, and where each process is bound. Collective.
  Environment environment();

 private:
  struct Slot {
    stria_request_t request;
    bool active = false;
  };
  static constexpr std::uint64_t kTag = 1;

  static void check(const char* call, stria_status_t status) {
    if (status < 0) [[unlikely]]
      give_up(call, status);
  }
  stria_status_t post_send(const void* base, const stria_layout_t* layout, std::uint64_t count,
                           stria_request_t& request, std::uint64_t tag = kTag) {
    const stria_send_t message = {base, layout, count, tag, 0, 0, nullptr, nullptr};
    const stria_status_t status = stria_send(endpoint_, &message, &request);
    check("stria_send", status);
    return status;
  }
  stria_status_t post_recv(void* base, const stria_layout_t* layout, std::uint64_t count,
                           stria_request_t& request) {
    return post_recv(base, layout, count, request, {endpoint_, kTag, 0});
  }
  stria_status_t post_recv(void* base, const stria_layout_t* layout, std::uint64_t count,
                           stria_request_t& request, const Match& match) {
    const stria_recv_t message = {base, layout, count, match, nullptr, nullptr, STRIA_RECV_LOOK, nullptr};
    const stria_status_t status = stria_recv(worker_, &message, &request);
    check("stria_recv", status);
    return status;
  }
  void finish(stria_status_t posted, stria_request_t& request) {
    if (posted == STRIA_IN_PROGRESS)
      check("stria_request_wait", stria_request_wait(worker_, &request, nullptr));
  }

  int rank_;
  Team& team_;
  stria_context_t* context_ = nullptr;
  stria_worker_t* worker_ = nullptr;
  stria_endpoint_t* endpoint_ = nullptr;
  stria_request_t request_;
  std::vector<Slot> slots_;
};

}  // namespace stria::bench
