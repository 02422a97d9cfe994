// RailReads: what the receiver of one message knows while it reads the message by several links
// (rail_reader.hpp): the keys of the rails, and the gets under way.
//
//   rail   unknown ──► asked ──► open                its key came
//                        │         │
//                        └─────────┴──► left out     it got no key, it died, or a get by it failed
//
// A rail that was left out stays out for this message: the other links read the bytes that it did not bring.
// A key that came is kept until the message is over, and is then ended by a packet of its rail
// (end_rail_keys.cpp).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "rndv/division.hpp"
#include "rndv/operation.hpp"

namespace stria::rndv {

class RailReader;

/// One get under way.
struct GetPiece : transport::Completion {
  GetPiece() noexcept : transport::Completion{} {}
  RailReader* reader = nullptr;
  RecvOp* op = nullptr;  ///< null: this GetPiece is free
  const transport::LinkRef* link = nullptr;
  Division::Range range{0, 0};
};

class RailReads {
 public:
  struct Rail {
    enum class State : std::uint8_t { asked, open, left_out };
    const transport::LinkRef* link = nullptr;
    State state = State::asked;
    transport::Key key;  ///< of 0 bytes: no key came yet, or the key has ended
  };

  void clear() noexcept {
    count_ = in_flight_ = 0;
    ended_ = 0;
    get_refused = counted = false;
    for (GetPiece& piece : pieces_) piece.op = nullptr;
  }
  /// The flags of a FIN have a bit for each number.
  static_assert(STRIA_DEVICES_MAX <= 8);

  std::span<Rail> rails() noexcept { return {rails_.data(), count_}; }
  /// The rail's entry; null: the rail is unknown.
  Rail* find(const transport::LinkRef& link) noexcept {
    for (Rail& one : rails())
      if (one.link == &link) return &one;
    return nullptr;
  }
  /// The number of the rail that is added next.
  std::uint8_t next_number() const noexcept { return static_cast<std::uint8_t>(count_); }
  /// Adds the rail: the sender was asked for a key by it, or it is left out at once. False: there are more
  /// rails than a worker has devices.
  bool add(const transport::LinkRef& link, Rail::State state) noexcept {
    if (count_ == rails_.size()) return false;
    Rail& rail = rails_[count_++];
    rail.link = &link;
    rail.state = state;
    rail.key.bytes = 0;
    return true;
  }
  void leave_out(const transport::LinkRef& link) noexcept {
    if (Rail* const rail = find(link)) rail->state = Rail::State::left_out;
  }
  /// The rail is dead: it is left out, and its key, if it has one, has ended.
  void rail_died(const transport::LinkRef& link) noexcept {
    Rail* const rail = find(link);
    if (rail == nullptr) return;
    rail->state = Rail::State::left_out;
    if (rail->key.bytes != 0) key_ended(*rail);
  }
  /// The rail's key ends without a call of the sender's: by a packet that was sent, or with the rail.
  void key_ended(Rail& rail) noexcept {
    rail.key.bytes = 0;
    ended_ = static_cast<std::uint8_t>(ended_ | 1u << (&rail - rails_.data()));
  }
  /// The rails whose keys ended in that way (key_ended()), a bit for each rail's number.
  std::uint8_t ended() const noexcept { return ended_; }

  /// Takes a free GetPiece. There is one, as there are as many as pieces in a division.
  GetPiece& begin_get() noexcept {
    ++in_flight_;
    GetPiece* piece = pieces_.data();
    while (piece->op != nullptr) ++piece;
    return *piece;
  }
  void end_get(GetPiece& piece) noexcept {
    --in_flight_;
    piece.op = nullptr;
  }
  bool any_in_flight() const noexcept { return in_flight_ != 0; }

  bool get_refused = false;  ///< a get by the main link was refused, and no more begin
  bool counted = false;      ///< the message is in the counters

 private:
  unsigned count_ = 0;
  unsigned in_flight_ = 0;
  std::uint8_t ended_ = 0;
  std::array<Rail, STRIA_DEVICES_MAX> rails_;  // the first count_ are in use
  std::array<GetPiece, Division::kMaxPieces> pieces_;
};

}  // namespace stria::rndv
