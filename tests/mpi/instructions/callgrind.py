"""What callgrind counted, read from its files."""

import collections
import pathlib
import re

TEST = "the test itself"
# The group of a function: what lies in a test program itself, else by its name, else by the library it is in; the first that
# fits. (A name alone would not do: the library has functions without linkage, too.)
PROGRAMS = re.compile(r"counted_messages|counted_types|native_messages")
NAMES = ((r"pml_stria_", "component"),
         (r"stria::shm::|transport::table::", "provider"), (r"stria_|stria::", "API and matching"))
LIBRARIES = ((r"libmpi|libopen-", "Open MPI"), (r"libuc[pts]", "UCX"), (r"mca_", "Open MPI's component"))


def valgrind(folder: str, *options: str) -> list[str]:
    """The command that counts inside of stria_counted(), into files of that folder which read_profile() can read."""
    return ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/%p", "--toggle-collect=stria_counted",
            "--compress-strings=no", "--compress-pos=no", *options]


def group_of(function: str, library: str) -> str:
    if PROGRAMS.search(library):
        return TEST
    for patterns, text in ((NAMES, function), (LIBRARIES, library)):
        for pattern, group in patterns:
            if re.search(pattern, text):
                return group
    return "the rest"


def read_profile(path: pathlib.Path) -> collections.Counter:
    """{(group, function): instructions} of callgrind's uncompressed output; what a call cost inside is its callee's."""
    costs: collections.Counter = collections.Counter()
    function = library = ""
    is_call = False
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("ob="):
            library = pathlib.PurePath(line[3:]).name
        elif line.startswith("fn="):
            function = line[3:]
        elif line.startswith("calls="):
            is_call = True
        elif cost := re.fullmatch(r"[+*\-\d]\S* (\d+)", line):
            if not is_call:
                name = re.sub(r"0x0+([0-9a-f]+)", f"a jump in {library}", re.sub(r"'\d+$", "", function))
                costs[group_of(name, library), name] += int(cost.group(1))
            is_call = False
    return costs
