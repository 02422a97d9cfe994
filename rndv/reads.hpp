// Reads: what the receiver of one message knows while it reads it by several links (rail_reader.hpp): the
// keys of the rails, and the gets under way.
//
//   rail   unknown ──► asked ──► open                its key came
//                        │         │
//                        └─────────┴──► left out     there is no key, it died, or a get by it failed
//
// A rail that was left out stays so for the message: the other links read what it did not.
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
  RecvOp* op = nullptr;  ///< null: it is free
  const transport::LinkRef* link = nullptr;
  Division::Range range{0, 0};
};

class Reads {
 public:
  struct Rail {
    enum class State : std::uint8_t { asked, open, left_out };
    const transport::LinkRef* link = nullptr;
    State state = State::asked;
    transport::Key key;
  };

  void clear() noexcept {
    count_ = in_flight_ = 0;
    refused = counted = false;
    for (GetPiece& piece : pieces_) piece.op = nullptr;
  }
  /// Null: the rail is unknown.
  Rail* find(const transport::LinkRef& link) noexcept {
    for (Rail& one : std::span(rails_.data(), count_))
      if (one.link == &link) return &one;
    return nullptr;
  }
  /// The rail was asked for a key. False: there are more rails than a worker has devices.
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

  /// One that is free: there are as many as pieces in a division.
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

  bool refused = false;  ///< a get by the main link was refused, and no more begin
  bool counted = false;  ///< the message is in the counters

 private:
  unsigned count_ = 0;
  unsigned in_flight_ = 0;
  std::array<Rail, STRIA_DEVICES_MAX> rails_;  // the first count_
  std::array<GetPiece, Division::kMost> pieces_;
};

}  // namespace stria::rndv
