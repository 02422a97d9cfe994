"""The file system a guest starts from: an archive in the kernel's "newc" form, written anew for each guest.

It holds busybox, the modules, this guest's settings and what programs of this machine read in /etc; everything else is
mounted by `init` from this machine. Not compressed: decompressing under emulation costs more than it saves.
"""

import os
import pathlib
import stat

import kernel

# What `init` is written in; links to busybox in /lab/bin.
APPLETS = ("base64", "cat", "cttyhack", "hostname", "insmod", "ip", "ln", "mkdir", "mkfifo", "mount", "nc", "ping",
           "seq", "setsid", "sh", "sleep", "stty")
PROGRAMS = ("lab-cable", "lab-on", "lab-serve")  # of this folder, for guests
FROM_ETC = ("alternatives", "gai.conf", "group", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "libibverbs.d",
            "localtime", "nsswitch.conf", "openmpi", "pmix", "passwd", "protocols", "python3.11", "rdma", "services")
MODULES = ("virtio_pci", "virtio_net", "virtio_console", "virtio_rng", "9p", "9pnet_virtio", "overlay")
VERBS_MODULES = ("ib_uverbs", "rdma_cm", "rdma_ucm", "crc32_generic", "crc32c_generic")
# A guest cannot load more later: what `tc` and `ss` ask the kernel for is there from the start.
DEVICE_MODULES = {"rxe": (*VERBS_MODULES, "rdma_rxe"), "siw": (*VERBS_MODULES, "siw"),
                  "net": ("veth", "sch_netem", "sch_tbf", "inet_diag", "tcp_diag")}


class Archive:
    """Entries in the order they are added, each folder once."""

    def __init__(self):
        self.parts = []
        self.names = set()

    def _add(self, name, mode, data):
        self.names.add(name)
        fields = (len(self.names), mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name.encode()) + 1, 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        self.parts += [head, b"\0" * (-len(head) % 4), data, b"\0" * (-len(data) % 4)]

    def folder(self, name):
        name = name.strip("/")
        if name and name not in self.names:
            self._above(name)
            self._add(name, stat.S_IFDIR | 0o755, b"")

    def file(self, name, data, mode=0o644):
        if name not in self.names:
            self._above(name)
            self._add(name, stat.S_IFREG | mode, data)

    def link(self, name, target):
        if name not in self.names:
            self._above(name)
            self._add(name, stat.S_IFLNK | 0o777, target.encode())

    def _above(self, name):
        self.folder(name.rpartition("/")[0])

    def tree(self, name, path):
        """A file, a link or a folder of this machine, with all below it that this user may read."""
        if path.is_symlink():
            self.link(name, os.readlink(path))
        elif path.is_dir():
            self.folder(name)
            for below in sorted(path.iterdir()):
                self.tree(f"{name}/{below.name}", below)
        elif path.is_file() and os.access(path, os.R_OK):
            self.file(name, path.read_bytes(), path.stat().st_mode & 0o755)

    def bytes(self):
        end = Archive()
        end._add("TRAILER!!!", 0, b"")
        return b"".join([*self.parts, *end.parts])


def build(root, device, settings, files):
    """The archive's bytes. `settings` are shell variables for `init`; `files` {name: bytes} go into /lab."""
    archive = Archive()
    for folder in ("dev", "proc", "sys", "tmp", "run", "root", "usr", "var/tmp"):
        archive.folder(folder)
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        archive.link(name, f"usr/{name}")
    busybox = root / "bin" / "busybox"
    archive.file("lab/busybox", busybox.read_bytes(), 0o755)
    for applet in APPLETS:
        archive.link(f"lab/bin/{applet}", "/lab/busybox")
    here = pathlib.Path(__file__).parent
    archive.file("init", (here / "init").read_bytes(), 0o755)
    for program in PROGRAMS:
        archive.file(f"lab/bin/{program}", (here / program).read_bytes(), 0o755)
    modules = kernel.in_loading_order(root, [*MODULES, *DEVICE_MODULES[device]])
    for path in modules:
        archive.file(f"lab/modules/{path.name}", path.read_bytes())
    archive.file("lab/modules/order", "".join(f"{path.name}\n" for path in modules).encode())
    archive.file("lab/settings", "".join(f"{name}={value}\n" for name, value in settings.items()).encode())
    for name, data in files.items():
        archive.file(f"lab/{name}", data, 0o755)
    for name in FROM_ETC:
        for etc in (root / "etc", pathlib.Path("/etc")):
            if (etc / name).exists() or (etc / name).is_symlink():
                archive.tree(f"etc/{name}", etc / name)
    return archive.bytes()
