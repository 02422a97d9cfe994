"""The command line: what to run, then table, JSON and report."""

import argparse
import dataclasses
import datetime
import json
import pathlib
import shlex
import sys

from . import report
from .benchmarks import BENCHMARKS
from .configurations import NAMES, Tree, Unavailable, configuration
from .runner import Progress, measure_floor, run_all
from .summary import summarise
from .table import text_table

DEFAULT_SIZES = [1 << i for i in range(23)]
BYTES = {"K": 10, "M": 20, "G": 30}


def size_of(text):
    shift = BYTES.get(text[-1:].upper(), 0)
    return int(text[:-1] if shift else text) << shift


def sizes_of(text):
    """A list "8,1K,64K", or a range of powers of two "1:4M"."""
    try:
        if ":" not in text:
            return [size_of(part) for part in text.split(",")]
        low, high = (size_of(part) for part in text.split(":"))
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}" is neither a list of sizes nor a range') from None
    sizes = []
    while low < high:
        sizes.append(low)
        low = low * 2 or 1
    return [*sizes, high]


def names_of(known, what):
    def parse(text):
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f'no {what} "{name}"; there are {", ".join(known)}')
        return names

    return parse


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def parser():
    p = argparse.ArgumentParser(
        prog="osu_compare", description=__doc__ + " Ratios are of times, the first configuration's by another's: "
        "below 1.00 the first is faster. They are formed within a round, and the median of the rounds is printed "
        "with its quartiles.")
    p.add_argument("--configurations", "-c", type=names_of(NAMES, "configuration"), default=["stria", "ob1", "ucx"],
                   metavar="A,B,…", help="the first is compared with the others: " +
                   "; ".join(f"{n} ({m})" for n, m in NAMES.items()) + " (default stria,ob1,ucx)")
    p.add_argument("--bench", "-b", type=names_of(BENCHMARKS, "benchmark"), default=["latency", "bw", "column"],
                   metavar="X,Y,…", help=f"of {', '.join(BENCHMARKS)} (default latency,bw,column)")
    p.add_argument("--sizes", "-s", type=sizes_of, default=DEFAULT_SIZES, metavar="LIST",
                   help="8,1K,64K or powers of two 1:4M (the default)")
    p.add_argument("--parameters", help="parameters of the datatype cases: 64,512,4096")
    p.add_argument("--rounds", "-r", type=positive, default=5, help="of all configurations in turn (default 5)")
    p.add_argument("--row-ms", type=positive, default=100, help="time for one size of one run, ms (default 100)")
    p.add_argument("--timeout", type=positive, default=120, help="for one run, s (default 120)")
    p.add_argument("--build", help="the build folder (default: build/release of this tree)")
    p.add_argument("--json", metavar="FILE", help="write all figures there")
    p.add_argument("--html", metavar="FILE", help="write the report with plots there")
    p.add_argument("--need-all", action="store_true", help="fail when a configuration cannot run here")
    return p


def usable(names, tree, need_all):
    """The configurations that can run here; says aloud which cannot. The first must."""
    chosen = []
    for name in names:
        try:
            chosen.append(configuration(name, tree))
        except Unavailable as reason:
            if need_all or name == names[0]:
                sys.exit(f"osu_compare: {name} cannot run: {reason}")
            print(f"osu_compare: without {name}: {reason}", file=sys.stderr)
    return chosen


def document(arguments, chosen, benchmarks, runs, lines, failures, floor):
    """Everything that was measured, as plain data."""
    headers = {c.name: next((run.header for b in benchmarks for run in runs[b.name][c.name] if run), {})
               for c in chosen}
    return {
        "title": f"{chosen[0].name} beside {', '.join(c.name for c in chosen[1:]) or 'nothing'}",
        "when": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": "osu_compare " + shlex.join(arguments),
        "rounds": max((len(r) for b in benchmarks for r in runs[b.name].values()), default=0),
        "configurations": [{"name": c.name, "meaning": c.meaning, "header": headers[c.name],
                            "launcher": list(c.launcher)} for c in chosen],
        "benchmarks": [{"name": b.name, "title": b.title, "unit": b.unit, "lower_is_better": b.lower_is_better,
                        "lines": [{"key": list(line.key), "size": line.size, "medians": line.medians,
                                   "ratios": {n: {**dataclasses.asdict(r), "verdict": r.verdict()}
                                              for n, r in line.ratios.items()}}
                                  for line in lines[b.name]],
                        "rounds": {n: [{"/".join(map(str, k)): v for k, v in run.rows.items()} if run else None
                                       for run in of] for n, of in runs[b.name].items()}}
                       for b in benchmarks],
        "floor": floor,
        "failures": failures,
    }


def main(arguments):
    options = parser().parse_args(arguments)
    tree = Tree.find(options.build)
    chosen = usable(options.configurations, tree, options.need_all)
    benchmarks = [BENCHMARKS[name] for name in options.bench]

    def arguments_of(benchmark):
        given = ["--row-ms", str(options.row_ms)]
        if benchmark.by_case:
            return given + (["--parameters", options.parameters] if options.parameters else [])
        return given + ["--sizes", ",".join(map(str, options.sizes))]

    progress = Progress(len(chosen) * len(benchmarks) * options.rounds)
    floor = measure_floor(tree, options.sizes, options.timeout)
    try:
        runs, failures = run_all(chosen, benchmarks, tree, options.rounds, arguments_of, options.timeout, progress)
    except KeyboardInterrupt:
        sys.stderr.write("\nosu_compare: interrupted\n")
        return 130
    lines = {b.name: summarise(b, runs[b.name]) for b in benchmarks}
    for benchmark in benchmarks:
        print()
        print(text_table(benchmark, [c.name for c in chosen], lines[benchmark.name]))
    line = next((row for row in floor if row["what"] == "line"), None)
    if line:
        print(f"\nfloor: one cache line between two cores, one way {line['median_us']:.3f} µs")
    if len(chosen) > 1:
        print(f"ratios are of times: below 1.00 {chosen[0].name} is faster; median (quartiles) of "
              f"{options.rounds} alternating rounds")
    data = document(arguments, chosen, benchmarks, runs, lines, failures, floor)
    for path, text in ((options.json, lambda: json.dumps(data, indent=1, ensure_ascii=False) + "\n"),
                       (options.html, lambda: report.page(data))):
        if path:
            pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
            pathlib.Path(path).write_text(text(), encoding="utf-8")
            print(f"written: {path}")
    for failure in failures:
        print(f"osu_compare: {failure}", file=sys.stderr)
    return 1 if failures else 0
