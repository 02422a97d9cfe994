// Collectives drawn at random: operation, root, counts, types and reduction, blocking or not, each against an
// answer computed locally (everyone knows what everyone contributes). Runs from 2 ranks to far more ranks
// than cores.
//   --iterations=N (default 400)  --largest=N elements (default 20000)
//   --alltoall-layouts=one|two (default one): does MPI_Alltoall send by the receiver's type, or by another?
// Two are wrong in Open MPI 4.1.4 among many ranks, over any layer: its Bruck algorithm (coll/base, chosen by
// coll/tuned) reads by the receiver's type what lies in the sender's layout, also beyond its end.
#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/mpi/harness.hpp"

namespace {

using namespace mpitest;

struct Draw {
  MPI_Comm comm;
  int rank;
  int size;
  std::uint64_t key;
  int count;
  int root;
  bool nonblocking;
  bool one_alltoall_layout;
};

// What rank contributes as element i: small, so that sums and products of doubles are exact.
long value_of(const Draw& d, int rank, int i) {
  return static_cast<long>(
      mix(d.key + static_cast<std::uint64_t>(rank) * 1000003 + static_cast<std::uint64_t>(i)) % 251);
}

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

void finish(const Draw& d, MPI_Request& request) {
  if (d.nonblocking) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// A reduction that is associative but not commutative: composition of x -> a x + b modulo 65521.
struct Affine {
  int a;
  int b;
};
Affine compose(Affine first, Affine second) {
  constexpr long long kModulus = 65521;
  return {static_cast<int>(1LL * first.a * second.a % kModulus),
          static_cast<int>((1LL * first.b * second.a + second.b) % kModulus)};
}
void compose_all(void* in, void* inout, int* length, MPI_Datatype*) {
  auto* first = static_cast<Affine*>(in);
  auto* second = static_cast<Affine*>(inout);
  for (int i = 0; i < *length; ++i) second[i] = compose(first[i], second[i]);
}

template <class T>
void reductions(const Draw& d, MPI_Datatype type, Rng& rng, const char* name) {
  struct Operation {
    MPI_Op op;
    long (*apply)(long, long);
  };
  const Operation operations[] = {{MPI_SUM, [](long a, long b) { return a + b; }},
                                  {MPI_MAX, [](long a, long b) { return std::max(a, b); }},
                                  {MPI_MIN, [](long a, long b) { return std::min(a, b); }}};
  const Operation& o = operations[rng.below(3)];
  const auto upto = [&](int last, int i) {  // over ranks 0..last
    long result = value_of(d, 0, i);
    for (int r = 1; r <= last; ++r) result = o.apply(result, value_of(d, r, i));
    return static_cast<T>(result);
  };
  std::vector<T> out(at(d.count));
  std::vector<T> in(at(d.count), static_cast<T>(-1));
  for (int i = 0; i < d.count; ++i) out[at(i)] = static_cast<T>(value_of(d, d.rank, i));
  MPI_Request q = MPI_REQUEST_NULL;
  const std::uint64_t kind = rng.below(6);
  const std::string what = text(name, " reduction kind ", kind, " count ", d.count, " root ", d.root);
  step(what);
  int begin = 0;
  int end = d.count;
  int last = d.size - 1;
  bool has_result = true;
  switch (kind) {
    case 0:
      d.nonblocking ? MPI_Iallreduce(out.data(), in.data(), d.count, type, o.op, d.comm, &q)
                    : MPI_Allreduce(out.data(), in.data(), d.count, type, o.op, d.comm);
      break;
    case 1:
      d.nonblocking ? MPI_Ireduce(out.data(), in.data(), d.count, type, o.op, d.root, d.comm, &q)
                    : MPI_Reduce(out.data(), in.data(), d.count, type, o.op, d.root, d.comm);
      has_result = d.rank == d.root;
      break;
    case 2:
      d.nonblocking ? MPI_Iscan(out.data(), in.data(), d.count, type, o.op, d.comm, &q)
                    : MPI_Scan(out.data(), in.data(), d.count, type, o.op, d.comm);
      last = d.rank;
      break;
    case 3:
      d.nonblocking ? MPI_Iexscan(out.data(), in.data(), d.count, type, o.op, d.comm, &q)
                    : MPI_Exscan(out.data(), in.data(), d.count, type, o.op, d.comm);
      last = d.rank - 1;
      has_result = d.rank > 0;
      break;
    case 4: {
      std::vector<int> counts(at(d.size), 0);
      for (int left = d.count, r = 0; r < d.size; ++r) {
        counts[at(r)] =
            r == d.size - 1 ? left : static_cast<int>(rng.below(static_cast<std::uint64_t>(left) + 1));
        left -= counts[at(r)];
      }
      begin = std::accumulate(counts.begin(), counts.begin() + d.rank, 0);
      end = begin + counts[at(d.rank)];
      std::vector<T> part(at(end - begin) + 1, static_cast<T>(-1));
      d.nonblocking ? MPI_Ireduce_scatter(out.data(), part.data(), counts.data(), type, o.op, d.comm, &q)
                    : MPI_Reduce_scatter(out.data(), part.data(), counts.data(), type, o.op, d.comm);
      finish(d, q);
      expect(part.back() == static_cast<T>(-1), what + ": wrote too much");
      std::copy(part.begin(), part.end() - 1, in.begin() + begin);
      break;
    }
    default: {
      const int each = d.count / d.size;
      begin = each * d.rank;
      end = begin + each;
      std::vector<T> part(at(each) + 1, static_cast<T>(-1));
      MPI_Reduce_scatter_block(out.data(), part.data(), each, type, o.op, d.comm);
      expect(part.back() == static_cast<T>(-1), what + ": wrote too much");
      std::copy(part.begin(), part.end() - 1, in.begin() + begin);
      break;
    }
  }
  finish(d, q);
  for (int i = begin; i < end && has_result; ++i) {
    if (!expect(in[at(i)] == upto(last, i),
                text(what, ": element ", i, " got ", in[at(i)], " wanted ", upto(last, i))))
      break;
  }
}

void ordered_reduction(const Draw& d, MPI_Op op, MPI_Datatype type) {
  step("reduction that does not commute");
  const auto element = [&](int rank, int i) {
    return Affine{1 + static_cast<int>(value_of(d, rank, i)), static_cast<int>(value_of(d, rank, i + 7))};
  };
  std::vector<Affine> out(at(d.count));
  std::vector<Affine> in(at(d.count));
  for (int i = 0; i < d.count; ++i) out[at(i)] = element(d.rank, i);
  MPI_Allreduce(out.data(), in.data(), d.count, type, op, d.comm);
  for (int i = 0; i < d.count; ++i) {
    Affine wanted = element(0, i);
    for (int r = 1; r < d.size; ++r) wanted = compose(wanted, element(r, i));
    if (!expect(in[at(i)].a == wanted.a && in[at(i)].b == wanted.b, text("ordered reduction, element ", i)))
      break;
  }
}

// Data movement with a gap after every element on one side: the collective makes types of its own from it.
void movements(const Draw& d, Rng& rng, MPI_Datatype spaced) {
  const std::uint64_t kind = rng.below(10);
  const std::string what = text("movement kind ", kind, " count ", d.count, " root ", d.root);
  step(what);
  const int n = d.count;
  const int all = n * d.size;
  MPI_Request q = MPI_REQUEST_NULL;
  std::vector<int> counts(at(d.size));
  std::vector<int> places(at(d.size));
  int total = 0;
  for (int r = 0; r < d.size; ++r) {
    counts[at(r)] = static_cast<int>(mix(d.key + at(r)) % (at(n) + 1));
    places[at(r)] = total;
    total += counts[at(r)] + r % 2;
  }
  const auto mine = [&](int rank, int from, int length) {
    std::vector<int> values(at(length));
    for (int i = 0; i < length; ++i) values[at(i)] = static_cast<int>(value_of(d, rank, from + i));
    return values;
  };
  // A spaced element is an int followed by one that must stay -1.
  const auto check = [&](const std::vector<int>& in, int place, int rank, int from, int length, bool gaps) {
    for (int i = 0; i < length; ++i) {
      const int got = in[at(gaps ? 2 * (place + i) : place + i)];
      if (!expect(got == value_of(d, rank, from + i) && (!gaps || in[at(2 * (place + i) + 1)] == -1),
                  text(what, ": element ", i, " from rank ", rank, " is ", got)))
        return;
    }
  };
  switch (kind) {
    case 0: {
      std::vector<int> in(at(2 * n), -1);
      if (d.rank == d.root)
        for (int i = 0; i < n; ++i) in[at(2 * i)] = static_cast<int>(value_of(d, d.root, i));
      d.nonblocking ? MPI_Ibcast(in.data(), n, spaced, d.root, d.comm, &q)
                    : MPI_Bcast(in.data(), n, spaced, d.root, d.comm);
      finish(d, q);
      check(in, 0, d.root, 0, n, true);
      break;
    }
    case 1: {
      std::vector<int> in(at(2 * all), -1);
      const auto out = mine(d.rank, 0, n);
      d.nonblocking ? MPI_Igather(out.data(), n, MPI_INT, in.data(), n, spaced, d.root, d.comm, &q)
                    : MPI_Gather(out.data(), n, MPI_INT, in.data(), n, spaced, d.root, d.comm);
      finish(d, q);
      for (int r = 0; r < d.size && d.rank == d.root; ++r) check(in, r * n, r, 0, n, true);
      break;
    }
    case 2: {
      std::vector<int> in(at(2 * n), -1);
      const auto out = mine(d.root, 0, all);
      d.nonblocking ? MPI_Iscatter(out.data(), n, MPI_INT, in.data(), n, spaced, d.root, d.comm, &q)
                    : MPI_Scatter(out.data(), n, MPI_INT, in.data(), n, spaced, d.root, d.comm);
      finish(d, q);
      check(in, 0, d.root, d.rank * n, n, true);
      break;
    }
    case 3: {
      std::vector<int> in(at(2 * all), -1);
      const auto out = mine(d.rank, 0, n);
      d.nonblocking ? MPI_Iallgather(out.data(), n, MPI_INT, in.data(), n, spaced, d.comm, &q)
                    : MPI_Allgather(out.data(), n, MPI_INT, in.data(), n, spaced, d.comm);
      finish(d, q);
      for (int r = 0; r < d.size; ++r) check(in, r * n, r, 0, n, true);
      break;
    }
    case 4: {
      std::vector<int> in(at(2 * all), -1);
      auto out = mine(d.rank, 0, all);
      if (!d.nonblocking && d.one_alltoall_layout) {
        out.resize(at(2 * all));
        for (int i = all; i-- > 0;) out[at(2 * i)] = out[at(i)];
      }
      d.nonblocking ? MPI_Ialltoall(out.data(), n, MPI_INT, in.data(), n, spaced, d.comm, &q)
                    : MPI_Alltoall(out.data(), n, d.one_alltoall_layout ? spaced : MPI_INT, in.data(), n,
                                   spaced, d.comm);
      finish(d, q);
      for (int r = 0; r < d.size; ++r) check(in, r * n, r, d.rank * n, n, true);
      break;
    }
    case 5: {
      std::vector<int> in(at(total) + 1, -1);
      const auto out = mine(d.rank, 0, counts[at(d.rank)]);
      MPI_Gatherv(out.data(), counts[at(d.rank)], MPI_INT, in.data(), counts.data(), places.data(), MPI_INT,
                  d.root, d.comm);
      for (int r = 0; r < d.size && d.rank == d.root; ++r)
        check(in, places[at(r)], r, 0, counts[at(r)], false);
      break;
    }
    case 6: {
      std::vector<int> in(at(n) + 1, -1);
      const auto out = mine(d.root, 0, total);
      MPI_Scatterv(out.data(), counts.data(), places.data(), MPI_INT, in.data(), counts[at(d.rank)], MPI_INT,
                   d.root, d.comm);
      check(in, 0, d.root, places[at(d.rank)], counts[at(d.rank)], false);
      expect(in[at(counts[at(d.rank)])] == -1, what + ": wrote too much");
      break;
    }
    case 7: {
      std::vector<int> in(at(total) + 1, -1);
      const auto out = mine(d.rank, 0, counts[at(d.rank)]);
      d.nonblocking ? MPI_Iallgatherv(out.data(), counts[at(d.rank)], MPI_INT, in.data(), counts.data(),
                                      places.data(), MPI_INT, d.comm, &q)
                    : MPI_Allgatherv(out.data(), counts[at(d.rank)], MPI_INT, in.data(), counts.data(),
                                     places.data(), MPI_INT, d.comm);
      finish(d, q);
      for (int r = 0; r < d.size; ++r) check(in, places[at(r)], r, 0, counts[at(r)], false);
      break;
    }
    default: {  // alltoallv and alltoallw: rank r sends counts[(r + s) % size] elements to rank s
      std::vector<int> send_counts(at(d.size));
      std::vector<int> send_places(at(d.size));
      std::vector<int> receive_places(at(d.size));
      int receives = 0;
      int sends = 0;
      for (int r = 0; r < d.size; ++r) {
        send_counts[at(r)] = counts[at((d.rank + r) % d.size)];  // symmetric: as many come from r
        send_places[at(r)] = sends;
        receive_places[at(r)] = receives;
        sends += send_counts[at(r)];
        receives += send_counts[at(r)] + 1;
      }
      std::vector<int> out(at(sends) + 1);
      for (int r = 0; r < d.size; ++r) {
        for (int i = 0; i < send_counts[at(r)]; ++i)
          out[at(send_places[at(r)] + i)] = static_cast<int>(value_of(d, d.rank, r * n + i));
      }
      std::vector<int> in(at(receives), -1);
      if (kind == 8) {
        MPI_Alltoallv(out.data(), send_counts.data(), send_places.data(), MPI_INT, in.data(),
                      send_counts.data(), receive_places.data(), MPI_INT, d.comm);
      } else {
        const std::vector<MPI_Datatype> types(at(d.size), MPI_INT);
        for (int& place : send_places) place *= static_cast<int>(sizeof(int));
        std::vector<int> receive_bytes(receive_places);
        for (int& place : receive_bytes) place *= static_cast<int>(sizeof(int));
        MPI_Alltoallw(out.data(), send_counts.data(), send_places.data(), types.data(), in.data(),
                      send_counts.data(), receive_bytes.data(), types.data(), d.comm);
      }
      for (int r = 0; r < d.size; ++r) {
        check(in, receive_places[at(r)], r, d.rank * n, send_counts[at(r)], false);
        expect(in[at(receive_places[at(r)] + send_counts[at(r)])] == -1, what + ": wrote too much");
      }
      break;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv, "collectives_mix");
  const auto iterations = session.options.number("iterations", 400);
  const auto largest = session.options.number("largest", 20000);
  const bool one_alltoall_layout = session.options.get("alltoall-layouts", "one") != "two";
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Op composition = MPI_OP_NULL;
  MPI_Datatype affine = MPI_DATATYPE_NULL;
  MPI_Datatype spaced = MPI_DATATYPE_NULL;
  MPI_Op_create(compose_all, 0, &composition);
  MPI_Type_contiguous(2, MPI_INT, &affine);
  MPI_Type_commit(&affine);
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spaced);
  MPI_Type_commit(&spaced);
  for (std::uint64_t i = 0; i < iterations && failures() < 20; ++i) {
    Rng rng(session.seed * 1000003 + i);
    const int count = static_cast<int>(rng.chance(60) ? rng.below(200) : rng.below(largest + 1));
    const Draw d{comm,           session.rank,
                 session.size,   mix(session.seed + i),
                 count,          static_cast<int>(rng.below(static_cast<std::uint64_t>(session.size))),
                 rng.chance(40), one_alltoall_layout};
    switch (rng.below(7)) {
      case 0:
        reductions<int>(d, MPI_INT, rng, "int");
        break;
      case 1:
        reductions<long>(d, MPI_LONG, rng, "long");
        break;
      case 2:
        reductions<double>(d, MPI_DOUBLE, rng, "double");
        break;
      case 3:
        ordered_reduction(d, composition, affine);
        break;
      default:
        movements(d, rng, spaced);
        break;
    }
    if (rng.chance(10)) MPI_Barrier(comm);
  }
  MPI_Op_free(&composition);
  MPI_Type_free(&affine);
  MPI_Type_free(&spaced);
  MPI_Comm_free(&comm);
  return session.finish();
}
