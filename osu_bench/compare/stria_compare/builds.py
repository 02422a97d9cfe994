"""Two builds of stria beside each other: a developer's own, and the one before a change.

Every way of running stria that was chosen (`stria`, `stria-mapped`, `native`) becomes a group of two configurations. They have
the same command lines, and each has the programs, the component and the libraries of its own build alone. The tables of a group
have the columns NEW and BEFORE, whatever the group is: its benchmarks carry the group's name instead.

Two builds may speak different wire versions, so one job must never load parts of both. The environment of a configuration names
its build's folders first, and `check_loaded` asks the dynamic linker what a job really loaded before anything is measured.
"""

import dataclasses
import os
import pathlib
import re
import sys
import tempfile

from .benchmarks import Series
from .configurations import OWN, Tree, Unavailable, configuration, former_name
from .plan import planned
from .runner import RunFailed, output

NEW, BEFORE = "stria", "before"  # the columns
USUAL = ["latency", "bw", "bibw", "mbw_mr", "datatype", "kernels"]
MPI_ALONE = ("osu_calls", "osu_collectives", "osu_overlap", "osu_beside")  # programs that have no native version
TITLES = {"stria": "", "stria-mapped": ", out of mapped memory", "native": ", stria's own API", "stria-tcp": ", by TCP",
          "stria-uct-tcp": ", by UCX's tcp", "stria-uct-posix": ", by UCX's posix"}  # of all of OWN


@dataclasses.dataclass(frozen=True)
class Group:
    name: str  # of the way of running stria
    chosen: list  # the new build's Configuration, the former's where it can run, other libraries

    def column(self, configuration_name):
        return {self.name: NEW, former_name(self.name): BEFORE}.get(configuration_name, configuration_name)


def in_build(name, tree, former):
    """The configuration `name` with everything of `tree`; raises Unavailable with the reason against it."""
    found = configuration(name, tree)
    environment = dict(found.environment)
    # A library path of the user precedes the one that programs and component were linked with.
    environment["LD_LIBRARY_PATH"] = ":".join(filter(None, (str(tree.libraries), os.environ.get("LD_LIBRARY_PATH"))))
    return dataclasses.replace(found, name=former_name(name) if former else name, tree=tree, former=former,
                               meaning=f"{found.meaning}; the build {tree.programs.parent}", environment=environment)


def groups_of(names, new, old, need_all):
    """The groups of `names`, and {name: reason} for what cannot run here. One group of both builds at least is needed."""
    groups, missing = [], {}
    for name in [n for n in names if n in OWN]:
        both = []
        for tree, former in ((new, False), (old, True)):
            try:
                both.append(in_build(name, tree, former))
            except Unavailable as reason:
                missing[former_name(name) if former else name] = str(reason)
        if name not in missing:
            groups.append(Group(name, both))
    groups.sort(key=lambda group: len(group.chosen) < 2)
    if not groups or len(groups[0].chosen) < 2 or (need_all and missing):
        reasons = "; ".join(f"{name} cannot run: {reason}" for name, reason in missing.items())
        sys.exit(f"osu_compare: {reasons or 'nothing of stria is chosen that the two builds could both run'}")
    for name in [n for n in names if n not in OWN]:
        try:
            groups[0].chosen.append(configuration(name, new))
        except Unavailable as reason:
            if need_all:
                sys.exit(f"osu_compare: {name} cannot run: {reason}")
            missing[name] = str(reason)
    return groups, missing


def of_group(benchmark, group):
    """The benchmark as the group runs it: with the rows that both builds have; None where it is another group's."""
    wanted = [s for s in benchmark.series if s.of == "others"] or [s for s in benchmark.series if s.of != "floor"]
    bound = {s.of for s in wanted} - {"first", "others"}  # to a configuration that the benchmark brings along
    native = group.name == "native"
    if (bound and group.name not in bound) or (native and (benchmark.foreign or benchmark.program in MPI_ALONE
                                                           or benchmark.ranks != 2)):
        return None
    ways = {}
    for way, words in (pair for series in wanted for pair in series.ways.items()):
        ways[way] = (way,) if words in ways.values() else words
    series = (Series("first", ways), Series("others", ways)) if benchmark.by_case else ()
    prefix = "" if group.name == "stria" else f"{group.name}-"
    return dataclasses.replace(benchmark, name=prefix + benchmark.name, title=benchmark.title + TITLES[group.name],
                               series=series)


