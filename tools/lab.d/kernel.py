"""The guest's kernel: the image that boots fastest, and the modules it loads, in order.

Debian's vmlinuz would decompress itself under emulation, which takes three times as long as booting what is inside it.
"""

import lzma
import re

from trouble import Trouble

XZ_MAGIC = b"\xfd7zXZ\0"
MODINFO = re.compile(rb"(?<=\0)(depends|softdep)=([^\0]*)")


def extract(root, folder):
    """Writes folder/vmlinux, the ELF image inside root/boot/vmlinuz-*."""
    images = sorted((root / "boot").glob("vmlinuz-*"))
    if not images:
        raise Trouble("the kernel package holds no /boot/vmlinuz-*")
    packed = images[-1].read_bytes()
    at = packed.find(XZ_MAGIC)
    if at < 0:
        raise Trouble(f"{images[-1].name} is not compressed by xz")
    folder.mkdir()
    (folder / "vmlinux").write_bytes(lzma.LZMADecompressor().decompress(packed[at:]))


def release(root):
    """Its name, as uname -r gives it."""
    return sorted((root / "boot").glob("vmlinuz-*"))[-1].name.removeprefix("vmlinuz-")


def by_name(root):
    """{module name: file}; a module's name has _ where its file may have -."""
    return {path.stem.replace("-", "_"): path for path in (root / "lib" / "modules").glob("*/*/**/*.ko")}


def needs_of(path):
    """The modules that the one in `path` says it needs: (must be there, may be built in)."""
    hard, soft = [], []
    for kind, value in MODINFO.findall(path.read_bytes()):
        words = value.decode().replace("-", "_")
        if kind == b"depends":
            hard += [name for name in words.split(",") if name]
        else:
            soft += [word for word in words.replace("pre:", " ").split("post:")[0].split()]
    return hard, soft


def in_loading_order(root, wanted):
    """The files of the modules `wanted` and of all that they need, each after those it needs."""
    files = by_name(root)
    ordered = {}

    def visit(name, must):
        if name in ordered:
            return
        if name not in files:
            if must:
                raise Trouble(f"this kernel has no module {name}")
            return
        ordered[name] = None  # softdeps may go in circles
        hard, soft = needs_of(files[name])
        for needed in hard:
            visit(needed, True)
        for needed in soft:
            visit(needed, False)
        del ordered[name]
        ordered[name] = files[name]

    for name in wanted:
        visit(name, True)
    return list(ordered.values())
