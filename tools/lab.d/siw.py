"""siw, the iWARP device in software, which Debian's kernel leaves out: built from its sources for the guest's kernel."""

import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

import kernel
import packages
from trouble import Trouble, progress

NEEDED_BYTES = 500 << 20
SOURCES = "/drivers/infiniband/sw/siw/"


def extract_sources(package, folder):
    """The module's sources out of the kernel's, which are an archive inside the package."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as stream:
        with tarfile.open(fileobj=stream.stdout, mode="r|") as outer:
            archive = next((outer.extractfile(entry) for entry in outer if entry.name.endswith(".tar.xz")), None)
            if archive:
                with tarfile.open(fileobj=archive, mode="r|xz") as inner:
                    for entry in inner:
                        if SOURCES in entry.name and entry.isfile():
                            (folder / pathlib.Path(entry.name).name).write_bytes(inner.extractfile(entry).read())
                        elif any(folder.iterdir()):
                            break  # what follows is a hundred MiB of something else
        stream.kill()
    if not (folder / "Makefile").exists():
        raise Trouble(f"{package.name} holds no {SOURCES}")


def build(made, release):
    """Downloads into `made` what the build needs, and builds; the module's file."""
    debs, root, source = made / "debs", made / "root", made / "siw"
    for folder in (debs, root, source):
        folder.mkdir()
    version = re.match(r"\d+\.\d+", release)[0]
    names = [f"linux-source-{version}", f"linux-headers-{release}"]

    def with_compiler(apt):
        """Returns the packages to download: source, headers, and the linux-* packages that the headers depend on."""
        text = apt.run("apt-cache", "depends", "--important", names[1])
        return [*names, *re.findall(r"Depends: (linux-\S+)", text)]

    packages.download(made.parent, debs, with_compiler)
    for package in sorted(debs.iterdir()):
        if package.name.startswith("linux-source-"):
            extract_sources(package, source)
        else:
            packages.unpack(package, root)
    headers = root / "usr/src" / f"linux-headers-{release}"
    makefile = headers / "Makefile"
    makefile.write_text(re.sub(r"(?<=include )(?=/usr/)", str(root), makefile.read_text(encoding="ascii")))
    command = ["make", "-C", headers, f"M={source}", "CONFIG_RDMA_SIW=m", "CONFIG_DEBUG_INFO=",
               "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"]
    done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        raise Trouble("siw does not build:\n" + "\n".join((done.stdout + done.stderr).splitlines()[-20:]))
    return source / "siw.ko"


def prepare(cache, unpacked):
    """Builds the module into the unpacked kernel's own folder when it is not there."""
    root = unpacked / "root"
    release = kernel.release(root)
    built = root / "lib/modules" / release / "extra" / "siw.ko"
    if built.exists():
        return
    packages.need_programs("make", "gcc-12")
    with packages.locked(cache):
        if built.exists():
            return
        packages.need_space(cache, NEEDED_BYTES)
        progress.step("building the kernel module siw from Debian's sources (once)")
        with tempfile.TemporaryDirectory(dir=cache, prefix="making-") as made:
            module = build(pathlib.Path(made), release)
            built.parent.mkdir(exist_ok=True)
            shutil.move(module, built.with_suffix(".new"))
            built.with_suffix(".new").rename(built)
