// What a machine's figures decide, their text, what they hold for, and which processors are measured. No test
// depends on how fast this machine is.
#include "hw/machine.hpp"

#include <gmock/gmock.h>

#include "hw/machine/choices.hpp"
#include "hw/machine/figures.hpp"
#include "hw/machine/identity.hpp"
#include "hw/machine/measure.hpp"
#include "hw/machine/processors.hpp"
#include "hw/machine/text.hpp"

namespace stria::hw {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A machine with another value for each figure.
Machine any_machine() {
  Machine machine;
  double value = 0.5;
  for_each_figure(machine,
                  [&](const std::string&, const FigureText&, double& figure) { figure = value += 0.25; });
  return machine;
}

bool are_equal(const Machine& a, const Machine& b) {
  return to_text({.fingerprint = 1, .tries = 1, .when = 1, .complete = true, .machine = a}) ==
         to_text({.fingerprint = 1, .tries = 1, .when = 1, .complete = true, .machine = b});
}

TEST(MachineChoices, are_the_defaults_where_nothing_was_measured) {
  const Choices found = choices_of({}), standard;
  EXPECT_EQ(found.pacing, standard.pacing);
  EXPECT_EQ(found.near_vectors_up_to, standard.near_vectors_up_to);
  EXPECT_EQ(found.own_strings, standard.own_strings);
  EXPECT_EQ(found.long_strings, standard.long_strings);
  EXPECT_EQ(found.far_strings, standard.far_strings);
  EXPECT_EQ(found.flows, standard.flows);
  EXPECT_EQ(found.attach_start_us, standard.attach_start_us);
  EXPECT_EQ(found.attach_factor, standard.attach_factor);
  for (const Decision& decision : explain({})) EXPECT_FALSE(decision.by_figures) << decision.what;
}

TEST(MachineChoices, follow_a_figure_only_where_it_differs_clearly) {
  Machine machine;
  machine.column_plain_ns = 10, machine.column_few_ns = 10, machine.column_many_ns = 9;
  EXPECT_EQ(choices_of(machine).pacing, Pacing::few);
  machine.column_many_ns = 8;
  EXPECT_EQ(choices_of(machine).pacing, Pacing::many);
  machine.column_plain_ns = 7;
  EXPECT_EQ(choices_of(machine).pacing, Pacing::off);
  machine.near.take_vectors_ns = 1000, machine.near.take_strings_ns = 900;
  EXPECT_FALSE(choices_of(machine).long_strings);
  machine.near.take_strings_ns = 800;
  EXPECT_TRUE(choices_of(machine).long_strings);
  machine.own_vectors_ns = 100, machine.own_strings_ns = 110;
  EXPECT_TRUE(choices_of(machine).own_strings);
  machine.own_strings_ns = 130;
  EXPECT_FALSE(choices_of(machine).own_strings);
  machine.far.strings_16k_ns = 2000;
  EXPECT_FALSE(choices_of(machine).flows) << "nothing to compare with";
  machine.far.take_vectors_ns = 4000, machine.far.take_strings_ns = 5000;
  EXPECT_FALSE(choices_of(machine).flows);
  machine.far.strings_16k_ns = 1400;
  EXPECT_TRUE(choices_of(machine).flows);
}

TEST(MachineChoices, take_the_string_instruction_to_far_cells_where_it_fetches_no_lines) {
  Machine machine;
  machine.near.vectors_16k_ns = 600, machine.near.strings_16k_ns = 550;
  EXPECT_FALSE(choices_of(machine).far_strings) << "near cores do not tell";
  machine.near.strings_16k_ns = 300;
  EXPECT_TRUE(choices_of(machine).far_strings) << "it does not fetch what vectors fetch";
  machine.far.strings_16k_ns = 2000, machine.far.nontemporal_16k_ns = 700;
  EXPECT_FALSE(choices_of(machine).far_strings);
  machine.far.strings_16k_ns = 750;
  EXPECT_TRUE(choices_of(machine).far_strings);
}

TEST(MachineChoices, take_vectors_to_far_windows_where_non_temporal_stores_gain_little) {
  Machine machine;
  EXPECT_FALSE(choices_of(machine).far_vectors) << "not measured";
  machine.far.vectors_4k_ns = 700, machine.far.nontemporal_4k_ns = 350;
  EXPECT_TRUE(choices_of(machine).far_vectors);
  machine.far.vectors_4k_ns = 2000;
  EXPECT_FALSE(choices_of(machine).far_vectors);
}

TEST(MachineChoices, take_vectors_to_near_cells_up_to_the_length_where_the_string_instruction_keeps_up) {
  Machine machine;
  machine.near.vectors_4k_ns = 100, machine.near.strings_4k_ns = 150;
  machine.near.vectors_16k_ns = 400, machine.near.strings_16k_ns = 400;
  EXPECT_EQ(choices_of(machine).near_vectors_up_to, 4096u);
  machine.near.strings_16k_ns = 600;
  EXPECT_EQ(choices_of(machine).near_vectors_up_to, 16384u);
  machine.near.strings_4k_ns = 100;
  EXPECT_EQ(choices_of(machine).near_vectors_up_to, 0u);
}

TEST(MachineChoices, weigh_a_get_by_its_proportion_to_overlapped_copies) {
  Machine machine;
  machine.near.attach_us_per_kib = 0.039, machine.near.cells_us_per_kib = 0.045;
  EXPECT_EQ(choices_of(machine).attach_factor, 1) << "not all that it takes was measured";
  machine.near.vectors_16k_ns = machine.near.strings_16k_ns = 1400, machine.near.nontemporal_16k_ns = 600;
  machine.near.take_vectors_ns = machine.near.take_strings_ns = 1500;
  machine.near.attach_us_per_kib = 0.08;
  EXPECT_EQ(choices_of(machine).attach_factor, 1);
  machine.near.cells_us_per_kib = 0.15;
  EXPECT_EQ(choices_of(machine).attach_factor, 1) << "few cells, whose lines the other core still has";
  machine.near.cells_us_per_kib = 0.045;
  machine.near.attach_us_per_kib = 0.039;
  EXPECT_NEAR(choices_of(machine).attach_factor, 0.5, 0.01);
  machine.near.attach_us_per_kib = 100;
  EXPECT_EQ(choices_of(machine).attach_factor, 4);
  machine.attach_start_us = 2.2;
  EXPECT_EQ(choices_of(machine).attach_start_us, 0);
  machine.attach_start_us = 0.5;
  EXPECT_EQ(choices_of(machine).attach_start_us, 0.5);
}

TEST(MachineText, holds_every_figure) {
  const StoredProfile record{
      .fingerprint = 0x123456789abcdef0, .tries = 2, .when = 1, .complete = true, .machine = any_machine()};
  const auto read = parse_profile(to_text(record));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->fingerprint, record.fingerprint);
  EXPECT_EQ(read->tries, 2u);
  EXPECT_TRUE(read->complete);
  EXPECT_TRUE(are_equal(read->machine, record.machine));
}

