"""What a comparison comes to: the reader's gain in one sentence, and the ratios with peers, from the document of --json.

A peer is another library that answers the same question. Tables also set the first configuration beside what is no peer: the same
bytes without gaps, memory of another kind, plain loops without messages, bare sockets. Those ratios say what something costs. They are no gain
and no loss, so they stand in the detailed tables alone, and have no colour there.
"""

import dataclasses
import statistics

from .configurations import OWN, former_name
from .table import case_text, size_text

OURS = (*OWN, *map(former_name, OWN))
EQUAL = 0.05  # ratios within so much of 1 are called equal

ABOUT_FLOOR = ("Floor: what the machine itself takes, without a message layer. The least for a short message is one cache line "
               "from core to core; a long one takes at least about as long as a copy of its bytes.")
ASIDES = {
    "contiguous": "as many bytes without gaps, so that the ratio says what the layout costs",
    "two cores": "one core gathers while the other scatters, by plain loops without messages",
    "gather": "one core alone collects the blocks, by a plain loop",
    "scatter": "one core alone distributes the blocks, by a plain loop",
    "plain loop": "the same by a loop as a person writes it",
    "memcpy": "a copy of as many bytes without gaps",
    "MPI_Pack and send": "the program packs, and sends the packed bytes",
    "tcp-floor": "bare sockets, one process sending and the other polling, which is what TCP itself takes",
    "stria-mapped": "out of memory of MPI_Alloc_mem, which peers map",
}


def is_peer(column, first):
    """Whether a column of a table is of another library than the first column."""
    ours, theirs = first["configuration"], column["configuration"]
    return theirs not in (ours, "floor", "tcp-floor") and not (ours in OURS and theirs in OURS)


def compared(benchmark):
    """The names of the columns that the first is compared with: ([peers], [what is no peer]); a former build is neither."""
    first, *others = benchmark["columns"]
    others = [c for c in others if c["compared"] and not c.get("former")]
    return ([c["name"] for c in others if is_peer(c, first)], [c["name"] for c in others if not is_peer(c, first)])


def about_asides(benchmark):
    """What the columns of a table are that are no peers; empty where all are."""
    first, *others = benchmark["columns"]
    known = [(c["name"], ASIDES.get(c["name"]) or ASIDES.get(c["name"].rsplit(" ", 1)[-1]))
             for c in others if not is_peer(c, first)]
    return "; ".join(f"{name}: {text}" for name, text in known if text)


@dataclasses.dataclass(frozen=True)
class Row:
    """A line of a table beside the fastest peer there."""

    benchmark: dict
    line: dict
    ratio: dict

    @property
    def name(self):
        key = self.line["key"]
        parts = [self.benchmark["title"], size_text(self.line["size"]) if len(key) == 1 else case_text(key)]
        return ", ".join([*parts, *filter(None, [self.line["distance"]])])


def rows_of(benchmark):
    """Each line that some peer has a figure of at the same distance, with the ratio by the fastest peer."""
    names, _ = compared(benchmark)
    for line in benchmark["lines"]:
        known = [line["ratios"][name] for name in names if name in line["ratios"]]
        if known:
            yield Row(benchmark, line, max(known, key=lambda ratio: ratio["median"]))


def _listed(names):
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def counted(count, word):
    return f"{count} {word}" + "s" * (count != 1)


def gain(data):
    """One sentence: what a program would gain or lose by the first configuration. Empty where there is no peer."""
    rows = [row for benchmark in data["benchmarks"] for row in rows_of(benchmark)]
    if not rows:
        return ""
    first = data["configurations"][0]["name"]
    peers = list(dict.fromkeys(name for b in data["benchmarks"] for name in compared(b)[0]
                               if any(name in line["ratios"] for line in b["lines"])))
    others = peers[0] if len(peers) == 1 else f"the fastest of {_listed(peers)}"
    middle = statistics.median(row.ratio["median"] for row in rows)
    percent = f"{abs(1 - middle) * 100:.0f} %"
    if middle < 1 - EQUAL:
        said = f"{percent} less time in them than over {others}"
    elif middle > 1 + EQUAL:
        said = f"{percent} more time in them than over {others}, and so has nothing to gain"
    else:
        said = f"as much time in them as over {others}, within 5 %"
    verdicts = [row.ratio["verdict"] for row in rows]
    counts = (f"the median of {counted(len(rows), 'row')}, of which {first} is faster in {verdicts.count('faster')}, equal in "
              f"{verdicts.count('equal')} and slower in {verdicts.count('slower')}")
    slower = [row for row in rows if row.ratio["verdict"] == "slower"]
    if slower:
        worst = max(slower, key=lambda row: row.ratio["median"])
        counts += f", at worst {worst.ratio['median']:.2f} times as long ({worst.name})"
    return f"Over {first} a program that sends the messages measured here would spend {said}: {counts}."


def about_distances(data):
    """What near and far are, with the times of this run; empty where cores were seen at one distance only."""
    lines = [line for benchmark in data["benchmarks"] for line in benchmark["lines"] if line["distance"]]
    if not lines:
        return ""

    def took(distance):
        each = [line["line_us"] for line in lines if line["distance"] == distance and line["line_us"]]
        return f" ({statistics.median(each):.2f} µs)" if each else ""

    return (f"Near, far: how long a cache line takes from one of the two cores to the other. Near cores{took('near')} as a rule "
            f"share a cache, far ones{took('far')} do not. A virtual machine moves its cores, so the distance is measured before "
            "and after each row, and rows of the two distances stand apart.")


@dataclasses.dataclass(frozen=True)
class Middle:
    """The ratios of several rows: the middle one, and the range."""

    median: float
    least: float
    most: float
    count: int

    @property
    def verdict(self):
        return "faster" if self.median < 1 - EQUAL else "slower" if self.median > 1 + EQUAL else "equal"


def _middle(ratios):
    each = [ratio["median"] for ratio in ratios]
    return Middle(statistics.median(each), min(each), max(each), len(each)) if each else None


def summary_rows(data):
    """([peers], [(benchmark's title, distance, Middle by the fastest peer of each row, {peer: Middle})])."""
    table = []
    for benchmark in data["benchmarks"]:
        peers, _ = compared(benchmark)
        for distance in dict.fromkeys(line["distance"] for line in benchmark["lines"]):
            rows = [row for row in rows_of(benchmark) if row.line["distance"] == distance]
            if not rows:
                continue
            each = {name: _middle([row.line["ratios"][name] for row in rows if name in row.line["ratios"]]) for name in peers}
            table.append((benchmark["title"], distance, _middle([row.ratio for row in rows]),
                          {name: middle for name, middle in each.items() if middle}))
    return list(dict.fromkeys(name for *_, each in table for name in each)), table