def _lacking(group, benchmark):
    """{configuration of the group: reason} for those whose build has no such program."""
    programs = {one.name: one.program(one.tree.programs, benchmark.program) for one in group.chosen if one.tree}
    return {} if benchmark.foreign else {name: f"{path} is missing" for name, path in programs.items() if not path.exists()}


def planned_builds(benchmarks, groups, need_all):
    """As plan.planned(), for all groups. What one build lacks is missing by its path, and its column stays, without figures."""
    plan, missing = [], {}
    for group in groups:
        for benchmark in filter(None, (of_group(b, group) for b in benchmarks)):
            lacking = _lacking(group, benchmark)
            missing |= {f"{name} with {benchmark.name}": reason for name, reason in lacking.items()}
            if group.name in lacking:
                continue
            entries, more = planned([benchmark], group.chosen, group.chosen[0].tree, need_all)
            missing |= more
            plan += [(b, [c for c in running if c.name not in lacking], _labelled(columns, group))
                     for b, running, columns in entries]
    if need_all and missing:
        sys.exit("osu_compare: " + "; ".join(f"{name} cannot run: {reason}" for name, reason in missing.items()))
    if not plan:
        sys.exit("osu_compare: nothing to run: " + "; ".join(f"{name}: {reason}" for name, reason in missing.items()))
    return plan, missing


def _labelled(columns, group):
    """The columns under their names in a table; a former build that cannot run has its column too."""
    labelled = [dataclasses.replace(c, name=group.column(c.configuration), former=c.configuration == former_name(group.name))
                for c in columns]
    if not any(c.former for c in labelled):
        labelled.insert(1, dataclasses.replace(labelled[0], name=BEFORE, configuration=former_name(group.name), compared=True,
                                               former=True))
    return labelled


def strangers(listing, tree):
    """(Parts of stria that a job loaded, those of them that are not of `tree`), from what the dynamic linker wrote."""
    loaded = dict.fromkeys(re.findall(r"calling init: (\S.*)", listing))
    parts = [path for path in loaded if re.match(r"libstria[._]|mca_\w+_stria\.so", pathlib.Path(path).name)]
    own = tree.libraries.resolve()
    return parts, [path for path in parts if not pathlib.Path(path).resolve().is_relative_to(own)]


def check_loaded(one, timeout):
    """Ends the program when a job of the configuration `one` loads a part of stria that is not of its own build."""
    with tempfile.TemporaryDirectory(prefix="stria-compare-") as folder:
        environment = {**os.environ, **one.environment, "LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": f"{folder}/linker"}
        command = one.command(one.tree.programs, "osu_latency", ["--row-ms", "1", "--sizes", "8"])
        try:
            output(command, environment, timeout)
        except RunFailed as failure:
            sys.exit(f"osu_compare: {one.name} cannot run: {failure}")
        listing = "\n".join(path.read_text(encoding="utf-8", errors="replace")
                            for path in pathlib.Path(folder).glob("linker.*"))
    parts, others = strangers(listing, one.tree)
    if others:
        sys.exit(f"osu_compare: {one.name} loads {', '.join(others)}, which is not of its build in {one.tree.libraries}. Two "
                 "builds must not be mixed in one job: look at STRIA_PROVIDER_PATH, LD_PRELOAD and OMPI_MCA_* in the environment")
    if one.launcher and "mca_pml_stria.so" not in {pathlib.Path(path).name for path in parts}:
        sys.exit(f"osu_compare: {one.name} does not load mca_pml_stria.so of {one.tree.component}")


def described(plan, runs):
    """[{column, folder, commit}] of the two builds: the commit is the one that the benchmark programs were built from."""
    found = {}
    for benchmark, running, _ in plan:
        for one in running:
            if one.tree:
                headers = [run.header for run in runs[benchmark.name][one.name] if run and "commit" in run.header]
                entry = found.setdefault(one.former, {"name": BEFORE if one.former else NEW,
                                                      "folder": str(one.tree.programs.parent), "commit": "unknown"})
                entry["commit"] = headers[0]["commit"] if headers else entry["commit"]
    return [found[former] for former in sorted(found)]


def former_build(folder):
    """The Tree of --against."""
    if not (pathlib.Path(folder) / "bin").is_dir():
        sys.exit(f"osu_compare: --against {folder}: there is no build in it: it has no folder bin")
    return Tree.find(folder)
