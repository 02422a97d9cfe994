"""The comparison as text."""

ABOUT_LINE = ("line: one way of a bare cache line between the two cores, which each program measures before and after each "
              "of its rows; what is divided by it is a time of the same run.")


def size_text(size):
    for unit, shift in (("MiB", 20), ("KiB", 10)):
        if size >= 1 << shift and size % (1 << shift) == 0:
            return f"{size >> shift} {unit}"
        if size >= 100 << shift:
            return f"{size / (1 << shift):.0f} {unit}"
    return f"{size} B"


def label(benchmark, line):
    name = " ".join(map(str, line.key)) + f" ({size_text(line.size)})" if benchmark.by_case else size_text(line.size)
    return f"{name} {line.distance}".rstrip()


def figure_text(value):
    if value is None:
        return "-"
    if value >= 1e6:
        return f"{value / 1e6:.2f}M"
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}" if value >= 100 else f"{value:.2f}"


def passed_text(us, unknown="-"):
    """What a cache line took: some hundredths of a µs, so one digit more than other figures have."""
    return unknown if us is None else f"{us:.3f}"


def text_table(benchmark, columns, lines):
    """A table of one benchmark: the medians, then the ratios with their quartiles, where it is a floor with the line's."""
    compared = [c.name for c in columns if c.compared]
    over_line = any(line.by_line for line in lines)
    head = [f"{benchmark.title}, {benchmark.unit}"] + [c.name for c in columns] + ["line"] * over_line
    head += [f"/ {name}" for name in compared] + ["/ line"] * over_line
    rows = []
    for line in lines:
        row = [label(benchmark, line)] + [figure_text(line.medians.get(c.name)) for c in columns]
        row += [passed_text(line.line_us)] * over_line
        for name in compared:
            r = line.ratios.get(name)
            row.append(f"{r.median:.2f} ({r.low:.2f}-{r.high:.2f})" if r else "-")
        row += [figure_text(line.by_line and line.by_line.median)] * over_line
        rows.append(row)
    widths = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]

    def joined(row):
        return "  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths)))

    return "\n".join([joined(head), "-" * len(joined(head)), *(joined(r) for r in rows)])
