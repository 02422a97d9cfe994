"""Collective operations, blocking and nonblocking, against numpy: equal and different counts, derived types on both sides,
reductions (also with an operation that does not commute), on all ranks, on halves, on a reversed copy and between groups."""
import numpy as np
from mpi4py import MPI

from layouts import UNIT, layouts

LENGTHS = [1, 700, 40000]  # elements a rank
DTYPE, ELEMENT = np.dtype("l"), MPI.LONG


def done(answer):
    """Waits, if the call was a nonblocking one."""
    if isinstance(answer, MPI.Request):
        answer.Wait()


class Calls:
    """A communicator whose calls are blocking or not: Calls(comm, "I").Bcast is MPI_Ibcast and its wait."""

    def __init__(self, comm, prefix):
        self.comm, self.prefix = comm, prefix

    def __getattr__(self, name):
        call = getattr(self.comm, "I" + name.lower() if self.prefix else name)
        return lambda *arguments, **named: done(call(*arguments, **named))


def everyone(check, comm, length, what):
    """Row r: the values of rank r."""
    return np.array([check.values(length, DTYPE, what, length, rank) for rank in range(comm.size)])


def equal_counts(call, comm, check, length, what):
    rows = everyone(check, comm, length, "equal")
    mine, root = rows[comm.rank].copy(), comm.size - 1
    got = mine.copy() if comm.rank == root else np.zeros(length, DTYPE)
    call.Bcast(got, root)
    check.same(got, rows[root], f"Bcast {what}")
    got = np.zeros_like(rows)
    call.Gather(mine, got if comm.rank == root else None, root)
    if comm.rank == root:
        check.same(got, rows, f"Gather {what}")
    got = np.zeros(length, DTYPE)
    call.Scatter(rows if comm.rank == root else None, got, root)
    check.same(got, mine, f"Scatter {what}")
    got = np.zeros_like(rows)
    call.Allgather(mine, got)
    check.same(got, rows, f"Allgather {what}")
    got = np.zeros_like(rows)
    call.Alltoall(np.array([row + comm.rank for row in rows]), got)
    check.same(got, np.array([mine + rank for rank in range(comm.size)]), f"Alltoall {what}")
    in_place = np.zeros_like(rows)
    in_place[comm.rank] = mine
    call.Allgather(MPI.IN_PLACE, in_place)
    check.same(in_place, rows, f"Allgather in place {what}")


def different_counts(call, comm, check, length, what):
    """The v-variants; rank r has counts[r] elements, one rank none, and the parts lie apart and in reverse order."""
    counts = [int(count) for count in check.rng("counts", length).integers(0, length + 1, comm.size)]
    counts[0] = 0
    starts = [sum(counts[rank + 1:]) + comm.size - rank for rank in range(comm.size)]  # the last rank's part first
    total, root = sum(counts) + comm.size + 1, 0
    parts = [check.values(count, DTYPE, "part", rank, length) for rank, count in enumerate(counts)]
    wanted = np.full(total, -1, DTYPE)
    for start, part in zip(starts, parts):
        wanted[start:start + len(part)] = part
    mine, got = parts[comm.rank], np.full(total, -1, DTYPE)
    call.Gatherv(mine, [got, counts, starts, ELEMENT] if comm.rank == root else None, root)
    if comm.rank == root:
        check.same(got, wanted, f"Gatherv {what}")
    got = np.full(total, -1, DTYPE)
    call.Allgatherv(mine, [got, counts, starts, ELEMENT])
    check.same(got, wanted, f"Allgatherv {what}")
    got = np.zeros(counts[comm.rank], DTYPE)
    call.Scatterv([wanted, counts, starts, ELEMENT] if comm.rank == root else None, got, root)
    check.same(got, mine, f"Scatterv {what}")
    # Each rank sends counts[receiver] elements to each receiver, a rotated copy of the receiver's part.
    outgoing = np.full(total, -1, DTYPE)
    for start, part in zip(starts, parts):
        outgoing[start:start + len(part)] = np.roll(part, comm.rank)
    got = np.zeros((comm.size, counts[comm.rank]), DTYPE)
    places = [counts[comm.rank] * rank for rank in range(comm.size)]
    call.Alltoallv([outgoing, counts, starts, ELEMENT], [got, [counts[comm.rank]] * comm.size, places, ELEMENT])
    check.same(got, np.array([np.roll(mine, rank) for rank in range(comm.size)]), f"Alltoallv {what}")


def affine(left, right, _):
    """Composition of x -> a x + b, in arithmetic modulo 2^64: associative, not commutative. right = left after which right."""
    first, second = np.frombuffer(left, DTYPE).reshape(-1, 2), np.frombuffer(right, DTYPE).reshape(-1, 2)
    second[:, 1] += second[:, 0] * first[:, 1]
    second[:, 0] *= first[:, 0]


def composed(rows):
    """All of them in rank order, by the same rule."""
    result = rows[0].copy()
    for row in rows[1:]:
        following = row.copy()
        affine(result, following, None)
        result = following
    return result


