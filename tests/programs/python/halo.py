"""Halo exchange of a distributed array in two and three dimensions, in C and in Fortran order: each face is a subarray, sent
from inside and received into the border. A global array, padded and cut by numpy, says what every border must hold.

The same exchange runs by Sendrecv one dimension after the other (which fills corners, too), by all messages at once, and by
one neighbourhood collective. A matrix distributed by rows is transposed by MPI_Alltoallw with types on both sides."""
import numpy as np
from mpi4py import MPI

DTYPE, ELEMENT = np.dtype("f8"), MPI.DOUBLE
WIDTH = 2     # of the border, in elements
EMPTY = -1.0  # what the border holds before the exchange


def face(shape, dimension, side, inside, whole, order):
    """The subarray of a local array that is sent (inside) or received (border) on one side of one dimension. `whole`: over the
    full length of the other dimensions, corners included; otherwise over their inner part."""
    part = [extent if whole else extent - 2 * WIDTH for extent in shape]
    starts = [0 if whole else WIDTH for _ in shape]
    part[dimension] = WIDTH
    low = WIDTH if inside else 0
    starts[dimension] = low if side == 0 else shape[dimension] - WIDTH - low
    return ELEMENT.Create_subarray(shape, part, starts, order).Commit()


class Field:
    """This rank's part of a global array, with a border of WIDTH, and the oracle for it. Beyond the edges of the global array
    come its opposite edges where it is periodic, else the EMPTY that the border holds from the start."""

    def __init__(self, comm, check, local, letter, periodic):
        dimensions = len(local)
        self.grid = comm.Create_cart(MPI.Compute_dims(comm.size, dimensions), [periodic] * dimensions)
        self.letter, self.order = letter, MPI.ORDER_C if letter == "C" else MPI.ORDER_F
        whole = tuple(size * count for size, count in zip(local, self.grid.dims))
        everything = check.values(int(np.prod(whole)), DTYPE, local, letter, periodic).reshape(whole)
        padded = (np.pad(everything, WIDTH, mode="wrap") if periodic
                  else np.pad(everything, WIDTH, mode="constant", constant_values=EMPTY))
        cut = tuple(slice(place * size, (place + 1) * size + 2 * WIDTH) for place, size in zip(self.grid.coords, local))
        self.wanted = np.asarray(padded[cut], order=letter).copy(order=letter)
        self.shape = self.wanted.shape
        self.inner = (slice(WIDTH, -WIDTH),) * dimensions

    def fresh(self):
        """The inner part filled, the border not yet."""
        data = np.full(self.shape, EMPTY, DTYPE, order=self.letter)
        data[self.inner] = self.wanted[self.inner]
        return data

    def faces(self, dimension, side, whole):
        """(sent, received): what goes to that side, and what comes from there."""
        return (face(self.shape, dimension, side, True, whole, self.order),
                face(self.shape, dimension, side, False, whole, self.order))


def release(types):
    for made in types:
        made.Free()


def one_dimension_at_a_time(field, check, what):
    """Sendrecv with the whole faces: after the last dimension the corners are right as well."""
    data = field.fresh()
    for dimension in range(data.ndim):
        for side in (0, 1):
            source, target = field.grid.Shift(dimension, 1 if side else -1)
            sent, _ = types = field.faces(dimension, side, True)
            received = field.faces(dimension, 1 - side, True)
            field.grid.Sendrecv([data, 1, sent], target, side, [data, 1, received[1]], source, side)
            release((*types, *received))
    check.same(data, field.wanted, f"{what}, one dimension at a time")


def without_corners(field, data, check, what):
    """Compares the inner part and the faces, not the corners."""
    wanted = np.full_like(field.wanted, EMPTY)
    wanted[field.inner] = field.wanted[field.inner]
    for dimension in range(data.ndim):
        for border in (slice(0, WIDTH), slice(-WIDTH, None)):
            part = tuple(border if axis == dimension else inner for axis, inner in enumerate(field.inner))
            wanted[part] = field.wanted[part]
    check.same(data, wanted, what)


def all_at_once(field, check, what):
    data, types, requests = field.fresh(), [], []
    for dimension in range(data.ndim):
        low, high = field.grid.Shift(dimension, 1)
        for side, peer in ((0, low), (1, high)):
            sent, received = field.faces(dimension, side, False)
            types += [sent, received]
            # What leaves on one side arrives at the neighbour's other side, so the receive names the other tag.
            requests.append(field.grid.Irecv([data, 1, received], peer, 2 * dimension + 1 - side))
            requests.append(field.grid.Isend([data, 1, sent], peer, 2 * dimension + side))
    MPI.Request.Waitall(requests)
    release(types)
    without_corners(field, data, check, f"{what}, all at once")


def one_collective(field, check, what, blocking):
    """Neighbor_alltoallw. Only where the array is not periodic: around two ranks both neighbours are the same one, and which
    of its two messages is for which side was not said before MPI 4."""
    data, types = field.fresh(), [field.faces(dimension, side, False) for dimension in range(field.wanted.ndim)
                                  for side in (0, 1)]
    ones, zeros = [1] * len(types), [0] * len(types)
    outgoing, incoming = ([data, ones, zeros, [pair[kind] for pair in types]] for kind in (0, 1))
    if blocking:
        field.grid.Neighbor_alltoallw(outgoing, incoming)
    else:
        field.grid.Ineighbor_alltoallw(outgoing, incoming).Wait()
    release(made for pair in types for made in pair)
    without_corners(field, data, check, f"{what}, one collective")


def transposition(comm, check, rows):
    """A square matrix, distributed by rows: each rank sends each other rank a block, column by column."""
    side = rows * comm.size
    matrix = check.values(side * side, DTYPE, "matrix", side).reshape(side, side)
    mine = matrix[rows * comm.rank:rows * (comm.rank + 1)].copy()
    got = np.zeros_like(mine)
    column = ELEMENT.Create_vector(rows, 1, side)
    sized = column.Create_resized(0, ELEMENT.Get_size())
    across = sized.Create_contiguous(rows).Commit()                    # a block, its columns one after the other
    along = ELEMENT.Create_vector(rows, rows, side).Commit()           # a block, its rows one after the other
    places = [rows * rank * ELEMENT.Get_size() for rank in range(comm.size)]
    ones = [1] * comm.size
    comm.Alltoallw([mine, ones, places, [across] * comm.size], [got, ones, places, [along] * comm.size])
    check.same(got, matrix.T[rows * comm.rank:rows * (comm.rank + 1)].copy(), f"transposition of {side} x {side}")
    release((column, sized, across, along))


def run(comm, check):
    for local in ((5, 7), (300, 40), (4, 5, 6), (20, 30, 40)):
        for letter in "CF":
            for periodic in (True, False):
                what = f"{local}, order {letter}, periodic {periodic}"
                field = Field(comm, check, local, letter, periodic)
                one_dimension_at_a_time(field, check, what)
                all_at_once(field, check, what)
                if not periodic:
                    one_collective(field, check, what, letter == "C")
                field.grid.Free()
    for rows in (3, 100):
        transposition(comm, check, rows)
