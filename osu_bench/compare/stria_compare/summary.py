"""From runs to figures: medians over the rounds, and ratios of times with their spread.

A ratio is always one of times: the first configuration's by another's, so that below 1 the first is faster,
for bandwidths too. It is formed within each round; printed are the median over the rounds and the quartiles.

Virtual cores change their distance: a cache line goes from one to the other in 50 ns, and a second later in 200. Rows say
how far the cores were before and after them. Where two distances are seen, each has lines of its own, from the rows that
were near and far to their end, and a ratio is of a round's figure by the other's median over all rounds of that distance.

That line is also the floor of a short message. It is measured by every program at every row, so a table of latencies says
what it took beside that row, and the first configuration's figures by the lines of the very same runs.
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
    rounds: int = 0  # in which both have a figure; of a line of one distance, the fewer of both sides' rounds at it

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
    distance: str  # "near" or "far" where both were seen, else ""
    size: int
    figures: dict  # column -> Spread
    ratios: dict  # column -> Ratio of the first by it
    line_us: float | None = None  # how long a cache line went from core to core beside this row, at that distance
    by_line: Ratio | None = None  # the first's figure by the line of its own run; None where the line is no floor of it
    measured: list = dataclasses.field(default_factory=list)  # the columns that have figures of this key, at any distance

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
    return Ratio(statistics.median(each), low, high, min(each), max(each), len(each))


def border_of_distances(runs_of):
    """What lies between near and far lines, in µs; None where there is but one distance."""
    seen = sorted(v for runs in runs_of.values() for run in runs if run for pair in run.lines.values() for v in pair)
    few = max(1, len(seen) // 20)  # a distance seen less often than that is a disturbance
    steps = [(seen[i] / seen[i - 1], i) for i in range(few, len(seen) - few + 1) if i < len(seen)]
    ratio, at = max(steps, default=(1, 0))
    return (seen[at - 1] * seen[at]) ** 0.5 if ratio > 1.5 else None


def _distance(run, key, border):
    """Where a row belongs: "near" or "far", "" to both, None when the distance changed meanwhile."""
    if border is None or key not in run.lines:
        return ""
    before, after = (v > border for v in run.lines[key])
    return None if before != after else "far" if before else "near"


def _passed(run, row):
    """What a line took about that row, in µs; None where it was not measured."""
    return statistics.fmean(run.lines[row]) if row in run.lines else None


@dataclasses.dataclass
class _Row:
    """What a run says of a row of the table."""

    figure: float
    distance: str | None
    passed: float | None


def _places(benchmark, column, key):
    """The lines of the table that a row of `column`'s configuration stands in."""
    if not benchmark.by_case:
        return [key]
    case, parameter, way = key
    return [(case, parameter, word) if word else (case, parameter) for word in column.ways.get(way, ())]


def _line(benchmark, columns, key, size, distance, rows):
    """The line of `key` from {column: [_Row or None a round]}."""
    rounds = {name: [row and row.figure for row in of] for name, of in rows.items()}
    spreads, ratios = {}, {}
    for name, figures in rounds.items():
        known = [v for v in figures if v is not None]
        if known:
            spreads[name] = Spread(statistics.median(known), *quartiles(known))
    for column in columns:
        if not column.compared or column.name not in spreads:
            continue
        other = [spreads[column.name].median] * len(rounds[columns[0].name]) if distance else rounds[column.name]
        ratio = ratio_of(rounds[columns[0].name], other, benchmark.lower_is_better)
        if ratio:
            ratio.rounds = min(ratio.rounds, sum(v is not None for v in rounds[column.name]))
            ratios[column.name] = ratio
    passed = [row.passed for of in rows.values() for row in of if row and row.passed]
    first = columns[0].name
    by_line = ratio_of(rounds[first], [row and row.passed for row in rows[first]], True) if benchmark.over_line else None
    return Line(key, distance, size, spreads, ratios, statistics.median(passed) if passed else None, by_line)


def summarise(benchmark, columns, runs_of):
    """Lines of one benchmark from {configuration: [Run or None a round]}, where one that did not run may be absent; the first
    column leads."""
    border = border_of_distances(runs_of)
    sizes = {}
    rows = {}  # key -> column -> round -> _Row
    for column in columns:
        for turn, run in enumerate(runs_of.get(column.configuration, ())):
            for row, figure in run.rows.items() if run else ():
                for key in _places(benchmark, column, row):
                    sizes[key] = run.sizes[row]
                    rows.setdefault(key, {}).setdefault(column.name, {})[turn] = _Row(
                        figure, _distance(run, row, border), _passed(run, row))
    turns = range(max((len(runs) for runs in runs_of.values()), default=0))
    lines = []
    for key, size in sizes.items():
        def of(distances, key=key):
            return {c.name: [v if (v := rows[key].get(c.name, {}).get(turn)) and v.distance in distances else None
                             for turn in turns] for c in columns}

        seen = {v.distance for v in rows[key].get(columns[0].name, {}).values() if v.distance}
        for distance in [d for d in ("near", "far") if d in seen] or [""]:
            chosen = of(("", distance) if distance else ("", "near", "far", None))
            lines.append(_line(benchmark, columns, key, size, distance, chosen))
            lines[-1].measured = [c.name for c in columns if c.name in rows[key]]
    return lines
