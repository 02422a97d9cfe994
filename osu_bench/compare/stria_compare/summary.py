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
class Spread:
    """A figure over the rounds."""

    median: float
    low: float  # first quartile
    high: float  # third quartile


@dataclasses.dataclass
class Line:
    key: tuple  # (size,), or (case, parameter) with a word behind it where a case has several lines
    size: int
    figures: dict  # column -> Spread
    ratios: dict  # column -> Ratio of the first by it

    @property
    def medians(self):
        return {name: spread.median for name, spread in self.figures.items()}


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


def _places(benchmark, column, key):
    """The lines of the table that a row of `column`'s configuration stands in."""
    if not benchmark.by_case:
        return [key]
    case, parameter, way = key
    return [(case, parameter, word) if word else (case, parameter) for word in column.ways.get(way, ())]


def _rows(benchmark, column, run):
    """{key of a line: (figure, size)} that one run gives to a column."""
    return {place: (figure, run.sizes[key]) for key, figure in run.rows.items()
            for place in _places(benchmark, column, key)}


def summarise(benchmark, columns, runs_of):
    """Lines of one benchmark from {configuration: [Run or None a round]}; the first column leads."""
    rounds = {c.name: [_rows(benchmark, c, run) if run else {} for run in runs_of[c.configuration]] for c in columns}
    sizes = {key: size for of in rounds.values() for rows in of for key, (_, size) in rows.items()}
    lines = []
    for key, size in sizes.items():
        figures = {c.name: [rows[key][0] if key in rows else None for rows in rounds[c.name]] for c in columns}
        spreads = {}
        for name, all_rounds in figures.items():
            known = [v for v in all_rounds if v is not None]
            if known:
                spreads[name] = Spread(statistics.median(known), *quartiles(known))
        ratios = {}
        for column in columns:
            if column.compared:
                ratio = ratio_of(figures[columns[0].name], figures[column.name], benchmark.lower_is_better)
                if ratio:
                    ratios[column.name] = ratio
        lines.append(Line(key, size, spreads, ratios))
    return lines


def worst_and_best(lines, name):
    """The largest and the smallest median ratio against `name`, with their lines; None without ratios."""
    known = [(line.ratios[name].median, line) for line in lines if name in line.ratios]
    if not known:
        return None
    return max(known, key=lambda k: k[0]), min(known, key=lambda k: k[0])
