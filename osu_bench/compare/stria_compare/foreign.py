"""Programs that nobody here wrote, run by the comparison as they come from Debian: HPCC and NetPIPE.

Each is told what to do by files or arguments and says what it measured in a file; here that becomes the rows that our own
programs print with --json. They know only MPI, so they run under the configurations of Open MPI.
"""

import dataclasses
import pathlib
import re
import shutil
import typing


class Unreadable(Exception):
    """The program's output is not what it should be; says how."""


@dataclasses.dataclass(frozen=True)
class Foreign:
    program: str
    package: str  # Debian's
    arguments: tuple
    prepare: typing.Callable  # (folder): writes what the program reads there
    rows: typing.Callable  # (folder): [row] from what it wrote there

    def missing(self):
        return None if shutil.which(self.program) else f"{self.program} is not installed (Debian package {self.package})"


# hpccinf.txt: a value a line, the rest of it is a remark. One small HPL run; the order of its matrix also sizes the table
# of RandomAccess, a quarter of the matrix' memory.
HPCC_INPUT = """parameters of the HPC Challenge
one small run
HPL.out  output file
8  device
1  problem sizes
500  N
1  block sizes
80  NB
0  process mapping
1  process grids
1  P
2  Q
16.0  threshold
1  panel factorisations
2  PFACT
1  stopping criteria
4  NBMIN
1  panels in recursion
2  NDIV
1  recursive factorisations
1  RFACT
1  broadcasts
0  BCAST
1  lookahead depths
0  DEPTH
2  SWAP
64  swapping threshold
0  L1
0  U
1  equilibration
8  alignment
#####
0  more sizes for PTRANS
1200  N
0  more block sizes for PTRANS
40  NB
"""
HPCC_FIGURES = {
    ("latency", "ping-pong"): ("AvgPingPongLatency_usec", 1),
    ("latency", "natural ring"): ("NaturallyOrderedRingLatency_usec", 1),
    ("latency", "random ring"): ("RandomlyOrderedRingLatency_usec", 1),
    ("bandwidth", "ping-pong"): ("AvgPingPongBandwidth_GBytes", 1000),
    ("bandwidth", "natural ring"): ("NaturallyOrderedRingBandwidth_GBytes", 1000),
    ("bandwidth", "random ring"): ("RandomlyOrderedRingBandwidth_GBytes", 1000),
    ("updates", "own generator"): ("MPIRandomAccess_GUPs", 1e9),
    ("updates", "LCG"): ("MPIRandomAccess_LCG_GUPs", 1e9),
}
HPCC_BYTES = {"latency": 8, "bandwidth": 2000000, "updates": 8}  # of a message, as HPCC fixes them


def _prepare_hpcc(folder):
    (pathlib.Path(folder) / "hpccinf.txt").write_text(HPCC_INPUT, encoding="utf-8")


def _hpcc_rows(folder):
    path = pathlib.Path(folder) / "hpccoutf.txt"
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    values = dict(re.findall(r"(?m)^(\w+)=(\S+)$", text))
    if values.get("Success") != "1":
        raise Unreadable(f"hpcc says Success={values.get('Success', 'nothing')}")
    rows = []
    for (case, parameter), (name, factor) in HPCC_FIGURES.items():
        if float(values.get(name, 0)) <= 0:
            raise Unreadable(f"hpcc gave no {name}")
        rows.append({"case": case, "parameter": parameter, "way": case, "size": HPCC_BYTES[case],
                     "figure": float(values[name]) * factor})
    return rows


def _netpipe_rows(folder):
    """np.out has "bytes megabits/s seconds" a line."""
    path = pathlib.Path(folder) / "np.out"
    rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    if not rows or any(len(row) != 3 or float(row[2]) <= 0 for row in rows):
        raise Unreadable("NetPIPE wrote no curve")
    return [{"size": int(row[0]), "figure": float(row[2]) * 1e6} for row in rows]


PROGRAMS = {
    "hpcc": Foreign("hpcc", "hpcc", (), _prepare_hpcc, _hpcc_rows),
    "netpipe": Foreign("NPopenmpi", "netpipe-openmpi",
                       ("-p", "0", "-n", "50", "-l", "1", "-u", str(1 << 20), "-o", "np.out"), lambda folder: None,
                       _netpipe_rows),
}
