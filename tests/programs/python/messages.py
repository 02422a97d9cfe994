"""Every way to send a buffer against every way to receive it, for sizes around each threshold.

Ranks work in pairs; each message goes both ways. A receive is either posted before the sender may send (the sender waits
for a token), so that the message is expected, or it is posted when a probe has seen the message, so that it is not."""
import numpy as np
from mpi4py import MPI

from common import SIZES, Guarded, partner

TOKEN, DATA, DONE = 1, 2, 3  # tags
ALL_WAYS = (0, 64, 3073)     # sizes at which every send meets every receive; at the others each send meets one


def wait(request):
    request.Wait()


def persistent(make):
    """Two starts of a persistent send; the receiver gets the message twice."""
    def send(*arguments):
        request = make(*arguments)
        for _ in range(2):
            request.Start()
            request.Wait()
        request.Free()
    return send


def senders(comm):
    """(name, call, messages sent, whether the receive must be posted first)"""
    return [("Send", comm.Send, 1, False), ("Ssend", comm.Ssend, 1, False), ("Bsend", comm.Bsend, 1, False),
            ("Rsend", comm.Rsend, 1, True),
            ("Isend", lambda *a: wait(comm.Isend(*a)), 1, False), ("Issend", lambda *a: wait(comm.Issend(*a)), 1, False),
            ("Ibsend", lambda *a: wait(comm.Ibsend(*a)), 1, False), ("Irsend", lambda *a: wait(comm.Irsend(*a)), 1, True),
            ("Send_init", persistent(comm.Send_init), 2, False), ("Ssend_init", persistent(comm.Ssend_init), 2, False)]


def probed(probe):
    """A receive that begins when a probe has found the message; `probe` may be blocking or not."""
    def receive(comm, data, source):
        status = MPI.Status()
        while not probe(comm, source, status):
            pass
        comm.Recv(data, status.Get_source(), status.Get_tag())
        return status
    return receive


def matched(blocking, received_at_once):
    """A matched probe, then the receive of the message that it took out."""
    def receive(comm, data, source):
        status = MPI.Status()
        message = comm.Mprobe(source, DATA, status) if blocking else None
        while message is None:
            message = comm.Improbe(source, DATA, status)
        if received_at_once:
            message.Recv(data)
        else:
            message.Irecv(data).Wait()
        return status
    return receive


def plain(comm, data, source):
    status = MPI.Status()
    comm.Recv(data, source, DATA, status)
    return status


# Receives of messages that may be there already. The wildcard is safe: only the partner sends with this tag.
LATE = [("Recv", plain), ("Recv from any source", lambda comm, data, _: plain(comm, data, MPI.ANY_SOURCE)),
        ("Probe", probed(lambda comm, source, status: comm.Probe(source, DATA, status) or True)),
        ("Iprobe", probed(lambda comm, source, status: comm.Iprobe(MPI.ANY_SOURCE, DATA, status))),
        ("Mprobe", matched(True, True)), ("Improbe", matched(False, False))]
# Receives posted before the token goes out.
EARLY = [("Irecv", lambda comm, data, source: comm.Irecv(data, source, DATA)),
         ("Irecv from any source", lambda comm, data, source: comm.Irecv(data, MPI.ANY_SOURCE, DATA)),
         ("Recv_init", lambda comm, data, source: comm.Recv_init(data, source, DATA))]


def receive_early(comm, post, data, source):
    request, status = post(comm, data, source), MPI.Status()
    started = isinstance(request, MPI.Prequest)
    if started:
        request.Start()
    comm.Send([None, MPI.BYTE], source, TOKEN)
    request.Wait(status)
    if started:
        request.Free()
    return status


def one_way(comm, check, sending, way, size, number):
    """One combination from the sending rank of the pair to the other one."""
    peer, (send_name, send, times, _), (receive_name, receive, early) = partner(comm), *way
    origin = comm.rank if sending else peer
    wanted = check.payload(size, origin, number)
    if sending:
        data = wanted.copy()
        if early:
            comm.Recv([None, MPI.BYTE], peer, TOKEN)
        send(data, peer, DATA)
        check.same(data, wanted, f"{send_name}, {size} bytes: the send buffer afterwards")
        return
    for turn in range(times):
        what = f"{send_name} to {receive_name}, {size} bytes, from rank {origin}, turn {turn}"
        buffer = Guarded(size)
        if early and turn == 0:
            status = receive_early(comm, receive, buffer.data, peer)
        else:
            status = (plain if early else receive)(comm, buffer.data, peer)
        check.same(buffer.data, wanted, what)
        check.that(buffer.untouched(), f"{what}: written beyond the buffer")
        check.that((status.Get_source(), status.Get_tag(), status.Get_count(MPI.BYTE)) == (peer, DATA, size),
                   f"{what}: status {status.Get_source()}, {status.Get_tag()}, {status.Get_count(MPI.BYTE)}")


def ways(comm, size, number):
    """The (send, receive) combinations of a size; where not all of them are taken, the receives take turns."""
    receives = [(name, call, False) for name, call in LATE] + [(name, call, True) for name, call in EARLY]
    for index, send in enumerate(senders(comm)):
        fitting = [receive for receive in receives if receive[2] or not send[3]]
        chosen = fitting if size in ALL_WAYS else [fitting[(index + number) % len(fitting)]]
        for receive in chosen:
            yield send, receive


def both_at_once(comm, check, size):
    """Sendrecv and Sendrecv_replace around the ring of all ranks."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    mine, wanted = check.payload(size, "ring", comm.rank), check.payload(size, "ring", left)
    buffer = Guarded(size)
    comm.Sendrecv(mine, right, 4, buffer.data, left, 4)
    check.same(buffer.data, wanted, f"Sendrecv, {size} bytes")
    check.that(buffer.untouched(), f"Sendrecv, {size} bytes: written beyond the buffer")
    comm.Sendrecv_replace(mine, right, 5, left, 5)
    check.same(mine, wanted, f"Sendrecv_replace, {size} bytes")


def run(comm, check):
    MPI.Attach_buffer(np.empty(2 * SIZES[-1] + (1 << 16), dtype=np.uint8))
    for number, size in enumerate(SIZES):
        for way in ways(comm, size, number):
            for first in (0, 1):
                one_way(comm, check, comm.rank % 2 == first, way, size, number)
        both_at_once(comm, check, size)
    MPI.Detach_buffer()
