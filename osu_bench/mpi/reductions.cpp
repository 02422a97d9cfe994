// The reductions of a mix.
#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "osu_bench/mpi/drawn.hpp"

namespace stria::bench {
namespace {

struct Operation {
  MPI_Op op;
  long (*apply)(long, long);
};

/// Into `in` comes what element `begin` and those behind it are summed to, over the ranks 0 to `last`.
template <class T>
struct Reduction {
  Draw d{};
  Operation operation{};
  std::vector<T> out, in;
  std::vector<int> counts;  // of MPI_Reduce_scatter
  int begin = 0, end = 0;
  int last = 0;
  bool has_result = true;

  T wanted(int i) const {
    long result = d.value(0, i);
    for (int r = 1; r <= last; ++r) result = operation.apply(result, d.value(r, i));
    return static_cast<T>(result);
  }
};

template <class T>
using State = std::shared_ptr<Reduction<T>>;

constexpr int kUntouched = -1;

template <class T>
Collective made_of(const State<T>& s, std::string name, std::function<void(MPI_Request&)> call) {
  Collective made;
  made.prepare = [s] {
    s->out.resize(at(s->d.count));
    for (int i = 0; i < s->d.count; ++i) s->out[at(i)] = static_cast<T>(s->d.value(s->d.rank, i));
    s->in.assign(at(s->end - s->begin) + 1, static_cast<T>(kUntouched));
  };
  made.call = std::move(call);
  made.check = [s, name]() -> std::string {
    for (int i = s->begin; i < s->end && s->has_result; ++i) {
      const T got = s->in[at(i - s->begin)];
      if (got != s->wanted(i)) return text(name, ": element ", i, " got ", got, " wanted ", s->wanted(i));
    }
    return s->in.back() == static_cast<T>(kUntouched) ? "" : name + ": wrote too much";
  };
  made.name = std::move(name);
  return made;
}

template <class T>
Collective reduction(const Draw& d, Dice& dice, MPI_Datatype type, const char* type_name) {
  const Operation operations[] = {{MPI_SUM, [](long a, long b) { return a + b; }},
                                  {MPI_MAX, [](long a, long b) { return std::max(a, b); }},
                                  {MPI_MIN, [](long a, long b) { return std::min(a, b); }}};
  const auto s = std::make_shared<Reduction<T>>();
  s->d = d;
  s->operation = operations[dice.below(3)];
  s->end = d.count;
  s->last = d.size - 1;
  const MPI_Op op = s->operation.op;
  const auto named = [&](const char* call) {
    return text(d.nonblocking ? "non-blocking " : "", call, " of ", d.count, " ", type_name, "s, root ",
                d.root);
  };
  switch (dice.below(6)) {
    case 0:
      return made_of<T>(s, named("allreduce"), [s, d, type, op](MPI_Request& q) {
        d.nonblocking ? MPI_Iallreduce(s->out.data(), s->in.data(), d.count, type, op, d.comm, &q)
                      : MPI_Allreduce(s->out.data(), s->in.data(), d.count, type, op, d.comm);
      });
    case 1:
      s->has_result = d.rank == d.root;
      return made_of<T>(s, named("reduce"), [s, d, type, op](MPI_Request& q) {
        d.nonblocking ? MPI_Ireduce(s->out.data(), s->in.data(), d.count, type, op, d.root, d.comm, &q)
                      : MPI_Reduce(s->out.data(), s->in.data(), d.count, type, op, d.root, d.comm);
      });
    case 2:
      s->last = d.rank;
      return made_of<T>(s, named("scan"), [s, d, type, op](MPI_Request& q) {
        d.nonblocking ? MPI_Iscan(s->out.data(), s->in.data(), d.count, type, op, d.comm, &q)
                      : MPI_Scan(s->out.data(), s->in.data(), d.count, type, op, d.comm);
      });
    case 3:
      s->last = d.rank - 1;
      s->has_result = d.rank > 0;
      return made_of<T>(s, named("exscan"), [s, d, type, op](MPI_Request& q) {
        d.nonblocking ? MPI_Iexscan(s->out.data(), s->in.data(), d.count, type, op, d.comm, &q)
                      : MPI_Exscan(s->out.data(), s->in.data(), d.count, type, op, d.comm);
      });
    case 4:
      s->counts.resize(at(d.size));
      for (int left = d.count, r = 0; r < d.size; ++r) {
        const auto some = static_cast<int>(dice.below(static_cast<std::uint64_t>(left) + 1));
        s->counts[at(r)] = r == d.size - 1 ? left : some;
        left -= s->counts[at(r)];
      }
      s->begin = std::accumulate(s->counts.begin(), s->counts.begin() + d.rank, 0);
      s->end = s->begin + s->counts[at(d.rank)];
      return made_of<T>(s, named("reduce_scatter"), [s, d, type, op](MPI_Request& q) {
        d.nonblocking
            ? MPI_Ireduce_scatter(s->out.data(), s->in.data(), s->counts.data(), type, op, d.comm, &q)
            : MPI_Reduce_scatter(s->out.data(), s->in.data(), s->counts.data(), type, op, d.comm);
      });
    default: {
      const int each = d.count / d.size;
      s->begin = each * d.rank;
      s->end = s->begin + each;
      return made_of<T>(s, named("reduce_scatter_block"), [s, d, type, op, each](MPI_Request&) {
        MPI_Reduce_scatter_block(s->out.data(), s->in.data(), each, type, op, d.comm);
      });
    }
  }
}

struct Affine {
  int a;
  int b;
};

Affine compose(Affine first, Affine second) {
  constexpr long long kModulus = 65521;
  return {static_cast<int>(1LL * first.a * second.a % kModulus),
          static_cast<int>((1LL * first.b * second.a + second.b) % kModulus)};
}

Affine element(const Draw& d, int rank, int i) {
  return {1 + static_cast<int>(d.value(rank, i)), static_cast<int>(d.value(rank, i + 7))};
}

}  // namespace

Collective draw_reduction(const Draw& d, Dice& dice) {
  switch (dice.below(3)) {
    case 0:
      return reduction<int>(d, dice, MPI_INT, "int");
    case 1:
      return reduction<long>(d, dice, MPI_LONG, "long");
    default:
      return reduction<double>(d, dice, MPI_DOUBLE, "double");
  }
}

void compose_affine(void* in, void* inout, int* length, MPI_Datatype*) {
  auto* first = static_cast<Affine*>(in);
  auto* second = static_cast<Affine*>(inout);
  for (int i = 0; i < *length; ++i) second[i] = compose(first[i], second[i]);
}

Collective draw_ordered_reduction(const Draw& d, MPI_Op op, MPI_Datatype type) {
  struct Both {
    std::vector<Affine> out, in;
  };
  const auto s = std::make_shared<Both>();
  Collective made;
  made.name = text("allreduce of ", d.count, " that does not commute");
  made.prepare = [s, d] {
    s->out.resize(at(d.count));
    for (int i = 0; i < d.count; ++i) s->out[at(i)] = element(d, d.rank, i);
    s->in.assign(at(d.count), Affine{});
  };
  made.call = [s, d, op, type](MPI_Request&) {
    MPI_Allreduce(s->out.data(), s->in.data(), d.count, type, op, d.comm);
  };
  made.check = [s, d, name = made.name]() -> std::string {
    for (int i = 0; i < d.count; ++i) {
      Affine wanted = element(d, 0, i);
      for (int r = 1; r < d.size; ++r) wanted = compose(wanted, element(d, r, i));
      if (s->in[at(i)].a != wanted.a || s->in[at(i)].b != wanted.b) return text(name, ": element ", i);
    }
    return "";
  };
  return made;
}

}  // namespace stria::bench
