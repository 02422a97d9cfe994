"""The comparison as Markdown: the tables, and how they were measured."""

from . import against, overview
from .table import ABOUT_LINE, figure_text, passed_text, size_text


def _ratio(ratio):
    return f"{ratio['median']:.2f} ({ratio['low']:.2f}–{ratio['high']:.2f})" if ratio else "–"


def _figure(value):
    return "–" if value is None else figure_text(value)


def _row(cells):
    return f"| {' | '.join(cells)} |"


def table(benchmark):
    names = [c["name"] for c in benchmark["columns"]]
    compared = [c["name"] for c in benchmark["columns"] if c["compared"]]
    by_case = any(len(line["key"]) > 1 for line in benchmark["lines"])
    two_distances = any(line["distance"] for line in benchmark["lines"])
    labels = ["case", "bytes"] if by_case else ["bytes"]
    labels += ["cores"] if two_distances else []
    over_line = any(line.get("by_line") for line in benchmark["lines"])
    heads = names + ["line"] * over_line + [f"{names[0]} / {n}" for n in compared + ["line"] * over_line]
    rows = [_row([*labels, *heads]), _row(["---"] * len(labels) + ["---:"] * len(heads))]
    for line in benchmark["lines"]:
        cells = [" ".join(map(str, line["key"]))] if by_case else []
        cells += [size_text(line["size"])] + ([line["distance"]] if two_distances else [])
        cells += [_figure(line["medians"].get(n)) for n in names]
        cells += [passed_text(line["line_us"], "–")] * over_line
        cells += [_ratio(line["ratios"].get(n)) for n in compared]
        cells += [_figure(line["by_line"] and line["by_line"]["median"])] * over_line
        rows.append(_row(cells))
    return "\n".join(rows)


def builds(data):
    """The two builds beside each other, a line for each benchmark; the slowest rows by name."""
    lines = [_row(["", *against.HEADS]), _row(["---"] + ["---:"] * len(against.HEADS))]
    lines += [_row([title, *cells]) for title, cells in against.table(data)]
    named = "\n".join(f"- {note}" for note in against.notes(data))
    return "\n".join(lines) + (f"\n\n{named}" if named else "")


def page(data):
    header = next((c["header"] for c in data["configurations"] if c["header"]), {})
    mpi = "; ".join(dict.fromkeys(c["header"]["mpi"] for c in data["configurations"] if "mpi" in c["header"]))
    facts = [("machine", header.get("cpu")), ("commit", header.get("commit")), ("compiler", header.get("compiler")),
             ("MPI", mpi), ("measured", data["when"][:10]), ("command", f"`{data['command']}`")]
    parts = [f"# {data['title']}", against.sentence(data), overview.gain(data), "Medians over the rounds. Ratios are of times, "
             "formed within a round: below 1.00 the first is faster; median and quartiles."]
    if any(line.get("by_line") for benchmark in data["benchmarks"] for line in benchmark["lines"]):
        parts[-1] += f" {ABOUT_LINE}"
    parts.append(overview.about_distances(data))
    parts.append("\n".join(f"- {name}: {value}" for name, value in facts if value))
    if data.get("builds"):
        parts.append(f"## Beside the build before\n\n{against.ABOUT}\n\n{builds(data)}")
    for benchmark in data["benchmarks"]:
        if benchmark["lines"]:
            parts.append(f"## {benchmark['title']}, {benchmark['unit']}\n\n{table(benchmark)}")
    return "\n\n".join(filter(None, parts)) + "\n"
