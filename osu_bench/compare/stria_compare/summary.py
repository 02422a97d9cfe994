"""From runs to figures: medians over the rounds, and ratios of times with their spread.

A ratio is always one of times: the first configuration's by another's, so that below 1 the first is faster,
for bandwidths too. It is formed within each round; printed are the median over the rounds and the quartiles.
"""

import dataclasses
import statistics


@dataclasses.dataclass
class Ratio:
    median: float
    low: float  # first quartile
    high: float  # third quartile
    least: float
    most: float

    def verdict(self, tolerance=0.05):
        """"faster", "slower", or "equal" when within the tolerance or when the rounds do not agree."""
        if self.median < 1 - tolerance and self.high < 1:
            return "faster"
        if self.median > 1 + tolerance and self.low > 1:
            return "slower"
        return "equal"


@dataclasses.dataclass
class Line:
    key: tuple
    size: int
    medians: dict  # configuration -> figure
    ratios: dict  # configuration -> Ratio of the first by it


def quartiles(values):
    """First and third quartile, by linear interpolation between the sorted values."""
    ordered = sorted(values)

    def at(fraction):
        place = fraction * (len(ordered) - 1)
        below = int(place)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + (ordered[above] - ordered[below]) * (place - below)

    return at(0.25), at(0.75)


def ratio_of(first, other, lower_is_better):
    """The Ratio over the rounds in which both have a figure; None when there is none."""
    pairs = [(a, b) for a, b in zip(first, other) if a and b]
    if not pairs:
        return None
    each = [a / b if lower_is_better else b / a for a, b in pairs]
    low, high = quartiles(each)
    return Ratio(statistics.median(each), low, high, min(each), max(each))


def summarise(benchmark, runs_of):
    """Lines of one benchmark from {configuration: [Run or None a round]}; the first configuration leads."""
    names = list(runs_of)
    keys = {}
    for runs in runs_of.values():
        for run in runs:
            if run:
                keys.update(run.sizes)
    lines = []
    for key, size in keys.items():
        figures = {n: [run.rows.get(key) if run else None for run in runs_of[n]] for n in names}
        medians = {n: statistics.median(known) for n in names if (known := [v for v in figures[n] if v is not None])}
        ratios = {}
        for name in names[1:]:
            ratio = ratio_of(figures[names[0]], figures[name], benchmark.lower_is_better)
            if ratio:
                ratios[name] = ratio
        lines.append(Line(key, size, medians, ratios))
    return lines


def worst_and_best(lines, name):
    """The largest and the smallest median ratio against `name`, with their lines; None without ratios."""
    known = [(line.ratios[name].median, line) for line in lines if name in line.ratios]
    if not known:
        return None
    return max(known, key=lambda k: k[0]), min(known, key=lambda k: k[0])
