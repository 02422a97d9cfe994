"""One layout for each way to construct an MPI datatype, next to numpy's answer to which elements it names.

All layouts of one length hold the same number of equal elements, so that their signatures are equal: a message sent as any
of them can be received as any other. `indices` are positions in memory, in units of elements, in typemap order; most are
made by slicing numpy.arange, which is the oracle for the constructor."""
from dataclasses import dataclass

import numpy as np
from mpi4py import MPI

UNIT = 24  # lengths are multiples of it, so that they divide into blocks, faces and grids


@dataclass
class Layout:
    """A committed type, the positions of its elements, and the number of elements of memory that it spans."""
    name: str
    type: MPI.Datatype
    indices: np.ndarray
    total: int

    def repeated(self, count):
        """Positions of `count` of these, one extent after the other."""
        return (self.indices + self.total * np.arange(count)[:, None]).ravel()


def finish(name, made, indices, total, element):
    """Commits the type, with an extent of `total` elements; frees what it was made of."""
    size = element.Get_size()
    sized = made.Create_resized(0, total * size).Commit()
    made.Free()
    return Layout(name, sized, np.asarray(indices).ravel(), total)


def nested(inner, outer):
    """outer(inner), then frees the inner type: the outer one keeps what it needs."""
    made = outer(inner)
    inner.Free()
    return made


def blocks_with_gaps(length, rng):
    """Blocks of 1 to 7 elements, in all `length`, with gaps of 0 to 5 between them: (lengths, displacements, total)."""
    lengths = rng.integers(1, 8, length)
    lengths = lengths[np.cumsum(lengths) < length]
    lengths = np.append(lengths, length - lengths.sum())
    ends = np.cumsum(rng.integers(0, 6, len(lengths)) + lengths)
    return lengths, ends - lengths, int(ends[-1]) + 1


def pieces(lengths, starts):
    """The elements of blocks, one block after the other."""
    ends = np.cumsum(lengths)
    return np.repeat(np.asarray(starts) - (ends - lengths), lengths) + np.arange(ends[-1])


def strided(length, element, size):
    """vector and hvector: rows of a matrix, a column, backwards, and a vector of vectors."""
    def rows(width):
        return np.arange(length * width).reshape(-1, width)
    yield "contiguous", element.Create_contiguous(length), np.arange(length), length
    yield "vector, a column", element.Create_vector(length, 1, 4), rows(4)[:, 0], 4 * length
    yield ("vector, blocks of 3", element.Create_vector(length // 3, 3, 7), rows(7)[:length // 3, :3], 7 * length // 3)
    yield ("hvector", element.Create_hvector(length // 2, 2, 5 * size), rows(5)[:length // 2, :2], 5 * length // 2)
    yield ("hindexed of a vector, backwards",
           nested(element.Create_vector(length, 1, -2), lambda inner: inner.Create_hindexed([1], [(2 * length - 1) * size])),
           np.arange(2 * length)[::-2], 2 * length)
    yield ("hvector of a vector",
           nested(element.Create_vector(3, 2, 4), lambda inner: inner.Create_hvector(length // 6, 1, 13 * size)),
           rows(13)[:length // 6][:, [0, 1, 4, 5, 8, 9]], 13 * length // 6)
    yield ("dup of a vector", nested(element.Create_vector(length // 4, 4, 6), lambda inner: inner.Dup()),
           rows(6)[:length // 4, :4], 6 * length // 4)


def listed(length, element, size, rng):
    """indexed, hindexed and the kinds with blocks of one length; displacements in order and shuffled."""
    lengths, starts, total = blocks_with_gaps(length, rng)
    yield "indexed", element.Create_indexed(lengths.tolist(), starts.tolist()), pieces(lengths, starts), total
    order = rng.permutation(len(lengths))
    yield ("indexed, shuffled", element.Create_indexed(lengths[order].tolist(), starts[order].tolist()),
           pieces(lengths[order], starts[order]), total)
    yield ("hindexed", element.Create_hindexed(lengths.tolist(), (starts * size).tolist()), pieces(lengths, starts), total)
    starts = 6 * np.arange(length // 4) + rng.integers(0, 3, length // 4)
    equal, total = starts[:, None] + np.arange(4), 6 * len(starts)
    yield "indexed_block", element.Create_indexed_block(4, starts.tolist()), equal, total
    yield "hindexed_block", element.Create_hindexed_block(4, (starts * size).tolist()), equal, total


def boxes(length, element, size):
    """subarray and darray in two and three dimensions, in C and in Fortran order, and a transposition."""
    for order, letter in ((MPI.ORDER_C, "C"), (MPI.ORDER_F, "F")):
        for shape, part in (((length // 12 + 2, 14), (length // 12, 12)), ((length // 12 + 1, 5, 6), (length // 12, 3, 4))):
            starts = (1,) * len(shape)
            box = np.arange(int(np.prod(shape))).reshape(shape, order=letter)
            inside = box[tuple(slice(1, 1 + extent) for extent in part)].ravel(order=letter)
            yield (f"subarray, {len(shape)}-d, order {letter}", element.Create_subarray(shape, part, starts, order), inside,
                   box.size)
        shape, process = (2 * (length // 12), 24), (1, 0)
        box = np.arange(int(np.prod(shape))).reshape(shape, order=letter)
        columns = [column for column in range(24) if column // 3 % 2 == process[1]]
        yield (f"darray, order {letter}",
               element.Create_darray(4, 2, shape, [MPI.DISTRIBUTE_BLOCK, MPI.DISTRIBUTE_CYCLIC],
                                     [MPI.DISTRIBUTE_DFLT_DARG, 3], [2, 2], order),
               box[length // 12:, columns].ravel(order=letter), box.size)
    for columns in (UNIT, length // UNIT):
        column = nested(element.Create_vector(length // columns, 1, columns), lambda inner: inner.Create_resized(0, size))
        yield (f"transposition, {columns} columns", nested(column, lambda inner: inner.Create_contiguous(columns)),
               np.arange(length).reshape(-1, columns).T, length)


def mixed(length, element, size):
    """struct of an element, a vector and an indexed type, repeated."""
    def unit():
        vector, indexed = element.Create_vector(4, 2, 3), element.Create_indexed([5, 10], [12, 0])
        made = MPI.Datatype.Create_struct([1, 1, 1], [0, 2 * size, 14 * size], [element, vector, indexed])
        vector.Free(), indexed.Free()
        return nested(made, lambda inner: inner.Create_resized(0, 40 * size))
    inside = np.concatenate([[0], 2 + np.arange(12).reshape(4, 3)[:, :2].ravel(), 14 + np.arange(12, 17), 14 + np.arange(10)])
    count = length // UNIT
    yield ("struct", nested(unit(), lambda inner: inner.Create_contiguous(count)), inside + 40 * np.arange(count)[:, None],
           40 * count)


def layouts(length, element, rng):
    """All of them, for `length` elements of this basic MPI type."""
    size = element.Get_size()
    made = [*strided(length, element, size), *listed(length, element, size, rng), *boxes(length, element, size),
            *mixed(length, element, size)]
    return [finish(*parts, element) for parts in made]
