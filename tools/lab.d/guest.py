"""One guest: QEMU's command line, the pipes to it, and its end.

QEMU emulates the processor (KVM is not asked for: where it exists at all, it is nested and no faster), ends itself when
this process does, and leaves nothing behind: all it has are descriptors and private memory.
"""

import ctypes
import os
import signal
import subprocess

import initramfs
from trouble import Trouble

MEMORY_MB = 1024
PORTS = ("out", "err", "news")  # as init numbers them, from 1
PR_SET_PDEATHSIG = 1


def die_with_parent():
    """In QEMU, before it starts: SIGKILL when tools/lab is gone, and no signals of the terminal."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setpgid(0, 0)


class Guest:
    """A machine that boots and runs one command."""

    def __init__(self, packages, number, lab, scratch):
        """packages: their folder; number: 0 or 1; lab: what is asked for; scratch: a folder for this guest's files."""
        self.number = number
        self.code = None
        self.pipes = {}  # name: the descriptor that we read
        self._start(packages, lab, scratch)

    def _start(self, packages, lab, scratch):
        root = packages / "root"
        image = scratch / f"initramfs{self.number}"
        settings = {"guest": self.number, "guests": lab.guests, "device": lab.device, "mtu": lab.mtu}
        shares = "".join(f"{path}\n" for path in lab.shares)
        files = {"command": lab.command_script().encode(), "shares": shares.encode()}
        image.write_bytes(initramfs.build(root, lab.device, settings, files))
        program = root / "usr" / "bin" / "qemu-system-x86_64"
        command = [program, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                   "-accel", "tcg", "-cpu", "qemu64", "-smp", "1", "-M", "q35", "-m", str(MEMORY_MB),
                   "-kernel", packages / "kernel" / "vmlinux", "-initrd", image,
                   "-append", "console=ttyS0 quiet mitigations=off panic=-1 tsc=reliable no_timer_check",
                   "-device", "virtio-rng-pci"]
        for folder in (root / "usr/share/qemu", root / "usr/share/seabios"):
            command += ["-L", folder]
        command += self._network(lab, scratch)
        for number, (tag, path, writable) in enumerate(self._shares(root, lab)):
            what = f"local,id=fs{number},security_model=none,multidevs=remap,path={str(path).replace(',', ',,')}"
            command += ["-fsdev", what + ("" if writable else ",readonly=on"),
                        "-device", f"virtio-9p-pci,fsdev=fs{number},mount_tag={tag}"]
        writers = []
        command += ["-device", "virtio-serial-pci"]
        for number, name in enumerate(("serial", *PORTS)):
            reader, writer = os.pipe()
            self.pipes[name] = reader
            writers.append(writer)
            command += ["-add-fd", f"fd={writer},set={number}",
                        "-chardev", f"file,id={name},path=/dev/fdset/{number},append=on"]
            command += ["-serial", f"chardev:{name}"] if name == "serial" else [
                "-device", f"virtserialport,chardev={name},nr={number}"]
        library = root / "usr/lib/x86_64-linux-gnu"
        environment = {**os.environ, "LD_LIBRARY_PATH": f"{library}:{root / 'lib/x86_64-linux-gnu'}"}
        try:
            self.process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stderr=writers[0],
                                            pass_fds=writers, preexec_fn=die_with_parent)
        except OSError as error:
            raise Trouble(f"QEMU does not start: {error}") from None
        finally:
            for writer in writers:
                os.close(writer)

    def _network(self, lab, scratch):
        mac = f"52:54:00:77:00:{self.number + 1:02x}"
        end = "hubport,id=net,hubid=0"  # a cable that leads nowhere
        if lab.guests > 1:
            server = "on" if self.number == 0 else "off"
            end = f"stream,id=net,server={server},addr.type=unix,addr.path={scratch / 'cable'}"
        return ["-netdev", end, "-device", f"virtio-net-pci,netdev=net,mac={mac},host_mtu={lab.mtu},romfile="]

    @staticmethod
    def _shares(root, lab):
        yield "usr", "/usr", False
        yield "packages", root, False
        yield "results", lab.results, True
        for number, path in enumerate(lab.shares):
            yield f"share{number}", path, False

    def end(self):
        """Ends QEMU, in whatever state the guest is."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
