"""The named ways of running an MPI program, and where their programs are.

Each is a launcher's command line and an environment; the programs are the same source in all of them.
"""

import dataclasses
import functools
import os
import pathlib
import re
import shutil
import subprocess

try:
    from . import installed
except ImportError:  # in a checkout
    installed = None


@dataclasses.dataclass(frozen=True)
class Configuration:
    name: str
    meaning: str
    folder: str  # of the programs, below the tree's
    launcher: tuple = ()  # for two processes, each bound to a core
    crowded: tuple = ()  # for more processes than there are cores, {} of them; empty: it does not run so many
    environment: dict = dataclasses.field(default_factory=dict)
    suffix: str = ""  # of its programs' names
    arguments: tuple = ()  # of all its programs
    tree: "Tree | None" = None  # the build it runs where two are compared; None: the one of the comparison
    former: bool = False  # of the build that another is compared with
    only: tuple = ()  # the programs that it has; empty: all

    def has(self, benchmark):
        """Whether it has what the benchmark runs."""
        if benchmark.foreign:
            return self.runs_foreign
        if "--alloc-mem" in self.arguments and not benchmark.messages:
            return False
        return self.runs_ranks(benchmark.ranks) and (not self.only or benchmark.program in self.only)

    def program(self, programs, benchmark):
        return programs / self.folder / (benchmark + self.suffix)

    def command(self, programs, benchmark, arguments, ranks=2):
        return [*self.launch(ranks), str(self.program(programs, benchmark)), *self.arguments, *arguments]

    def launch(self, ranks=2):
        return list(self.launcher) if ranks == 2 else [str(ranks) if word == "{}" else word for word in self.crowded]

    def runs_ranks(self, ranks):
        return ranks == 2 or bool(self.crowded)

    @property
    def runs_foreign(self):
        """Whether it can run a program that knows nothing but Open MPI."""
        return self.folder == "mpi" and not self.arguments

    def foreign_command(self, program, arguments):
        return [*self.launcher, program, *arguments]


class Unavailable(Exception):
    """Says why a configuration cannot run here."""


@dataclasses.dataclass(frozen=True)
class Tree:
    """Where programs and component lie: a build folder, or a prefix after installation."""

    programs: pathlib.Path
    component: pathlib.Path  # the folder of mca_pml_stria.so

    @property
    def libraries(self):
        """The folder of libstria.so, with everything that it and the component load below it."""
        return self.component.parent

    @staticmethod
    def of_build(build):
        return Tree(build / "bin", build / "lib" / "openmpi")

    @staticmethod
    def of_prefix(package, place):
        """`package`: the folder of this file; `place`: its module `installed`, which an installation writes."""
        return Tree((package / place.PROGRAMS).resolve(), (package / place.COMPONENT).resolve())

    @staticmethod
    def find(build):
        """The build folder that was named; else the tree this file is part of: a checkout or a prefix."""
        if build:
            return Tree.of_build(pathlib.Path(build).resolve())
        package = pathlib.Path(__file__).resolve().parent
        if installed:
            return Tree.of_prefix(package, installed)
        return Tree.of_build(package.parents[2] / "build" / "release")


OPEN_MPI = ("--mca", "btl_base_warn_component_unused", "0")
BOUND = ("-n", "2", "--bind-to", "core", *OPEN_MPI)
# Who waits gives its core away: Open MPI's own switch, the same for every layer below.
CROWDED = ("-n", "{}", "--oversubscribe", "--bind-to", "none", *OPEN_MPI, "--mca", "mpi_yield_when_idle", "1")
ON_LOOPBACK = ("--mca", "btl_tcp_if_include", "lo")
UCX = ("--mca", "pml", "ucx", "--mca", "opal_common_ucx_tls", "any", "--mca", "opal_common_ucx_devices", "any")


@dataclasses.dataclass(frozen=True)
class Release:
    """What a release of Open MPI calls its own parts."""

    shared: str  # the byte transfer layer of shared memory
    no_single_copy: tuple  # arguments

    @staticmethod
    def of(version):
        """`version`: "5.0.7"; empty where it is not known."""
        if version.startswith("5."):
            return Release("sm", ("--mca", "smsc", "^cma"))
        return Release("vader", ("--mca", "btl_vader_single_copy_mechanism", "none"))


