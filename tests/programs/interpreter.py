"""The Python interpreter that the Python clients run in. It is checked before a job starts, and named in the output.

By default it is Debian's /usr/bin/python3, which sees Debian's packages. The first python3 of PATH may be another one (of a
virtual environment, of pyenv) that does not. STRIA_TEST_PYTHON names a different interpreter."""
import json
import os
import subprocess

import job

PACKAGES = {"mpi4py": "python3-mpi4py", "numpy": "python3-numpy"}

# Runs in that interpreter. MPI is loaded but not initialised: a process outside of a job must not start one.
PROBE = """
import importlib, json, sys
found = {"python": sys.version.split()[0], "missing": [], "broken": {}, "versions": {}, "mpi": ""}
for name in sys.argv[1:]:
    try:
        found["versions"][name] = importlib.import_module(name).__version__
        if name == "mpi4py":
            import mpi4py
            mpi4py.rc.initialize = mpi4py.rc.finalize = False
            from mpi4py import MPI
            found["mpi"] = MPI.get_vendor()[0]
    except ModuleNotFoundError as problem:
        (found["missing"].append(name) if problem.name == name else found["broken"].update({name: str(problem)}))
    except Exception as problem:
        found["broken"][name] = str(problem)
print(json.dumps(found))
"""


def python_with(*modules):
    """The path of the interpreter, once it can import these modules. Without one of them the test is skipped, and the reason
    names the interpreter, the module and its Debian package."""
    path = os.environ.get("STRIA_TEST_PYTHON", "/usr/bin/python3")
    try:
        done = subprocess.run([path, "-c", PROBE, *modules], check=False, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120)
    except FileNotFoundError:
        job.skip(f"{path} is missing: install the Debian package python3, or name an interpreter by STRIA_TEST_PYTHON")
    if done.returncode != 0:
        raise job.Setup(f"{path} cannot run: {job.tail(done.stderr, 5)}")
    found = json.loads(done.stdout.splitlines()[-1])
    for name in found["missing"]:
        job.skip(f"{path} has no module {name}: install the Debian package {PACKAGES[name]}, or name another interpreter by "
                 "STRIA_TEST_PYTHON")
    for name, why in found["broken"].items():
        raise job.Setup(f"{path} has the module {name} but cannot load it: {why}")
    if "mpi4py" in modules and found["mpi"] != "Open MPI":
        job.skip(f"mpi4py of {path} was built for {found['mpi']}, and Open MPI's is needed: install the Debian package "
                 f"{PACKAGES['mpi4py']}, or name another interpreter by STRIA_TEST_PYTHON")
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    print(f"interpreter: {path}, Python {found['python']}, {versions}", flush=True)
    return path
