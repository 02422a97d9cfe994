"""What can be measured: the program of each question, its arguments, which figure of a row is compared, and what stands
beside what.

A table has a column for each series. Usually a series is a configuration. The datatype benchmarks have more: the ways of
one configuration (a derived type, the same bytes contiguous, packed by MPI_Pack), and the floor, which plain loops without
messages give in the same rounds. The matching benchmark has two lines a depth: a message behind the queue, and one of it.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Series:
    """A column of the table: the rows of the ways `ways` of a configuration.

    `of`: "first", "others", or the name of a configuration that this benchmark brings along.
    `ways`: {way of the program's rows: the lines of its case it stands in}; a line is named by a word, "" the only one.
    `compared`: whether there is a column of ratios with it.
    """

    of: str
    ways: dict
    name: str = "{}"  # {}: the configuration's
    compared: bool = True


@dataclasses.dataclass(frozen=True)
class Column:
    """A Series for configurations that were chosen."""

    name: str
    configuration: str
    ways: dict
    compared: bool
    former: bool = False  # of the build that the first column's is compared with


def ways_of(columns, configuration):
    """The ways that `configuration` has to run for these columns."""
    return dict.fromkeys(w for c in columns if c.configuration == configuration for w in c.ways)


DERIVED = {"derived": ("",)}
FLOOR = (Series("floor", {"two-core": ("",)}, "two cores"), Series("floor", {"gather": ("",)}, "gather", False),
         Series("floor", {"scatter": ("",)}, "scatter", False))


@dataclasses.dataclass(frozen=True)
class Benchmark:
    name: str
    program: str
    title: str
    unit: str
    figure: str  # JSON member that is compared
    lower_is_better: bool
    arguments: tuple = ()
    series: tuple = ()  # empty: one a configuration; rows are sizes then, else (case, parameter)
    takes: tuple = ()  # of the driver's options, by case: those its program has too
    foreign: str = ""  # whose program it is, of foreign.PROGRAMS; "": ours
    only: tuple = ()  # the cases taken of a foreign program's; empty: all
    ranks: int = 2  # processes; more of them are bound to no core, and have to share those there are
    messages: bool = True  # its program has --alloc-mem
    over_line: bool = False  # its figure is one way of a message: what a bare cache line takes stands beside it

    @property
    def by_case(self):
        return bool(self.series)

    def columns(self, names):
        """The table's columns for the configurations `names`, the first of which leads."""
        if not self.series:
            return [Column(name, name, {}, True) for name in names]
        columns = []
        for series in self.series:
            whose = {"first": names[:1], "others": names[1:]}.get(series.of, [series.of])
            columns += [Column(series.name.format(name), name, series.ways, series.compared) for name in whose]
        return columns

    def brings(self):
        """Configurations that take part without being chosen."""
        return dict.fromkeys(s.of for s in self.series if s.of not in ("first", "others"))

    def ways(self, configuration, names):
        """The ways that `configuration` has to run."""
        return ways_of(self.columns(names), configuration)

    def key(self, row):
        return (row["case"], row["parameter"], row["way"]) if self.by_case else (row["size"],)


def _latency(name, title, program="osu_latency", figure="median_us", arguments=()):
    return Benchmark(name, program, title, "µs", figure, True, arguments, over_line=True)


def _types(name, title, series, arguments=()):
    return Benchmark(name, "osu_datatype", title, "µs", "median_us", True, arguments, series,
                     ("seed", "largest", "cases", "parameters"))


SUITE = (Series("first", DERIVED), Series("first", {"contiguous": ("",)}, "{} contiguous"), Series("others", DERIVED),
         *FLOOR)


def _hpcc(case, title, unit, lower_is_better):
    return Benchmark(f"hpcc-{case}", "hpcc", title, unit, "figure", lower_is_better, (),
                     (Series("first", {case: ("",)}), Series("others", {case: ("",)})), (), "hpcc", (case,))


# Of processes that share cores: the mean, for half of the messages come quickly where others wait for their turn.
def _several_pairs(ranks):
    return Benchmark(f"multi_lat-{ranks}", "osu_multi_lat", f"Latency of {ranks // 2} pairs, {ranks} processes", "µs",
                     "latency_us", True, ranks=ranks)


def _collectives(ranks):
    return Benchmark(f"collectives-{ranks}", "osu_collectives", f"Collectives at random, {ranks} processes", "µs",
                     "average_us", True, (), (Series("first", {"call": ("",)}), Series("others", {"call": ("",)})),
                     ranks=ranks, messages=False)


MATCHING = {"window": ("",), "drain": ("drain",)}

BENCHMARKS = {
    b.name: b
    for b in (
        _latency("latency", "Ping-pong latency"),
        _latency("mean", "Ping-pong latency, the mean as OSU's programs print it", figure="latency_us"),
        _latency("rewrite", "Ping-pong of messages that are written and read each time", arguments=("--rewrite",)),
        Benchmark("bw", "osu_bw", "Bandwidth", "MB/s", "median_mb_s", False),
        Benchmark("bibw", "osu_bibw", "Bandwidth, both ways at once", "MB/s", "median_mb_s", False),
        Benchmark("mbw_mr", "osu_mbw_mr", "Message rate", "messages/s", "messages_per_s", False),
        _latency("multi_lat", "Latency of several pairs", "osu_multi_lat"),
        _several_pairs(4),
        _several_pairs(8),
        _types("column", "Exchange of a matrix column", SUITE, ("--cases", "column")),
        _types("datatype", "Exchange of derived datatypes", SUITE),
        _types("guidelines", "Derived datatypes beside packing by hand",
               (Series("first", DERIVED), Series("first", {"packed": ("",)}, "MPI_Pack and send"),
                Series("first", {"contiguous": ("",)}, "contiguous"))),
        _types("kernels", "Packing and unpacking by one core",
               (Series("native", {"pack": ("pack",), "unpack": ("unpack",)}, "stria"),
                Series("floor", {"gather": ("pack",), "scatter": ("unpack",)}, "plain loop"),
                Series("floor", {"copy": ("pack", "unpack")}, "memcpy"))),
        Benchmark("matching", "osu_match", "A message behind a deep queue", "ns", "median_ns", True, (),
                  (Series("first", MATCHING), Series("others", MATCHING)), ("cases", "depths")),
        Benchmark("calls", "osu_calls", "Calls of MPI", "µs", "median_us", True, (),
                  (Series("first", {"call": ("",)}), Series("others", {"call": ("",)})), ("cases",), messages=False),
        Benchmark("overlap", "osu_overlap", "What is left of a message after 20 ms of computing", "µs", "left_us", True,
                  ("--sizes", "1M,4M,16M")),
        Benchmark("beside", "osu_beside", "A short message beside a stream of long ones", "µs", "beside_us", True,
                  ("--sizes", "8,1K,64K")),
        _collectives(32),
        _collectives(64),
        _hpcc("latency", "HPCC: latency of 8 bytes", "µs", True),
        _hpcc("bandwidth", "HPCC: bandwidth of 2 MB messages", "MB/s", False),
        _hpcc("updates", "HPCC: RandomAccess over MPI", "updates/s", False),
        Benchmark("netpipe", "NPopenmpi", "NetPIPE", "µs", "figure", True, foreign="netpipe"),
    )
}
