"""One rank of mpi4py's test suite: loads the tests in the same order on every rank, leaves out or keeps the
listed ones, and writes its results to a file. Arguments: folder of the tests, folder of the results, plan."""
import fnmatch
import glob
import json
import os
import sys
import unittest

sys.dont_write_bytecode = True


def flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item


class Record(unittest.TestResult):
    """Writes each test's name before it runs, so that a hang names it."""

    def __init__(self, log):
        super().__init__()
        self.log = log

    def startTest(self, test):
        super().startTest(test)
        self.log.write(test.id() + "\n")
        self.log.flush()


def main():
    tests, results, plan_file = sys.argv[1:4]
    with open(plan_file, encoding="utf-8") as file:
        plan = json.load(file)
    from mpi4py import MPI
    rank = MPI.COMM_WORLD.Get_rank()
    sys.path.insert(0, tests)
    os.chdir(results)
    chosen, unloadable = [], []
    for path in sorted(glob.glob(os.path.join(tests, "test_*.py"))):
        name = os.path.splitext(os.path.basename(path))[0]
        try:
            module = __import__(name)
        except unittest.SkipTest:
            continue
        except Exception as problem:  # the module's own import failed
            unloadable.append((name, repr(problem)))
            continue
        for test in flatten(unittest.defaultTestLoader.loadTestsFromModule(module)):
            listed = any(fnmatch.fnmatchcase(test.id(), pattern) for pattern in plan["listed"])
            if listed == plan["only_listed"]:
                chosen.append(test)
    with open(os.path.join(results, f"log.{rank}"), "w", encoding="utf-8") as log:
        record = Record(log)
        for test in chosen:
            test(record)
        log.write("done\n")
    with open(os.path.join(results, f"result.{rank}.json"), "w", encoding="utf-8") as file:
        json.dump({"version": __import__("mpi4py").__version__, "ran": record.testsRun,
                   "skipped": len(record.skipped), "unloadable": unloadable,
                   "failed": [(test.id(), text) for test, text in record.failures + record.errors],
                   "unexpected": [test.id() for test in record.unexpectedSuccesses]}, file)
    MPI.COMM_WORLD.Barrier()


main()
