"""A session: guests from their start to their end, what they say on the way, and the deadline over all of it."""

import collections
import os
import selectors
import sys
import time

from trouble import progress

SERIAL_LINES_KEPT = 40
CODE_DEADLINE = 124  # as timeout(1) says it
CODE_BROKEN = 125  # the laboratory itself failed


class Session:
    """Runs guests until each has said how its command ended."""

    def __init__(self, guests, deadline_s):
        self.guests = guests
        self.deadline = time.monotonic() + deadline_s
        self.deadline_s = deadline_s
        self.serial = {guest: collections.deque(maxlen=SERIAL_LINES_KEPT) for guest in guests}
        self.partial = {}  # (guest, pipe): the begun line
        self.outputs = {"out": sys.stdout.buffer, "err": sys.stderr.buffer}

    def run(self):
        """The code to end with: that of the first guest whose command failed, else 0."""
        with selectors.DefaultSelector() as selector:
            for guest in self.guests:
                for name, descriptor in guest.pipes.items():
                    selector.register(descriptor, selectors.EVENT_READ, (guest, name))
            while any(guest.code is None for guest in self.guests):
                left = self.deadline - time.monotonic()
                if left <= 0:
                    return self._late()
                for key, _ in selector.select(left):
                    guest, name = key.data
                    data = os.read(key.fd, 1 << 16)
                    if data:
                        self._heard(guest, name, data)
                    else:
                        selector.unregister(key.fd)
                        self._closed(guest, name)
            # The news may have overtaken the last output.
            for guest in self.guests:
                guest.end()
            while selector.get_map():
                for key, _ in selector.select():
                    guest, name = key.data
                    data = os.read(key.fd, 1 << 16)
                    if not data:
                        selector.unregister(key.fd)
                    self._heard(guest, name, data)
        self._flush()
        return next((guest.code for guest in self.guests if guest.code), 0)

    def _heard(self, guest, name, data):
        if name in self.outputs and len(self.guests) == 1:
            self.outputs[name].write(data)
            self.outputs[name].flush()
            return
        lines = (self.partial.pop((guest, name), b"") + data).split(b"\n")
        if lines[-1]:
            self.partial[guest, name] = lines[-1]
        for line in lines[:-1]:
            self._line(guest, name, line)

    def _line(self, guest, name, line):
        if name in self.outputs:
            self.outputs[name].write(b"[%d] %s\n" % (guest.number, line))
            self.outputs[name].flush()
            return
        text = line.decode(errors="replace").rstrip("\r")
        if name == "serial":
            self.serial[guest].append(text)
            progress.detail(f"guest {guest.number}: {text}")
            return
        word, _, rest = text.partition(" ")
        if word == "ready":
            progress.detail(f"guest {guest.number} is up; the command starts")
        elif word == "exit":
            progress.detail(f"guest {guest.number}: the command ended with {rest}")
            guest.code = int(rest)
        elif word == "broken":
            self._complain(guest, f"this could not be made: {rest}")

    def _closed(self, guest, name):
        if name == "news" and guest.code is None:
            self._complain(guest, "it ended without saying how its command did")

    def _complain(self, guest, why):
        guest.code = CODE_BROKEN
        progress.step(f"guest {guest.number}: {why}")
        self._last_words(guest)

    def _last_words(self, guest):
        for line in self.serial[guest]:
            print(f"  {line}", file=sys.stderr)

    def _late(self):
        for guest in self.guests:
            guest.end()
        self._flush()
        progress.step(f"not done after {self.deadline_s:g} s (--timeout): ended")
        for guest in self.guests:
            if guest.code is None:
                self._last_words(guest)
        return CODE_DEADLINE

    def _flush(self):
        for (guest, name), rest in sorted(self.partial.items(), key=lambda item: item[0][0].number):
            self._line(guest, name, rest)
        self.partial.clear()
