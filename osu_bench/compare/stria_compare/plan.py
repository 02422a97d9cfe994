"""What runs: the configurations that can run here, and of each benchmark its configurations and its columns."""

import dataclasses
import sys

from . import foreign
from .configurations import Unavailable, configuration


def usable(names, tree, need_all, hosts=()):
    """The configurations that can run here, and {name: reason} for those that cannot. The first must."""
    chosen, missing = [], {}
    for name in names:
        try:
            chosen.append(configuration(name, tree, hosts))
        except Unavailable as reason:
            if need_all or name == names[0]:
                sys.exit(f"osu_compare: {name} cannot run: {reason}")
            missing[name] = str(reason)
    return chosen, missing


def planned(benchmarks, chosen, tree, need_all, hosts=()):
    """[(benchmark, its configurations, its columns)], and {name: reason} for what it cannot bring along."""
    plan, missing = [], {}
    for benchmark in benchmarks:
        brought = []
        unable = [c for c in chosen if not c.has(benchmark)]
        reason = foreign.PROGRAMS[benchmark.foreign].missing() if benchmark.foreign else None
        reason = reason or (f"it cannot run over {chosen[0].name}" if chosen[0] in unable else None)
        if reason and need_all:
            sys.exit(f"osu_compare: {benchmark.name} cannot run: {reason}")
        if reason:
            missing[benchmark.name] = reason
            continue
        lacking = {c.name: f"{benchmark.title} cannot run over it" for c in unable}
        for name in benchmark.brings():
            found = next((c for c in chosen if c.name == name), None)
            try:
                brought += [] if found else [configuration(name, tree, hosts)]
            except Unavailable as reason:
                if need_all:
                    sys.exit(f"osu_compare: {name} cannot run: {reason}")
                lacking[name] = str(reason)
        columns = [c for c in benchmark.columns([c.name for c in chosen]) if c.configuration not in lacking]
        columns[:1] = [dataclasses.replace(c, compared=False) for c in columns[:1]]  # the one that leads
        running = {c.configuration for c in columns}
        plan.append((benchmark, [c for c in [*chosen, *brought] if c.name in running], columns))
        missing |= {f"{name} with {benchmark.name}" if name in {c.name for c in unable} else name: why
                    for name, why in lacking.items()}
    return plan, missing
