"""Datatypes drawn from the seed, nested to depth 3 over all constructors, against a typemap that this file walks itself.

A tree's typemap is the list of its basic elements in order: where each lies, in bytes, and of which kind it is. The same
list of kinds, laid out anew with other gaps, is a second type of equal signature. Each message goes from the tree into
contiguous memory, back into a tree's copy, and from the tree into the second type."""
import os

import numpy as np
from mpi4py import MPI

from common import FILLER, partner

ROUNDS = 60 * int(os.environ.get("STRIA_TEST_ROUNDS", "1"))
LARGEST = 40000  # elements of one tree
BASIC = [(MPI.INT8_T, 1), (MPI.INT16_T, 2), (MPI.INT32_T, 4), (MPI.DOUBLE, 8), (MPI.C_DOUBLE_COMPLEX, 16)]


class Node:
    """An MPI type with its typemap: places and kinds (indices into BASIC) in order, bounds in bytes."""

    def __init__(self, made, places, kinds, low, extent, text):
        self.type, self.places, self.kinds, self.low, self.extent, self.text = made, places, kinds, low, extent, text

    def repeated(self, starts, lengths):
        """Places of blocks: lengths[i] of this node, the first at starts[i] bytes."""
        firsts = np.concatenate([start + self.extent * np.arange(length) for start, length in zip(starts, lengths)])
        return (firsts[:, None] + self.places).ravel(), np.tile(self.kinds, len(firsts))


def placed(rng, length, gap):
    """Displacements, in units, for `length` blocks that do not overlap, and their lengths; sometimes shuffled."""
    lengths = rng.integers(1, 4, length)
    ends = np.cumsum(lengths + rng.integers(0, gap + 1, length))
    order = rng.permutation(length) if rng.random() < 0.3 else np.arange(length)
    return (ends - lengths)[order].tolist(), lengths[order].tolist()


def leaf(rng):
    kind = int(rng.integers(len(BASIC)))
    return Node(BASIC[kind][0].Dup(), np.zeros(1, np.int64), np.array([kind]), 0, BASIC[kind][1], f"b{BASIC[kind][1]}")


def sized(made, places, kinds, text):
    """Gives a type bounds that hold all of its elements, whatever MPI thinks of alignment."""
    low = int(places.min())
    high = int((places + np.array([size for _, size in BASIC])[kinds]).max())
    resized = made.Create_resized(low, high - low)
    made.Free()
    return Node(resized, places, kinds, low, high - low, text)


def blocks(rng, child):
    """One of the constructors of one child: (MPI type, starts in bytes, lengths, name)."""
    unit, count = child.extent, int(rng.integers(1, 6))
    which = int(rng.integers(8))
    if which == 0:
        return child.type.Create_contiguous(count), [0], [count], "contiguous"
    if which in (1, 2):
        length, step = int(rng.integers(1, 4)), int(rng.integers(3, 6)) * (-1 if rng.random() < 0.3 else 1)
        starts = [step * unit * index for index in range(count)]
        if which == 1:
            return child.type.Create_vector(count, length, step), starts, [length] * count, "vector"
        return child.type.Create_hvector(count, length, step * unit), starts, [length] * count, "hvector"
    starts, lengths = placed(rng, count, 3)
    if which == 3:
        return child.type.Create_indexed(lengths, starts), [unit * s for s in starts], lengths, "indexed"
    if which == 4:
        # Any byte will do as a displacement: what lies there need not be aligned.
        starts = [unit * s + 3 * index for index, s in enumerate(sorted(starts))]
        lengths = [1] * count
        return child.type.Create_hindexed(lengths, starts), starts, lengths, "hindexed"
    if which == 5:
        starts = [4 * index + int(rng.integers(2)) for index in range(count)]
        return child.type.Create_indexed_block(2, starts), [unit * s for s in starts], [2] * count, "indexed_block"
    if which == 6:
        starts = [unit * 4 * index + int(rng.integers(8)) for index in range(count)]
        return child.type.Create_hindexed_block(2, starts), starts, [2] * count, "hindexed_block"
    shape = rng.integers(2, 6, int(rng.integers(1, 4)))
    part = np.array([rng.integers(1, extent + 1) for extent in shape])
    first = np.array([rng.integers(0, extent - size + 1) for extent, size in zip(shape, part)])
    letter = "CF"[int(rng.integers(2))]
    box = np.arange(int(shape.prod())).reshape(shape, order=letter)
    inside = box[tuple(slice(f, f + p) for f, p in zip(first, part))].ravel(order=letter)
    made = child.type.Create_subarray(shape.tolist(), part.tolist(), first.tolist(),
                                      MPI.ORDER_C if letter == "C" else MPI.ORDER_F)
    return made, (unit * inside).tolist(), [1] * inside.size, f"subarray {letter}"


