// What one round does, drawn alike by every rank from (seed, round), so that a receiver knows what was
// sent and nobody needs to say it: the messages, and for each rank the receives in the order in which it
// posts them. A plan always ends: whatever order messages of different sources come in, MPI's ordering
// rule leaves no receive alone.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/mpi/harness.hpp"

namespace p2p_random {

enum class SendMode { standard, buffered, synchronous, ready, kinds };

/// What is first: all receives, all sends, or some receives.
enum class Arrival { expected, unexpected, mixed, kinds };

/// The communicators of a campaign; communicators.hpp makes them.
enum CommIndex { kStraight, kDuplicate, kReversed, kTransient, kComms };

/// Ranks are those of the campaign's own communicator; what others call them is for communicators.hpp.
struct Message {
  int source = 0;
  int destination = 0;
  int comm = 0;
  int tag = 0;
  std::uint64_t bytes = 0;
  SendMode mode = SendMode::standard;
  std::uint64_t key = 0;  // of the bytes
};

struct Receive {
  int comm = 0;
  int source = 0;  // or MPI_ANY_SOURCE
  int tag = 0;     // or MPI_ANY_TAG
  std::uint64_t capacity = 0;
  bool may_fail = false;  // some message that it may match is longer
};

struct PlanRules {
  int ranks = 2;
  bool truncate = true;
  bool threads = false;             // several campaigns at once in each process
  std::uint64_t largest = 1 << 21;  // of a message, in bytes; for runs over layers that have bounds
};

struct Plan {
  Arrival arrival = Arrival::expected;
  bool meet_before_receives = false;           // unexpected messages are there when their receives come
  bool renew_transient = false;                // its communicator is freed with messages in flight
  std::vector<Message> messages;               // each rank sends its own in this order
  std::vector<std::vector<Receive>> receives;  // of each rank, in the order of posting
};

Plan draw_plan(std::uint64_t seed, std::uint64_t round, const PlanRules& rules);

/// Whether a receive with these selectors matches the message, its communicator and destination given.
bool selects(const Receive& receive, const Message& message);

}  // namespace p2p_random
