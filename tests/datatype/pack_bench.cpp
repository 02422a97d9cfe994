// Question: what do pack, unpack and layout-to-layout copies cost, against the loop an application would
// write by hand (by_hand.hpp) and against memcpy of as many bytes? Names are shape/way, so that the ways of
// one shape stand side by side:
//   stria.pack hand.pack stria.unpack hand.unpack memcpy
// Every result is checked outside the timed part. One row a shape: tools of Google Benchmark, for example
//   pack_bench --benchmark_filter=column --benchmark_repetitions=5 --benchmark_report_aggregates_only=true
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "datatype/pack.hpp"
#include "tests/datatype/bench_lists.hpp"
#include "tests/datatype/by_hand.hpp"

namespace {

using stria::datatype::Layout;
using namespace stria::bench;
namespace hand = stria::by_hand;

/// Zeroed pages of their own, so that every shape meets the same alignment.
class Memory {
 public:
  explicit Memory(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
    void* p =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (p == MAP_FAILED) std::abort();
    data_ = static_cast<std::byte*>(p);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { munmap(data_, bytes_); }
  std::byte* data() const { return data_; }
  double* doubles() const { return reinterpret_cast<double*>(data_); }
  void fill() {
    for (std::size_t i = 0; i < bytes_; ++i) data_[i] = static_cast<std::byte>(i * 2654435761U >> 11);
  }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

/// A shape, with its loops by hand. `memory` is what the layout lies in.
struct Shape {
  Layout layout;
  std::int64_t count = 1;
  std::int64_t memory = 0;
  std::function<void(std::byte*memory, std::byte*stream)> gather, scatter;
  std::int64_t bytes() const { return layout.size() * count; }
};
using MakeShape = std::function<Shape()>;

struct Buffers {
  explicit Buffers(const Shape& shape) : memory(shape.memory), stream(shape.bytes()), other(shape.bytes()) {
    memory.fill();
    stream.fill();
  }
  Memory memory, stream, other;
};

/// The buffers of the shape that is measured now. All ways of a shape use the same ones: which pages they are
/// decides what evicts what in the physically indexed caches, which is worth 40% for a column.
struct Current {
  std::string name;
  std::unique_ptr<Shape> shape;
  std::unique_ptr<Buffers> buffers;
};
Current& current(const std::string& name, const MakeShape& make) {
  static Current one;
  if (one.name != name) {
    one.buffers.reset();
    one.shape = std::make_unique<Shape>(make());
    one.buffers = std::make_unique<Buffers>(*one.shape);
    one.name = name;
  }
  return one;
}

void pack_all(const Shape& s, const Memory& memory, std::byte* out) {
  stria::datatype::pack(stria::datatype::range_of(s.layout, memory.data(), s.count, 0, s.bytes()), out);
}
void unpack_all(const Shape& s, const Memory& memory, const std::byte* in) {
  stria::datatype::unpack(stria::datatype::range_of(s.layout, memory.data(), s.count, 0, s.bytes()), in);
}

/// The timed loop, then the check: the packed stream of both ways is the same.
template <class Step>
void time_of(benchmark::State& state, const Shape& s, Buffers& b, Step step) {
  for (auto _ : state) {
    step();
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * s.bytes());
  Memory check(s.bytes());
  pack_all(s, b.memory, b.other.data());
  s.gather(b.memory.data(), check.data());
  if (std::memcmp(check.data(), b.other.data(), static_cast<std::size_t>(s.bytes())) != 0)
    state.SkipWithError("wrong bytes");
}

void declare(const std::string& name, MakeShape make) {
  auto add = [&](const char* way, auto step) {
    benchmark::RegisterBenchmark((name + "/" + way).c_str(), [name, make, step](benchmark::State& state) {
      const Current& now = current(name, make);
      const Shape& s = *now.shape;
      Buffers& b = *now.buffers;
      time_of(state, s, b, [&] { step(s, b); });
    });
  };
  add("stria.pack", [](const Shape& s, Buffers& b) { pack_all(s, b.memory, b.stream.data()); });
  add("hand.pack", [](const Shape& s, Buffers& b) { s.gather(b.memory.data(), b.stream.data()); });
  add("stria.unpack", [](const Shape& s, Buffers& b) { unpack_all(s, b.memory, b.stream.data()); });
  add("hand.unpack", [](const Shape& s, Buffers& b) { s.scatter(b.memory.data(), b.stream.data()); });
  add("memcpy", [](const Shape& s, Buffers& b) {
    std::memcpy(b.other.data(), b.stream.data(), static_cast<std::size_t>(s.bytes()));
  });
}

double* doubles(std::byte* p) {
  return reinterpret_cast<double*>(p);
}

/// `count` blocks of `block` doubles, `stride` doubles apart.
Shape strided_doubles(std::int64_t count, std::int64_t block, std::int64_t stride) {
  return {must(Layout::vector(count, block, stride * 8, Layout::bytes(8))), 1, count * stride * 8,
          [=](std::byte* m, std::byte* s) { hand::gather(doubles(m), stride, block, count, doubles(s)); },
          [=](std::byte* m, std::byte* s) { hand::scatter(doubles(s), doubles(m), stride, block, count); }};
}

Layout layout_of(const List& list) {
  Vec lengths(list.lengths.begin(), list.lengths.end()), places(list.places.begin(), list.places.end());
  for (std::int64_t& p : places) p *= 8;
  return must(Layout::indexed(lengths, places, Layout::bytes(8)));
}
Shape irregular(std::int64_t n, int most) {
  const auto list = std::make_shared<List>(irregular_list(n, most));
  return {layout_of(*list), 1, std::int64_t{list->end} * 8,
          [=](std::byte* m, std::byte* s) {
            hand::gather_list(doubles(m), list->places.data(), list->lengths.data(), n, doubles(s));
          },
          [=](std::byte* m, std::byte* s) {
            hand::scatter_list(doubles(s), doubles(m), list->places.data(), list->lengths.data(), n);
          }};
}

/// Blocks of 1..most bytes, as a message of text lines has them: no length can be guessed.
Shape mixed(std::int64_t n, std::int64_t most) {
  const auto lengths = std::make_shared<Vec>(), places = std::make_shared<Vec>();
  std::uint64_t x = 1;
  std::int64_t end = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    lengths->push_back(1 + static_cast<std::int64_t>((x >> 33) % static_cast<std::uint64_t>(most)));
    places->push_back(end);
    end += lengths->back() + 1 + static_cast<std::int64_t>((x >> 48) % 32);
  }
  return {must(Layout::indexed(*lengths, *places, Layout::bytes(1))), 1, end,
          [=](std::byte* m, std::byte* s) { hand::gather_bytes(m, places->data(), lengths->data(), n, s); },
          [=](std::byte* m, std::byte* s) { hand::scatter_bytes(s, m, places->data(), lengths->data(), n); }};
}

/// Some of the particles of five arrays, array by array: positions, three integers, charges. `nearest`: how
/// near the next may be; 1: neighbours occur, whose blocks are one.
Shape particles(std::int64_t n, std::int64_t nearest) {
  const auto chosen = std::make_shared<Vec>();
  std::uint64_t x = 1;
  std::int64_t end = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    chosen->push_back(end);
    end += nearest + static_cast<std::int64_t>((x >> 33) % 6);
  }
  const Vec ones(static_cast<std::size_t>(n), 1), counts(hand::kArrays, 1);
  Vec places, starts;
  std::vector<Layout> arrays;
  std::int64_t at = 0;
  for (const std::int64_t bytes : hand::kElementBytes) {
    places.clear();
    for (const std::int64_t i : *chosen) places.push_back(i * bytes);
    arrays.push_back(must(Layout::indexed(ones, places, Layout::bytes(bytes))));
    starts.push_back(at);
    at += end * bytes;
  }
  return {must(Layout::composite(counts, starts, arrays)), 1, at,
          [=](std::byte* m, std::byte* s) { hand::gather_particles(m, end, chosen->data(), n, s); },
          [=](std::byte* m, std::byte* s) { hand::scatter_particles(s, m, end, chosen->data(), n); }};
}

Shape records(std::int64_t n) {
  const Layout record = must(Layout::resized(
      must(Layout::composite(Vec{1, 1, 1}, Vec{0, 8, 12},
                             std::vector<Layout>{Layout::bytes(8), Layout::bytes(4), Layout::bytes(1)})),
      0, sizeof(hand::Record)));
  return {
      record, n, n * static_cast<std::int64_t>(sizeof(hand::Record)),
      [=](std::byte* m, std::byte* s) { hand::gather_records(reinterpret_cast<hand::Record*>(m), n, s); },
      [=](std::byte* m, std::byte* s) { hand::scatter_records(s, reinterpret_cast<hand::Record*>(m), n); }};
}
/// The same with a hole inside: {int at 0; double at 8; char at 20}.
Shape records_with_hole(std::int64_t n, std::int64_t extent) {
  const Layout record = must(Layout::resized(
      must(Layout::composite(Vec{1, 1, 1}, Vec{0, 8, 20},
                             std::vector<Layout>{Layout::bytes(4), Layout::bytes(8), Layout::bytes(1)})),
      0, extent));
  return {record, n, n * extent,
          [=](std::byte* m, std::byte* s) {
            for (std::int64_t i = 0; i < n; ++i, m += extent, s += 13) {
              std::memcpy(s, m, 4);
              std::memcpy(s + 4, m + 8, 8);
              std::memcpy(s + 12, m + 20, 1);
            }
          },
          [=](std::byte* m, std::byte* s) {
            for (std::int64_t i = 0; i < n; ++i, m += extent, s += 13) {
              std::memcpy(m, s, 4);
              std::memcpy(m + 8, s + 4, 8);
              std::memcpy(m + 20, s + 12, 1);
            }
          }};
}

/// All columns of a matrix, one after the other.
Shape transposed(std::int64_t n) {
  const Layout column = must(Layout::strided(n, n * 8, Layout::bytes(8)));
  return {must(Layout::strided(n, 8, column)), 1, n * n * 8,
          [=](std::byte* m, std::byte* s) { hand::transpose(doubles(m), n, doubles(s)); },
          [=](std::byte* m, std::byte* s) { hand::transpose(doubles(s), n, doubles(m)); }};
}

/// Fragments of `fragment` bytes, one a call, round and round through a column.
void fragments(const std::string& name, std::int64_t rows, std::int64_t fragment) {
  auto add = [&](const char* way, bool packs, bool by_hand) {
    benchmark::RegisterBenchmark((name + "/" + way).c_str(), [=](benchmark::State& state) {
      const Current& now = current(name, [=] { return strided_doubles(rows, 1, rows); });
      const Shape& s = *now.shape;
      Buffers& b = *now.buffers;
      std::int64_t at = 0;
      time_of(state, s, b, [&] {
        const std::int64_t first = at / 8, n = fragment / 8;
        if (!by_hand && packs)
          stria::datatype::pack(stria::datatype::range_of(s.layout, b.memory.data(), 1, at, fragment),
                                b.stream.data());
        else if (!by_hand)
          stria::datatype::unpack(stria::datatype::range_of(s.layout, b.memory.data(), 1, at, fragment),
                                  b.stream.data());
        else if (packs)
          hand::gather(b.memory.doubles() + first * rows, rows, 1, n, b.stream.doubles());
        else
          hand::scatter(b.stream.doubles(), b.memory.doubles() + first * rows, rows, 1, n);
        at += fragment;
        if (at + fragment > s.bytes()) at = 0;
      });
      state.SetBytesProcessed(state.iterations() * fragment);
    });
  };
  add("stria.pack", true, false);
  add("hand.pack", true, true);
  add("stria.unpack", false, false);
  add("hand.unpack", false, true);
}

/// Layout to layout, without a packed copy by the caller.
void declare_transfer(const std::string& name, MakeShape from, MakeShape to,
                      std::function<void(std::byte* from, std::byte* to)> by_hand) {
  auto add = [&](const char* way, auto step) {
    benchmark::RegisterBenchmark((name + "/" + way).c_str(), [=](benchmark::State& state) {
      const Shape f = from(), t = to();
      Buffers a(f), b(t);
      for (auto _ : state) {
        step(f, a, t, b);
        benchmark::ClobberMemory();
      }
      state.SetBytesProcessed(state.iterations() * f.bytes());
      pack_all(f, a.memory, a.other.data());
      pack_all(t, b.memory, b.other.data());
      if (std::memcmp(a.other.data(), b.other.data(), static_cast<std::size_t>(f.bytes())) != 0)
        state.SkipWithError("wrong bytes");
    });
  };
  add("stria.transfer", [](const Shape& f, Buffers& a, const Shape& t, Buffers& b) {
    stria::datatype::transfer(stria::datatype::range_of(f.layout, a.memory.data(), f.count, 0, f.bytes()),
                              stria::datatype::range_of(t.layout, b.memory.data(), t.count, 0, f.bytes()));
  });
  add("hand.transfer", [by_hand](const Shape&, Buffers& a, const Shape&, Buffers& b) {
    by_hand(a.memory.data(), b.memory.data());
  });
}

/// By hand: gathered, then scattered.
std::function<void(std::byte* from, std::byte* to)> through_a_stream(const MakeShape& from,
                                                                     const MakeShape& to) {
  const auto source = std::make_shared<Shape>(from()), sink = std::make_shared<Shape>(to());
  const auto stream = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(source->bytes()));
  return [=](std::byte* a, std::byte* b) {
    source->gather(a, stream->data());
    sink->scatter(b, stream->data());
  };
}

