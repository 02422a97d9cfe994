"""One MPI job, bounded in time: assembles the mpirun line for the transport under test, runs it, sorts what
each rank printed, ends what is left of the job, and checks that the transport asked for really carried it.

The transport is chosen by the environment, so that every program runs unchanged over another one:
  STRIA_TEST_PML         stria (default), ob1, ucx ...
  STRIA_TEST_COMPONENTS  folder of the built Open MPI component (needed for stria)
  STRIA_TEST_CHECK_PATH  1: every rank must print stria's line about the path to a peer (default: 1 for stria, else 0)
  STRIA_TEST_HOST_LIST   hosts of the ranks, as mpirun's --host takes them (default: this one)
  STRIA_TEST_MCA         more MCA parameters, "name=value name=value"
  STRIA_TEST_KEEP        1: keep the job's folder and print its name
"""
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

MARK = "STRIA_TEST_JOB"
SKIPPED = 77  # the exit code ctest takes for "not run, and said why"
# With pml_stria_verbose 1: "stria: PROCESS to PROCESS on HOST: ...". Messages about errors begin with "stria: " as well.
PATH_LINE = re.compile(r"(?m)^stria: \S+ to \S+ on \S+: ")


class Setup(Exception):
    """The job cannot be started; the message says what is missing."""


def transport():
    return os.environ.get("STRIA_TEST_PML", "stria")


def checks_path():
    return os.environ.get("STRIA_TEST_CHECK_PATH", "1" if transport() == "stria" else "0") == "1"


def mca_parameters(ranks):
    """The (name, value) pairs that select the transport under test."""
    pairs = [("pml", transport()), ("btl", "vader,self")]
    if transport() == "stria":
        folder = os.environ.get("STRIA_TEST_COMPONENTS", "")
        if not os.path.isfile(os.path.join(folder, "mca_pml_stria.so")):
            raise Setup(f"no mca_pml_stria.so in STRIA_TEST_COMPONENTS='{folder}': build the component, "
                        "or choose another transport with STRIA_TEST_PML")
        pairs += [("mca_base_component_path", f"{os.path.abspath(folder)}:SYSTEM_DEFAULT:USER_DEFAULT")]
        if checks_path():
            pairs += [("pml_stria_verbose", "1")]
    if transport() == "ucx":  # by itself it wants a network device
        pairs += [("opal_common_ucx_tls", "any"), ("opal_common_ucx_devices", "any")]
    if ranks > len(os.sched_getaffinity(0)):
        pairs += [("mpi_yield_when_idle", "1")]
    for word in os.environ.get("STRIA_TEST_MCA", "").split():
        name, _, value = word.partition("=")
        pairs += [(name, value)]
    return pairs


# Each rank becomes the command after its errors go to a file of its own, $0.RANK.stderr. mpirun sorts what is left, its
# output, which has to be no file for the rank: programs in Fortran keep lines for a file back, and lose them when they abort.
# (mpirun could sort both, but Open MPI 5.0.7's loses the second stream of a rank.)
EACH_RANK = 'exec "$@" 2>"$0.$OMPI_COMM_WORLD_RANK.stderr"'
# The folder of a rank of the first job, by 4.1 and by 5.0.
RANK_FOLDER = re.compile(r"/out/(?:[^/]*@)?1/rank\.(\d+)$")


def sorts_output(mpirun, folder):
    """The options by which this mpirun writes each rank's output below a folder, and not to its own as well."""
    said = subprocess.run([mpirun, "--version"], check=False, capture_output=True, text=True).stdout
    found = re.search(r"\(Open MPI\) (\d+)\.", said)
    if found and int(found.group(1)) >= 5:
        return ["--output", f"dir={folder}:nocopy"]
    return ["--output-filename", f"{folder}:nocopy"]


def mpirun_line(ranks, command, folder=None):
    """The whole command line; MCA parameters are given on it, so that spawned jobs inherit them too. With a folder, what
    the ranks print is found below it."""
    line = [shutil.which("mpirun.openmpi") or shutil.which("mpirun") or "", "-n", str(ranks),
            "--oversubscribe", "--bind-to", "none"]
    if not line[0]:
        raise Setup("mpirun is missing: install the Debian package openmpi-bin")
    if os.environ.get("STRIA_TEST_HOST_LIST"):
        line += ["--host", os.environ["STRIA_TEST_HOST_LIST"]]
    if folder:
        line += sorts_output(line[0], os.path.join(folder, "out"))
    for name, value in mca_parameters(ranks):
        line += ["--mca", name, value]
    if folder:
        line += ["/bin/sh", "-c", EACH_RANK, os.path.join(folder, "rank")]
    return line + list(command)


def _die_with_parent():
    """In mpirun before it starts: a killed script (ctest's own limit) takes its job with it."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def _marked(mark):
    """Processes that inherited this job's mark, whatever process group they have since made."""
    wanted = f"{MARK}={mark}".encode()
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    if wanted in file.read().split(b"\0"):
                        yield int(entry)
            except OSError:
                pass


