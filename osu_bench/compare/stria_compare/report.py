"""The comparison as one page of HTML that needs nothing else: tables, plots inside, the commands behind it."""

import html
from typing import NamedTuple

from .table import ABOUT_LINE, figure_text, passed_text, size_text

STYLE = """
:root{--ink:#1d2430;--soft:#5a6577;--line:#e2e7ee;--better:#e3f4e8;--better-ink:#146c37;--worse:#fde8e4;
--worse-ink:#a8321c;--card:#fff;--page:#f5f7fa}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 Inter,"Segoe UI",Helvetica,Arial,sans-serif}
main{max-width:1240px;margin:0 auto;padding:36px 20px 60px}
h1{font-size:30px;margin:0 0 4px;letter-spacing:-.02em}h2{font-size:20px;margin:0 0 12px}
.lead{color:var(--soft);margin:0 0 20px}
section{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:22px 24px;margin:18px 0}
dl{display:grid;grid-template-columns:max-content 1fr;gap:4px 18px;margin:0}dt{color:var(--soft)}dd{margin:0}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(230px,1fr));gap:12px}
.tile{border:1px solid var(--line);border-radius:10px;padding:12px 16px}
.tile b{display:block;font-size:26px;line-height:1.2;font-variant-numeric:tabular-nums}
.tile span{color:var(--soft);font-size:13px}
.tile.faster b{color:var(--better-ink)}.tile.slower b{color:var(--worse-ink)}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:14px}
th,td{padding:5px 10px;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th{color:var(--soft);font-weight:600;border-bottom:2px solid var(--line)}
th:first-child,td:first-child{text-align:left}
td small{color:var(--soft);margin-left:6px}
td.faster{background:var(--better);color:var(--better-ink);font-weight:600}
td.slower{background:var(--worse);color:var(--worse-ink);font-weight:600}
td.faster small,td.slower small{color:inherit;opacity:.75;font-weight:400}
figure{margin:14px 0}figure svg{max-width:100%;height:auto;display:block;margin:0 auto}
figure svg text{font-family:Inter,"Segoe UI",Helvetica,Arial,"DejaVu Sans",sans-serif!important}
figcaption{color:var(--soft);font-size:13px;text-align:center}
code{font:13px/1.5 ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere}
details{margin-top:10px}summary{cursor:pointer;color:var(--soft)}
.failed{border-color:var(--worse-ink)}pre{white-space:pre-wrap;font-size:12px}
"""


def _cell(ratio):
    if ratio is None:
        return "<td>–</td>"
    return (f'<td class="{ratio["verdict"]}">{ratio["median"]:.2f}'
            f'<small>{ratio["low"]:.2f}–{ratio["high"]:.2f}</small></td>')


def _label(benchmark, line):
    distance = f" <small>{line['distance']}</small>" if line["distance"] else ""
    if len(line["key"]) == 1:
        return size_text(line["size"]) + distance
    return f"{html.escape(' '.join(map(str, line['key'])))} <small>{size_text(line['size'])}</small>{distance}"


def _names(benchmark):
    """The names of its columns, and of those that the first is compared with."""
    return [c["name"] for c in benchmark["columns"]], [c["name"] for c in benchmark["columns"] if c["compared"]]


def _figure(spread):
    if spread is None:
        return "<td>–</td>"
    quartiles = f'{figure_text(spread["low"])}–{figure_text(spread["high"])}'
    return f'<td title="{quartiles}">{figure_text(spread["median"])}</td>'


def _table(benchmark):
    names, compared = _names(benchmark)
    over_line = any(line.get("by_line") for line in benchmark["lines"])
    head = "".join(f"<th>{html.escape(n)}, {benchmark['unit']}</th>" for n in names + ["line"] * over_line)
    head += "".join(f"<th>{html.escape(names[0])} / {html.escape(n)}</th>" for n in compared + ["line"] * over_line)
    rows = []
    for line in benchmark["lines"]:
        cells = "".join(_figure(line["spreads"].get(n)) for n in names)
        cells += f"<td>{passed_text(line['line_us'], '–')}</td>" * over_line
        cells += "".join(_cell(line["ratios"].get(n)) for n in compared)
        cells += _figure(line.get("by_line")) * over_line
        rows.append(f"<tr><td>{_label(benchmark, line)}</td>{cells}</tr>")
    about = f'<p class="lead">{html.escape(ABOUT_LINE)}</p>' * over_line
    return (f'<div class="wide"><table><thead><tr><th></th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
            f"{about}")


