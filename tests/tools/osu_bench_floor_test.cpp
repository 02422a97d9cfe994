// The plain loops that stand for what a machine can do: they move every case right, cut anywhere.
#include <gtest/gtest.h>

#include <vector>

#include "osu_bench/common/shape.hpp"
#include "osu_bench/floor/two_cores.hpp"

namespace stria::bench {
namespace {

/// Those that a sanitizer's build walks in a moment; osu_datatype_floor itself checks all.
std::vector<Case> cases() {
  std::vector<Case> all = datatype_cases({.largest = 400 << 10});
  std::erase_if(all, [](const Case& shape) { return shape.sent.end() > (4 << 20); });
  return all;
}

std::string name(const Case& shape) {
  return shape.name + " " + std::to_string(shape.parameter);
}

std::size_t room(const Recipe& shape) {
  return static_cast<std::size_t>(shape.end());
}

TEST(Loops, gather_the_packed_stream_and_scatter_it_in_fragments_of_any_length) {
  for (const Case& shape : cases()) {
    SCOPED_TRACE(name(shape));
    const Loops sent(shape.sent);
    const Loops received(shape.received);
    const auto bytes = static_cast<std::size_t>(shape.sent.size());
    Buffer out(room(shape.sent));
    fill_shape(shape.sent, out.data(), 7);
    for (const std::int64_t most : {100, 5000, 1 << 30}) {
      const auto cuts = (sent.is_plain() ? received : sent).cuts(most);
      ASSERT_EQ(cuts.back(), shape.sent.size());
      Buffer packed(bytes);
      Buffer in(room(shape.received));
      std::size_t at = 0;
      for (const auto& parts : sent.fragments(cuts))
        at += static_cast<std::size_t>(sent.gather(parts, out.data(), packed.data() + at));
      ASSERT_EQ(at, bytes);
      ASSERT_TRUE(has_pattern(packed.data(), bytes, 7));
      at = 0;
      for (const auto& parts : received.fragments(cuts))
        at += static_cast<std::size_t>(received.scatter(parts, packed.data() + at, in.data()));
      ASSERT_EQ(at, bytes);
      ASSERT_TRUE(shape_is_right(shape.received, in.data(), 7));
    }
  }
}

TEST(Loops, are_those_that_a_person_would_write) {
  const auto loops_of = [](const std::string& wanted) {
    return Loops(datatype_cases({.cases = {wanted}}).at(0).sent).all();
  };
  const auto only = [&](const std::string& wanted, Loop::Kind kind, std::int64_t block) {
    SCOPED_TRACE(wanted);
    const std::vector<Loop> loops = loops_of(wanted);
    ASSERT_EQ(loops.size(), 1U);
    EXPECT_EQ(loops[0].kind, kind);
    if (kind != Loop::Kind::irregular) {
      EXPECT_EQ(loops[0].block, block);
    }
  };
  only("column:512", Loop::Kind::strided, 8);
  only("face:0", Loop::Kind::plain, 128 * 128 * 8);
  only("face:1", Loop::Kind::strided, 128 * 8);
  only("face:2", Loop::Kind::strided, 8);
  only("lattice:3", Loop::Kind::strided, 48);
  only("struct:1000", Loop::Kind::strided, 13);
  only("indexed:1000", Loop::Kind::irregular, 0);
  const std::vector<Loop> arrays = loops_of("particles:100");
  ASSERT_EQ(arrays.size(), 3U);  // positions; three arrays of int in one list; charges
  for (const Loop& loop : arrays) EXPECT_EQ(loop.kind, Loop::Kind::listed);
  EXPECT_EQ(arrays[0].block, 24);
}

TEST(TwoCores, exchange_every_case_in_fragments) {
  const std::vector<int> on = cores();
  if (on.size() < 2) GTEST_SKIP() << "this process may run on one processor only, and two are needed";
  for (const Case& shape : cases()) {
    SCOPED_TRACE(name(shape));
    const Loops sent(shape.sent);
    const Loops received(shape.received);
    Buffer out[2], in[2];
    Sides sides{};
    for (std::size_t i = 0; i < 2; ++i) {
      out[i] = Buffer(room(shape.sent));
      in[i] = Buffer(room(shape.received));
      fill_shape(shape.sent, out[i].data(), i + 1);
      sides.out[i] = out[i].data();
      sides.in[i] = in[i].data();
    }
    TwoCores pair(sent, received, sides, 3000, {on[0], on[1]});
    for (int i = 0; i < 2; ++i) {
      pair.exchange();
      EXPECT_GT(pair.line_ns(), 0);
    }
    EXPECT_TRUE(shape_is_right(shape.received, sides.in[0], 2));
    EXPECT_TRUE(shape_is_right(shape.received, sides.in[1], 1));
  }
}

}  // namespace
}  // namespace stria::bench
