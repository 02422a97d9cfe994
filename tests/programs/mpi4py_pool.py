"""The program that mpi4py_tools runs in a pool of mpi4py.futures: tasks whose arguments and results go from a few
bytes to two megabytes, results in order and as they come, an error that must travel back, and a cancelled rest."""
import hashlib
import sys
from concurrent.futures import as_completed

from mpi4py.futures import MPIPoolExecutor

SIZES = [0, 1, 100, 4000, 9000, 66000, 300000, 2000000]  # bytes


def block(number):
    return hashlib.shake_128(str(number).encode()).digest(SIZES[number % len(SIZES)])


def answer(number, data):
    if number < 0:
        raise ValueError(f"task {number}")
    return number, hashlib.sha256(data).hexdigest(), data[::-1]


def check(number, result):
    data = block(number)
    assert result == (number, hashlib.sha256(data).hexdigest(), data[::-1]), f"task {number}: wrong result"


def main():
    spawned = int(sys.argv[2]) if sys.argv[1:2] == ["--spawn"] else None
    with MPIPoolExecutor(max_workers=spawned) as pool:
        for number, result in enumerate(pool.map(answer, range(96), map(block, range(96)), chunksize=3)):
            check(number, result)
        waiting = {pool.submit(answer, number, block(number)): number for number in range(96, 160)}
        for future in as_completed(waiting):
            check(waiting[future], future.result())
        try:
            pool.submit(answer, -1, b"").result()
        except ValueError as error:
            assert str(error) == "task -1", error
        else:
            raise AssertionError("the task's error did not come back")
    print("pool: all results right", flush=True)


if __name__ == "__main__":
    main()
