// A connection that came to this device, until it is a link's: the dialled side of the handshake.
#pragma once

#include <cstdint>
#include <utility>

#include "base/fd.hpp"
#include "transport/tcp/handshake.hpp"
#include "transport/tcp/socket.hpp"

namespace stria::tcp {

class Guest {
 public:
  Guest(UniqueFd socket, std::uint64_t now) noexcept
      : socket_(std::move(socket)), ip_(peer_of(socket_)), since_(now) {}

  enum class State : std::uint8_t {
    talking,
    proven,    ///< it belongs to this job, and waits for decide()
    answered,  ///< it has the verdict
    gone       ///< it hung up, or it is none of ours
  };
  /// Goes on as far as it can without waiting.
  State advance(const Handshake& handshake) noexcept;
  /// Of a guest that is proven.
  void decide(const Decision& decision) noexcept;
  State state() const noexcept { return state_; }
  /// What it said of itself; valid from `proven` on.
  const Hello& hello() const noexcept { return hello_; }
  Verdict verdict() const noexcept { return decision_.verdict; }
  std::uint64_t since() const noexcept { return since_; }
  /// Where it comes from.
  const Ip& ip() const noexcept { return ip_; }
  const UniqueFd& socket() const noexcept { return socket_; }
  /// True once: it has been here for a while, and has said nothing (Reconnections).
  bool asks_by_silence(std::uint64_t now) noexcept;
  /// What it says is not what a device of this job would say.
  bool is_stranger() const noexcept { return stranger_; }
  UniqueFd take_socket() noexcept { return std::move(socket_); }

 private:
  enum class Turn : std::uint8_t { hello, challenge, answer, wait, decision };
  bool is_open() const noexcept;
  State turn_away() noexcept;

  UniqueFd socket_;
  Ip ip_;
  std::uint64_t since_;
  State state_ = State::talking;
  Turn turn_ = Turn::hello;
  Transfer transfer_;
  Hello hello_;
  Challenge challenge_;
  Answer answer_;
  Decision decision_;
  bool stranger_ = false;
  bool has_asked_ = false;
};

}  // namespace stria::tcp
