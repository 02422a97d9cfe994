"""What a build comes to beside the one before it, from the document of --json: over all rows, and for each benchmark.

A ratio is one of times, as everywhere in a comparison, so that above 1 the new build is slower, for rates too. Rows are counted
on both sides of 1: two builds of the same sources have about as many below 1/1.03 as above 1.03, and that is the noise.

A row of a distance that the cores seldom had stands on few rounds, and the median of one or two says nothing. Such rows are
named and not counted.
"""

import dataclasses
import statistics

from .overview import Row, counted

STEPS = (1.03, 1.10)  # a row beyond one of them is counted
FEWEST = 5  # rounds that a counted row has on both sides; fewer where the comparison has fewer than twice as many
LISTED = 20  # so many of the slowest rows are named, and so many rows that one of the builds lacks

ABOUT = ("Times of the new build divided by times of the one before, rates as times of a message: above 1 the new build is "
         "slower. Rows as far below 1 tell how much is noise.")


@dataclasses.dataclass(frozen=True)
class Tally:
    """Ratios of several rows."""

    rows: int
    median: float
    worst: Row
    beyond: tuple  # how many rows are above each of STEPS
    below: tuple  # how many are as far below 1
    agreed: int  # of those above the first step: how many with both quartiles above 1

    @staticmethod
    def of(rows):
        """The Tally of `rows`; None where there are none."""
        each = [row.ratio["median"] for row in rows]
        if not each:
            return None
        return Tally(len(rows), statistics.median(each), max(rows, key=lambda row: row.ratio["median"]),
                     tuple(sum(v > step for v in each) for step in STEPS),
                     tuple(sum(v < 1 / step for v in each) for step in STEPS),
                     sum(row.ratio["median"] > STEPS[0] and row.ratio["low"] > 1 for row in rows))


def column_of(benchmark):
    """The name of the former build's column; None where it has none."""
    return next((c["name"] for c in benchmark["columns"] if c.get("former")), None)


def rows_of(benchmark):
    """The lines that have a ratio by the former build."""
    former = column_of(benchmark)
    return [Row(benchmark, line, line["ratios"][former]) for line in benchmark["lines"] if former in line["ratios"]]


def fewest(data):
    """So many rounds a row needs to be counted."""
    return min(FEWEST, (data["rounds"] + 1) // 2)


def all_rows(data, benchmarks=None):
    """The rows that are counted, of all benchmarks unless some are named."""
    return [row for benchmark in benchmarks or data["benchmarks"] for row in rows_of(benchmark)
            if row.ratio["rounds"] >= fewest(data)]


def seldom(data):
    """The rows that stand on too few rounds to be counted, the slowest first."""
    few = [row for benchmark in data["benchmarks"] for row in rows_of(benchmark) if row.ratio["rounds"] < fewest(data)]
    return sorted(few, key=lambda row: -row.ratio["median"])


def slowest(data):
    """The rows beyond the first step, the slowest first."""
    return sorted((row for row in all_rows(data) if row.ratio["median"] > STEPS[0]), key=lambda row: -row.ratio["median"])


def lacking(data):
    """([(name of a build, rows that it has no figure of at all)], rows of both builds that were never seen at one distance)."""
    absent, apart = {}, []
    for benchmark in data["benchmarks"]:
        former = column_of(benchmark)
        if not former:
            continue
        by_key = {}
        for line in benchmark["lines"]:
            by_key.setdefault(tuple(line["key"]), []).append(line)
        for of in by_key.values():
            row = Row(benchmark, {**of[0], "distance": ""}, None)
            without = [n for n in (benchmark["columns"][0]["name"], former) if n not in of[0]["measured"]]
            for name in without:
                absent.setdefault(name, []).append(row)
            if not without and not any(former in line["ratios"] for line in of):
                apart.append(row)
    return list(absent.items()), apart


def _build(build):
    return f"{build['name']} ({build['folder']}, commit {build['commit']})"


def sentence(data):
    """The comparison of the two builds in some words; empty where it is not one of two builds."""
    if not data.get("builds"):
        return ""
    said = f"{' beside '.join(_build(build) for build in data['builds'])}: "
    tally = Tally.of(all_rows(data))
    if not tally:
        return said + "no row has figures of both."
    first, second = STEPS
    said += (f"the median of {counted(tally.rows, 'row')} is {tally.median:.3f} times as long, the worst "
             f"{tally.worst.ratio['median']:.2f} ({tally.worst.name}). Beyond {first:.2f}: {counted(tally.beyond[0], 'row')}, of "
             f"which the quartiles agree in {tally.agreed}; beyond {second:.2f}: {counted(tally.beyond[1], 'row')}. As far below "
             f"1: {tally.below[0]} and {tally.below[1]}.")
    if few := seldom(data):
        said += (f" {counted(len(few), 'row')} not counted, with fewer than {fewest(data)} rounds at the distance of the cores "
                 f"(from {few[-1].ratio['median']:.2f} to {few[0].ratio['median']:.2f}).")
    absent, apart = lacking(data)
    for name, rows in absent:
        said += f" {counted(len(rows), 'row')} missing in {name}."
    if apart:
        said += f" {counted(len(apart), 'row')} without a ratio, as the cores were never as far apart in both builds."
    return said


HEADS = ("rows", "median", "worst", *(f"> {step:.2f}" for step in STEPS), *(f"< {1 / step:.2f}" for step in STEPS))


def _cells(tally):
    return [str(tally.rows), f"{tally.median:.3f}", f"{tally.worst.ratio['median']:.2f}", *map(str, tally.beyond),
            *map(str, tally.below)]


def table(data):
    """[(title, cells under HEADS)]: a line for each benchmark, then one for all."""
    lines = [(b["title"], Tally.of(all_rows(data, [b]))) for b in data["benchmarks"]]
    lines.append(("all", Tally.of(all_rows(data))))
    return [(title, _cells(tally)) for title, tally in lines if tally]


def notes(data):
    """Lines of text that name the slowest rows, and those that one of the builds lacks."""
    lines = [f"{row.ratio['median']:.2f} ({row.ratio['low']:.2f}-{row.ratio['high']:.2f}) {row.name}" for row in slowest(data)]
    said = _cut(lines)
    absent, apart = lacking(data)
    said += _cut([f"not counted, {counted(row.ratio['rounds'], 'round')}: {row.ratio['median']:.2f} {row.name}"
                  for row in seldom(data)])
    for name, rows in absent:
        said += _cut([f"missing in {name}: {row.name}" for row in rows])
    return said + _cut([f"no ratio: {row.name}" for row in apart])


def _cut(lines):
    more = len(lines) - LISTED
    return lines[:LISTED] + ([f"and {more} more"] if more > 0 else [])
