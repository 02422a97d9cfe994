"""The report's plots as files of their own, for documents that show some of them."""

import pathlib

from .report import figures


def _standing_alone(svg):
    """On white, as the page that shows it may be dark."""
    opened = svg.index(">", svg.index("<svg")) + 1
    return f'{svg[:opened]}<rect width="100%" height="100%" fill="#fff"/>{svg[opened:]}'


def write(data, folder):
    """One SVG file a plot; the paths."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for benchmark in data["benchmarks"]:
        for figure in figures(benchmark, data["floor"]):
            paths.append(folder / f"{figure.name.replace(' ', '-')}.svg")
            paths[-1].write_text(_standing_alone(figure.svg), encoding="utf-8")
    return paths
