"""A session: guests from their start to their end, what they say on the way, and the deadline over all of it."""

import collections
import os
import selectors
import sys
import time

from trouble import Trouble, progress

SERIAL_LINES_KEPT = 40
QUIET_CABLE = "is not connected to host network"  # what QEMU remarks on a single guest's eth0, rightly
CODE_DEADLINE = 124  # as timeout(1) says it
CODE_SKIPPED = 77
REACH_S = 30  # for guests to find out whether they reach each other


class Severed(Trouble):
    """A command failed, and its guests do not reach each other, which was found without it."""


class Session:
    """Runs guests until each that has a command has said how that ended."""

    def __init__(self, guests, deadline_s, ask_reach=False):
        self.guests = guests
        self.deadline_s = deadline_s
        self.deadline = time.monotonic() + deadline_s
        self.ask_reach = ask_reach
        self.reach = {}  # guest: what it says of the other
        self.ready = set()
        self.serial = {guest: collections.deque(maxlen=SERIAL_LINES_KEPT) for guest in guests}
        self.partial = {}  # (guest, pipe): the begun line
        self.outputs = {"out": sys.stdout.buffer, "err": sys.stderr.buffer}

    def run(self):
        """The code to end with: that of the first guest whose command failed, else 0. Raises Severed, if asked to find out."""
        with selectors.DefaultSelector() as selector:
            for guest in self.guests:
                for name, descriptor in guest.pipes.items():
                    selector.register(descriptor, selectors.EVENT_READ, (guest, name))
            late = False
            while not late and any(guest.code is None and not guest.serves for guest in self.guests):
                left = self.deadline - time.monotonic()
                late = left <= 0
                if not late:
                    self._read(selector, left)
                if any(guest.code == Trouble.code for guest in self.guests):
                    break  # the others may wait for it
            code = CODE_DEADLINE if late else next((guest.code for guest in self.guests if guest.code), 0)
            asked = self.ask_reach and code not in (0, CODE_SKIPPED, Trouble.code) and len(self.ready) == len(self.guests)
            severed = asked and self._severed(selector)
            self._end(selector)
        if late:
            progress.step(f"not done after {self.deadline_s:g} s (--timeout): ended")
        for guest in self.guests if late or asked else ():
            if guest.code is None:
                self._last_words(guest)
        if severed:
            raise Severed("the guests do not reach each other")
        return code

    def _severed(self, selector):
        """Whether the guests no longer reach each other: a fault of the laboratory, as what the command did to cables and
        interfaces is undone first, and nothing of the command's is used to find out."""
        for guest in self.guests:
            guest.ask_reach()
        until = time.monotonic() + REACH_S
        while len(self.reach) < len(self.guests) and (left := until - time.monotonic()) > 0:
            self._read(selector, left)
        for guest in self.guests:
            progress.step(f"guest {guest.number}, asked after that: {self.reach.get(guest, 'it does not answer')}")
        return any(not self.reach.get(guest, "").startswith("reaches") for guest in self.guests)

    def _read(self, selector, wait_s):
        for key, _ in selector.select(wait_s):
            guest, name = key.data
            data = os.read(key.fd, 1 << 16)
            if data:
                self._heard(guest, name, data)
                continue
            selector.unregister(key.fd)
            if name == "news" and guest.code is None and not guest.ended:
                self._complain(guest, "it ended without saying how its command did")

    def _heard(self, guest, name, data):
        if name in self.outputs and len(self.guests) == 1:
            self._print(name, data)
            return
        lines = (self.partial.pop((guest, name), b"") + data).split(b"\n")
        if lines[-1]:
            self.partial[guest, name] = lines[-1]
        for line in lines[:-1]:
            self._line(guest, name, line)

    def _line(self, guest, name, line):
        text = line.decode(errors="replace").rstrip("\r")
        if name in self.outputs:
            self._print(name, b"[%d] %s\n" % (guest.number, line))
        elif name == "serial" and QUIET_CABLE not in text:
            self.serial[guest].append(text)
            progress.detail(f"guest {guest.number}: {text}")
        elif name == "news":
            self._news(guest, *text.partition(" ")[::2])
        elif name == "monitor" and '"error"' in text:
            progress.step(f"guest {guest.number}: QEMU refuses: {text}")

    def _print(self, name, data):
        self.outputs[name].write(data)
        self.outputs[name].flush()

    def _news(self, guest, word, rest):
        if word == "ready":
            progress.detail(f"guest {guest.number} is up")
            self.ready.add(guest)
            if len(self.ready) == len(self.guests):
                for each in self.guests:
                    each.go()
        elif word == "exit":
            progress.detail(f"guest {guest.number}: the command ended with {rest}")
            guest.code = int(rest)
        elif word == "cable":
            progress.detail(f"guest {guest.number}: cable {rest}")
            guest.plug_cable(rest == "in")
        elif word == "kernel":
            self.serial[guest].append(rest)
        elif word == "reach":
            self.reach[guest] = rest
        elif word == "broken":
            self._complain(guest, f"this could not be made: {rest}")

    def _complain(self, guest, why):
        guest.code = Trouble.code
        progress.step(f"guest {guest.number}: {why}")
        self._last_words(guest)

    def _last_words(self, guest):
        for line in self.serial[guest]:
            print(f"  [{guest.number}] {line}", file=sys.stderr)

    def _end(self, selector):
        """Ends the guests; the news may have overtaken their last output, which is read to its end."""
        for guest in self.guests:
            guest.end()
        while selector.get_map():
            self._read(selector, None)
        for (guest, name), rest in sorted(self.partial.items(), key=lambda item: item[0][0].number):
            self._line(guest, name, rest)