def _tiles(data, first):
    """The middle ratio of each benchmark against each column it is compared with, with its range over the lines."""
    tiles = []
    for benchmark in data["benchmarks"]:
        names, compared = _names(benchmark)
        for name in compared:
            each = sorted(line["ratios"][name]["median"] for line in benchmark["lines"] if name in line["ratios"])
            if not each:
                continue
            middle = (each[(len(each) - 1) // 2] + each[len(each) // 2]) / 2
            kind = "faster" if middle < 0.95 else "slower" if middle > 1.05 else "equal"
            tiles.append(f'<div class="tile {kind}"><b>{middle:.2f}</b>{html.escape(benchmark["title"])}<br>'
                         f"<span>{html.escape(names[0])} / {html.escape(name)}; from {each[0]:.2f} to {each[-1]:.2f} "
                         f"over {len(each)} rows</span></div>")
    if not tiles:
        return ""
    return (f'<section><h2>At a glance</h2><p class="lead">Ratios of times: below 1, {html.escape(first)} is faster.'
            f'</p><div class="tiles">{"".join(tiles)}</div></section>')


def _facts(data):
    header = next((c["header"] for c in data["configurations"] if c["header"]), {})
    facts = [("Machine", header.get("cpu")), ("Commit", header.get("commit")), ("Compiler", header.get("compiler")),
             ("MPI", "; ".join(dict.fromkeys(c["header"]["mpi"] for c in data["configurations"]
                                             if "mpi" in c["header"]))),
             ("Pinning", header.get("pinning")), ("Rounds", f"{data['rounds']}, all configurations in turn"),
             ("Measured", data["when"]), ("Command", None)]
    items = "".join(f"<dt>{k}</dt><dd>{html.escape(str(v))}</dd>" for k, v in facts if v)
    items += f"<dt>Command</dt><dd><code>{html.escape(data['command'])}</code></dd>"
    for c in data["configurations"]:
        launchers = [" ".join(words) for words in (c["launcher"], c.get("crowded", [])) if words]
        items += (f"<dt>{html.escape(c['name'])}</dt><dd>{html.escape(c['meaning'])}"
                  + "".join(f"<br><code>{html.escape(words)}</code>" for words in launchers) + "</dd>")
    for name, reason in data["missing"].items():
        items += f"<dt>without {html.escape(name)}</dt><dd>{html.escape(reason)}</dd>"
    return f"<section><h2>How it was measured</h2><dl>{items}</dl></section>"


class Figure(NamedTuple):
    name: str  # unique within a comparison
    svg: str
    caption: str


def _drawn(benchmark, floor):
    """The figures of lines of one distance."""
    from . import plots  # matplotlib takes a second to load: only for a report

    names, compared = _names(benchmark)
    if len(benchmark["lines"][0]["key"]) == 1:
        yield Figure(benchmark["name"], plots.curves(benchmark, names, floor),
                     "Medians over the rounds; both axes logarithmic.")
        if compared:
            yield Figure(f"{benchmark['name']}-ratio", plots.ratios(benchmark, names),
                         "Median ratio and quartiles; below 1 the first is faster.")
        return
    first = benchmark["columns"][0]["configuration"]
    others = [c["name"] for c in benchmark["columns"] if c["compared"] and c["configuration"] != first]
    if sum(any(name in line["ratios"] for name in others) for line in benchmark["lines"]) > 1:
        yield Figure(f"{benchmark['name']}-beside", plots.beside(benchmark, names, others),
                     f"How many times as long as {names[0]}: right of 1, {names[0]} is faster. Median ratio and quartiles.")
    kinds = dict.fromkeys((line["key"][0], *line["key"][2:]) for line in benchmark["lines"])
    for kind in kinds:
        yield Figure("-".join((benchmark["name"], *kind)), plots.bars(benchmark, *kind),
                     f"{', '.join(kind)}; logarithmic, quartiles of the rounds.")


def figures(benchmark, floor):
    """All figures of a benchmark; where two distances were seen, of each. The floor is that of two cores for two processes."""
    floor = floor if benchmark.get("ranks", 2) == 2 else []
    for distance in dict.fromkeys(line["distance"] for line in benchmark["lines"]):
        part = {**benchmark, "lines": [line for line in benchmark["lines"] if line["distance"] == distance],
                "name": f"{benchmark['name']}-{distance}".rstrip("-")}
        for figure in _drawn(part, floor):
            yield figure._replace(caption=figure.caption + (f" Cores {distance}." if distance else ""))


def page(data):
    parts = [_tiles(data, data["configurations"][0]["name"] if data["configurations"] else "the first")]
    for benchmark in data["benchmarks"]:
        drawn = "".join(f"<figure>{f.svg}<figcaption>{html.escape(f.caption)}</figcaption></figure>"
                        for f in figures(benchmark, data["floor"]))
        parts.append(f"<section><h2>{html.escape(benchmark['title'])}</h2>{drawn}"
                     f"{_table(benchmark)}</section>")
    if data["failures"]:
        text = html.escape("\n\n".join(data["failures"]))
        parts.append(f'<section class="failed"><h2>What failed</h2><pre>{text}</pre></section>')
    parts.append(_facts(data))
    title = html.escape(data["title"])
    header = next((c["header"] for c in data["configurations"] if c["header"]), {})
    about = " · ".join(html.escape(x) for x in (header.get("cpu", ""), "commit " + header.get("commit", "unknown"),
                                                data["when"][:10], f"median of {data['rounds']} alternating rounds") if x)
    where = "Two processes on one host, each bound to a core"
    if any(b.get("ranks", 2) != 2 for b in data["benchmarks"]):
        where += "; where a title says so more of them, bound to none"
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>stria osu_bench: {title}</title>'
            f'<meta name="viewport" content="width=device-width,initial-scale=1"><style>{STYLE}</style></head><body>'
            f'<main><h1>{title}</h1><p class="lead">{where}'
            f"<br>{about}</p>{''.join(parts)}</main></body></html>\n")