class Job:
    """A started job. finish() waits for it, at most until its time is up, and cleans up after it."""

    def __init__(self, ranks, command, timeout_s, cwd=None, env=None):
        self.ranks, self.timeout_s = ranks, timeout_s
        self.code, self.timed_out, self.problem = None, False, ""
        self.text, self.stdout, self.stderr, self.seconds, self.stacks = "", {}, {}, 0.0, ""
        self._mark = uuid.uuid4().hex
        self._folder = tempfile.mkdtemp(prefix="stria-job-")
        environment = dict(os.environ, **(env or {}))
        environment.update({MARK: self._mark, "TMPDIR": self._folder, "OMP_NUM_THREADS": "1",
                            "OPENBLAS_NUM_THREADS": "1"})
        if os.geteuid() == 0:
            environment.update({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        self._started = time.monotonic()
        try:
            line = mpirun_line(ranks, command, self._folder)
            with open(os.path.join(self._folder, "launcher"), "wb") as launcher:
                self._process = subprocess.Popen(line, cwd=cwd or self._folder, env=environment, stdout=launcher,
                                                 stdin=subprocess.DEVNULL, stderr=launcher, start_new_session=True,
                                                 preexec_fn=_die_with_parent)
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def finish(self):
        try:
            self.code = self._process.wait(max(1.0, self.timeout_s - (time.monotonic() - self._started)))
        except subprocess.TimeoutExpired:
            self.timed_out, self.code = True, 124
            self.stacks = self._stacks()
        finally:
            self._end()
            self.seconds = time.monotonic() - self._started
            self._collect()
        if self.timed_out:
            self.problem = f"still running after {self.timeout_s} s, ended"
        elif self.code != 0:
            self.problem = f"mpirun ended with code {self.code}"
        elif checks_path():
            silent = [rank for rank in range(self.ranks) if not PATH_LINE.search(self.stderr.get(rank, ""))]
            if silent:
                self.problem = (f"rank {', '.join(map(str, silent))} printed no line 'stria: ... to ... on ...': stria did not "
                                "carry its messages")
        return self

    def _stacks(self):
        """Where each rank is, when the job's time is up: that tells a hang from a slow machine."""
        parts, until = [], time.monotonic() + 40
        for pid in sorted(_marked(self._mark)):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    rank = re.search(rb"(?:^|\0)OMPI_COMM_WORLD_RANK=(\d+)", file.read())
                if not rank or time.monotonic() > until:
                    continue
                with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
                used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
                parts.append(f"--- rank {rank.group(1).decode()}, process {pid}: {used:.1f} s of processor time")
                done = subprocess.run(["gdb", "-p", str(pid), "-batch", "-ex", "bt 24"], check=False,
                                      stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
                parts += [line[:160] for line in done.stdout.splitlines() if line.startswith("#")]
            except FileNotFoundError:
                parts.append("no stack: gdb is not installed")
            except (OSError, subprocess.TimeoutExpired) as problem:
                parts.append(f"no stack: {problem}")
        return "\n".join(parts)

    def _end(self):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                pass
        for _ in range(50):
            left = list(_marked(self._mark))
            if not left:
                break
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            time.sleep(0.1)
        self._process.wait()

    def _collect(self):
        def read(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read()
        launcher = read(os.path.join(self._folder, "launcher"))
        parts = []
        for rank in range(self.ranks):
            path = os.path.join(self._folder, f"rank.{rank}.stderr")
            if os.path.exists(path):
                self.stderr[rank] = read(path)
                if self.stderr[rank].strip():
                    parts.append(f"--- rank {rank} stderr\n{self.stderr[rank]}")
        for folder, _, files in sorted(os.walk(os.path.join(self._folder, "out"))):
            found = RANK_FOLDER.search(folder)
            for name in sorted(files):
                content = read(os.path.join(folder, name))
                if found and name == "stdout":
                    self.stdout[int(found.group(1))] = content
                if content.strip():
                    parts.append(f"--- {folder.split('/out/', 1)[-1]} {name}\n{content}")
        parts += [f"--- mpirun\n{launcher}"] if launcher.strip() else []
        self.text = "\n".join(parts + ([self.stacks] if self.stacks else []))
        if os.environ.get("STRIA_TEST_KEEP") == "1":
            print(f"kept: {self._folder}", flush=True)
        else:
            shutil.rmtree(self._folder, ignore_errors=True)


def run(ranks, command, timeout_s, cwd=None, env=None):
    return Job(ranks, command, timeout_s, cwd, env).finish()


def tail(text, lines=60):
    kept = text.rstrip().splitlines()
    return "\n".join((["..."] if len(kept) > lines else []) + kept[-lines:])


def needs(path, package):
    """The program's full path; without it the test is skipped with the package's name."""
    found = shutil.which(path) or (path if os.path.exists(path) else None)
    if not found:
        skip(f"{path} is missing: install the Debian package {package}")
    return found


def skip(reason):
    print(f"SKIPPED: {reason}", flush=True)
    sys.exit(SKIPPED)


def main_guard(main):
    """Runs main() and turns a job that cannot be started into a clear message; SIGTERM cleans up like an error."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    except Setup as problem:
        print(f"FAILED: {problem}", flush=True)
        sys.exit(2)
