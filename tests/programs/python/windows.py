"""One-sided communication against numpy: every way to make a window (created, allocated, shared, dynamic), every operation,
every synchronisation, and derived types on the target's side. The job chooses two of Open MPI's components for windows: osc/sm
serves memory that MPI allocated, osc/pt2pt the rest, by messages over the layer under test. README.md names what is left
out and why. An operation's memory at the origin has a name until the operation is complete: mpi4py keeps no reference."""
import numpy as np
from mpi4py import MPI

from layouts import UNIT, layouts

WORDS = 60000          # int64 elements of each rank's window
DTYPE, ELEMENT = np.dtype("l"), MPI.LONG
EIGHT = DTYPE.itemsize
KINDS = ["created", "allocated", "shared", "dynamic"]


class Window:
    """A window of WORDS elements on every rank: the MPI object, this rank's memory, and where it begins for its peers."""

    def __init__(self, comm, kind):
        self.kind, size, self.bases = kind, WORDS * EIGHT, [0] * comm.size
        # Over osc/pt2pt, which serves these two, a fence may end before the bytes of a get are there (tests/mpi/README.md).
        self.gets_by_fence = kind not in ("created", "dynamic")
        if kind == "created":
            self.memory = np.zeros(WORDS, DTYPE)
            self.win = MPI.Win.Create(self.memory, EIGHT, MPI.INFO_NULL, comm)
        elif kind == "dynamic":
            self.memory = np.zeros(WORDS, DTYPE)
            self.win = MPI.Win.Create_dynamic(MPI.INFO_NULL, comm)
            self.win.Attach(self.memory)
            self.bases = comm.allgather(MPI.Get_address(self.memory))  # displacements are addresses, in bytes
        else:
            call = MPI.Win.Allocate if kind == "allocated" else MPI.Win.Allocate_shared
            self.win = call(size, EIGHT, MPI.INFO_NULL, comm)
            self.memory = np.frombuffer(self.win.tomemory() if kind == "allocated" else self.win.Shared_query(comm.rank)[0],
                                        DTYPE)

    def at(self, rank, element, count, datatype=ELEMENT):
        """The target specification of `count` elements from `element` on."""
        return [self.bases[rank] + element * (EIGHT if self.kind == "dynamic" else 1), count, datatype]

    def free(self):
        if self.kind == "dynamic":
            self.win.Detach(self.memory)
        del self.memory
        self.win.Free()


def fence(window, comm, check, what):
    """Put to the right, Get from there, Accumulate to all; the fence is the only synchronisation."""
    win, right, left = window.win, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for length in (1, 500, 9000, WORDS):
        win.Fence()
        mine = check.values(length, DTYPE, what, "put", length, comm.rank)
        win.Put(mine, right, window.at(right, 0, length))
        win.Fence()
        wanted = check.values(length, DTYPE, what, "put", length, left)
        check.same(window.memory[:length], wanted, f"{what}: Put of {length}")
        if window.gets_by_fence:
            got = np.zeros(length, DTYPE)
            win.Fence()
            win.Get(got, right, window.at(right, 0, length))
            win.Fence()
            check.same(got, mine, f"{what}: Get of {length}")
    window.memory[:1000] = 7
    win.Fence()
    addends = [check.values(1000, DTYPE, what, "sum", comm.rank, rank) for rank in range(comm.size)]
    for rank, mine in enumerate(addends):
        win.Accumulate(mine, rank, window.at(rank, 0, 1000), MPI.SUM)
    win.Fence()
    total = sum(check.values(1000, DTYPE, what, "sum", rank, comm.rank) for rank in range(comm.size))
    check.same(window.memory[:1000], 7 + total, f"{what}: Accumulate of all ranks")
    win.Fence()


