// The collectives of a mix that move data. Where there is a choice one side has a gap after every element:
// the collective makes types of its own from it.
#include <memory>
#include <vector>

#include "osu_bench/mpi/drawn.hpp"

namespace stria::bench {
namespace {

struct Movement {
  Draw d{};
  MPI_Datatype spaced = MPI_DATATYPE_NULL;
  std::string name;
  // Of the calls with a count for each rank: how many elements rank r has, and where they are. After every
  // second is a gap.
  std::vector<int> counts, places;
  int total = 0;
  std::vector<int> out, in;

  /// What `rank` contributes, from its element `from` on.
  std::vector<int> values(int rank, int from, int length) const {
    std::vector<int> made(at(length));
    for (int i = 0; i < length; ++i) made[at(i)] = static_cast<int>(d.value(rank, from + i));
    return made;
  }
  void clear_in(int length) { in.assign(at(length), kUntouched); }

  /// What is wrong at element `place` of `in` and behind it, where `length` of `rank` should be. A spaced
  /// element is an int followed by one that stays as it was.
  std::string check(int place, int rank, int from, int length, bool gaps) const {
    for (int i = 0; i < length; ++i) {
      const int got = in[at(gaps ? 2 * (place + i) : place + i)];
      if (got != d.value(rank, from + i) || (gaps && in[at(2 * (place + i) + 1)] != kUntouched))
        return text(name, ": element ", i, " from rank ", rank, " is ", got);
    }
    return "";
  }
  /// The same of what every rank sent, `each(rank)` being its check.
  template <class Each>
  std::string check_ranks(Each&& each) const {
    std::string wrong;
    for (int r = 0; r < d.size && wrong.empty(); ++r) wrong = each(r);
    return wrong;
  }
  std::string check_end(int place) const {
    return in[at(place)] == kUntouched ? "" : name + ": wrote too much";
  }

