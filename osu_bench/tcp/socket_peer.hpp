// One TCP connection as a Peer: bytes by send() and recv() that do not wait, in a loop, and nothing else. It
// is what a message over TCP takes at the least. MPI starts the two processes and tells them of each other.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <string>
#include <vector>

#include "osu_bench/mpi/mpi_peer.hpp"

namespace stria::bench {

class SocketPeer {
 public:
  /// Throws std::runtime_error with the reason when the two cannot connect. Collective, of two processes.
  SocketPeer();
  ~SocketPeer();
  SocketPeer(const SocketPeer&) = delete;
  SocketPeer& operator=(const SocketPeer&) = delete;

  int rank() const { return mpi_.rank(); }
  int size() const { return mpi_.size(); }
  void send(const void* from, std::size_t bytes) {
    Part part{const_cast<std::byte*>(static_cast<const std::byte*>(from)), bytes};
    while (part.left > 0) push(part);
  }
  void recv(void* to, std::size_t bytes) {
    Part part{static_cast<std::byte*>(to), bytes};
    while (part.left > 0) pull(part);
  }
  // The stream has no slots: what was started first goes and comes first.
  void start_send(int /*slot*/, const void* from, std::size_t bytes) {
    outgoing_.push_back({const_cast<std::byte*>(static_cast<const std::byte*>(from)), bytes});
    if (sent_ + 1 == outgoing_.size() && bytes > 0) push(outgoing_.back());
  }
  void start_recv(int /*slot*/, void* to, std::size_t bytes) {
    incoming_.push_back({static_cast<std::byte*>(to), bytes});
  }
  /// All that was started, both ways.
  void wait_slots(int /*count*/) {
    for (std::size_t received = 0; sent_ < outgoing_.size() || received < incoming_.size();) {
      if (sent_ < outgoing_.size()) {
        if (outgoing_[sent_].left > 0) push(outgoing_[sent_]);
        if (outgoing_[sent_].left == 0) ++sent_;
      }
      if (received < incoming_.size()) {
        pull(incoming_[received]);
        if (incoming_[received].left == 0) ++received;
      }
    }
    outgoing_.clear();
    incoming_.clear();
    sent_ = 0;
  }
  void make_slots(int count) {
    outgoing_.reserve(static_cast<std::size_t>(count));
    incoming_.reserve(static_cast<std::size_t>(count));
  }
  Buffer allocate(std::size_t bytes) { return mpi_.allocate(bytes); }
  void barrier() { mpi_.barrier(); }
  long broadcast(long number) { return mpi_.broadcast(number); }
  std::vector<double> gather(double mine) { return mpi_.gather(mine); }
  /// MPI's, and the address that the processes found each other at. Collective.
  Environment environment();

 private:
  struct Part {
    std::byte* at;
    std::size_t left;
  };
  void push(Part& part) { moved(part, ::send(socket_, part.at, part.left, MSG_DONTWAIT | MSG_NOSIGNAL)); }
  void pull(Part& part) { moved(part, ::recv(socket_, part.at, part.left, MSG_DONTWAIT)); }
  static void moved(Part& part, ssize_t bytes);
  void connect();
  void accept();

  MpiPeer mpi_;
  int socket_ = -1;
  std::string address_;
  std::vector<Part> outgoing_, incoming_;
  std::size_t sent_ = 0;
};

}  // namespace stria::bench