def reductions(call, comm, check, length, what):
    rows, root = everyone(check, comm, length, "reductions"), 0
    mine = rows[comm.rank].copy()
    for name, operation, oracle in (("sum", MPI.SUM, rows.sum(0)), ("max", MPI.MAX, rows.max(0)),
                                    ("xor", MPI.BXOR, np.bitwise_xor.reduce(rows))):
        got = np.zeros(length, DTYPE)
        call.Allreduce(mine, got, operation)
        check.same(got, oracle, f"Allreduce {name} {what}")
        got[:] = 0
        call.Reduce(mine, got if comm.rank == root else None, operation, root)
        if comm.rank == root:
            check.same(got, oracle, f"Reduce {name} {what}")
    got = np.zeros(length, DTYPE)
    call.Scan(mine, got, MPI.SUM)
    check.same(got, rows[:comm.rank + 1].sum(0), f"Scan {what}")
    got = np.zeros(length, DTYPE)
    call.Exscan(mine, got, MPI.SUM)
    if comm.rank:
        check.same(got, rows[:comm.rank].sum(0), f"Exscan {what}")
    got = np.zeros(length, DTYPE)
    call.Reduce_scatter_block(np.tile(mine, comm.size), got, MPI.SUM)
    check.same(got, rows.sum(0), f"Reduce_scatter_block {what}")
    counts = [length + rank for rank in range(comm.size)]
    wide = everyone(check, comm, sum(counts), "scattered")
    got, start = np.zeros(counts[comm.rank], DTYPE), sum(counts[:comm.rank])
    call.Reduce_scatter(wide[comm.rank], got, counts, MPI.SUM)
    check.same(got, wide.sum(0)[start:start + len(got)], f"Reduce_scatter {what}")


def not_commuting(comm, check, length):
    pairs = everyone(check, comm, 2 * length, "affine")
    operation, got = MPI.Op.Create(affine, commute=False), np.zeros(2 * length, DTYPE)
    pair = ELEMENT.Create_contiguous(2).Commit()
    comm.Allreduce([pairs[comm.rank], length, pair], [got, length, pair], operation)
    check.same(got, composed(pairs), f"Allreduce of {length} compositions")
    comm.Scan([pairs[comm.rank], length, pair], [got, length, pair], operation)
    check.same(got, composed(pairs[:comm.rank + 1]), f"Scan of {length} compositions")
    operation.Free(), pair.Free()


def derived_types(call, comm, check, what):
    """Broadcast and gather between different layouts, and a total exchange with one type for each peer."""
    for length in (UNIT, 500 * UNIT):
        made = layouts(length, ELEMENT, check.rng("layouts", length))
        for index, layout in enumerate(made):
            other, root = made[(index + 5) % len(made)], index % comm.size
            memory = [check.values(layout.total, DTYPE, index, length, rank) for rank in range(comm.size)]
            mine = layout if comm.rank == root else other
            got = memory[root].copy() if comm.rank == root else np.zeros(other.total, DTYPE)
            call.Bcast([got, 1, mine.type], root)
            check.same(got[mine.indices], memory[root][layout.indices], f"Bcast {what}, {layout.name} into {other.name}")
            got = np.zeros(other.total * comm.size, DTYPE)
            call.Gather([memory[comm.rank], 1, layout.type], [got, 1, other.type] if comm.rank == root else None, root)
            if comm.rank == root:
                wanted = np.zeros_like(got)
                wanted[other.repeated(comm.size)] = np.concatenate([row[layout.indices] for row in memory])
                check.same(got, wanted, f"Gather {what}, {layout.name} into {other.name}")
        total_exchange(call, comm, check, made[1:], what)
        for layout in made:
            layout.type.Free()


def total_exchange(call, comm, check, made, what):
    """Alltoallw: to rank r as layout r, received from rank s as layout s + 4; places in bytes."""
    def place(chosen):
        return (np.cumsum([0] + [layout.total for layout in chosen[:-1]]) * DTYPE.itemsize).tolist()
    outgoing = [made[rank % len(made)] for rank in range(comm.size)]
    incoming = [made[(rank + 4) % len(made)] for rank in range(comm.size)]
    ones = [1] * comm.size
    rooms = sum(layout.total for layout in outgoing), sum(layout.total for layout in incoming)
    memory = [check.values(rooms[0], DTYPE, "total", rank) for rank in range(comm.size)]
    got, wanted = np.zeros(rooms[1], DTYPE), np.zeros(rooms[1], DTYPE)
    call.Alltoallw([memory[comm.rank], ones, place(outgoing), [layout.type for layout in outgoing]],
                   [got, ones, place(incoming), [layout.type for layout in incoming]])
    start = place(outgoing)[comm.rank] // DTYPE.itemsize
    for rank, at in enumerate(place(incoming)):
        wanted[at // DTYPE.itemsize + incoming[rank].indices] = memory[rank][start + outgoing[comm.rank].indices]
    check.same(got, wanted, f"Alltoallw {what}")


def run(comm, check):
    halves, reversed_ranks = comm.Split(comm.rank % 2, comm.rank), comm.Split(0, -comm.rank)
    again = comm.Dup()
    for name, chosen in (("all", comm), ("halves", halves), ("reversed", reversed_ranks), ("copy", again)):
        for prefix in ("", "I"):
            call = Calls(chosen, prefix)
            for length in LENGTHS if chosen is comm else LENGTHS[1:2]:
                what = f"({name}, {prefix or 'blocking'}, {length})"
                equal_counts(call, chosen, check, length, what)
                different_counts(call, chosen, check, length, what)
                reductions(call, chosen, check, length, what)
            call.Barrier()
            if chosen in (comm, reversed_ranks):
                derived_types(call, chosen, check, f"({name}, {prefix or 'blocking'})")
        not_commuting(chosen, check, 300)
    for made in (halves, reversed_ranks, again):
        made.Free()