# What pml ucx may use of UCX, and what of it stria's provider uct opens: the same transport for both.
UCX_ENVIRONMENT = {
    "ucx": {"UCX_TLS": "posix,cma,self"},
    "ucx-tcp": {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"},
    "ucx-posix": {"UCX_TLS": "posix,self"},
}
TCP_ENVIRONMENT = {"stria-tcp": {"STRIA_PROVIDERS": "tcp"}}
UCT_ENVIRONMENT = {
    "stria-uct-tcp": {"STRIA_PROVIDERS": "uct", "STRIA_UCT_TRANSPORT": "tcp", "STRIA_UCT_DEVICE": "lo"},
    "stria-uct-posix": {"STRIA_PROVIDERS": "uct", "STRIA_UCT_TRANSPORT": "posix"},
}
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

NAMES = {
    "stria": "Open MPI over pml stria",
    "stria-mapped": "Open MPI over pml stria, messages out of memory of MPI_Alloc_mem",
    "ob1": "Open MPI over ob1 and its shared memory, single copy by cross-memory attach",
    "ob1-nosc": "Open MPI over ob1 and its shared memory, copy in and copy out",
    "ucx": "Open MPI over UCX: posix shared memory and cross-memory attach",
    "stria-uct-tcp": "Open MPI over pml stria, by UCX's tcp on the loopback device",
    "ucx-tcp": "Open MPI over UCX: tcp; on one host on the loopback device",
    "stria-uct-posix": "Open MPI over pml stria, by UCX's posix shared memory alone",
    "ucx-posix": "Open MPI over UCX: posix shared memory alone",
    "stria-tcp": "Open MPI over pml stria, by TCP alone",
    "ob1-tcp": "Open MPI over ob1 and its tcp",
    "tcp-floor": "bare sockets: what TCP itself takes, without a layer",
    "mpich": "MPICH as Debian builds it",
    "native": "stria's own API, no MPI",
}
OWN = ("stria", "stria-mapped", *TCP_ENVIRONMENT, *UCT_ENVIRONMENT, "native")  # ways of running stria itself


def former_name(name):
    """What a way of running stria is called where it runs the build that another is compared with."""
    return "before" if name == "stria" else f"{name} before"


# What reaches another host, and what of its environment is for one host alone.
BETWEEN_HOSTS = ("stria", "stria-tcp", "ob1-tcp", "ucx-tcp", "tcp-floor")
ON_ONE_HOST = ("UCX_NET_DEVICES",)

SOCKETS = ("osu_latency", "osu_bw")  # what bare sockets have a program for

# Takes part in the benchmarks that name it; not to be chosen.
FLOOR = Configuration("floor", "plain loops without messages: one core gathers, one scatters, two do both at once",
                      "native", suffix="_floor")


def _program(*names):
    """The first of these programs that is installed, by its name alone: Open MPI takes the path of an mpirun that was
    started by an absolute one as its --prefix, and puts bin/ and lib/ of that in front of the ranks' own."""
    for name in names:
        if shutil.which(name):
            return name
    raise Unavailable(f"no {names[0]} is installed")


@functools.cache
def _version(mpirun):
    """Of Open MPI's launcher: "5.0.7"; empty where it does not tell."""
    said = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"\(Open MPI\) ([0-9.]+)", said)
    return found[1] if found else ""


@functools.cache
def _pmix_folder(component):
    """Where PMIx has its components, when the component of `component` brings it: with Open MPI 5.0, which hands its own path of
    components on to PMIx, and PMIx complains of each that is not its own unless it was given a path."""
    said = subprocess.run(["ldd", str(component / "mca_pml_stria.so")], capture_output=True, text=True, check=False).stdout
    found = re.search(r"libpmix\.so\S* => (\S+)", said)
    return pathlib.Path(found[1]).resolve().parent / "pmix" if found else None


def _has_component(framework, component):
    listing = subprocess.run([_program("ompi_info"), "--parsable"], capture_output=True, text=True, check=False).stdout
    return any(line.startswith(f"mca:{framework}:{component}:") for line in listing.splitlines())


