"""One guest: QEMU's command line, the pipes to it, and its end.

QEMU emulates the processor (KVM is not asked for: where it exists at all, it is nested and no faster), ends itself when
this process does, and leaves nothing behind: all it has are descriptors and private memory.
"""

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess

import initramfs
import packages
from trouble import Trouble

MEMORY_MB = 1024
PORTS = ("out", "err", "news")  # as init numbers them, from 1
BOTH_WAYS = ("news", "monitor")
PR_SET_PDEATHSIG = 1
# QEMU up to 8.0 leaves out a guest's memory barriers, and the atomicity of its locked instructions, when there can be only one
# processor (CF_PARALLEL of its tcg_gen_mb). Its devices are threads of their own, though: without the barrier a virtio driver
# and its device can each miss what the other just wrote, no side tells the other any more, and a guest's network is silent for
# ever. That a second processor could come is enough; none does.
PROCESSORS = "1,maxcpus=2"
# The time stamp counter is calibrated in a loop at boot, which a busy machine disturbs: clocks that ran twice as fast were
# seen. The HPET states its frequency.
KERNEL_LINE = "console=ttyS0 quiet mitigations=off panic=-1 no_timer_check tsc=unstable clocksource=hpet"


class Guest:
    """A machine that boots and has a task: "run" the command, "serve" the other guest's wishes, or a "shell"."""

    def __init__(self, unpacked, number, lab, scratch):
        """unpacked: the packages' folder; number: 0 or 1; lab: what is asked for; scratch: a folder for this guest's files."""
        self.number = number
        self.task = lab.task_of(number)
        self.serves = self.task == "serve"
        self.code = None
        self.ended = False
        self.pipes = {}  # name: the descriptor that we read
        self.sockets = {}  # of those that go both ways
        given = []  # descriptors that are QEMU's
        program, environment = packages.qemu(unpacked)
        command = [*self._machine(unpacked, lab, scratch), *self._network(lab, scratch)]
        for index, (tag, path, writable) in enumerate(self._shares(unpacked / "root", lab)):
            what = f"local,id=fs{index},security_model=none,multidevs=remap,path={str(path).replace(',', ',,')}"
            command += ["-fsdev", what + ("" if writable else ",readonly=on"),
                        "-device", f"virtio-9p-pci,fsdev=fs{index},mount_tag={tag}"]
        command += ["-device", "virtio-serial-pci"]
        for name in (*(() if self.task == "shell" else ("serial",)), *PORTS, "monitor"):
            if name in BOTH_WAYS:
                self.sockets[name], theirs = socket.socketpair()
                self.pipes[name] = self.sockets[name].fileno()
                given.append(theirs.detach())
                command += ["-chardev", f"socket,id={name},fd={given[-1]}"]
            else:
                self.pipes[name], writer = os.pipe()
                given.append(writer)
                command += ["-add-fd", f"fd={writer},set={writer}",
                            "-chardev", f"file,id={name},path=/dev/fdset/{writer},append=on"]
            if name in PORTS:
                command += ["-device", f"virtserialport,chardev={name},nr={PORTS.index(name) + 1}"]
        command += ["-serial", "stdio" if self.task == "shell" else "chardev:serial",
                    "-mon", "chardev=monitor,mode=control"]
        self._ask("qmp_capabilities")
        try:
            self._start([program, *command], environment, given)
        finally:
            for descriptor in given:
                os.close(descriptor)

    def _start(self, command, environment, given):
        parent = os.getpid()
        on_terminal = self.task == "shell"

        def before_qemu():
            """SIGKILL when tools/lab is gone; no signals of the terminal unless it is the guest's."""
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)
            if not on_terminal:
                os.setpgid(0, 0)

        try:
            self.process = subprocess.Popen(command, env=environment, pass_fds=given, preexec_fn=before_qemu,
                                            stdin=None if on_terminal else subprocess.DEVNULL,
                                            stderr=None if on_terminal else given[0])
        except OSError as error:
            raise Trouble(f"QEMU does not start: {error}") from None

    def _machine(self, unpacked, lab, scratch):
        root = unpacked / "root"
        image = scratch / f"initramfs{self.number}"
        settings = {"guest": self.number, "guests": lab.guests, "device": lab.device, "mtu": lab.mtu, "task": self.task}
        shares = "".join(f"{path}\n" for path in lab.shares)
        files = {"command": lab.command_script().encode(), "shares": shares.encode()}
        image.write_bytes(initramfs.build(root, lab.device, settings, files))
        return ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                "-accel", "tcg", "-cpu", "qemu64", "-smp", PROCESSORS, "-M", "q35", "-m", str(MEMORY_MB),
                "-L", root / "usr/share/qemu", "-L", root / "usr/share/seabios",
                "-kernel", unpacked / "kernel/vmlinux", "-initrd", image,
                "-append", KERNEL_LINE,
                "-device", "virtio-rng-pci"]

    def _network(self, lab, scratch):
        end = "hubport,id=net,hubid=0"  # a cable that leads nowhere
        if lab.guests > 1:
            server = "on" if self.number == 0 else "off"
            end = f"stream,id=net,server={server},addr.type=unix,addr.path={scratch / 'cable'}"
        mac = f"52:54:00:77:00:{self.number + 1:02x}"
        # Alone, a guest has a second interface, which is down until a test gives it an address.
        second = [] if lab.guests > 1 else [
            "-netdev", "hubport,id=net1,hubid=1",
            "-device", f"virtio-net-pci,netdev=net1,mac=52:54:00:78:00:01,host_mtu={lab.mtu},romfile="]
        return ["-netdev", end, "-device", f"virtio-net-pci,netdev=net,mac={mac},host_mtu={lab.mtu},romfile=", *second]

    @staticmethod
    def _shares(root, lab):
        yield "usr", "/usr", False
        yield "packages", root, False
        yield "results", lab.results, True
        for index, path in enumerate(lab.shares):
            yield f"share{index}", path, False

    def go(self):
        """Lets the guest begin its task."""
        self.sockets["news"].sendall(b"go\n")

    def plug_cable(self, is_in):
        """Plugs eth0's cable in, or pulls it out."""
        self._ask("set_link", name="net", up=is_in)

    def ask_reach(self):
        """Asks the guest for its kernel's last messages and whether it reaches the other, whatever was done to the cable."""
        with contextlib.suppress(OSError):  # of a QEMU that is gone
            self.plug_cable(True)
            self.sockets["news"].sendall(b"reach\n")

    def _ask(self, what, **arguments):
        """Sends a command to QEMU's monitor. The session reads the answer, as it reads the guest's output."""
        self.sockets["monitor"].sendall(json.dumps({"execute": what, "arguments": arguments}).encode() + b"\n")

    def end(self):
        """Ends QEMU, in whatever state the guest is."""
        self.ended = True
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
