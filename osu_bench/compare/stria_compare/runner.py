"""Runs every benchmark under every configuration, a round at a time: A B C, A B C, …

Machines drift: neighbours come and go, cores change speed. Alternation spreads what drifts over all
configurations, and a ratio is formed within a round, between runs that are seconds apart.
"""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from . import foreign


@dataclasses.dataclass
class Run:
    header: dict
    rows: dict  # key of the row -> the figure that is compared
    sizes: dict  # key of the row -> bytes
    lines: dict = dataclasses.field(default_factory=dict)  # key of the row -> µs a line took before and after it


class RunFailed(Exception):
    pass


class Refused(RunFailed):
    """The program does not know an argument, or does not print the figure that is compared."""


BAD_ARGUMENTS = range(100, 120)  # exit codes of the benchmark programs for a command line that they do not understand


class Progress:
    """One line on stderr: rewritten in place on a terminal, a line a run elsewhere."""

    def __init__(self, total, stream=None):
        self.total, self.done, self.stream = total, 0, stream or sys.stderr
        self.start = time.monotonic()
        self.width = 0

    def _write(self, text, end):
        if self.stream.isatty():
            self.stream.write("\r" + text.ljust(self.width) + end)
            self.width = len(text)
        elif end:
            self.stream.write(text + "\n")
        self.stream.flush()

    def begin(self, what):
        self._write(f"[{self.done + 1:>3}/{self.total}] {what} …", "")

    def end(self, what, seconds, failed=False):
        self.done += 1
        left = (time.monotonic() - self.start) / self.done * (self.total - self.done)
        rest = f", about {left:.0f} s left" if self.done < self.total else ""
        text = f"[{self.done:>3}/{self.total}] {what}: {'FAILED' if failed else f'{seconds:.1f} s'}{rest}"
        self._write(text, "\n" if failed or self.done == self.total else "")
        if not self.stream.isatty() and not (failed or self.done == self.total):
            self.stream.write(text + "\n")
            self.stream.flush()

    def skip(self):
        self.done += 1

    def note(self, text):
        self._write(text, "\n")


def output(command, environment, timeout, folder=None):
    """What the program printed, or RunFailed with its error output."""
    with subprocess.Popen(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise RunFailed(f"no end after {timeout} s: {' '.join(command)}") from None
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            raise
    if process.returncode != 0:
        kind = Refused if process.returncode in BAD_ARGUMENTS else RunFailed
        raise kind(f"exit code {process.returncode}: {' '.join(command)}\n{err.strip()}")
    return out, err


def _foreign_rows(configuration, name, environment, timeout):
    program = foreign.PROGRAMS[name]
    command = configuration.foreign_command(program.program, program.arguments)
    with tempfile.TemporaryDirectory(prefix="stria-compare-") as folder:
        program.prepare(folder)
        output(command, environment, timeout, folder)
        try:
            return program.rows(folder)
        except foreign.Unreadable as problem:
            raise RunFailed(f"{problem}: {' '.join(command)}") from None


def run_once(configuration, benchmark, tree, arguments, timeout, known):
    """One run of one program; its rows, or RunFailed with what it printed.

    `known`: {(foreign program, configuration): rows} of this round; benchmarks that share a program share its run.
    """
    environment = {**os.environ, **configuration.environment}
    if benchmark.foreign:
        which = (benchmark.foreign, configuration.name)
        if which not in known:
            known[which] = _foreign_rows(configuration, benchmark.foreign, environment, timeout)
        rows = [row for row in known[which] if not benchmark.only or row["case"] in benchmark.only]
        return Run({}, {benchmark.key(row): row[benchmark.figure] for row in rows},
                   {benchmark.key(row): row["size"] for row in rows})
    command = configuration.command((configuration.tree or tree).programs, benchmark.program,
                                    [*benchmark.arguments, *arguments, "--json"], benchmark.ranks)
    out, err = output(command, environment, timeout)
    run = Run({}, {}, {})
    for line in out.splitlines():
        if not line.startswith("{"):
            continue
        record = json.loads(line)
        if record["record"] == "header":
            run.header = record
            continue
        if record.get("valid") is False:
            raise RunFailed(f"a payload was wrong: {' '.join(command)}\n{line}")
        key = benchmark.key(record)
        if benchmark.figure not in record:
            raise Refused(f"no {benchmark.figure} in its rows: {' '.join(command)}")
        run.rows[key] = record[benchmark.figure]
        run.sizes[key] = record["size"]
        if record.get("line_us", 0) > 0 and record.get("line_after_us", 0) > 0:
            run.lines[key] = (record["line_us"], record["line_after_us"])
    if not run.rows:
        raise RunFailed(f"no rows: {' '.join(command)}\n{err.strip()}")
    return run


class _Rounds:
    """What run_all() has so far; `plan`: [(benchmark, its configurations)]."""

    def __init__(self, plan, tree, arguments, timeout, progress):
        self.plan, self.tree, self.arguments, self.timeout, self.progress = plan, tree, arguments, timeout, progress
        self.runs = {b.name: {c.name: [] for c in configurations} for b, configurations in plan}
        self.failures, self.refused = [], {}

    def one(self, benchmark, configuration, place, known):
        """The Run, or None when it failed, which is noted."""
        refused = f"{configuration.name} with {benchmark.name}"
        if refused in self.refused:
            self.progress.skip()
            return None
        what = f"{place}, {benchmark.name} over {configuration.name}"
        self.progress.begin(what)
        start = time.monotonic()
        try:
            run = run_once(configuration, benchmark, self.tree, self.arguments(benchmark, configuration), self.timeout, known)
        except RunFailed as failure:
            if configuration.former and isinstance(failure, Refused):
                self.refused[refused] = str(failure)
            else:
                self.failures.append(f"{what}: {failure}")
            self.progress.end(what, 0, failed=True)
            return None
        self.progress.end(what, time.monotonic() - start)
        return run

    def round(self, place):
        known = {}
        for benchmark, configurations in self.plan:
            for configuration in configurations:
                self.runs[benchmark.name][configuration.name].append(self.one(benchmark, configuration, place, known))


def rounds_within(seconds, first):
    """How many rounds take so many seconds when the first took `first`: the one that is over, and two more, at least."""
    return max(3, int(seconds / max(first, 0.001)))


def run_all(plan, tree, rounds, arguments, timeout, progress, seconds=None):
    """Runs `plan`, [(benchmark, its configurations)]; `arguments` by benchmark and configuration. With `seconds` the number of
    rounds is as many as they are enough for, by the time that the first one took; else it is `rounds`.

    Returns {benchmark name: {configuration name: [Run or None a round]}}, the failures as text, and {what: reason} for a former
    build's programs that do not know what they were asked for: they are asked once.
    """
    rows = _Rounds(plan, tree, arguments, timeout, progress)
    start, turn = time.monotonic(), 0
    while turn < rounds:
        rows.round(f"round {turn + 1} of {rounds}" if seconds is None or turn else "round 1")
        turn += 1
        if seconds and turn == 1:
            rounds = rounds_within(seconds, time.monotonic() - start)
            progress.total = progress.done * rounds
    return rows.runs, rows.failures, rows.refused


def measure_floor(tree, sizes, timeout):
    """Rows of osu_floor, or none where it is not built."""
    program = tree.programs / "native" / "osu_floor"
    if not program.exists():
        return []
    command = [str(program), "--json", "--row-ms", "10", "--sizes", ",".join(str(s) for s in sizes if s >= 64)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, check=False)
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return [r for r in records if r["record"] == "row"]
