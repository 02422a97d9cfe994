"""What the parts of tools/lab share: its messages, and the one error that ends a run with a sentence."""

import sys
import time


class Trouble(Exception):
    """Why the laboratory cannot do what it was asked for, in words for its user."""

    code = 125


class Unavailable(Trouble):
    """This machine cannot have a laboratory, through no fault of the tree: tests are skipped."""

    code = 77


class Progress:
    """Lines about steps that take long, on stderr, with the seconds since the start when all steps are told."""

    def __init__(self):
        self.verbose = False
        self.began = time.monotonic()

    def step(self, text):
        """A step that takes seconds: always told."""
        print(f"lab: {text}", file=sys.stderr, flush=True)

    def detail(self, text):
        """What only -v tells."""
        if self.verbose:
            print(f"lab: {time.monotonic() - self.began:6.2f} s  {text}", file=sys.stderr, flush=True)


progress = Progress()
