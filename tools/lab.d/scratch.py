"""The folder of a run's own files. It goes with the run; one that a killed run left goes with the next."""

import contextlib
import fcntl
import os
import pathlib
import shutil
import tempfile

PREFIX = "stria-lab-"


def _held(folder):
    """An open file that is locked as long as the run lives; None when another has it or the folder is gone."""
    try:
        lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def _sweep():
    for folder in pathlib.Path(tempfile.gettempdir()).glob(PREFIX + "*"):
        try:
            if folder.stat().st_uid != os.getuid() or not (folder / "lock").exists():
                continue
        except FileNotFoundError:  # another run has removed it
            continue
        lock = _held(folder)
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


@contextlib.contextmanager
def scratch_folder():
    _sweep()
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name:
        folder = pathlib.Path(name)
        lock = _held(folder)
        try:
            yield folder
        finally:
            os.close(lock)