TEST(MachineText, leaves_out_what_was_not_measured) {
  const std::string text =
      to_text({.fingerprint = 1, .tries = 1, .when = 1, .complete = false, .machine = {}});
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("near.")));
  const auto read = parse_profile(text);
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(are_equal(read->machine, {}));
}

TEST(MachineText, is_refused_when_a_byte_is_changed_or_missing) {
  const std::string text =
      to_text({.fingerprint = 1, .tries = 1, .when = 1, .complete = true, .machine = any_machine()});
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(parse_profile(changed).has_value()) << at;
    EXPECT_FALSE(parse_profile(text.substr(0, at)).has_value()) << at;
  }
  EXPECT_FALSE(parse_profile(text + "x").has_value());
  EXPECT_FALSE(parse_profile(std::string(kLongestText + 1, ' ')).has_value());
}

TEST(MachineIdentity, has_another_file_for_each_thing_that_makes_a_profile_stale) {
  const Identity here{"node 1/a", "a processor", "a hypervisor", "6.1", "avx2", 64};
  EXPECT_THAT(here.file_name(), testing::MatchesRegex("machine-node_1_a-[0-9a-f]{16}"));
  for (const auto part : {&Identity::host, &Identity::processor, &Identity::hypervisor, &Identity::kernel,
                          &Identity::vectors}) {
    Identity other = here;
    other.*part += "x";
    EXPECT_NE(other.fingerprint(), here.fingerprint());
  }
  Identity other = here;
  other.processors = 46;
  EXPECT_NE(other.fingerprint(), here.fingerprint());
  EXPECT_EQ(Identity::of_this_machine(), Identity::of_this_machine());
}

TEST(MachineProcessors, are_read_from_the_systems_lists) {
  EXPECT_THAT(parse_processors("0-3,8\n"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(parse_processors("5"), ElementsAre(5));
  for (const char* wrong : {"", "\n", "a", "1,", "1-", "-1", "1 2", "99999999999"})
    EXPECT_THAT(parse_processors(wrong), IsEmpty()) << wrong;
}

TEST(MachineProcessors, are_one_that_shares_a_cache_and_one_that_does_not) {
  const Neighbours told{{2, 10}, {0, 1, 2, 3, 8, 9, 10, 11}};
  const Partners two = choose_partners(2, {0, 1, 2, 3, 4, 5, 8, 9, 10, 11}, told);
  EXPECT_EQ(two.near, 3u);
  EXPECT_EQ(two.far, 4u);
  EXPECT_EQ(choose_partners(2, {2, 10}, told).near, std::nullopt) << "both are one core";
  EXPECT_EQ(choose_partners(3, {3}, {}).near, std::nullopt);
  const Partners untold = choose_partners(1, {0, 1}, {});
  EXPECT_EQ(untold.near, 0u);
  EXPECT_EQ(untold.far, std::nullopt);
}

TEST(MachineMeasure, leaves_everything_unmeasured_when_its_time_is_over) {
  const Measured found = measure({}, Deadline(std::chrono::microseconds(-1)));
  EXPECT_FALSE(found.complete);
  EXPECT_NE(found.remark, "");
  EXPECT_TRUE(are_equal(found.machine, {}));
}

TEST(MachineMeasure, finds_what_one_core_shows_and_keeps_what_is_known) {
  const Measured found = measure({}, Deadline(std::chrono::seconds(20)));
  EXPECT_GT(found.machine.column_plain_ns, 0);
  EXPECT_GT(found.machine.own_vectors_ns, 0);
  const Measured again = measure(any_machine(), Deadline(std::chrono::seconds(20)));
  EXPECT_TRUE(are_equal(again.machine, any_machine()));
}

}  // namespace
}  // namespace stria::hw
