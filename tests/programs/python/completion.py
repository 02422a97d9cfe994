"""Completing many requests: wait and test of one, any, some and all; messages from any source and with any tag in MPI's
order; cancelled receives; persistent requests started together; the null process and messages to oneself."""
import numpy as np
from mpi4py import MPI

from common import Guarded

SIZES = [0, 40, 5000, 300000, 1 << 20]  # in turn: each path, many in flight at a time
FLIGHT = 15                             # messages from each rank in flight


def size_of(number):
    return SIZES[number % len(SIZES)]


def start(comm, check, way):
    """Receives from every rank (itself too), then sends to every rank, in an order drawn for this rank."""
    receives, buffers = [], {}
    jobs = [(source, number) for source in range(comm.size) for number in range(FLIGHT)]
    for job in check.rng("receives", way, comm.rank).permutation(len(jobs)):
        source, number = jobs[job]
        buffers[len(receives)] = source, number, Guarded(size_of(number))
        receives.append(comm.Irecv(buffers[len(receives)][2].data, source, number))
    sends, kept = [], []
    for job in check.rng("sends", way, comm.rank).permutation(len(jobs)):
        peer, number = jobs[job]
        kept.append(check.payload(size_of(number), way, comm.rank, peer, number))
        call = comm.Issend if job % 3 == 0 else comm.Isend
        sends.append(call(kept[-1], peer, number))
    return receives, buffers, sends, kept


def arrived(comm, check, way, entry, status):
    source, number, buffer = entry
    what = f"{way}: message {number} from rank {source}"
    check.same(buffer.data, check.payload(size_of(number), way, source, comm.rank, number), what)
    check.that(buffer.untouched(), f"{what}: written beyond the buffer")
    check.that((status.Get_source(), status.Get_tag(), status.Get_count(MPI.BYTE)) == (source, number, size_of(number)),
               f"{what}: status")


def by_any(requests, call):
    """Completes requests one at a time with Waitany or Testany; yields (index, status)."""
    for _ in range(len(requests)):
        done, status = False, MPI.Status()
        while not done:
            answer = call(requests, status)
            index, done = answer if isinstance(answer, tuple) else (answer, True)
        yield index, status
    status = MPI.Status()
    answer = call(requests, status)
    assert answer in (MPI.UNDEFINED, (MPI.UNDEFINED, True)), f"no request is left, and {call.__name__} says {answer}"


def by_some(requests, call):
    """Completes requests with Waitsome or Testsome; yields (index, status)."""
    left = len(requests)
    while left:
        statuses = [MPI.Status() for _ in requests]
        indices = call(requests, statuses) or []
        yield from zip(indices, statuses)
        left -= len(indices)
    assert call(requests) is None, f"no request is left, and {call.__name__} finds some"


def by_all(requests, call):
    """Completes all at once with Waitall or Testall."""
    statuses = [MPI.Status() for _ in requests]
    while not call(requests, statuses):
        pass
    return enumerate(statuses)


def by_one(requests, call):
    """Completes them in turn with Wait or Test."""
    for index, request in enumerate(requests):
        status = MPI.Status()
        while not call(request, status):
            pass
        yield index, status


WAYS = [("Waitany", by_any, MPI.Request.Waitany), ("Testany", by_any, MPI.Request.Testany),
        ("Waitsome", by_some, MPI.Request.Waitsome), ("Testsome", by_some, MPI.Request.Testsome),
        ("Waitall", by_all, lambda r, s: MPI.Request.Waitall(r, s) or True), ("Testall", by_all, MPI.Request.Testall),
        ("Wait", by_one, MPI.Request.Wait), ("Test", by_one, MPI.Request.Test)]


def wildcards(comm, check):
    """Rank 0 receives from any source with any tag: messages of one sender arrive in the order of sending."""
    count = 60
    lengths = check.rng("wildcards").choice(SIZES, count)
    if comm.rank:
        for number in range(count):
            comm.Send(check.payload(int(lengths[number]), "wild", comm.rank, number), 0, number)
        return
    following = dict.fromkeys(range(1, comm.size), 0)
    for _ in range(count * (comm.size - 1)):
        buffer, status = np.empty(max(SIZES), np.uint8), MPI.Status()
        comm.Recv(buffer, MPI.ANY_SOURCE, MPI.ANY_TAG, status)
        source, number, size = status.Get_source(), status.Get_tag(), status.Get_count(MPI.BYTE)
        check.same((number, size), (following[source], int(lengths[number])), f"wildcards: next of rank {source}")
        check.same(buffer[:size], check.payload(size, "wild", source, number), f"wildcards: {number} of rank {source}")
        following[source] += 1


def cancelled(comm, check):
    """A receive that is cancelled takes no message: what is sent afterwards goes to the next receive."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    first, second = np.zeros(100, np.uint8), np.zeros(100, np.uint8)
    request, status = comm.Irecv(first, left, 7), MPI.Status()
    request.Cancel()
    request.Wait(status)
    check.that(status.Is_cancelled(), "a receive without a message is cancelled")
    comm.Barrier()
    comm.Sendrecv(check.payload(100, "cancel", comm.rank), right, 7, second, left, 7)
    check.same(second, check.payload(100, "cancel", left), "the receive after a cancelled one")
    check.that(not first.any(), "the buffer of a cancelled receive stays as it was")


def persistent(comm, check):
    """Requests made once and started many times with new contents, to all ranks, by Startall."""
    size = 70000
    outgoing = [np.zeros(size, np.uint8) for _ in range(comm.size)]
    incoming = [np.zeros(size, np.uint8) for _ in range(comm.size)]
    requests = [comm.Recv_init(incoming[peer], peer, 9) for peer in range(comm.size)]
    requests += [comm.Send_init(outgoing[peer], peer, 9) for peer in range(comm.size)]
    for turn in range(6):
        for peer in range(comm.size):
            outgoing[peer][:] = check.payload(size, "persistent", turn, comm.rank, peer)
        MPI.Prequest.Startall(requests)
        MPI.Request.Waitall(requests)
        for peer in range(comm.size):
            check.same(incoming[peer], check.payload(size, "persistent", turn, peer, comm.rank), f"start {turn} to {peer}")
    for request in requests:
        request.Free()


def null_process(comm, check):
    status, data = MPI.Status(), np.full(10, 3, np.uint8)
    comm.Send(data, MPI.PROC_NULL, 1)
    comm.Recv(data, MPI.PROC_NULL, 1, status)
    check.that(data.tolist() == [3] * 10 and status.Get_count(MPI.BYTE) == 0 and status.Get_source() == MPI.PROC_NULL,
               "a receive from the null process gets nothing")


def run(comm, check):
    for way, complete, call in WAYS:
        receives, buffers, sends, kept = start(comm, check, way)
        for index, status in complete(receives, call):
            arrived(comm, check, way, buffers.pop(index), status)
        check.that(not buffers, f"{way}: requests {sorted(buffers)} never completed")
        MPI.Request.Waitall(sends)
        del kept
    wildcards(comm, check)
    comm.Barrier()
    cancelled(comm, check)
    persistent(comm, check)
    null_process(comm, check)
