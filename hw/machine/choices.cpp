#include "hw/machine/choices.hpp"

#include <algorithm>
#include <cmath>

#include "base/format.hpp"

namespace stria::hw {
namespace {

/// Pacing costs time where a core holds few misses anyway, so it is taken at other strengths than the default
/// only where that is clearly faster.
Pacing pacing_of(const Machine& m) noexcept {
  const bool many = clearly_less(m.column_many_ns, m.column_few_ns);
  const bool off = clearly_less(m.column_plain_ns, m.column_few_ns);
  if (many && (!off || m.column_many_ns < m.column_plain_ns)) return Pacing::many;
  return off ? Pacing::off : Pacing::few;
}

std::uint32_t near_vectors_up_to(const CorePair& near) noexcept {
  if (!clearly_less(near.vectors_4k_ns, near.strings_4k_ns)) return 0;
  return clearly_less(near.vectors_16k_ns, near.strings_16k_ns) ? 16384 : 4096;
}

double attach_start_of(const Machine& m) noexcept {
  const double us = m.attach_start_us;
  const bool differs = clearly_less(us, kModelAttachStartUs) || clearly_less(kModelAttachStartUs, us);
  return differs ? us : 0;
}

/// Time for a KiB of two copies that overlap, in us. The measurement uses few cells again and again, whose
/// lines the other core may still have, so that stores wait for them. A program's ring of cells is larger
/// than that core's cache, and there the two take little longer than the slower one alone, by the fastest way
/// to store. So a time that is clearly longer counts as that. 0: not all of it was measured.
double pipeline_of(const CorePair& near) noexcept {
  const double stored_16k = std::min({near.vectors_16k_ns, near.strings_16k_ns, near.nontemporal_16k_ns});
  const double taken_64k = std::min(near.take_vectors_ns, near.take_strings_ns);
  if (near.cells_us_per_kib <= 0 || stored_16k <= 0 || taken_64k <= 0) return 0;
  const double slower_us_per_kib = std::max(stored_16k / 16, taken_64k / 64) / 1000;
  return std::min(near.cells_us_per_kib, kClearly * slower_us_per_kib);
}

/// The model weighs one copy through the kernel against two that overlap, so the proportion of both counts,
/// and not how fast each is.
double attach_factor_of(const CorePair& near) noexcept {
  const double pipeline = pipeline_of(near);
  if (near.attach_us_per_kib <= 0 || pipeline <= 0) return 1;
  const double factor = near.attach_us_per_kib / pipeline / kModelAttachToCells;
  constexpr double kMost = 4;  // what is measured as more is no property of a machine
  return factor > 1 / kClearly && factor < kClearly ? 1 : std::clamp(factor, 1 / kMost, kMost);
}

/// Whether the string instruction keeps up with non-temporal stores, which are never slow to far cores. Where
/// no far cores were met, near ones tell: an instruction that is clearly faster there than vectors fetches no
/// lines.
bool far_strings(const Machine& m) noexcept {
  if (m.far.strings_16k_ns > 0 && m.far.nontemporal_16k_ns > 0)
    return !clearly_less(m.far.nontemporal_16k_ns, m.far.strings_16k_ns);
  return clearly_less(m.near.strings_16k_ns, m.near.vectors_16k_ns);
}

/// Whether messages of a few KiB are better stored by vectors to the window of a far core than by
/// non-temporal stores to a cell, which costs a record and a fence more.
bool far_vectors(const CorePair& far) noexcept {
  constexpr double kGainsLess = 3;
  return far.vectors_4k_ns > 0 && far.vectors_4k_ns < kGainsLess * far.nontemporal_4k_ns;
}

/// Whether storing to lines that a far core has keeps up with that core's taking them. Then neither side of a
/// pipeline waits for the other. On processors whose string instruction fetches such lines first, storing
/// takes several times as long.
bool flows(const CorePair& far) noexcept {
  constexpr double kBlocks = 4;  // of 16 KiB in 64 KiB
  constexpr double kKeepsUp = 1.5;
  const double store = kBlocks * far.strings_16k_ns,
               take = std::min(far.take_vectors_ns, far.take_strings_ns);
  return store > 0 && take > 0 && store < kKeepsUp * take;
}

}  // namespace

Choices choices_of(const Machine& m) noexcept {
  Choices out;
  out.pacing = pacing_of(m);
  out.near_vectors_up_to = near_vectors_up_to(m.near);
  out.own_strings = !clearly_less(m.own_vectors_ns, m.own_strings_ns);
  out.long_strings = clearly_less(m.near.take_strings_ns, m.near.take_vectors_ns);
  out.far_strings = far_strings(m);
  out.far_vectors = far_vectors(m.far);
  out.flows = flows(m.far);
  out.attach_start_us = attach_start_of(m);
  out.attach_factor = attach_factor_of(m.near);
  return out;
}

std::vector<Decision> explain(const Machine& m) {
  const Choices c = choices_of(m), standard;
  const auto yes = [](bool value) { return value ? "yes" : "no"; };
  return {
      {"stores between the elements of a column", to_string(c.pacing),
       "column_plain, column_few, column_many", c.pacing != standard.pacing, "STRIA_PACING"},
      {"to near cells, vectors rather than the string instruction, up to",
       c.near_vectors_up_to == 0      ? "2 KiB"
       : c.near_vectors_up_to == 4096 ? "12 KiB"
                                      : "any length",
       "near.vectors_4k, near.strings_4k, near.vectors_16k, near.strings_16k", c.near_vectors_up_to != 0,
       "STRIA_STRINGS"},
      {"the string instruction for long copies within a process", yes(c.own_strings),
       "own_vectors, own_strings", c.own_strings != standard.own_strings, "STRIA_STRINGS"},
      {"the string instruction for long copies of what a near core wrote", yes(c.long_strings),
       "near.take_vectors, near.take_strings", c.long_strings != standard.long_strings, "STRIA_STRINGS"},
      {"to far cells, the string instruction rather than non-temporal stores", yes(c.far_strings),
       "far.strings_16k, far.past_16k, or near.strings_16k, near.vectors_16k",
       c.far_strings != standard.far_strings, "STRIA_STRINGS"},
      {"short messages to far cores by vectors rather than by non-temporal stores", yes(c.far_vectors),
       "far.vectors_4k, far.past_4k", c.far_vectors != standard.far_vectors, ""},
      {"long messages to far cores by fragments", yes(c.flows),
       "far.strings_16k, far.take_vectors, far.take_strings", c.flows != standard.flows, "STRIA_RNDV_FLOWS"},
      {"start of a get, in us",
       fmt::format("{:.1f}", c.attach_start_us > 0 ? c.attach_start_us : kModelAttachStartUs), "attach_start",
       c.attach_start_us > 0, ""},
      {"a get's time for each byte, to the cost model's", fmt::format("{:.2f}", c.attach_factor),
       "near.attach, near.cells, the fastest of 16 KiB stored and of 64 KiB taken", c.attach_factor != 1, ""},
  };
}

}  // namespace stria::hw
