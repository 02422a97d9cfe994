"""rank.py [--seed N] [--thread-level LEVEL] PROGRAM...: one rank of a job that runs programs of this folder one after
the other. Each program is a module with run(comm, check). The last line of each rank says what was compared and by which
paths stria received; a failure prints the program, the place and the seed, and ends the whole job.

By hand:  tests/programs/run_mpi 2 /usr/bin/python3 tests/programs/python/rank.py messages"""
import argparse
import importlib
import os
import sys
import traceback

import mpi4py

sys.dont_write_bytecode = True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--thread-level", default="multiple", choices=["single", "funneled", "serialized", "multiple"])
    parser.add_argument("programs", nargs="+", metavar="PROGRAM")
    options = parser.parse_args()
    mpi4py.rc.thread_level = options.thread_level
    from mpi4py import MPI  # initialises MPI
    comm, program = MPI.COMM_WORLD, "start"
    try:
        from common import Check
        from paths import Counters
        if comm.size % 2:
            raise AssertionError(f"these programs work in pairs; the job has {comm.size} ranks")
        counters = Counters()
        for program in options.programs:
            began = MPI.Wtime()
            check = Check(program, options.seed)
            print(f"{program}: begins, seed {options.seed}", flush=True)
            importlib.import_module(program).run(comm, check)
            comm.Barrier()
            print(f"{program}: {check.count} checks right, {MPI.Wtime() - began:.1f} s", flush=True)
        paths = " ".join(f"{name}={count}" for name, count in counters.received().items())
        counters.close()
        print(f"finished: scheme={os.environ.get('STRIA_RNDV_SCHEME', 'auto')} {paths}", flush=True)
    except BaseException:  # the other ranks would wait for ever
        print(f"{program}: failed on rank {comm.rank}\n{traceback.format_exc()}", file=sys.stderr, flush=True)
        comm.Abort(1)


main()
