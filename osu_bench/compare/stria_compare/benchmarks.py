"""What can be measured: the program of each question, its arguments, and which figure of a row is compared."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Benchmark:
    name: str
    program: str
    title: str
    unit: str
    figure: str  # JSON member that is compared
    lower_is_better: bool
    arguments: tuple = ()
    by_case: bool = False  # rows are (case, parameter, way), not sizes

    def key(self, row):
        return (row["case"], row["parameter"], row["way"]) if self.by_case else (row["size"],)


BENCHMARKS = {
    b.name: b
    for b in (
        Benchmark("latency", "osu_latency", "Ping-pong latency", "µs", "median_us", True),
        Benchmark("bw", "osu_bw", "Bandwidth", "MB/s", "median_mb_s", False),
        Benchmark("bibw", "osu_bibw", "Bandwidth, both ways at once", "MB/s", "median_mb_s", False),
        Benchmark("mbw_mr", "osu_mbw_mr", "Message rate", "messages/s", "messages_per_s", False),
        Benchmark("multi_lat", "osu_multi_lat", "Latency of several pairs", "µs", "median_us", True),
        Benchmark("column", "osu_datatype", "Exchange of a matrix column", "µs", "median_us", True,
                  ("--cases", "column", "--ways", "derived"), True),
        Benchmark("datatype", "osu_datatype", "Derived datatypes", "µs", "median_us", True, (), True),
    )
}