def between_hosts(one, hosts):
    """The configuration with one process on each of two hosts; raises Unavailable when it runs on one host. Open MPI hands its
    own variables on to other hosts, and others that are named."""
    if one.name not in BETWEEN_HOSTS:
        raise Unavailable("it runs on one host")
    environment = {k: v for k, v in one.environment.items() if k not in ON_ONE_HOST}
    handed = [word for k, v in environment.items() if not k.startswith("OMPI_") for word in ("-x", f"{k}={v}")]
    at = ("--host", ",".join(f"{host}:1" for host in hosts))
    launcher = one.launcher[:-len(ON_LOOPBACK)] if one.launcher[-len(ON_LOOPBACK):] == ON_LOOPBACK else one.launcher
    return dataclasses.replace(one, launcher=(*launcher, *at, *handed), crowded=(), environment=environment)


def unbound(one):
    """The configuration, of two processes that keep the processors which they are started on."""
    return dataclasses.replace(one, launcher=tuple("none" if word == "core" else word for word in one.launcher))


def configuration(name, tree, hosts=()):
    """The configuration of that name for `tree`, on this host or between two; raises Unavailable with the reason against it."""
    one = _on_one_host(name, tree)
    return between_hosts(one, hosts) if hosts else one


def _on_one_host(name, tree):
    if name == FLOOR.name:
        if not (tree.programs / FLOOR.folder / "osu_datatype_floor").exists():
            raise Unavailable(f"{tree.programs / FLOOR.folder}/osu_datatype_floor is missing")
        return FLOOR
    if name not in NAMES:
        raise Unavailable(f"there is no such configuration; there are {', '.join(NAMES)}")
    folder = {"mpich": "mpich", "native": "native", "tcp-floor": "tcp"}.get(name, "mpi")
    if not (tree.programs / folder / "osu_latency").exists():
        raise Unavailable(f"its programs are not built: {tree.programs / folder}/osu_latency is missing")
    meaning = NAMES[name]
    if name == "native":
        return Configuration(name, meaning, folder)
    if name == "mpich":
        mpirun = _program("mpirun.mpich")
        return Configuration(name, meaning, folder, (mpirun, "-n", "2", "-bind-to", "core"),
                             (mpirun, "-n", "{}", "-bind-to", "none"))
    mpirun = _program("mpirun.openmpi", "mpirun")
    release = Release.of(_version(mpirun))

    def over(layer, environment, arguments=()):
        return Configuration(name, meaning, folder, (mpirun, *BOUND, *layer), (mpirun, *CROWDED, *layer), environment,
                             arguments=arguments)

    environment = dict(AS_ROOT) if os.geteuid() == 0 else {}
    if name in UCT_ENVIRONMENT:
        provider = tree.libraries / "stria" / "providers" / "libstria_provider_uct.so"
        if not provider.exists():
            raise Unavailable(f"the provider uct is not built: {provider} is missing")
        environment |= UCT_ENVIRONMENT[name]
    environment |= TCP_ENVIRONMENT.get(name, {})
    if name in OWN:
        mapped = name == "stria-mapped"
        for component in ("mca_pml_stria.so", *(["mca_mpool_stria.so"] if mapped else [])):
            if not (tree.component / component).exists():
                raise Unavailable(f"the component is not built: {tree.component}/{component} is missing")
        environment["OMPI_MCA_mca_base_component_path"] = f"{tree.component}:SYS_DEFAULT:USER_DEFAULT"
        if folder_of_pmix := _pmix_folder(tree.component):
            environment["PMIX_MCA_mca_base_component_path"] = str(folder_of_pmix)
        return over(("--mca", "pml", "stria"), environment, ("--alloc-mem",) if mapped else ())
    if name in UCX_ENVIRONMENT:
        if not _has_component("pml", "ucx"):
            raise Unavailable("this Open MPI has no pml ucx")
        return over((*UCX, "--mca", "btl", f"^{release.shared}"), environment | UCX_ENVIRONMENT[name])
    if name in ("ob1-tcp", "tcp-floor"):
        found = over(("--mca", "pml", "ob1", "--mca", "btl", "tcp,self", *ON_LOOPBACK), environment)
        return dataclasses.replace(found, crowded=(), only=SOCKETS) if name == "tcp-floor" else found
    more = release.no_single_copy if name == "ob1-nosc" else ()
    return over(("--mca", "pml", "ob1", "--mca", "btl", f"{release.shared},self", *more), environment)
