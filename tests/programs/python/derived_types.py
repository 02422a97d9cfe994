"""Messages of derived types against numpy's slices: sent as one type and received as another of the same signature, packed
and unpacked, and sent as MPI_PACKED; between ranks and to oneself, out of ordinary memory and out of memory of MPI_Alloc_mem,
which both ranks can map. What lies between the elements of a receive buffer stays as it was."""
import numpy as np
from mpi4py import MPI

from common import partner
from layouts import UNIT, layouts

# numpy's name, MPI's type, and lengths in elements: up to some kilobytes, below and above 128 KiB, above 256 KiB.
KINDS = [("i1", MPI.INT8_T, [UNIT, 300 * UNIT]), ("i4", MPI.INT32_T, [3 * UNIT, 3000 * UNIT]),
         ("f8", MPI.DOUBLE, [40 * UNIT, 650 * UNIT]), ("c16", MPI.C_DOUBLE_COMPLEX, [UNIT, 400 * UNIT])]
HOWS = ["Sendrecv", "Isend, Irecv", "Issend, Mrecv", "persistent", "to itself"]


class Mappable:
    """Two buffers of MPI_Alloc_mem, one to send from and one to receive into."""

    def __init__(self, size):
        self.allocated = [MPI.Alloc_mem(size) for _ in range(2)]

    def holding(self, which, data):
        """That buffer's first bytes, with a copy of the data in them."""
        memory = np.frombuffer(self.allocated[which], np.uint8)[:data.nbytes].view(data.dtype)
        memory[:] = data
        return memory

    def free(self):
        for memory in self.allocated:
            MPI.Free_mem(memory)


def exchange(comm, how, outgoing, incoming, peer):
    """Sends and receives one buffer specification ([memory, count, type]), to and from one rank."""
    if how == "Sendrecv":
        comm.Sendrecv(outgoing, peer, 1, incoming, peer, 1)
    elif how in ("Isend, Irecv", "to itself"):
        MPI.Request.Waitall([comm.Irecv(incoming, peer, 1), comm.Isend(outgoing, peer, 1)])
    elif how == "Issend, Mrecv":
        request = comm.Issend(outgoing, peer, 1)
        comm.Mprobe(peer, 1).Recv(incoming)
        request.Wait()
    else:
        requests = [comm.Send_init(outgoing, peer, 1), comm.Recv_init(incoming, peer, 1)]
        for _ in range(2):
            MPI.Prequest.Startall(requests)
            MPI.Request.Waitall(requests)
        for request in requests:
            request.Free()


def spread(check, layout, dtype, count, *key):
    """Memory of `count` layouts with drawn values everywhere; without the highest bits, no number of it is a NaN."""
    return (check.payload(layout.total * count * np.dtype(dtype).itemsize, *key) & 63).view(dtype)


def one_message(comm, check, dtype, outgoing, incoming, count, how, what, mappable=None):
    """From one layout into another one; the oracle moves the elements by numpy's indexing."""
    peer = comm.rank if how == "to itself" else partner(comm)
    memory = [spread(check, outgoing, dtype, count, what, rank) for rank in (comm.rank, peer)]
    mine, got = memory[0].copy(), spread(check, incoming, dtype, count, what, "before")
    wanted = got.copy()
    wanted[incoming.repeated(count)] = memory[1][outgoing.repeated(count)]
    if mappable:
        mine, got = mappable.holding(0, mine), mappable.holding(1, got)
    exchange(comm, how, [mine, count, outgoing.type], [got, count, incoming.type], peer)
    check.same(got, wanted, what)
    check.same(mine, memory[0], f"{what}: the send buffer afterwards")


def messages(comm, check, dtype, length, made):
    """Each layout is received as itself, in ordinary memory, and as another one of the list, in memory of MPI_Alloc_mem; the
    ways to send in turn."""
    for count in (1, 3) if length < 100 else (1,):
        mappable = Mappable(count * max(layout.total for layout in made) * np.dtype(dtype).itemsize)
        for index, outgoing in enumerate(made):
            for number, incoming in enumerate((outgoing, made[(index + 8) % len(made)])):
                how = HOWS[(index + number) % len(HOWS)]
                one_message(comm, check, dtype, outgoing, incoming, count, how,
                            f"{count} x {length} {dtype}: {outgoing.name} into {incoming.name} by {how}",
                            mappable if number else None)
        mappable.free()


def packed(comm, check, dtype, length, layout):
    """Pack and Unpack without a message; then packed bytes received as the type, and the type received as packed bytes."""
    peer, what = partner(comm), f"{length} {dtype}, {layout.name}"
    memory = [spread(check, layout, dtype, 1, what, rank) for rank in (comm.rank, peer)]
    size = layout.type.Pack_size(1, comm)
    box = np.zeros(size + 8, np.uint8)
    end = layout.type.Pack(memory[0], box, 8, comm)
    check.same(box[8:end].view(dtype), memory[0][layout.indices], f"{what}: packed")
    fresh = np.zeros_like(memory[0])
    wanted = np.zeros_like(fresh)
    wanted[layout.indices] = memory[0][layout.indices]
    check.same(layout.type.Unpack(box, 8, fresh, comm), end, f"{what}: position after Unpack")
    check.same(fresh, wanted, f"{what}: unpacked")

    wanted = np.zeros_like(fresh)
    wanted[layout.indices] = memory[1][layout.indices]
    fresh = np.zeros_like(fresh)
    comm.Sendrecv([box[8:end], end - 8, MPI.PACKED], peer, 2, [fresh, 1, layout.type], peer, 2)
    check.same(fresh, wanted, f"{what}: packed bytes received as the type")
    got = np.zeros(end - 8, np.uint8)
    comm.Sendrecv([memory[0], 1, layout.type], peer, 3, [got, end - 8, MPI.PACKED], peer, 3)
    check.same(got.view(dtype), memory[1][layout.indices], f"{what}: the type received as packed bytes")


def counts(comm, check):
    """A shorter message than the receive has room for: the status counts elements, and whole types where there are."""
    peer, column = partner(comm), MPI.INT32_T.Create_vector(10, 1, 3).Commit()
    got, status = np.zeros(90, np.int32), MPI.Status()
    for elements in (10, 15, 20):
        comm.Sendrecv(np.arange(elements, dtype=np.int32), peer, 4, [got, 3, column], peer, 4, status)
        check.same(status.Get_elements(column), elements, f"Get_elements of {elements}")
        check.same(status.Get_count(column), elements // 10 if elements % 10 == 0 else MPI.UNDEFINED,
                   f"Get_count of {elements}")
    column.Free()


def run(comm, check):
    for number, (dtype, element, lengths) in enumerate(KINDS):
        for length in lengths:
            made = layouts(length, element, check.rng(dtype, length))
            messages(comm, check, dtype, length, made)
            for index, layout in enumerate(made):
                if index % len(KINDS) == number or length < 100:
                    packed(comm, check, dtype, length, layout)
            for layout in made:
                layout.type.Free()
    counts(comm, check)
