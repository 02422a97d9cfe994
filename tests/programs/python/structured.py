"""numpy's structured types as MPI structs: whole records with padding, records into another arrangement of the same fields,
and one field of every record (a column of a table), against numpy's own access by field name."""
import numpy as np
from mpi4py import MPI
from mpi4py.util import dtlib

from common import FILLER, partner

COUNTS = [1, 7, 1000, 20000]
FIELDS = [("small", "u1", (5,)), ("number", "f8", ()), ("pair", "i4", (2,)), ("short", "i2", ()), ("matrix", "f4", (2, 3))]
BASIC = {"u1": MPI.UINT8_T, "f8": MPI.DOUBLE, "i4": MPI.INT32_T, "i2": MPI.INT16_T, "f4": MPI.FLOAT}
ALIGNED = np.dtype(FIELDS, align=True)
PACKED = np.dtype(FIELDS)
# The fields at other places, not in the order of their names, and much room between records.
LOOSE = np.dtype({"names": [name for name, _, _ in FIELDS], "formats": [(kind, shape) for _, kind, shape in FIELDS],
                  "offsets": [40, 8, 24, 2, 64], "itemsize": 100})


def struct(dtype, names=None):
    """The MPI struct of these fields (all of them by default), with the extent of one record."""
    chosen = [(name, kind, shape) for name, kind, shape in FIELDS if names is None or name in names]
    made = MPI.Datatype.Create_struct([int(np.prod(shape, dtype=int)) for _, _, shape in chosen],
                                      [dtype.fields[name][1] for name, _, _ in chosen],
                                      [BASIC[kind] for _, kind, _ in chosen])
    sized = made.Create_resized(0, dtype.itemsize).Commit()
    made.Free()
    return sized


def table(check, dtype, count, *key):
    """Records with drawn values; equal fields whatever the arrangement."""
    made = np.zeros(count, dtype)
    for name, kind, shape in FIELDS:
        made[name] = check.values(count * int(np.prod(shape, dtype=int)), kind, name, *key).reshape(count, *shape)
    return made


def untouched(records):
    """Whether all bytes that belong to no field are still FILLER."""
    data = records.view(np.uint8).reshape(len(records), records.dtype.itemsize)
    used = np.zeros(records.dtype.itemsize, bool)
    for kind, start, *_ in records.dtype.fields.values():
        used[start:start + kind.itemsize] = True
    return bool((data[:, ~used] == FILLER).all())


def empty(dtype, count):
    return np.full(count * dtype.itemsize, FILLER, np.uint8).view(dtype)


def records(comm, check, count):
    """Whole records, from each arrangement into each."""
    peer, arrangements = partner(comm), {"aligned": ALIGNED, "packed": PACKED, "loose": LOOSE}
    for sent_name, sent in arrangements.items():
        for got_name, received in arrangements.items():
            types = struct(sent), struct(received)
            mine, got = table(check, sent, count, comm.rank), empty(received, count)
            comm.Sendrecv([mine, count, types[0]], peer, 1, [got, count, types[1]], peer, 1)
            wanted = table(check, received, count, peer)
            what = f"{count} records, {sent_name} into {got_name}"
            for name, _, _ in FIELDS:
                check.same(got[name], wanted[name], f"{what}, field {name}")
            check.that(untouched(got), f"{what}: bytes between fields changed")
            for made in types:
                made.Free()


def columns(comm, check, count):
    """One or two fields of every record, into plain arrays and into the fields of other records."""
    peer = partner(comm)
    mine, wanted = table(check, ALIGNED, count, comm.rank), table(check, ALIGNED, count, peer)
    for name, kind, shape in FIELDS:
        column = struct(ALIGNED, [name])
        got = np.zeros((count, *shape), kind)
        comm.Sendrecv([mine, count, column], peer, 2, [got, got.size, BASIC[kind]], peer, 2)
        check.same(got, wanted[name].astype(kind), f"field {name} of {count} records")
        column.Free()
    pair = struct(ALIGNED, ["number", "short"]), struct(LOOSE, ["number", "short"])
    got = empty(LOOSE, count)
    before = got.copy()
    comm.Sendrecv([mine, count, pair[0]], peer, 3, [got, count, pair[1]], peer, 3)
    for name, _, _ in FIELDS:
        right = wanted[name] if name in ("number", "short") else before[name]
        check.same(got[name].tobytes(), right.tobytes(), f"two fields of {count} records: field {name}")
    for made in pair:
        made.Free()


def numpy_types(comm, check):
    """mpi4py's own conversion of a structured numpy type."""
    peer, made = partner(comm), dtlib.from_numpy_dtype(ALIGNED)
    made.Commit()
    got = np.zeros(300, ALIGNED)
    comm.Sendrecv([table(check, ALIGNED, 300, comm.rank), 300, made], peer, 4, [got, 300, made], peer, 4)
    wanted = table(check, ALIGNED, 300, peer)
    for name, _, _ in FIELDS:
        check.same(got[name], wanted[name], f"from_numpy_dtype, field {name}")
    made.Free()


def run(comm, check):
    for count in COUNTS:
        records(comm, check, count)
        columns(comm, check, count)
    numpy_types(comm, check)
