"""The command line: what to run, then table, JSON and report."""

import argparse
import dataclasses
import datetime
import json
import pathlib
import shlex
import sys

from . import builds, markdown, report
from .benchmarks import BENCHMARKS, ways_of
from .configurations import NAMES, Tree, unbound
from .plan import planned, usable
from .runner import Progress, measure_floor, run_all
from .summary import summarise
from .text import show

USUAL = ["latency", "bw", "column"]
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


def two_hosts(text):
    hosts = text.split(",")
    if len(hosts) != 2 or not all(hosts):
        raise argparse.ArgumentTypeError(f'"{text}" is not two hosts with a comma between them')
    return hosts


def parser():
    p = argparse.ArgumentParser(
        prog="osu_compare", description=__doc__ + " Ratios are of times, the first configuration's by another's: "
        "below 1.00 the first is faster. They are formed within a round, and the median of the rounds is printed "
        "with its quartiles.")
    p.add_argument("--configurations", "-c", type=names_of(NAMES, "configuration"),
                   metavar="A,B,…", help="the first is compared with the others: " +
                   "; ".join(f"{n} ({m})" for n, m in NAMES.items()) + " (default stria,ob1,ucx; with --against stria,native; "
                   "with --hosts stria,ob1-tcp,ucx-tcp)")
    p.add_argument("--hosts", type=two_hosts, default=[], metavar="A,B", help="two hosts, as Open MPI's --host names them: the two "
                   "processes run on one each. For the configurations that reach another host")
    p.add_argument("--unbound", action="store_true", help="leave the two processes on the processors that they are started on, "
                   "where something else chooses those")
    p.add_argument("--bench", "-b", type=names_of(BENCHMARKS, "benchmark"),
                   metavar="X,Y,…", help=f"of {', '.join(BENCHMARKS)} (default latency,bw,column; with --against "
                   f"{','.join(builds.USUAL)}); a number at the end: of so "
                   "many processes, bound to no core, where those that wait give theirs away; others are of two, each "
                   "bound to a core")
    p.add_argument("--sizes", "-s", type=sizes_of, default=DEFAULT_SIZES, metavar="LIST",
                   help="8,1K,64K or powers of two 1:4M (the default)")
    p.add_argument("--cases", help="datatype cases, with or without a parameter: face,column:512; or matching cases")
    p.add_argument("--parameters", help="parameters of the datatype cases: 64,512,4096")
    p.add_argument("--depths", help="lengths of the queue in the matching benchmark: 0,1000,100000")
    p.add_argument("--largest", type=size_of, help="only datatype cases of at most so many bytes: 16M")
    p.add_argument("--seed", type=positive, default=12345, help="of irregular datatype cases (default 12345)")
    p.add_argument("--rounds", "-r", type=positive, default=5, help="of all configurations in turn (default 5)")
    p.add_argument("--minutes", type=positive, help="as many rounds as this time is enough for, by what the first one took, "
                   "and at least 3; in place of --rounds")
    p.add_argument("--row-ms", type=positive, help="time for one size of one run, ms (default 100; with --against 10)")
    p.add_argument("--timeout", type=positive, default=120, help="for one run, s (default 120)")
    p.add_argument("--build", help="the build folder (default: build/release of this tree)")
    p.add_argument("--against", metavar="FOLDER",
                   help="the build folder of another stria, as one of an older commit: what --build measures is compared with "
                   "the same measured there. Each of stria, stria-mapped and native that -c names runs with both builds in "
                   'turn, and a job loads one build\'s programs, component and libraries alone. Columns "stria" and "before"; '
                   "ratios above 1.00: the new build is slower. At the end: the median and the worst of all rows, how many are "
                   "beyond 1.03 and 1.10, and what the older build lacks; rows that stand on few rounds, as the cores were seldom at "
                   "their distance, are named and not counted. Other configurations of -c run beside stria, with the "
                   "programs of --build")
    p.add_argument("--json", metavar="FILE", help="write all figures there")
    p.add_argument("--html", metavar="FILE", help="write the report with plots there")
    p.add_argument("--svg", metavar="FOLDER", help="write each plot there as a file of its own")
    p.add_argument("--markdown", metavar="FILE", help="write the tables there as Markdown")
    p.add_argument("--from", dest="source", metavar="FILE",
                   help="measure nothing: report, plots and tables of what --json wrote there")
    p.add_argument("--need-all", action="store_true", help="fail when a configuration cannot run here")
    return p


def document(arguments, chosen, plan, runs, lines, failures, missing, floor):
    """Everything that was measured, as plain data."""
    everyone = list({c.name: c for c in [*chosen, *(c for _, running, _ in plan for c in running)]}.values())
    headers = {c.name: next((run.header for of in runs.values() for run in of.get(c.name, ()) if run), {})
               for c in everyone}
    both = builds.described(plan, runs)
    names = list(dict.fromkeys(c.name for _, _, columns in plan for c in columns)) if both else [c.name for c in chosen]
    return {
        "title": f"{names[0]} beside {', '.join(names[1:]) or 'nothing'}",
        "when": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": "osu_compare " + shlex.join(arguments),
        "rounds": max((len(r) for of in runs.values() for r in of.values()), default=0),
        "configurations": [{"name": c.name, "meaning": c.meaning, "header": headers[c.name],
                            "launcher": c.launch(),
                            "crowded": c.launch("N") if any(b.ranks != 2 for b, _, _ in plan) else []}
                           for c in everyone],
        "builds": both,
        "missing": missing,
        "benchmarks": [{"name": b.name, "title": b.title, "unit": b.unit, "ranks": b.ranks,
                        "lower_is_better": b.lower_is_better,
                        "columns": [{"name": c.name, "configuration": c.configuration, "compared": c.compared,
                                     "former": c.former}
                                    for c in columns],
                        "lines": [{"key": list(line.key), "distance": line.distance, "size": line.size,
                                   "line_us": line.line_us, "medians": line.medians, "measured": line.measured,
                                   "by_line": line.by_line and dataclasses.asdict(line.by_line),
                                   "spreads": {n: dataclasses.asdict(s) for n, s in line.figures.items()},
                                   "ratios": {n: {**dataclasses.asdict(r), "verdict": r.verdict()}
                                              for n, r in line.ratios.items()}}
                                  for line in lines[b.name]],
                        "rounds": {n: [{"/".join(map(str, k)): v for k, v in run.rows.items()} if run else None
                                       for run in of] for n, of in runs[b.name].items()}}
                       for b, _, columns in plan],
        "floor": floor,
        "failures": failures,
    }


