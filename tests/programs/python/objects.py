"""Pickled Python objects: mpi4py sends them as bytes whose length the receiver learns by a matched probe. Also pickles with
their arrays beside them (mpi4py.util.pkl5), which makes several messages out of one object."""
import numpy as np
from mpi4py import MPI
from mpi4py.util import pkl5

from common import SIZES, partner

MANY = 1000


def made(check, size, *key):
    """An object with about `size` bytes in it, of many Python types."""
    data = check.payload(size, *key)
    return {"key": key, "bytes": data.tobytes(), "array": data[::-1], "text": "äß€" * (size % 50), "none": None,
            "nested": [(number, {number: [number / 3]}) for number in range(min(size, 40))], "set": {1, size}}


def equal(got, wanted):
    return (np.array_equal(got["array"], wanted["array"])
            and all(got[name] == wanted[name] for name in wanted if name != "array"))


def exchanges(comm):
    """(name, call(object, peer) -> object)"""
    def pair(send, receive, wait):
        def exchange(mine, peer):
            request = send(mine, peer, 3)
            got = receive(peer)
            request.wait() if wait else None
            return got
        return exchange

    def ordered(send):
        def exchange(mine, peer):
            if comm.rank < peer:
                send(mine, peer, 3)
                return comm.recv(None, peer, 3)
            got = comm.recv(None, MPI.ANY_SOURCE, 3)
            send(mine, peer, 3)
            return got
        return exchange

    def improbe(peer):
        message = None
        while message is None:
            message = comm.improbe(peer, 3)
        return message.irecv().wait()

    def after_iprobe(peer):
        while not comm.iprobe(peer, 3):
            pass
        return comm.recv(None, peer, 3)

    return [("isend, recv", pair(comm.isend, lambda peer: comm.recv(None, peer, 3), True)),
            ("issend, mprobe", pair(comm.issend, lambda peer: comm.mprobe(peer, 3).recv(), True)),
            ("ibsend, improbe", pair(comm.ibsend, improbe, True)),
            ("bsend, iprobe", pair(comm.bsend, after_iprobe, False)),
            ("isend, irecv", pair(comm.isend, lambda peer: comm.irecv(bytearray(10 << 20), peer, 3).wait(), True)),
            ("send, recv", ordered(comm.send)), ("ssend, recv", ordered(comm.ssend)),
            ("sendrecv", lambda mine, peer: comm.sendrecv(mine, peer, 3, None, peer, 3))]


def collectives(comm, check):
    root = comm.size - 1
    mine, wanted = made(check, 5000, "all", comm.rank), [made(check, 5000, "all", rank) for rank in range(comm.size)]
    check.that(equal(comm.bcast(mine if comm.rank == root else None, root), wanted[root]), "bcast of an object")
    check.that(equal(comm.scatter(wanted if comm.rank == root else None, root), mine), "scatter of objects")
    gathered = comm.gather(mine, root)
    check.that(gathered is None if comm.rank != root else all(map(equal, gathered, wanted)), "gather of objects")
    check.that(all(map(equal, comm.allgather(mine), wanted)), "allgather of objects")
    rows = [made(check, 3000, rank, comm.rank) for rank in range(comm.size)]
    check.that(all(map(equal, comm.alltoall([made(check, 3000, comm.rank, rank) for rank in range(comm.size)]), rows)),
               "alltoall of objects")
    check.same(comm.allreduce([comm.rank]), list(range(comm.size)), "allreduce of lists, in rank order")
    check.same(comm.scan(str(comm.rank)), "".join(map(str, range(comm.rank + 1))), "scan of texts")


def beside(comm, check):
    """pkl5: a small pickle, and each large array as a message of its own."""
    with_arrays = pkl5.Intracomm(comm)
    peer = partner(comm)
    for size in (0, 3073, 300000, 6 << 20):
        request = with_arrays.isend(made(check, size, "beside", comm.rank), peer, 5)
        check.that(equal(with_arrays.recv(None, peer, 5), made(check, size, "beside", peer)), f"pkl5, {size} bytes")
        request.wait()


def run(comm, check):
    peer = partner(comm)
    MPI.Attach_buffer(np.empty(24 << 20, np.uint8))
    for size in SIZES:
        for name, exchange in exchanges(comm):
            check.that(equal(exchange(made(check, size, comm.rank), peer), made(check, size, peer)), f"{name}, {size} bytes")
    MPI.Detach_buffer()
    requests = [comm.isend((number, comm.rank), peer, 11) for number in range(MANY)]
    check.same([comm.recv(None, peer, 11) for _ in range(MANY)], [(number, peer) for number in range(MANY)], "in order")
    MPI.Request.waitall(requests)
    collectives(comm, check)
    beside(comm, check)
