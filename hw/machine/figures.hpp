// The figures of a machine by name, for the file that keeps them and for people.
#pragma once

#include <string>

#include "hw/machine.hpp"

namespace stria::hw {

struct FigureText {
  const char* name;  ///< in the file; those of a pair are preceded by "near." or "far."
  const char* unit;
  const char* meaning;
};
struct CoreFigure : FigureText {
  double Machine::*value;
};
struct PairFigure : FigureText {
  double Pair::*value;
};

inline constexpr CoreFigure kCoreFigures[] = {
    {{"column_plain", "ns", "an element of a column is written, each in a page of its own"},
     &Machine::column_plain_ns},
    {{"column_few", "ns", "the same with 3 stores after each element"}, &Machine::column_few_ns},
    {{"column_many", "ns", "the same with 10 stores after each element"}, &Machine::column_many_ns},
    {{"own_vectors", "ns", "64 KiB of this core are copied by vectors"}, &Machine::own_vectors_ns},
    {{"own_strings", "ns", "the same by the string instruction"}, &Machine::own_strings_ns},
    {{"attach_start", "us", "cross-memory attach of one page"}, &Machine::attach_start_us},
};
inline constexpr PairFigure kPairFigures[] = {
    {{"round_trip", "ns", "a word goes to the other core and back"}, &Pair::round_trip_ns},
    {{"line", "ns", "a line that the other core wrote is read, one of many"}, &Pair::line_ns},
    {{"vectors_4k", "ns", "4 KiB are stored by vectors to lines that the other core has"},
     &Pair::vectors_4k_ns},
    {{"strings_4k", "ns", "the same by the string instruction"}, &Pair::strings_4k_ns},
    {{"past_4k", "ns", "the same past the caches"}, &Pair::past_4k_ns},
    {{"vectors_16k", "ns", "16 KiB are stored by vectors to lines that the other core has"},
     &Pair::vectors_16k_ns},
    {{"strings_16k", "ns", "the same by the string instruction"}, &Pair::strings_16k_ns},
    {{"past_16k", "ns", "the same past the caches"}, &Pair::past_16k_ns},
    {{"take_vectors", "ns", "64 KiB that the other core wrote are copied by vectors"},
     &Pair::take_vectors_ns},
    {{"take_strings", "ns", "the same by the string instruction"}, &Pair::take_strings_ns},
    {{"cells", "us/KiB", "one core copies into shared memory while the other copies out of it"},
     &Pair::cells_us_per_kib},
    {{"attach", "us/KiB", "cross-memory attach of what the other core wrote"}, &Pair::attach_us_per_kib},
};

/// Calls `f(name, text, value)` for each figure. `M` is Machine or const Machine.
template <class M, class F>
void for_each_figure(M& machine, F&& f) {
  for (const CoreFigure& figure : kCoreFigures) f(std::string(figure.name), figure, machine.*figure.value);
  for (const PairFigure& figure : kPairFigures)
    f(std::string("near.") + figure.name, figure, machine.near.*figure.value);
  for (const PairFigure& figure : kPairFigures)
    f(std::string("far.") + figure.name, figure, machine.far.*figure.value);
}

}  // namespace stria::hw
