"""What the programs of this folder share: bytes drawn from a seed, comparisons that say where two arrays differ, and
memory with guard bytes around it.

Every rank can compute the bytes of every message: they depend on the seed and on a key, such as (program, sender, size),
and never on what MPI delivered. numpy's own copies and slices are the oracle."""
import zlib

import numpy as np

GUARD = 64        # bytes on each side of a receive buffer
FILLER = 0xA5     # what guards and gaps hold before a message arrives

# Bytes. The borders of the eager and buffered paths by default: 3 KiB (window), 8 and 32 KiB (cells), 128 KiB (packed) and
# 256 KiB (contiguous); beyond them rendezvous, one slice of a get (4 MiB) and more.
SIZES = [0, 1, 8, 64, 3071, 3072, 3073, 8192, 8193, 32767, 32768, 32769, 131071, 131072, 131073, 262143, 262144, 262145,
         1 << 20, (4 << 20) + 1]


class Check:
    """Counts what was compared; a difference ends the program with the place, the index and the seed."""

    def __init__(self, program, seed):
        self.program, self.seed, self.count = program, seed, 0

    def rng(self, *key):
        """A generator for this key: equal on every rank, different for every key and seed."""
        return np.random.default_rng([self.seed, zlib.crc32(repr((self.program, *key)).encode())])

    def payload(self, size, *key):
        """`size` bytes that belong to the key."""
        return np.frombuffer(self.rng(*key, size).bytes(size), dtype=np.uint8).copy()

    def values(self, count, dtype, *key):
        """`count` elements of a numpy type. Integers are small, so that sums and products stay exact in any order."""
        return self.rng(*key, count).integers(1, 100, count).astype(dtype)

    def that(self, condition, what):
        self.count += 1
        if not condition:
            raise AssertionError(f"{self.program}: {what} (seed {self.seed})")

    def same(self, got, wanted, what):
        """Two arrays (or anything else with ==) are equal in every element."""
        if not isinstance(wanted, np.ndarray):
            self.that(got == wanted, f"{what}: got {got!r:.200}, expected {wanted!r:.200}")
            return
        self.that(got.shape == wanted.shape, f"{what}: shape {got.shape}, expected {wanted.shape}")
        wrong = np.flatnonzero((got != wanted).ravel())
        self.that(wrong.size == 0, f"{what}: {wrong.size} of {wanted.size} elements differ"
                  + (f", the first at {wrong[0]}: {got.ravel()[wrong[0]]}, expected {wanted.ravel()[wrong[0]]}"
                     if wrong.size else ""))


class Guarded:
    """A receive buffer of `size` bytes; untouched() says whether the guards around it are as they were."""

    def __init__(self, size):
        self.memory = np.full(size + 2 * GUARD, FILLER, dtype=np.uint8)
        self.data = self.memory[GUARD:GUARD + size]

    def untouched(self):
        return bool((self.memory[:GUARD] == FILLER).all() and (self.memory[-GUARD:] == FILLER).all())


def partner(world):
    """The other rank of this rank's pair; the tests run with an even number of ranks."""
    return world.rank ^ 1