def measured_before(options):
    try:
        data = json.loads(pathlib.Path(options.source).read_text(encoding="utf-8"))
        if isinstance(data, dict) and {"benchmarks", "configurations", "floor"} <= data.keys():
            return data
    except (OSError, ValueError) as reason:
        sys.exit(f"osu_compare: --from {options.source}: {reason}")
    sys.exit(f"osu_compare: --from {options.source}: not written by --json of this program")


def write(options, data):
    """The files that were asked for."""
    for path, text in ((options.json, lambda: json.dumps(data, indent=1, ensure_ascii=False) + "\n"),
                       (options.html, lambda: report.page(data)), (options.markdown, lambda: markdown.page(data))):
        if path:
            pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
            pathlib.Path(path).write_text(text(), encoding="utf-8")
            print(f"written: {path}")
    if options.svg:
        from . import pictures  # loads the plots

        print(f"written: {options.svg}/{', '.join(path.name for path in pictures.write(data, options.svg))}")
    return 0


def need_plots(options):
    """Ends the program before it measures for minutes what it cannot draw."""
    wanted = [name for name, path in (("--html", options.html), ("--svg", options.svg)) if path]
    try:
        if wanted:
            import matplotlib  # noqa: F401
    except ImportError as reason:
        sys.exit(f"osu_compare: {' and '.join(wanted)} cannot draw: {reason} (Debian package python3-matplotlib). --json writes "
                 "the figures without it, and --from makes the report of them later")


def chosen_plan(options, tree):
    """(The configurations, the plan, {name: reason} of what is missing) for the options."""
    usual = ["stria", "ob1-tcp", "ucx-tcp", "tcp-floor"] if options.hosts else ["stria", "ob1", "ucx"]
    benchmarks = [BENCHMARKS[name] for name in options.bench or (builds.USUAL if options.against else USUAL)]
    if options.against:
        former = builds.former_build(options.against)
        groups, missing = builds.groups_of(options.configurations or ["stria", "native"], tree, former, options.need_all)
        chosen = [c for group in groups for c in group.chosen]
        plan, lacking = builds.planned_builds(benchmarks, groups, options.need_all)
        for one in chosen:
            if one.tree:
                builds.check_loaded(one, options.timeout)
    else:
        chosen, missing = usable(options.configurations or usual, tree, options.need_all, options.hosts)
        chosen = [unbound(one) for one in chosen] if options.unbound else chosen
        plan, lacking = planned(benchmarks, chosen, tree, options.need_all, options.hosts)
    return chosen, plan, missing | lacking


def arguments_for(options, plan):
    """What run_all() asks for: the arguments of a benchmark's program under a configuration."""
    columns_of = {benchmark.name: columns for benchmark, _, columns in plan}
    row_ms = options.row_ms or (10 if options.against else 100)

    def arguments(benchmark, configuration):
        given = ["--row-ms", str(row_ms)]
        if "--sizes" in benchmark.arguments:  # its own
            return given
        if not benchmark.by_case:
            return [*given, "--sizes", ",".join(map(str, options.sizes))]
        given += ["--ways", ",".join(ways_of(columns_of[benchmark.name], configuration.name))]
        for name in benchmark.takes:
            value = getattr(options, name)
            if value and f"--{name}" not in benchmark.arguments:
                given += [f"--{name}", str(value)]
        return given

    return arguments


def main(arguments):
    options = parser().parse_args(arguments)
    need_plots(options)
    if options.source:
        return write(options, measured_before(options))
    tree = Tree.find(options.build)
    chosen, plan, missing = chosen_plan(options, tree)
    for name, reason in missing.items():
        print(f"osu_compare: without {name}: {reason}", file=sys.stderr)
    progress = Progress(sum(len(running) for _, running, _ in plan) * options.rounds)
    floor = measure_floor(tree, options.sizes, options.timeout)
    try:
        runs, failures, refused = run_all([(b, running) for b, running, _ in plan], tree, options.rounds,
                                          arguments_for(options, plan), options.timeout, progress,
                                          options.minutes and options.minutes * 60)
    except KeyboardInterrupt:
        sys.stderr.write("\nosu_compare: interrupted\n")
        return 130
    lines = {b.name: summarise(b, columns, runs[b.name]) for b, _, columns in plan}
    if options.need_all:
        failures += [f"{name} cannot run: {reason}" for name, reason in refused.items()]
    data = document(arguments, chosen, plan, runs, lines, failures, missing | refused, floor)
    show(data, plan, lines)
    write(options, data)
    for failure in failures:
        print(f"osu_compare: {failure}", file=sys.stderr)
    return 1 if failures else 0
