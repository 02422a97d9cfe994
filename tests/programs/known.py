"""The list of what fails over Open MPI's own ob1 in the same way, so that it says nothing about stria.
known_failures: one a line, four columns parted by "|": program | ranks (2, 4 or *) | name, * allowed | reason."""
import fnmatch
import os


def entries(program, ranks):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "known_failures")
    found = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip() or line.startswith("#"):
                continue
            columns = [column.strip() for column in line.split("|", 3)]
            if len(columns) != 4 or not columns[3]:
                raise SystemExit(f"known_failures:{number}: expected 'program | ranks | name | reason'")
            if columns[0] == program and columns[1] in ("*", str(ranks)):
                found.append((columns[2], columns[3]))
    return found


def reason(name, listed):
    return next((why for pattern, why in listed if fnmatch.fnmatchcase(name, pattern)), None)