std::string number(std::int64_t n) {
  return std::to_string(n);
}

void declare_packing() {
  for (std::int64_t n = 64; n <= 8192; n *= 2)
    declare("column/" + number(n), [=] { return strided_doubles(n, 1, n); });
  for (std::int64_t n : {100, 520, 1000, 3000})
    declare("column/" + number(n), [=] { return strided_doubles(n, 1, n); });
  for (std::int64_t bytes = 8; bytes <= 16384; bytes *= 2)
    declare("vector_1M/" + number(bytes),
            [=] { return strided_doubles((1 << 20) / bytes, bytes / 8, bytes / 4); });
  for (std::int64_t bytes : {24, 40, 72, 200})
    declare("vector_odd/" + number(bytes), [=] { return strided_doubles(4096, bytes / 8, bytes / 8 * 3); });
  for (std::int64_t bytes : {8, 16, 1024})
    declare("vector_16M/" + number(bytes),
            [=] { return strided_doubles((1 << 24) / bytes, bytes / 8, bytes / 4); });
  declare("blocks_64/1M", [] { return strided_doubles(1 << 14, 8, 16); });
  declare("blocks_64/16M", [] { return strided_doubles(1 << 18, 8, 16); });
  for (std::int64_t n : {100, 1000, 10000, 100000, 1000000}) {
    declare("indexed_1_16/" + number(n), [=] { return irregular(n, 16); });
    if (n < 1000000) declare("indexed_1/" + number(n), [=] { return irregular(n, 1); });
  }
  for (std::int64_t most : {32, 64, 128})
    declare("mixed_100000/" + number(most), [=] { return mixed(100000, most); });
  for (std::int64_t n : {1000, 10000, 100000}) {
    declare("particles/" + number(n), [=] { return particles(n, 2); });
    declare("particles_near/" + number(n), [=] { return particles(n, 1); });
  }
  for (std::int64_t n : {1, 10, 100, 1000, 100000, 1000000})
    declare("struct/" + number(n), [=] { return records(n); });
  for (std::int64_t n : {1000, 100000}) {
    declare("struct_hole_24/" + number(n), [=] { return records_with_hole(n, 24); });
    declare("struct_hole_104/" + number(n), [=] { return records_with_hole(n, 104); });
  }
  declare("face_128/x", [] { return strided_doubles(16384, 1, 128); });
  declare("face_128/y", [] { return strided_doubles(128, 128, 16384); });
  declare("face_512_512_64/x", [] { return strided_doubles(1 << 18, 1, 64); });
  declare("face_512_512_64/y", [] { return strided_doubles(512, 64, 32768); });
}

