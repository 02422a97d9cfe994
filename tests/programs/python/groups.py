"""Communicators beyond the first one: messages with one tag on many copies are kept apart, an intercommunicator carries
messages and collectives between two halves, and neighbours on a ring and on a graph exchange different counts."""
import numpy as np
from mpi4py import MPI

COPIES = 12


def apart(comm, check):
    """One tag, one partner, many communicators; received in another order than sent."""
    copies = [comm.Dup() for _ in range(COPIES)] + [comm.Create_group(comm.Get_group()), comm.Split(0, -comm.rank)]
    right = (comm.rank + 1) % comm.size
    left = (comm.rank - 1) % comm.size
    sends, kept = [], []
    for number, copy in enumerate(copies):
        kept.append(check.payload(100 + 9000 * number, "apart", comm.rank, number))
        there = right if number < len(copies) - 1 else comm.size - 1 - right
        sends.append(copy.Isend(kept[-1], there, 0))
    for number in check.rng("order").permutation(len(copies)):
        wanted = check.payload(100 + 9000 * int(number), "apart", left, int(number))
        there = left if number < len(copies) - 1 else comm.size - 1 - left
        got = np.zeros_like(wanted)
        copies[number].Recv(got, there if number % 2 else MPI.ANY_SOURCE, 0)
        check.same(got, wanted, f"communicator {number}")
    MPI.Request.Waitall(sends)
    for copy in copies:
        copy.Free()


def between(comm, check):
    """Two halves: even and odd ranks. Point-to-point ranks are those of the other half."""
    side = comm.rank % 2
    half = comm.Split(side, comm.rank)
    inter = half.Create_intercomm(0, comm, 1 - side, 5)
    world_ranks = [2 * rank + 1 - side for rank in range(inter.remote_size)]
    for size in (8, 5000, 400000):
        got = np.zeros(size, np.uint8)
        peer = world_ranks[half.rank]
        inter.Sendrecv(check.payload(size, "inter", comm.rank), half.rank, 1, got, half.rank, 1)
        check.same(got, check.payload(size, "inter", peer), f"Sendrecv between halves, {size} bytes")
        rows = np.zeros((inter.remote_size, size), np.uint8)
        inter.Allgather(check.payload(size, "inter", comm.rank), rows)
        check.same(rows, np.array([check.payload(size, "inter", rank) for rank in world_ranks]),
                   f"Allgather between halves, {size} bytes")
        # Rank 0 of the even half broadcasts to the odd half.
        data = check.payload(size, "bcast") if comm.rank == 0 else np.zeros(size, np.uint8)
        inter.Bcast(data, 0 if side else (MPI.ROOT if half.rank == 0 else MPI.PROC_NULL))
        if side or comm.rank == 0:
            check.same(data, check.payload(size, "bcast"), f"Bcast between halves, {size} bytes")
    check.same(inter.allreduce(comm.rank), sum(world_ranks), "allreduce between halves")
    merged = inter.Merge(side == 1)
    check.same(merged.allgather(comm.rank), list(range(0, comm.size, 2)) + list(range(1, comm.size, 2)), "merged halves")
    for made in (merged, inter, half):
        made.Free()


def on_a_line(comm, check):
    """A Cartesian line: Neighbor_alltoallv and Neighbor_allgather, blocking and not; the ends have one neighbour."""
    line = comm.Create_cart([comm.size], [False])
    neighbours = list(line.Shift(0, 1))
    for blocking in (True, False):
        # To the left 1000 elements for each rank number, to the right 70 more.
        counts = [1000 * (comm.rank + 1), 1000 * (comm.rank + 1) + 70]
        outgoing = check.values(sum(counts), "i4", "line", comm.rank)
        sizes = [1000 * (peer + 1) + (70 if side == 0 else 0) if peer >= 0 else 0 for side, peer in enumerate(neighbours)]
        got = np.zeros(sum(sizes), "i4")
        call = line.Neighbor_alltoallv if blocking else lambda *a: line.Ineighbor_alltoallv(*a).Wait()
        call([outgoing, counts, [0, counts[0]], MPI.INT32_T], [got, sizes, [0, sizes[0]], MPI.INT32_T])
        wanted = []
        for side, peer in enumerate(neighbours):
            if peer >= 0:
                theirs = check.values(2000 * (peer + 1) + 70, "i4", "line", peer)
                wanted.append(theirs[1000 * (peer + 1):] if side == 0 else theirs[:1000 * (peer + 1)])
        check.same(got, np.concatenate(wanted), f"Neighbor_alltoallv on a line, blocking {blocking}")
        row, rows = check.values(5000, "i4", "row", comm.rank), np.zeros((2, 5000), "i4")
        call = line.Neighbor_allgather if blocking else lambda *a: line.Ineighbor_allgather(*a).Wait()
        call(row, rows)
        for side, peer in enumerate(neighbours):
            wanted = check.values(5000, "i4", "row", peer) if peer >= 0 else np.zeros(5000, "i4")
            check.same(rows[side], wanted, f"Neighbor_allgather on a line, side {side}")
    line.Free()


def on_a_graph(comm, check):
    """Rank r sends to all higher ranks and to rank 0; each message as long as its sender's rank says."""
    def targets(rank):
        return [peer for peer in range(comm.size) if peer > rank or (peer == 0 and rank)]
    sources = [rank for rank in range(comm.size) if comm.rank in targets(rank)]
    graph = comm.Create_dist_graph_adjacent(sources, targets(comm.rank))
    lengths = [30000 * rank + 5 for rank in range(comm.size)]
    mine = check.values(lengths[comm.rank], "f8", "graph", comm.rank)
    counts = [lengths[rank] for rank in sources]
    got = np.zeros(sum(counts))
    graph.Neighbor_allgatherv(mine, [got, counts, [sum(counts[:n]) for n in range(len(counts))], MPI.DOUBLE])
    wanted = [check.values(lengths[rank], "f8", "graph", rank) for rank in sources]
    check.same(got, np.concatenate(wanted + [np.zeros(0)]), "Neighbor_allgatherv on a graph")
    graph.Free()


def run(comm, check):
    apart(comm, check)
    between(comm, check)
    on_a_line(comm, check)
    on_a_graph(comm, check)
