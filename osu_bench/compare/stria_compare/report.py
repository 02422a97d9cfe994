"""The comparison as one page of HTML that needs nothing else: what is gained, tables, plots inside, the commands behind it."""

import html
from typing import NamedTuple

from . import against, overview
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
.gain{font-size:20px;line-height:1.4;margin:14px 0 18px;max-width:62em}
.note{color:var(--soft);font-size:13px;margin:10px 0 0;max-width:75em}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:14px}
th,td{padding:5px 10px;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th{color:var(--soft);font-weight:600;border-bottom:2px solid var(--line)}
th:first-child,td:first-child{text-align:left}
.where{margin-top:12px}.lead .faster{color:var(--better-ink)}.lead .slower{color:var(--worse-ink)}
td.faster small:has(.slower),td.equal small:has(.slower){opacity:1}
td small .slower{color:var(--worse-ink);font-weight:600}
td.aside{color:var(--soft)}
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


def _cell(ratio, is_peer):
    """A ratio with its quartiles; only one by a peer, or by a former build, is a gain or a loss, and has a colour."""
    if ratio is None:
        return "<td>–</td>"
    return (f'<td class="{ratio["verdict"] if is_peer else "aside"}">{ratio["median"]:.2f}'
            f'<small>{ratio["low"]:.2f}–{ratio["high"]:.2f}</small></td>')


def _label(benchmark, line):
    distance = f" <small>{line['distance']}</small>" if line["distance"] else ""
    if len(line["key"]) == 1:
        return size_text(line["size"]) + distance
    return f"{html.escape(' '.join(map(str, line['key'])))} <small>{size_text(line['size'])}</small>{distance}"


def _note(text):
    return f'<p class="note">{html.escape(text)}</p>' if text else ""


def _figure(spread):
    if spread is None:
        return "<td>–</td>"
    quartiles = f'{figure_text(spread["low"])}–{figure_text(spread["high"])}'
    return f'<td title="{quartiles}">{figure_text(spread["median"])}</td>'


def _table(benchmark):
    """All figures of a benchmark, the ratios by a former build and by peers before those by what is no peer."""
    names = [c["name"] for c in benchmark["columns"]]
    peers, asides = overview.compared(benchmark)
    peers = [*filter(None, [against.column_of(benchmark)]), *peers]
    over_line = any(line.get("by_line") for line in benchmark["lines"])
    head = "".join(f"<th>{html.escape(n)}, {benchmark['unit']}</th>" for n in names + ["line"] * over_line)
    head += "".join(f"<th>{html.escape(names[0])} / {html.escape(n)}</th>" for n in peers + asides + ["line"] * over_line)
    rows = []
    for line in benchmark["lines"]:
        cells = "".join(_figure(line["spreads"].get(n)) for n in names)
        cells += f"<td>{passed_text(line['line_us'], '–')}</td>" * over_line
        cells += "".join(_cell(line["ratios"].get(n), n in peers) for n in peers + asides)
        cells += _figure(line.get("by_line")) * over_line
        rows.append(f"<tr><td>{_label(benchmark, line)}</td>{cells}</tr>")
    table = f'<div class="wide"><table><thead><tr><th></th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    asides_text = overview.about_asides(benchmark)
    asides_text = asides_text and f"Columns that are no other library, and without colour: {asides_text}."
    return table + _note(ABOUT_LINE) * over_line + _note(asides_text)


def _middle(middle):
    if middle is None:
        return "<td>–</td>"
    most = f"{middle.most:.2f}"
    if middle.most > 1 + overview.EQUAL:  # a loss in one of the rows shows, whatever the median says
        most = f'<span class="slower">{most}</span>'
    spread = f"{middle.least:.2f}–{most}" if middle.count > 1 else "1 row"
    return f'<td class="{middle.verdict}">{middle.median:.2f}<small>{spread}</small></td>'


def _overview(data):
    """The ratios by peers, a line for each benchmark and distance."""
    peers, table = overview.summary_rows(data)
    if not table:
        return ""
    first = html.escape(data["configurations"][0]["name"])
    heads = ([f"{first} / fastest"] if len(peers) > 1 else []) + [f"{first} / {html.escape(name)}" for name in peers]
    rows = []
    for title, distance, fastest, each in table:
        cells = (_middle(fastest) if len(peers) > 1 else "") + "".join(_middle(each.get(name)) for name in peers)
        place = f" <small>{distance}</small>" if distance else ""
        place += f"<small>{overview.counted(fastest.count, 'row')}</small>"
        rows.append(f"<tr><td>{html.escape(title)}{place}</td>{cells}</tr>")
    return (f'<section><h2>At a glance</h2><p class="lead">Times of {first} divided by times of the others, rates and bandwidths '
            f"as times of a message: below 1, {first} is faster. The median of the rows, and their range; fastest: the fastest "
            'of the others in each row. <span class="faster">Green</span>: faster by more than 5 %; '
            '<span class="slower">red</span>: slower by more than 5 %.</p>'
            f'<div class="wide"><table><thead><tr><th></th>{"".join(f"<th>{h}</th>" for h in heads)}</tr></thead>'
            f'<tbody>{"".join(rows)}</tbody></table></div></section>')


def _builds(data):
    """The two builds beside each other, a line for each benchmark; the slowest rows by name."""
    if not data.get("builds"):
        return ""
    heads = "".join(f"<th>{html.escape(head)}</th>" for head in against.HEADS)
    rows = "".join(f"<tr><td>{html.escape(title)}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
                   for title, cells in against.table(data))
    named = html.escape("\n".join(against.notes(data)))
    return (f'<section><h2>Beside the build before</h2><p class="lead">{html.escape(against.ABOUT)}</p><div class="wide"><table>'
            f"<thead><tr><th></th>{heads}</tr></thead><tbody>{rows}</tbody></table></div><pre>{named}</pre></section>")


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

    names = [c["name"] for c in benchmark["columns"]]
    compared = [c["name"] for c in benchmark["columns"] if c["compared"]]
    if len(benchmark["lines"][0]["key"]) == 1:
        yield Figure(benchmark["name"], plots.curves(benchmark, names, floor),
                     "Medians over the rounds; both axes logarithmic.")
        if compared:
            yield Figure(f"{benchmark['name']}-ratio", plots.ratios(benchmark, names),
                         "Median ratio and quartiles; below 1 the first is faster.")
        return
    first = benchmark["columns"][0]["configuration"]
    others = [c["name"] for c in benchmark["columns"] if c["compared"] and c["configuration"] not in (first, "floor")]
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
    parts = [_builds(data), _overview(data)]
    explained = False
    for benchmark in data["benchmarks"]:
        drawn = list(figures(benchmark, data["floor"]))
        first_floor = not explained and any("floor:" in figure.svg for figure in drawn)
        explained = explained or first_floor
        shown = "".join(f"<figure>{f.svg}<figcaption>{html.escape(f.caption)}</figcaption></figure>" for f in drawn)
        parts.append(f"<section><h2>{html.escape(benchmark['title'])}</h2>{_note(overview.ABOUT_FLOOR) * first_floor}{shown}"
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
    gain = "".join(f'<p class="gain">{html.escape(text)}</p>' for text in (against.sentence(data), overview.gain(data)) if text)
    gain += _note(overview.about_distances(data))
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>stria osu_bench: {title}</title>'
            f'<meta name="viewport" content="width=device-width,initial-scale=1"><style>{STYLE}</style></head><body>'
            f'<main><h1>{title}</h1>{gain}<p class="lead where">{where}'
            f"<br>{about}</p>{''.join(parts)}</main></body></html>\n")
