"""Errors that a program can catch: a message longer than the receive raises ERR_TRUNCATE, writes nothing beyond the buffer,
and the next message is right; wrong ranks, tags, counts and types raise their classes and change nothing."""
import numpy as np
from mpi4py import MPI

from common import Guarded, partner

SIZES = [1, 64, 3073, 9000, 40000, 300000, (4 << 20) + 1]  # what is sent, bytes
OVERRUN = 1                                                # the shortest excess, bytes


def receives(comm):
    """(name, call(buffer specification, source))"""
    def probed(specification, source):
        comm.Mprobe(source, 1).Recv(specification)

    def persistent(specification, source):
        request = comm.Recv_init(specification, source, 1)
        request.Start()
        request.Wait()  # Open MPI frees a persistent request that failed

    return [("Recv", lambda specification, source: comm.Recv(specification, source, 1)),
            ("Irecv", lambda specification, source: comm.Irecv(specification, source, 1).Wait()),
            ("Recv from any source", lambda specification, source: comm.Recv(specification, MPI.ANY_SOURCE, 1)),
            ("Mrecv", probed), ("Recv_init", persistent)]


def error_class(call, *arguments):
    """The class of the error that this call raises; SUCCESS if it does not."""
    try:
        call(*arguments)
    except MPI.Exception as problem:
        return problem.Get_error_class()
    return MPI.SUCCESS


def truncated(comm, check, size, room, receive, what):
    """The even rank sends `size` bytes to the odd one, which has `room` bytes; then a message that fits."""
    peer, wanted = partner(comm), check.payload(size, "truncated", comm.rank // 2)
    after = check.payload(size, "after", comm.rank // 2)
    if comm.rank % 2 == 0:
        requests = [comm.Isend(wanted, peer, 1), comm.Isend(after, peer, 1)]
        MPI.Request.Waitall(requests)  # the sender did nothing wrong
        check.same(wanted, check.payload(size, "truncated", comm.rank // 2), f"{what}: the send buffer")
        return
    buffer = Guarded(room)
    got = error_class(receive, [buffer.data, room, MPI.BYTE], peer)
    check.same(got, MPI.ERR_TRUNCATE, f"{what}: class of the error")
    check.that(buffer.untouched(), f"{what}: written beyond the buffer")
    buffer, status = Guarded(size), MPI.Status()
    comm.Recv(buffer.data, peer, 1, status)
    check.same(status.Get_count(MPI.BYTE), size, f"{what}: length of the next message")
    check.same(buffer.data, after, f"{what}: the next message")


def truncated_type(comm, check, count, column, what):
    """Into a column that is too short: what lies between and behind its elements stays as it was."""
    peer, sent = partner(comm), check.values(count * 10 + 1, "i4", "column", comm.rank)
    following = np.zeros(10, "i4")
    request = comm.Isend(sent, peer, 2)
    memory = np.full(count * 30 + 60, -1, "i4")
    check.same(error_class(comm.Recv, [memory[:count * 30], count, column], peer, 2), MPI.ERR_TRUNCATE, what)
    request.Wait()
    touched = np.zeros(len(memory), bool)
    touched[:count * 30:3] = True
    check.that((memory[~touched] == -1).all(), f"{what}: gaps or memory behind the type changed")
    comm.Sendrecv(check.values(10, "i4", "next", comm.rank), peer, 2, following, peer, 2)
    check.same(following, check.values(10, "i4", "next", peer), f"{what}: the next message")


def arguments(comm, check):
    """Calls with wrong arguments; each raises at once, and the communicator still works."""
    data, uncommitted = np.zeros(4, "i4"), MPI.INT.Create_contiguous(2)
    cases = [("rank", MPI.ERR_RANK, comm.Send, data, comm.size, 1), ("negative rank", MPI.ERR_RANK, comm.Send, data, -77, 1),
             ("source", MPI.ERR_RANK, comm.Recv, data, comm.size, 1), ("tag", MPI.ERR_TAG, comm.Send, data, 0, -5),
             ("uncommitted type", MPI.ERR_TYPE, comm.Send, [data, 1, uncommitted], 0, 1),
             ("root", MPI.ERR_ROOT, comm.Bcast, data, comm.size),
             ("null communicator", MPI.ERR_COMM, MPI.COMM_NULL.Barrier)]
    for name, wanted, call, *given in cases:
        check.same(error_class(call, *given), wanted, f"wrong {name}: class of the error")
    uncommitted.Free()
    check.same(comm.allreduce(1), comm.size, "a reduction after errors")


def several(comm, check):
    """One of three receives in flight is too short; the other two are right. Each is waited for alone: with several threads
    Open MPI's Waitall may not end when one of its requests had failed before."""
    peer, sizes = partner(comm), [5000, 300000, 70]
    sends = [comm.Isend(check.payload(size, "several", comm.rank), peer, 10 + tag) for tag, size in enumerate(sizes)]
    buffers = [Guarded(size - (100 if tag == 1 else 0)) for tag, size in enumerate(sizes)]
    requests = [comm.Irecv(buffer.data, peer, 10 + tag) for tag, buffer in enumerate(buffers)]
    classes = [error_class(request.Wait) for request in requests]
    check.same(classes, [MPI.SUCCESS, MPI.ERR_TRUNCATE, MPI.SUCCESS], "classes of three receives")
    for tag in (0, 2):
        check.same(buffers[tag].data, check.payload(sizes[tag], "several", peer), f"receive {tag} beside a failed one")
    check.that(all(buffer.untouched() for buffer in buffers), "three receives, one too short: written beyond a buffer")
    MPI.Request.Waitall(sends)


def run(comm, check):
    for size in SIZES:
        for room in sorted({size - OVERRUN, size // 2, 0}):
            for name, receive in receives(comm):
                truncated(comm, check, size, room, receive, f"{size} bytes into {room} by {name}")
    column = MPI.INT.Create_vector(10, 1, 3)
    sized = column.Create_resized(0, 120).Commit()
    for count in (1, 50, 2000, 30000):
        truncated_type(comm, check, count, sized, f"{count} columns of 10")
    sized.Free(), column.Free()
    several(comm, check)
    arguments(comm, check)