def tree(rng, depth):
    if depth == 0:
        return leaf(rng)
    if rng.random() < 0.25:
        return struct(rng, depth)
    child = tree(rng, depth - 1)
    made, starts, lengths, name = blocks(rng, child)
    places, kinds = child.repeated(starts, lengths)
    child.type.Free()
    return sized(made, places, kinds, f"{name}{len(starts)}({child.text})")


def struct(rng, depth):
    """Up to three different children, side by side with gaps."""
    children = [tree(rng, depth - 1) for _ in range(int(rng.integers(1, 4)))]
    starts, lengths, at, parts = [], [], 0, []
    for child in children:
        lengths.append(int(rng.integers(1, 3)))
        starts.append(at - child.low + int(rng.integers(0, 9)))
        at = starts[-1] + child.low + lengths[-1] * child.extent
        parts.append(child.repeated(starts[-1:], lengths[-1:]))
    made = MPI.Datatype.Create_struct(lengths, starts, [child.type for child in children])
    for child in children:
        child.type.Free()
    return sized(made, np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts]),
                 f"struct({','.join(child.text for child in children)})")


def laid_out_anew(rng, kinds):
    """A struct of the same kinds in the same order, each run of equal ones a block; gap 0 makes it contiguous."""
    borders = np.flatnonzero(np.diff(kinds)) + 1
    starts_of_runs, ends = np.concatenate([[0], borders]), np.concatenate([borders, [len(kinds)]])
    places, lengths, starts, types, at = [], [], [], [], 0
    for start, end in zip(starts_of_runs, ends):
        element, size = BASIC[kinds[start]]
        at += int(rng.integers(0, 9)) if rng is not None else 0
        starts.append(at), lengths.append(int(end - start)), types.append(element)
        places.append(at + size * np.arange(end - start))
        at += size * int(end - start)
    made = MPI.Datatype.Create_struct(lengths, starts, types)
    return sized(made, np.concatenate(places), kinds, "anew" if rng is not None else "flat")


class Memory:
    """Bytes that hold `count` of a node, wherever its bounds are; places() names each byte in typemap order."""

    def __init__(self, node, count):
        self.node, self.count = node, count
        sizes = np.array([size for _, size in BASIC])[node.kinds]
        ends = np.cumsum(sizes)
        one = np.repeat(node.places - (ends - sizes), sizes) + np.arange(int(ends[-1]))
        self.offset = -node.low
        self.places = (self.offset + node.extent * np.arange(count)[:, None] + one).ravel()
        self.bytes = np.full(node.extent * count, FILLER, np.uint8)
        self.moved = None

    def specification(self):
        """[memory, count, type]: a type that begins at the memory's first byte, as mpi4py takes no negative offset."""
        self.moved = self.node.type.Create_hindexed([self.count], [self.offset]).Commit()
        return [self.bytes, 1, self.moved]


def message(comm, check, source, target, count, number):
    """From `source` into `target`: two nodes of one signature."""
    peer, what = partner(comm), f"round {number}: {count} x {source.text} into {target.text}"
    outgoing, incoming = Memory(source, count), Memory(target, count)
    outgoing.bytes[:] = check.payload(outgoing.bytes.size, what, comm.rank)
    theirs = check.payload(outgoing.bytes.size, what, peer)
    wanted = incoming.bytes.copy()
    wanted[incoming.places] = theirs[outgoing.places]
    request = (comm.Issend if number % 3 == 0 else comm.Isend)(outgoing.specification(), peer, 1)
    if number % 2:
        comm.Mprobe(peer, 1).Recv(incoming.specification())
    else:
        comm.Recv(incoming.specification(), peer, 1)
    request.Wait()
    check.same(incoming.bytes, wanted, what)
    outgoing.moved.Free(), incoming.moved.Free()


def run(comm, check):
    for number in range(ROUNDS):
        rng = check.rng(number)
        node = tree(rng, int(rng.integers(1, 4)))
        if len(node.kinds) > LARGEST:
            node.type.Free()
            continue
        most = max(1, LARGEST // len(node.kinds))
        count = int(rng.choice([1, 2, min(7, most), int(rng.integers(1, min(most, 3000) + 1))]))
        flat, anew = laid_out_anew(None, node.kinds), laid_out_anew(rng, node.kinds)
        for source, target in ((node, flat), (flat, node), (node, anew), (node, node)):
            message(comm, check, source, target, count, number)
        for made in (node, flat, anew):
            made.type.Free()
