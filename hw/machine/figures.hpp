// The figures of a machine by name, for the file that keeps them and for people.
#pragma once

#include <string>

#include "hw/machine.hpp"

namespace stria::hw {

struct FigureText {
  const char* name;  ///< in the file, where "near." or "far." precedes the name of a pair's figure
  const char* unit;
  const char* meaning;
};
struct CoreFigure : FigureText {
  double Machine::*value;
};
struct PairFigure : FigureText {
  double CorePair::*value;
};

inline constexpr CoreFigure kCoreFigures[] = {
    {{"column_plain", "ns", "an element of a column is written, each in a page of its own"},
     &Machine::column_plain_ns},
    {{"column_few", "ns", "an element of a column is written, with 3 stores after each"},
     &Machine::column_few_ns},
    {{"column_many", "ns", "an element of a column is written, with 10 stores after each"},
     &Machine::column_many_ns},
    {{"own_vectors", "ns", "64 KiB of this core are copied by vectors"}, &Machine::own_vectors_ns},
    {{"own_strings", "ns", "64 KiB of this core are copied by the string instruction"},
     &Machine::own_strings_ns},
    {{"attach_start", "us", "cross-memory attach of one page"}, &Machine::attach_start_us},
};
inline constexpr PairFigure kPairFigures[] = {
    {{"round_trip", "ns", "a word goes to the other core and back"}, &CorePair::round_trip_ns},
    {{"line", "ns", "a line that the other core wrote is read, one of many"}, &CorePair::line_ns},
    {{"vectors_4k", "ns", "4 KiB are stored by vectors to lines that the other core has"},
     &CorePair::vectors_4k_ns},
    {{"strings_4k", "ns", "4 KiB are stored by the string instruction to lines that the other core has"},
     &CorePair::strings_4k_ns},
    {{"past_4k", "ns", "4 KiB are stored by non-temporal stores to lines that the other core has"},
     &CorePair::nontemporal_4k_ns},
    {{"vectors_16k", "ns", "16 KiB are stored by vectors to lines that the other core has"},
     &CorePair::vectors_16k_ns},
    {{"strings_16k", "ns", "16 KiB are stored by the string instruction to lines that the other core has"},
     &CorePair::strings_16k_ns},
    {{"past_16k", "ns", "16 KiB are stored by non-temporal stores to lines that the other core has"},
     &CorePair::nontemporal_16k_ns},
    {{"take_vectors", "ns", "64 KiB that the other core wrote are copied by vectors"},
     &CorePair::take_vectors_ns},
    {{"take_strings", "ns", "64 KiB that the other core wrote are copied by the string instruction"},
     &CorePair::take_strings_ns},
    {{"cells", "us/KiB", "one core copies into shared memory while the other copies out of it"},
     &CorePair::cells_us_per_kib},
    {{"attach", "us/KiB", "cross-memory attach of what the other core wrote"}, &CorePair::attach_us_per_kib},
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
