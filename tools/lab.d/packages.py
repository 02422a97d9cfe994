"""Debian packages that are downloaded and unpacked into a cache folder, never installed.

    <cache>/lock              one process prepares at a time
    <cache>/<names' hash>/    everything that one list of packages needs, complete or not there
        root/                 the packages' files, as below /
        kernel/vmlinux        the kernel that QEMU boots

The packages named below are always taken; what they depend on only where this machine has not installed it. apt is
asked with the machine's own lists first, and with fresh ones in the cache folder when those are missing or out of date.
"""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import kernel
from trouble import Trouble, Unavailable, progress

# What runs a guest, and what a guest finds in its /usr beside this machine's own.
WANTED = ("qemu-system-x86", "qemu-system-common", "qemu-system-data", "seabios", "busybox-static", "iproute2",
          "libibverbs1", "librdmacm1", "ibverbs-providers", "ibverbs-utils", "rdmacm-utils")
KERNEL = "linux-image-amd64"
# The parts of the kernel's modules that a guest may load; the rest is sound, video and hardware it never has.
MODULE_FOLDERS = ("arch", "block", "crypto", "drivers/block", "drivers/char", "drivers/infiniband", "drivers/iommu",
                  "drivers/net/*.ko", "drivers/vfio", "drivers/virtio", "fs/9p", "fs/configfs", "fs/fscache",
                  "fs/netfs", "fs/overlayfs", "lib", "net")
NEEDED_BYTES = 700 << 20  # downloads and unpacked files together, as they are side by side for a while


def need_programs(*names):
    for program in names:
        if not shutil.which(program):
            raise Unavailable(f"there is no {program} here")


def need_space(folder, needed):
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise Unavailable(f"{folder} has {free >> 20} MiB free; the packages need {needed >> 20} MiB "
                      "(STRIA_LAB_CACHE names another folder)")


def cache_folder():
    """STRIA_LAB_CACHE, else stria/lab in the user's cache folder."""
    given = os.environ.get("STRIA_LAB_CACHE")
    if given:
        return pathlib.Path(given).resolve()
    caches = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(caches) / "stria" / "lab"


class Apt:
    """apt-get and apt-cache with the lists of this machine, or with lists of their own."""

    def __init__(self, lists=None):
        self.options = []
        if lists:
            (lists / "partial").mkdir(parents=True, exist_ok=True)
            self.options = ["-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={lists}"]

    def run(self, program, *arguments, folder=None):
        done = subprocess.run([program, *self.options, *arguments], cwd=folder, text=True, stdin=subprocess.DEVNULL,
                              capture_output=True, check=False, env={**os.environ, "LC_ALL": "C"})
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.startswith("E:")] or done.stderr.splitlines()
            kind = Unavailable if any(line.startswith("E: Failed to fetch") for line in said) else Trouble
            raise kind(f"{program} {arguments[0]}: " + " ".join(said[:5]))
        return done.stdout

    def with_dependencies(self, wanted):
        """`wanted` and what they need that is not installed here."""
        text = self.run("apt-get", "install", "--simulate", "--no-install-recommends", *wanted)
        return sorted({*wanted, *re.findall(r"^Inst (\S+)", text, re.MULTILINE)})

    def kernel_image(self):
        """The package that the name for "the newest kernel" stands for."""
        found = re.search(rf"^Depends: (linux-image-[^ ,]+)", self.run("apt-cache", "show", KERNEL), re.MULTILINE)
        if not found:
            raise Trouble(f"package {KERNEL} names no kernel it depends on")
        return found[1]

    def download(self, names, folder):
        self.run("apt-get", "download", "-q", "-o", "APT::Sandbox::User=root", *names, folder=folder)


def download(cache, folder, names_by):
    """Downloads the packages that names_by(apt) lists into `folder`."""
    try:
        apt = Apt()
        apt.download(names_by(apt), folder)
    except Trouble as first:
        progress.detail(f"{first}; again with fresh lists")
        apt = Apt(cache / "apt")
        try:
            apt.run("apt-get", "update", "-q", "--error-on=any")
            stale = None
        except Trouble as trouble:
            stale = trouble  # what is wrong may be an archive that nothing of ours comes from
        try:
            apt.download(names_by(apt), folder)
        except Trouble as second:
            why = stale or second
            raise type(why)(f"packages cannot be downloaded: {why}") from None


def unpack(package, root):
    """All files of a package; of a kernel only what a guest may want."""
    if not package.name.startswith("linux-image-"):
        if subprocess.run(["dpkg-deb", "-x", package, root], check=False).returncode:
            raise Trouble(f"{package.name} cannot be unpacked")
        return
    wanted = ["./boot/vmlinuz*", "./boot/config*"]
    wanted += [f"./lib/modules/*/kernel/{folder}" for folder in MODULE_FOLDERS]
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as stream:
        # Some kernel may lack one of the folders: what is needed of them is checked when a guest's modules are chosen.
        subprocess.run(["tar", "-x", "-C", root, "--wildcards", *wanted], stdin=stream.stdout,
                       stderr=subprocess.DEVNULL, check=False)
    if stream.returncode:
        raise Trouble(f"{package.name} cannot be unpacked")


@contextlib.contextmanager
def locked(cache):
    with open(cache / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def qemu(ready):
    """(program, environment) of the unpacked QEMU."""
    root, library = ready / "root", "x86_64-linux-gnu"
    libraries = f"{root}/usr/lib/{library}:{root}/lib/{library}"
    return root / "usr/bin/qemu-system-x86_64", {**os.environ, "LD_LIBRARY_PATH": libraries}


def runs(ready):
    """Whether the packages are there and QEMU finds all it needs, on this machine as it is now."""
    program, environment = qemu(ready)
    return program.exists() and not subprocess.run([program, "--version"], env=environment, check=False,
                                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def prepare(cache, wanted=WANTED):
    """The folder of the unpacked packages; downloads and unpacks them when it is not there yet."""
    name = hashlib.sha256(repr((wanted, KERNEL, MODULE_FOLDERS)).encode()).hexdigest()[:12]
    ready = cache / name
    if runs(ready):
        return ready
    need_programs("apt-get", "apt-cache", "dpkg-deb", "tar")
    cache.mkdir(parents=True, exist_ok=True)
    with locked(cache):
        if runs(ready):
            return ready
        shutil.rmtree(ready, ignore_errors=True)
        need_space(cache, NEEDED_BYTES)
        with tempfile.TemporaryDirectory(dir=cache, prefix="making-") as made:
            made = pathlib.Path(made)
            debs, root = made / "debs", made / "root"
            debs.mkdir()
            root.mkdir()
            progress.step(f"downloading Debian packages into {cache} (once)")
            download(cache, debs, lambda apt: [*apt.with_dependencies(wanted), apt.kernel_image()])
            progress.step("unpacking them")
            for package in sorted(debs.iterdir()):
                unpack(package, root)
            shutil.rmtree(debs)
            kernel.extract(root, made / "kernel")
            made.rename(ready)
            made.mkdir()  # what the context manager removes
    if not runs(ready):
        raise Trouble(f"QEMU, unpacked into {ready}, does not run on this machine")
    return ready
