// MPI as a Peer: MPI_COMM_WORLD, tag 1, the partner half the ranks away.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "osu_bench/common/peer.hpp"
#include "osu_bench/common/recipe.hpp"

namespace stria::bench {

/// A committed MPI_Datatype; MPI_DATATYPE_NULL when moved from.
class MpiType {
 public:
  explicit MpiType(MPI_Datatype owned) : type_(owned) {}
  MpiType(MpiType&& other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
  MpiType& operator=(MpiType&&) = delete;
  ~MpiType() {
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
  }
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_;
};

class MpiPeer {
 public:
  using Type = MpiType;
  /// What a receive names.
  struct Match {
    int source;
    int tag;
  };

  MpiPeer();

  int rank() const { return rank_; }
  int size() const { return size_; }

  void send(const void* from, std::size_t bytes) {
    MPI_Send(from, static_cast<int>(bytes), MPI_BYTE, partner_, kTag, MPI_COMM_WORLD);
  }
  void recv(void* to, std::size_t bytes) {
    MPI_Recv(to, static_cast<int>(bytes), MPI_BYTE, partner_, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  void start_send(int slot, const void* from, std::size_t bytes) {
    MPI_Isend(from, static_cast<int>(bytes), MPI_BYTE, partner_, kTag, MPI_COMM_WORLD, &at(slot));
  }
  void start_recv(int slot, void* to, std::size_t bytes) {
    MPI_Irecv(to, static_cast<int>(bytes), MPI_BYTE, partner_, kTag, MPI_COMM_WORLD, &at(slot));
  }
  void wait_slots(int count) { wait_slots(0, count); }
  void make_slots(int count) { slots_.assign(static_cast<std::size_t>(count), MPI_REQUEST_NULL); }

  Match make_match(int tag, bool any_source, bool any_tag) const {
    return {any_source ? MPI_ANY_SOURCE : partner_, any_tag ? MPI_ANY_TAG : tag};
  }
  void start_send(int slot, const void* from, std::size_t bytes, int tag) {
    MPI_Isend(from, static_cast<int>(bytes), MPI_BYTE, partner_, tag, MPI_COMM_WORLD, &at(slot));
  }
  void start_recv(int slot, void* to, std::size_t bytes, const Match& match) {
    MPI_Irecv(to, static_cast<int>(bytes), MPI_BYTE, match.source, match.tag, MPI_COMM_WORLD, &at(slot));
  }
  void wait_slots(int first, int count) { MPI_Waitall(count, slots_.data() + first, MPI_STATUSES_IGNORE); }
  long largest_tag() const;

  void send_typed(const void* base, const Type& type) {
    MPI_Send(base, 1, type.get(), partner_, kTag, MPI_COMM_WORLD);
  }
  void recv_typed(void* base, const Type& type) {
    MPI_Recv(base, 1, type.get(), partner_, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  void pack(const void* base, const Type& type, void* to, std::size_t bytes) {
    int position = 0;
    MPI_Pack(base, 1, type.get(), to, static_cast<int>(bytes), &position, MPI_COMM_WORLD);
  }
  void unpack(const void* from, std::size_t bytes, void* base, const Type& type) {
    int position = 0;
    MPI_Unpack(from, static_cast<int>(bytes), &position, base, 1, type.get(), MPI_COMM_WORLD);
  }
  Type make_type(const Recipe& recipe);

  Buffer allocate(std::size_t bytes);
  void barrier() { MPI_Barrier(MPI_COMM_WORLD); }
  long broadcast(long number);
  std::vector<double> gather(double mine);
  /// Library, PML, processes and where each is bound. Collective.
  Environment environment();

 private:
  static constexpr int kTag = 1;
  MPI_Request& at(int slot) { return slots_[static_cast<std::size_t>(slot)]; }

  int rank_ = 0;
  int size_ = 0;
  int partner_ = 0;
  std::vector<MPI_Request> slots_;
};

}  // namespace stria::bench
