// The seven programs: which template each runs, and with which options. `P` is the library under test.
#pragma once

#include <string>

#include "osu_bench/common/datatype.hpp"
#include "osu_bench/common/match.hpp"
#include "osu_bench/common/question.hpp"

namespace stria::bench {

inline Program program_of(Question question, const std::string& api) {
  switch (question) {
    case Question::latency:
      return {.name = "osu_latency", .title = api + " Latency Test", .rewrites = true, .min_size = 0};
    case Question::multi_lat:
      return {.name = "osu_multi_lat",
              .title = api + " Multi Latency Test",
              .processes = true,
              .rewrites = true,
              .min_size = 0};
    case Question::bw:
      return {.name = "osu_bw", .title = api + " Bandwidth Test", .window = true};
    case Question::bibw:
      return {.name = "osu_bibw", .title = api + " Bi-Directional Bandwidth Test", .window = true};
    case Question::mbw_mr:
      return {.name = "osu_mbw_mr",
              .title = api + " Multiple Bandwidth / Message Rate Test",
              .window = true,
              .processes = true};
    case Question::datatype:
      return {.name = "osu_datatype",
              .title = api + " Derived Datatype Test",
              .datatype = true,
              .ways = {"derived", "contiguous", "packed", "pack", "unpack"},
              .usual_ways = {"derived", "contiguous", "packed"}};
    case Question::match:
      return {.name = "osu_match",
              .title = api + " Matching Test",
              .window = true,
              .match = true,
              .ways = {"window", "drain"},
              .usual_ways = {"window", "drain"}};
  }
  return {};
}

/// Whether a number of processes suits the question: two, or an even number where there are several pairs.
inline bool takes_processes(Question question, int processes) {
  const bool pairs = question == Question::multi_lat || question == Question::mbw_mr;
  return pairs ? processes >= 2 && processes % 2 == 0 : processes == 2;
}

/// Returns whether every payload that was checked was right. Collective.
template <TypedPeer P>
bool run_question(Question question, P& peer, const Program& program, const Options& options) {
  switch (question) {
    case Question::latency:
    case Question::multi_lat:
      return run_latency(peer, program, options);
    case Question::bw:
    case Question::mbw_mr:
      return run_bandwidth(peer, program, options, Direction::one_way);
    case Question::bibw:
      return run_bandwidth(peer, program, options, Direction::both_ways);
    case Question::datatype:
      return run_datatype(peer, program, options);
    case Question::match:
      return run_match(peer, program, options);
  }
  return false;
}

}  // namespace stria::bench
