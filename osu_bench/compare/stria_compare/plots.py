"""The report's plots by matplotlib, each as an SVG text that can stand inside a page."""

import io
import itertools
import re
import statistics

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402  (the backend is chosen first)
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: E402

from .table import case_text  # noqa: E402

# A configuration looks the same in every figure; others, which are ways of one, take what is left in turn.
LOOKS = {"stria": ("#0b6bcb", "o"), "ob1": ("#d9622b", "s"), "ucx": ("#3a9a5b", "^"), "mpich": ("#8250c4", "D"),
         "ob1-nosc": ("#eba37c", "h"), "stria-mapped": ("#12a3b8", "v"), "two cores": ("#1d2430", "P"),
         "before": ("#6b7280", ">")}
OTHERS = [("#9a7b1c", "X"), ("#c2356b", "<"), ("#a0522d", "p")]
FLOOR = "#8a94a6"

pyplot.rcParams.update({
    "svg.fonttype": "none", "font.family": "DejaVu Sans",
    "font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#b6bfcc",
    "axes.labelcolor": "#3a4454", "xtick.color": "#3a4454", "ytick.color": "#3a4454", "axes.grid": True,
    "grid.color": "#e6eaf0", "grid.linewidth": 0.8, "axes.axisbelow": True, "legend.frameon": False,
    "svg.hashsalt": "stria", "figure.facecolor": "none", "axes.facecolor": "none", "savefig.facecolor": "none",
})


def looks_of(names):
    """{name: (colour, marker)}."""
    others = itertools.cycle(OTHERS)
    return {name: LOOKS.get(name) or next(others) for name in names}


def _short(size, _=None):
    for unit, shift in (("M", 20), ("K", 10)):
        if size >= 1 << shift:
            return f"{size / (1 << shift):.3g}{unit}"
    return f"{size:g}"


def _plain(value, _=None):
    for unit, factor in (("M", 1e6), ("k", 1e3)):
        if value >= 10 * factor or (value >= factor and unit == "M"):
            return f"{value / factor:g}{unit}"
    return f"{value:g}"


def _svg(figure, name):
    """The figure as an <svg> element; ids are made unique by `name`, for several stand in one page."""
    out = io.StringIO()
    figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    text = out.getvalue()
    text = text[text.index("<svg"):]
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = text.replace("url(#", f"url(#{name}-").replace('xlink:href="#', f'xlink:href="#{name}-')
    return re.sub(r'(<svg[^>]*?) (?:height="[^"]*pt" )', r"\1 ", text).replace("<svg", '<svg role="img"', 1)


def curves(benchmark, names, floor):
    """A figure over the message size, both axes logarithmic, with the machine's floor beside it."""
    figure, axes = pyplot.subplots(figsize=(7.4, 4.1))
    lines = [line for line in benchmark["lines"] if line["size"] > 0]
    looks = looks_of(names)
    for i, name in enumerate(names):
        points = [(line["size"], line["medians"][name]) for line in lines if name in line["medians"]]
        axes.plot(*zip(*points), label=name, color=looks[name][0], marker=looks[name][1], markersize=4,
                  linewidth=2.2 if i == 0 else 1.4, zorder=10 - i)
    largest = max((line["size"] for line in lines), default=0)
    copies = [row for row in floor if row["what"] == "copy" and row["size"] <= largest]
    passed = [line["line_us"] for line in lines if line.get("line_us")]
    passed = passed or [row["median_us"] for row in floor if row["what"] == "line"]
    if benchmark["unit"] == "µs":
        if passed:
            axes.axhline(statistics.median(passed), color=FLOOR, linestyle=":", label="floor: one line, core to core")
        if copies:
            axes.plot([r["size"] for r in copies], [r["median_us"] for r in copies], color=FLOOR, linestyle="--",
                      linewidth=1, label="floor: one memcpy")
        through = [row for row in floor if row["what"] == "through" and row["size"] <= largest]
        if through:
            axes.plot([r["size"] for r in through], [r["median_us"] for r in through], color=FLOOR, linestyle="-.",
                      linewidth=1, label="floor: through shared memory, in and out")
    elif benchmark["unit"] == "MB/s" and copies:
        axes.plot([r["size"] for r in copies], [r["size"] / r["median_us"] for r in copies], color=FLOOR,
                  linestyle="--", linewidth=1, label="floor: one memcpy")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(LogLocator(base=4, numticks=16))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(_short))
    axes.yaxis.set_major_formatter(FuncFormatter(_plain))
    axes.set_xlabel("message size, bytes")
    axes.set_ylabel(f"{'one way, ' if benchmark['unit'] == 'µs' else ''}{benchmark['unit']}")
    axes.legend(loc="best", fontsize=9)
    return _svg(figure, benchmark["name"])


def ratios(benchmark, names):
    """Ratios of times with their quartiles over the message size; 1 is the line to stay below."""
    figure, axes = pyplot.subplots(figsize=(7.4, 2.7))
    axes.set_xlim(1, 2)  # what a logarithmic axis needs where no two configurations met at the same distance
    axes.set_autoscalex_on(True)
    looks = looks_of(names)
    for name in names[1:]:
        known = [line for line in benchmark["lines"] if name in line["ratios"] and line["size"] > 0]
        xs = [line["size"] for line in known]
        each = [line["ratios"][name] for line in known]
        axes.fill_between(xs, [r["low"] for r in each], [r["high"] for r in each], color=looks[name][0], alpha=0.15,
                          linewidth=0)
        axes.plot(xs, [r["median"] for r in each], label=f"{names[0]} / {name}",
                  color=looks[name][0], marker=looks[name][1], markersize=4, linewidth=1.6)
    axes.axhline(1, color="#3a4454", linewidth=1)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(LogLocator(base=4, numticks=16))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(_short))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("message size, bytes")
    axes.set_ylabel("ratio of times")
    axes.legend(loc="best", fontsize=9)
    return _svg(figure, benchmark["name"] + "-ratio")


