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


# The datatype cases in words: {} is the parameter, {bytes} the parameter as a number of bytes.
CASES = {"column": "column of {} doubles", "column-row": "column of {} doubles into a row",
         "vector-64K": "64 KiB in blocks of {bytes}", "vector-1M": "1 MiB in blocks of {bytes}",
         "vector-16M": "16 MiB in blocks of {bytes}", "indexed": "{} irregular blocks",
         "struct": "{} structures of double, int and char", "transpose": "{0} × {0} matrix, transposed",
         "particles": "{} listed particles", "face 0": "face of a box, contiguous", "face 1": "face of a box, rows of 1 KiB",
         "face 2": "face of a box, single doubles", "lattice 3": "face of a lattice, shortest runs",
         "weather 0": "halo of a weather model across i", "weather 1": "halo of a weather model across j"}


def case_text(key):
    """A line's key in words where its case has some."""
    plain = " ".join(map(str, key))
    words = CASES.get(plain) or (CASES.get(key[0]) if len(key) == 2 else None)
    return words.format(key[1], bytes=size_text(key[1]) if isinstance(key[1], int) else key[1]) if words else plain


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


def laid_out(head, rows):
    """Lines of text: the first cell of a row to the left, the others to the right."""
    widths = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]

    def joined(row):
        return "  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths)))

    return [joined(head), "-" * len(joined(head)), *(joined(r) for r in rows)]


def text_table(benchmark, columns, lines, width=None):
    """A table of one benchmark: the medians, then the ratios with their quartiles, where it is a floor with the line's. What
    is wider than `width` becomes two: the ratios come below."""
    compared = [c.name for c in columns if c.compared]
    over_line = any(line.by_line for line in lines)
    figures = [[c.name for c in columns] + ["line"] * over_line]
    ratios = [[f"/ {name}" for name in compared] + ["/ line"] * over_line]
    for line in lines:
        figures.append([figure_text(line.medians.get(c.name)) for c in columns] + [passed_text(line.line_us)] * over_line)
        each = [line.ratios.get(name) for name in compared]
        ratios.append([f"{r.median:.2f} ({r.low:.2f}-{r.high:.2f})" if r else "-" for r in each])
        ratios[-1] += [figure_text(line.by_line and line.by_line.median)] * over_line
    title = f"{benchmark.title}, {benchmark.unit}"
    labels = [label(benchmark, line) for line in lines]

    def table(title_, cells):
        head, *rows = ([first, *row] for first, row in zip([title_, *labels], cells))
        return laid_out(head, rows)

    whole = table(title, [a + b for a, b in zip(figures, ratios)])
    if width is None or len(whole[0]) <= width or not ratios[0]:
        return "\n".join(whole)
    return "\n".join([*table(title, figures), "", *table(f"{columns[0].name} by the others", ratios)])
