"""What a comparison prints at its end: the tables, what they leave out, and what it comes to."""

import shutil
import textwrap

from . import against, overview
from .table import ABOUT_LINE, laid_out, text_table

WIDTH = 150  # of text that goes into a file


def _about_tables(data, plan, lines):
    """Lines that explain the tables above them."""
    said = [f"without {name}: {reason}" for name, reason in data["missing"].items()]
    if any(c.configuration == "floor" for _, _, columns in plan for c in columns):
        said.append("two cores: one gathers while the other scatters, by plain loops; gather, scatter: one core alone")
    if any(line.by_line for of in lines.values() for line in of):
        said.append(ABOUT_LINE)
    line = next((row for row in data["floor"] if row["what"] == "line"), None)
    if line:
        said.append(f"floor: one cache line between two cores, one way {line['median_us']:.3f} µs")
    if len(data["configurations"]) > 1:
        said.append(f"ratios are of times: below 1.00 {data['configurations'][0]['name']} is faster; median (quartiles) of "
                    f"{data['rounds']} alternating rounds")
    return said


def _builds(data, width):
    """The two builds beside each other: a table, the slowest rows, a sentence."""
    yield ""
    yield from laid_out(["stria / before", *against.HEADS], [[title, *cells] for title, cells in against.table(data)])
    if notes := against.notes(data):
        yield from ["", *notes]
    yield from ["", textwrap.fill(against.sentence(data), width)]


def show(data, plan, lines):
    """Prints everything; `plan`: [(benchmark, its configurations, its columns)], `lines`: {benchmark's name: [Line]}."""
    width = shutil.get_terminal_size((WIDTH, 0)).columns
    if distances := overview.about_distances(data):
        print(f"\n{textwrap.fill(distances, width)}")
    for benchmark, _, columns in plan:
        print()
        print(text_table(benchmark, columns, lines[benchmark.name], width))
    print()
    print("\n".join(_about_tables(data, plan, lines)))
    if data["builds"]:
        print("\n".join(_builds(data, width)))
    if gain := overview.gain(data):
        print(f"\n{textwrap.fill(gain, width)}")