def beside(benchmark, names, compared):
    """A row a case: how many times as long as the first each of the others takes, and so how far behind 1 it is."""
    lines = [line for line in benchmark["lines"] if line["ratios"]]
    figure, axes = pyplot.subplots(figsize=(7.4, 0.9 + 0.24 * len(lines)))
    looks = looks_of(names)
    for name in compared:
        known = [(at, line["ratios"][name]) for at, line in enumerate(lines) if name in line["ratios"]]
        if not known:
            continue
        middles = [1 / r["median"] for _, r in known]
        spread = [[max(0, m - 1 / r["high"]) for m, (_, r) in zip(middles, known)],
                  [max(0, 1 / r["low"] - m) for m, (_, r) in zip(middles, known)]]
        axes.errorbar(middles, [at for at, _ in known], xerr=spread, label=name, color=looks[name][0], linestyle="none",
                      marker=looks[name][1], markersize=5, elinewidth=0.9, alpha=0.9)
    axes.axvline(1, color=looks[names[0]][0], linewidth=2, label=names[0])
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(FuncFormatter(_plain))
    axes.set_yticks(range(len(lines)), [f"{case_text(line['key'])} ({_short(line['size'])})" for line in lines])
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.set_xlabel(f"time, as a multiple of {names[0]}'s")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9)
    return _svg(figure, benchmark["name"] + "-beside")


# What a case's parameter is; of the others it is a number of blocks or of particles.
PARAMETERS = {"column": "N: rows of the matrix of doubles", "transpose": "N: rows of the matrix of doubles",
              "transpose-in": "N: rows of the matrix of doubles", "column-row": "N: rows of the matrix of doubles",
              "vector-64K": "bytes of a block", "vector-1M": "bytes of a block", "vector-16M": "bytes of a block",
              "face": "dimension across, 0 the slowest", "face-512": "dimension across, 0 the slowest",
              "lattice": "dimension across, 0 the slowest", "weather": "0: across i, 1: across j",
              "same-column": "0 vector, 1 indexed, 2 struct, 3 resized", "particles": "particles", "indexed": "blocks", "struct": "structures", "latency": "pattern",
              "bandwidth": "pattern", "updates": "how places are drawn"}

DEPTH = "depth: receives or messages that lie before"


def bars(benchmark, case, word=None):
    """One case of a benchmark by case: a group of bars a parameter; what is a floor is a mark across its group."""
    figure, axes = pyplot.subplots(figsize=(9.4, 3.6))
    words = [word] if word else []
    lines = [line for line in benchmark["lines"] if line["key"][0] == case and line["key"][2:] == words]
    columns = [c for c in benchmark["columns"] if any(c["name"] in line["spreads"] for line in lines)]
    moving = [c["name"] for c in columns if c["configuration"] != "floor"]
    looks = looks_of(c["name"] for c in benchmark["columns"])
    width = 0.8 / max(len(moving), 1)
    for i, name in enumerate(moving):
        known = [(at, line["spreads"][name]) for at, line in enumerate(lines) if name in line["spreads"]]
        medians = [s["median"] for _, s in known]
        spread = [[s["median"] - s["low"] for _, s in known], [s["high"] - s["median"] for _, s in known]]
        axes.bar([at + (i - (len(moving) - 1) / 2) * width for at, _ in known], medians, width * 0.92, label=name,
                 color=looks[name][0], yerr=spread, error_kw={"elinewidth": 0.8, "ecolor": "#1d2430"})
    styles = iter([("#1d2430", "-", 1.6), (FLOOR, "--", 1.2), (FLOOR, ":", 1.2)])
    for column in columns:
        if column["configuration"] != "floor":
            continue
        colour, line_style, line_width = next(styles, (FLOOR, "-.", 1.0))
        known = [(at, line["spreads"][column["name"]]["median"]) for at, line in enumerate(lines)
                 if column["name"] in line["spreads"]]
        axes.hlines([v for _, v in known], [at - 0.44 for at, _ in known], [at + 0.44 for at, _ in known], color=colour,
                    linestyle=line_style, linewidth=line_width, label=f"floor: {column['name']}")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(_plain))
    axes.set_xticks(range(len(lines)), [str(line["key"][1]) for line in lines])
    axes.grid(axis="x", visible=False)
    of_calls = benchmark["name"].startswith(("calls", "collectives"))
    axes.set_xlabel(DEPTH if benchmark["name"].startswith("matching") else "message size, bytes"
                    if of_calls else PARAMETERS.get(case, "parameter"))
    one_way = benchmark["unit"] == "µs" and not word and not of_calls
    axes.set_ylabel("one way, µs" if one_way else benchmark["unit"])
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9)  # beside: bars fill the axes
    return _svg(figure, "-".join(filter(None, (benchmark["name"], case, word))))