  static constexpr int kUntouched = -1;
};

using State = std::shared_ptr<Movement>;

Collective bcast(const State& s) {
  Collective made;
  made.prepare = [s] {
    s->clear_in(2 * s->d.count);
    for (int i = 0; i < s->d.count && s->d.rank == s->d.root; ++i)
      s->in[at(2 * i)] = static_cast<int>(s->d.value(s->d.root, i));
  };
  made.call = [s](MPI_Request& q) {
    const Draw& d = s->d;
    d.nonblocking ? MPI_Ibcast(s->in.data(), d.count, s->spaced, d.root, d.comm, &q)
                  : MPI_Bcast(s->in.data(), d.count, s->spaced, d.root, d.comm);
  };
  made.check = [s] { return s->check(0, s->d.root, 0, s->d.count, true); };
  return made;
}

Collective gather(const State& s) {
  Collective made;
  made.prepare = [s] {
    s->clear_in(2 * s->d.count * s->d.size);
    s->out = s->values(s->d.rank, 0, s->d.count);
  };
  made.call = [s](MPI_Request& q) {
    const Draw& d = s->d;
    const int n = d.count;
    d.nonblocking ? MPI_Igather(s->out.data(), n, MPI_INT, s->in.data(), n, s->spaced, d.root, d.comm, &q)
                  : MPI_Gather(s->out.data(), n, MPI_INT, s->in.data(), n, s->spaced, d.root, d.comm);
  };
  made.check = [s] {
    const int n = s->d.rank == s->d.root ? s->d.count : 0;
    return s->check_ranks([&](int r) { return s->check(r * n, r, 0, n, true); });
  };
  return made;
}

Collective scatter(const State& s) {
  Collective made;
  made.prepare = [s] {
    s->clear_in(2 * s->d.count);
    s->out = s->values(s->d.root, 0, s->d.count * s->d.size);
  };
  made.call = [s](MPI_Request& q) {
    const Draw& d = s->d;
    const int n = d.count;
    d.nonblocking ? MPI_Iscatter(s->out.data(), n, MPI_INT, s->in.data(), n, s->spaced, d.root, d.comm, &q)
                  : MPI_Scatter(s->out.data(), n, MPI_INT, s->in.data(), n, s->spaced, d.root, d.comm);
  };
  made.check = [s] { return s->check(0, s->d.root, s->d.rank * s->d.count, s->d.count, true); };
  return made;
}

Collective allgather(const State& s) {
  Collective made;
  made.prepare = [s] {
    s->clear_in(2 * s->d.count * s->d.size);
    s->out = s->values(s->d.rank, 0, s->d.count);
  };
  made.call = [s](MPI_Request& q) {
    const Draw& d = s->d;
    const int n = d.count;
    d.nonblocking ? MPI_Iallgather(s->out.data(), n, MPI_INT, s->in.data(), n, s->spaced, d.comm, &q)
                  : MPI_Allgather(s->out.data(), n, MPI_INT, s->in.data(), n, s->spaced, d.comm);
  };
  made.check = [s] {
    const int n = s->d.count;
    return s->check_ranks([&](int r) { return s->check(r * n, r, 0, n, true); });
  };
  return made;
}

Collective alltoall(const State& s) {
  Collective made;
  const bool gaps_sent = !s->d.nonblocking && s->d.one_alltoall_layout;
  made.prepare = [s, gaps_sent] {
    const int all = s->d.count * s->d.size;
    s->clear_in(2 * all);
    s->out = s->values(s->d.rank, 0, all);
    if (!gaps_sent) return;
    s->out.resize(at(2 * all));
    for (int i = all; i-- > 0;) s->out[at(2 * i)] = s->out[at(i)];
  };
  made.call = [s, gaps_sent](MPI_Request& q) {
    const Draw& d = s->d;
    const int n = d.count;
    d.nonblocking
        ? MPI_Ialltoall(s->out.data(), n, MPI_INT, s->in.data(), n, s->spaced, d.comm, &q)
        : MPI_Alltoall(s->out.data(), n, gaps_sent ? s->spaced : MPI_INT, s->in.data(), n, s->spaced, d.comm);
  };
  made.check = [s] {
    const int n = s->d.count;
    return s->check_ranks([&](int r) { return s->check(r * n, r, s->d.rank * n, n, true); });
  };
  return made;
}

Collective gatherv(const State& s) {
  Collective made;
  made.prepare = [s] {
    s->clear_in(s->total + 1);
    s->out = s->values(s->d.rank, 0, s->counts[at(s->d.rank)]);
  };
  made.call = [s](MPI_Request&) {
    MPI_Gatherv(s->out.data(), s->counts[at(s->d.rank)], MPI_INT, s->in.data(), s->counts.data(),
                s->places.data(), MPI_INT, s->d.root, s->d.comm);
  };
  made.check = [s]() -> std::string {
    if (s->d.rank != s->d.root) return "";
    return s->check_ranks([&](int r) { return s->check(s->places[at(r)], r, 0, s->counts[at(r)], false); });
  };
  return made;
}

Collective scatterv(const State& s) {
  Collective made;
  made.prepare = [s] {
    s->clear_in(s->d.count + 1);
    s->out = s->values(s->d.root, 0, s->total);
  };
  made.call = [s](MPI_Request&) {
    MPI_Scatterv(s->out.data(), s->counts.data(), s->places.data(), MPI_INT, s->in.data(),
                 s->counts[at(s->d.rank)], MPI_INT, s->d.root, s->d.comm);
  };
  made.check = [s] {
    const int mine = s->counts[at(s->d.rank)];
    const std::string wrong = s->check(0, s->d.root, s->places[at(s->d.rank)], mine, false);
    return wrong.empty() ? s->check_end(mine) : wrong;
  };
  return made;
}

Collective allgatherv(const State& s) {
  Collective made;
  made.prepare = [s] {
    s->clear_in(s->total + 1);
    s->out = s->values(s->d.rank, 0, s->counts[at(s->d.rank)]);
  };
  made.call = [s](MPI_Request& q) {
    const Draw& d = s->d;
    const int mine = s->counts[at(d.rank)];
    d.nonblocking ? MPI_Iallgatherv(s->out.data(), mine, MPI_INT, s->in.data(), s->counts.data(),
                                    s->places.data(), MPI_INT, d.comm, &q)
                  : MPI_Allgatherv(s->out.data(), mine, MPI_INT, s->in.data(), s->counts.data(),
                                   s->places.data(), MPI_INT, d.comm);
  };
  made.check = [s] {
    return s->check_ranks([&](int r) { return s->check(s->places[at(r)], r, 0, s->counts[at(r)], false); });
  };
  return made;
}

/// MPI_Alltoallv, or MPI_Alltoallw: rank r sends counts[(r + s) % size] elements to rank s, so as many come
/// from it.
Collective alltoallv(const State& s, bool by_bytes) {
  struct Exchange {
    std::vector<int> counts, send_places, receive_places;
    std::vector<int> send_bytes, receive_bytes;  // the places of MPI_Alltoallw
    std::vector<MPI_Datatype> types;
    int sends = 0, receives = 0;
  };
  const auto e = std::make_shared<Exchange>();
  for (int r = 0; r < s->d.size; ++r) {
    const int count = s->counts[at((s->d.rank + r) % s->d.size)];
    e->counts.push_back(count);
    e->send_places.push_back(e->sends);
    e->receive_places.push_back(e->receives);
    e->sends += count;
    e->receives += count + 1;
  }
  for (const int place : e->send_places) e->send_bytes.push_back(place * static_cast<int>(sizeof(int)));
  for (const int place : e->receive_places) e->receive_bytes.push_back(place * static_cast<int>(sizeof(int)));
  e->types.assign(at(s->d.size), MPI_INT);
  Collective made;
  made.prepare = [s, e] {
    s->out.assign(at(e->sends) + 1, 0);
    for (int r = 0; r < s->d.size; ++r) {
      for (int i = 0; i < e->counts[at(r)]; ++i)
        s->out[at(e->send_places[at(r)] + i)] = static_cast<int>(s->d.value(s->d.rank, r * s->d.count + i));
    }
    s->clear_in(e->receives);
  };
  made.call = [s, e, by_bytes](MPI_Request&) {
    if (by_bytes) {
      MPI_Alltoallw(s->out.data(), e->counts.data(), e->send_bytes.data(), e->types.data(), s->in.data(),
                    e->counts.data(), e->receive_bytes.data(), e->types.data(), s->d.comm);
    } else {
      MPI_Alltoallv(s->out.data(), e->counts.data(), e->send_places.data(), MPI_INT, s->in.data(),
                    e->counts.data(), e->receive_places.data(), MPI_INT, s->d.comm);
    }
  };
  made.check = [s, e] {
    return s->check_ranks([&](int r) {
      const int place = e->receive_places[at(r)];
      const int count = e->counts[at(r)];
      const std::string wrong = s->check(place, r, s->d.rank * s->d.count, count, false);
      return wrong.empty() ? s->check_end(place + count) : wrong;
    });
  };
  return made;
}

}  // namespace

Collective draw_movement(const Draw& d, Dice& dice, MPI_Datatype spaced) {
  struct Kind {
    const char* name;
    Collective (*make)(const State&);
    bool may_not_block;
  };
  constexpr Kind kinds[] = {
      {"bcast", bcast, true},
      {"gather", gather, true},
      {"scatter", scatter, true},
      {"allgather", allgather, true},
      {"alltoall", alltoall, true},
      {"gatherv", gatherv, false},
      {"scatterv", scatterv, false},
      {"allgatherv", allgatherv, true},
      {"alltoallv", [](const State& s) { return alltoallv(s, false); }, false},
      {"alltoallw", [](const State& s) { return alltoallv(s, true); }, false},
  };
  const Kind& kind = kinds[dice.below(std::size(kinds))];
  const auto s = std::make_shared<Movement>();
  s->d = d;
  s->spaced = spaced;
  s->name = text(d.nonblocking && kind.may_not_block ? "non-blocking " : "", kind.name, " of ", d.count,
                 " ints, root ", d.root);
  for (int r = 0; r < d.size; ++r) {
    s->counts.push_back(static_cast<int>(dice.below(at(d.count) + 1)));
    s->places.push_back(s->total);
    s->total += s->counts.back() + r % 2;
  }
  Collective made = kind.make(s);
  made.name = s->name;
  return made;
}

}  // namespace stria::bench