void declare_transposed() {
  for (std::int64_t n : {64, 256, 1024, 2048}) {
    declare("transposed/" + number(n), [=] { return transposed(n); });
    declare_transfer(
        "transposed_to_rows/" + number(n), [=] { return transposed(n); },
        [=] { return strided_doubles(n, n, n); },
        [=](std::byte* a, std::byte* b) { hand::transpose(doubles(a), n, doubles(b)); });
  }
  for (std::int64_t n : {256, 1024})
    declare_transfer(
        "transposed_to_padded_rows/" + number(n), [=] { return transposed(n); },
        [=] { return strided_doubles(n, n, n + 8); },
        [=](std::byte* a, std::byte* b) {
          for (std::int64_t j = 0; j < n; ++j)
            hand::gather(doubles(a) + j, n, 1, n, doubles(b) + j * (n + 8));
        });
}

void declare_transfers() {
  for (std::int64_t n : {512, 2048})
    declare_transfer(
        "column_to_column/" + number(n), [=] { return strided_doubles(n, 1, n); },
        [=] { return strided_doubles(n, 1, n + 8); },
        [=](std::byte* a, std::byte* b) { hand::move_column(doubles(a), n, doubles(b), n + 8, n); });
  for (std::int64_t n : {1000, 10000, 100000, 1000000}) {
    const auto list = std::make_shared<List>(irregular_list(n, 16));
    const auto same = [=] { return irregular(n, 16); };
    declare_transfer("list_to_list/" + number(n), same, same, [=](std::byte* a, std::byte* b) {
      hand::move_list(doubles(a), doubles(b), list->places.data(), list->lengths.data(), n);
    });
  }
  for (std::int64_t n : {1000, 10000, 100000}) {
    const auto same = [=] { return particles(n, 2); };
    declare_transfer("particles_to_particles/" + number(n), same, same, through_a_stream(same, same));
  }
  for (std::int64_t n : {1000, 100000}) {
    const auto declare_records = [&](const std::string& name, const MakeShape& from, const MakeShape& to) {
      declare_transfer(name + "/" + number(n), from, to, through_a_stream(from, to));
    };
    const auto tight = [=] { return records(n); };
    const auto hole_24 = [=] { return records_with_hole(n, 24); };
    const auto hole_104 = [=] { return records_with_hole(n, 104); };
    declare_records("struct_to_struct", tight, tight);
    declare_records("struct_hole_to_same", hole_24, hole_24);
    declare_records("struct_hole_to_struct", hole_24, tight);
    declare_records("struct_hole_24_to_104", hole_24, hole_104);
  }
}

void declare_fragments_and_commits() {
  for (std::int64_t bytes : {8, 64, 512}) fragments("fragment_of_column_64/" + number(bytes), 64, bytes);
  for (std::int64_t bytes : {4096, 16384}) fragments("fragment_of_column_4096/" + number(bytes), 4096, bytes);
  for (std::int64_t n : {1000, 100000, 1000000}) declare_commits(n);
}

}  // namespace

int main(int argc, char** argv) {
  // What is freed goes back to the system, from this size on; else a benchmark recycles pages from its second
  // round on, for lists as for their copies, and each kind as it happens to.
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  declare_packing();
  declare_transposed();
  declare_transfers();
  declare_fragments_and_commits();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
