// Which message a receive got is read from its status: the i-th receive that names a channel (communicator,
// source, tag), in the order of posting, got the channel's i-th message. That it is so the bytes tell; that
// the receives which might have got it stood in MPI's order is then a rule for each pair. See verdict.hpp.
#include "tests/mpi/p2p_random/verdict.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <vector>

namespace p2p_random {
namespace {

using mpitest::expect;
using mpitest::text;

struct Match {
  const Receiving* receiving;
  const Message* message;
  [[nodiscard]] std::string text() const {
    return mpitest::text(message->bytes, " bytes of rank ", message->source, " with tag ", message->tag,
                         " on communicator ", message->comm, " in mode ", static_cast<int>(message->mode),
                         ", ended by ", receiving->pending.ended_by, ", into ", receiving->buffer.text());
  }
};

using Channel = std::tuple<int, int, int>;  // communicator, source, tag

std::vector<Match> matches_of(const Round& round, const Plan& plan, const Communicators& comms) {
  std::map<Channel, std::vector<const Message*>> sent;
  for (const Message& m : plan.messages) {
    if (m.destination == comms.rank()) sent[{m.comm, m.source, m.tag}].push_back(&m);
  }
  std::map<Channel, std::size_t> taken;
  std::vector<Match> matches;
  for (const Receiving& r : round.receives()) {
    const int comm = r.receive->comm;
    const int source = comms.named(comm, r.pending.status.MPI_SOURCE);
    const Channel channel{comm, source, r.pending.status.MPI_TAG};
    const std::size_t next = taken[channel]++;
    const auto& messages = sent[channel];
    if (!expect(next < messages.size(),
                text("a receive on communicator ", comm, " ended by ", r.pending.ended_by, " with error ",
                     r.pending.error, " names message ", next, " of rank ", source, " with tag ",
                     r.pending.status.MPI_TAG, ", of which there are ", messages.size())))
      continue;
    matches.push_back({&r, messages[next]});
  }
  return matches;
}

void check_status(const Match& match) {
  const MPI_Status& status = match.receiving->pending.status;
  const auto bytes = static_cast<MPI_Count>(match.message->bytes);
  MPI_Count elements = -1;
  MPI_Get_elements_x(&status, MPI_BYTE, &elements);
  if (elements != bytes) expect(false, text("MPI_Get_elements_x ", elements, ": ", match.text()));
  int ints = -1;
  MPI_Get_count(&status, MPI_INT, &ints);
  if (ints != (bytes % 4 == 0 ? static_cast<int>(bytes / 4) : MPI_UNDEFINED))
    expect(false, text("MPI_Get_count ", ints, " integers: ", match.text()));
  int cancelled = 0;
  MPI_Test_cancelled(&status, &cancelled);
  if (cancelled != 0) expect(false, "said to be cancelled: " + match.text());
}

// A probe names the message that is received then.
void check_probe(const Match& match) {
  const MPI_Status& probed = match.receiving->probed;
  const MPI_Status& status = match.receiving->pending.status;
  MPI_Count bytes = -1;
  MPI_Get_elements_x(&probed, MPI_BYTE, &bytes);
  if (probed.MPI_SOURCE != status.MPI_SOURCE || probed.MPI_TAG != status.MPI_TAG ||
      bytes != static_cast<MPI_Count>(match.message->bytes))
    expect(false, text("probed ", bytes, " bytes of ", probed.MPI_SOURCE, " with tag ", probed.MPI_TAG, ": ",
                       match.text()));
}

void check_match(const Match& match) {
  const Receiving& r = *match.receiving;
  const Message& m = *match.message;
  expect(selects(*r.receive, m), "taken by a receive that does not match: " + match.text());
  if (r.was_probed) check_probe(match);
  const bool fits = m.bytes <= r.receive->capacity;
  const int error = class_of(r.pending.error);
  if (error != (fits ? MPI_SUCCESS : MPI_ERR_TRUNCATE))
    expect(false, text("error class ", error, " with room for ", r.receive->capacity, ": ", match.text()));
  if (fits) {
    check_status(match);
    expect(r.buffer.holds(m.key, m.bytes), "wrong bytes: " + match.text());
  } else {
    expect(r.buffer.untouched_outside(),
           "a truncated message was written outside of the type: " + match.text());
  }
}

// Messages of one source do not overtake: when two receives, each posted before the next, both match the
// first message, the first receive gets it.
void check_order(const std::vector<Match>& matches) {
  for (auto first = matches.begin(); first != matches.end(); ++first) {
    for (auto second = first + 1; second != matches.end(); ++second) {
      const Message& got = *first->message;
      const Message& later = *second->message;
      const bool overtaken = got.comm == later.comm && got.source == later.source && &later < &got &&
                             selects(*first->receiving->receive, later);
      if (overtaken) expect(false, text("overtaken: ", later.bytes, " bytes by ", first->text()));
    }
  }
}

}  // namespace

void check_round(const Round& round, const Plan& plan, const Communicators& comms) {
  const std::vector<Match> matches = matches_of(round, plan, comms);
  for (const Match& match : matches) check_match(match);
  check_order(matches);
  for (const Sending& s : round.sends()) {
    const Message& m = *s.message;
    expect(s.pending.error == MPI_SUCCESS && s.buffer.holds(m.key, m.bytes),
           text("send of ", m.bytes, " bytes: error ", s.pending.error,
                ", or its memory changed: ", s.buffer.text()));
  }
}

}  // namespace p2p_random