def post_start(window, comm, check, what):
    """Post, Start, Complete, Wait: each rank opens its window to its left neighbour only."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    group = comm.Get_group()
    origin, target = group.Incl([left]), group.Incl([right])
    for length in (1, 3000, WORDS):
        window.win.Post(origin)
        window.win.Start(target)
        mine = check.values(length, DTYPE, what, "post", length, comm.rank)
        window.win.Put(mine, right, window.at(right, 0, length))
        window.win.Complete()
        window.win.Wait()
        wanted = check.values(length, DTYPE, what, "post", length, left)
        check.same(window.memory[:length], wanted, f"{what}: Put of {length} between Start and Complete")
        comm.Barrier()
    for made in (origin, target, group):
        made.Free()


def locked(window, comm, check, what):
    """Lock and Unlock of one target; requests by Rput and Rget; Lock_all with Flush and Flush_all."""
    win, right, left = window.win, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for length in (1, 3000, WORDS // 2):
        mine = check.values(length, DTYPE, what, "lock", length, comm.rank)
        win.Lock(right, MPI.LOCK_EXCLUSIVE)
        win.Put(mine, right, window.at(right, 0, length))
        win.Unlock(right)
        win.Lock_all()
        more = mine + 1
        win.Rput(more, right, window.at(right, WORDS // 2, length)).Wait()
        win.Flush(right)
        got = np.zeros(length, DTYPE)
        win.Rget(got, right, window.at(right, 0, length)).Wait()
        check.same(got, mine, f"{what}: Rget of {length}")
        got[:] = 0
        win.Get(got, right, window.at(right, WORDS // 2, length))
        win.Flush(right)
        check.same(got, more, f"{what}: Get of {length} and a flush")
        win.Flush_all()
        win.Unlock_all()
        comm.Barrier()
        win.Lock(comm.rank, MPI.LOCK_SHARED)
        wanted = check.values(length, DTYPE, what, "lock", length, left)
        check.same(window.memory[:length], wanted, f"{what}: Put of {length} under a lock")
        check.same(window.memory[WORDS // 2:WORDS // 2 + length], wanted + 1, f"{what}: Rput of {length}")
        win.Unlock(comm.rank)
        comm.Barrier()


def atomics(window, comm, check, what):
    """Counters on rank 0 that all ranks raise at once: every value is seen once; and a spin lock made of the last one."""
    win, times = window.win, 40
    if comm.rank == 0:
        win.Lock(0, MPI.LOCK_EXCLUSIVE)
        window.memory[:8] = 0
        win.Unlock(0)
    comm.Barrier()
    zero, one, before, seen = np.zeros(1, DTYPE), np.ones(1, DTYPE), np.zeros(1, DTYPE), []
    win.Lock_all()
    for _ in range(times):
        win.Fetch_and_op(one, before, 0, window.at(0, 0, 1)[0], MPI.SUM)
        win.Flush(0)
        seen.append(int(before[0]))
    raised, steps = np.zeros(3, DTYPE), np.array([1, 2, 3], DTYPE)
    for _ in range(times):
        win.Get_accumulate(steps, raised, 0, window.at(0, 1, 3), MPI.SUM)
        win.Flush(0)
        check.that((raised == raised[0] * steps).all(), f"{what}: Get_accumulate saw {raised}, not atomic")
    owner = np.array([comm.rank + 1], DTYPE)
    while True:  # takes element 4 when it is 0, and gives it back
        win.Compare_and_swap(owner, zero, before, 0, window.at(0, 4, 1)[0])
        win.Flush(0)
        if before[0] == 0:
            break
    win.Accumulate(one, 0, window.at(0, 5, 1), MPI.SUM)
    win.Flush(0)
    win.Compare_and_swap(zero, owner, before, 0, window.at(0, 4, 1)[0])
    win.Flush(0)
    check.same(int(before[0]), comm.rank + 1, f"{what}: the owner gives the lock back")
    win.Unlock_all()
    check.same(sorted(sum(comm.allgather(seen), [])), list(range(times * comm.size)), f"{what}: Fetch_and_op")
    if comm.rank == 0:
        win.Lock(0, MPI.LOCK_SHARED)
        total = times * comm.size
        check.same(window.memory[:6].tolist(), [total, total, 2 * total, 3 * total, 0, comm.size], f"{what}: atomics")
        win.Unlock(0)
    comm.Barrier()


def typed(window, comm, check, what):
    """Put, Get and Accumulate with one layout here and another one in the target's window."""
    win, right, left = window.win, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for length in (UNIT, 100 * UNIT):
        made = layouts(length, ELEMENT, check.rng("layouts", length))
        for index, layout in enumerate(made):
            there, name = made[(index + 3) % len(made)], f"{what}, {layout.name} at the origin"
            name += f", {made[(index + 3) % len(made)].name} at the target"
            memory = [check.values(layout.total, DTYPE, name, rank) for rank in (comm.rank, left)]
            window.memory[:] = 3
            wanted = window.memory.copy()
            win.Fence()
            win.Put([memory[0], 1, layout.type], right, window.at(right, 5, 1, there.type))
            win.Fence()
            wanted[5 + there.indices] = memory[1][layout.indices]
            check.same(window.memory, wanted, f"{name}: Put")
            got, right_ones = np.zeros(layout.total, DTYPE), np.zeros(layout.total, DTYPE)
            win.Lock(right, MPI.LOCK_SHARED)
            win.Get([got, 1, layout.type], right, window.at(right, 5, 1, there.type))
            win.Unlock(right)
            right_ones[layout.indices] = memory[0][layout.indices]
            check.same(got, right_ones, f"{name}: Get")
            win.Fence()
            win.Accumulate([memory[0], 1, layout.type], right, window.at(right, 5, 1, there.type), MPI.SUM)
            win.Fence()
            wanted[5 + there.indices] *= 2
            check.same(window.memory, wanted, f"{name}: Accumulate")
        for layout in made:
            layout.type.Free()


def shared(window, comm, check):
    """Shared memory: each rank reads its neighbour's part by ordinary loads, and stores there."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    theirs = np.frombuffer(window.win.Shared_query(right)[0], DTYPE)
    check.same(len(theirs), WORDS, "shared: length of the neighbour's part")
    window.win.Lock_all()
    window.memory[:] = check.values(WORDS, DTYPE, "shared", comm.rank)
    window.win.Sync()
    comm.Barrier()
    check.same(theirs, check.values(WORDS, DTYPE, "shared", right), "shared: loads from the neighbour")
    comm.Barrier()
    theirs[:100] = comm.rank
    window.win.Sync()
    comm.Barrier()
    window.win.Sync()
    check.same(window.memory[:100], np.full(100, left, DTYPE), "shared: the neighbour's stores")
    window.win.Unlock_all()


def run(comm, check):
    for kind in KINDS:
        window = Window(comm, kind)
        for part in (fence, post_start, locked, atomics, typed):
            part(window, comm, check, f"{kind} window")
        if kind == "shared":
            shared(window, comm, check)
        comm.Barrier()
        window.free()
