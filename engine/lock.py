"""One engine for each state folder. The kernel drops the lock when the process ends, however it ends."""

import fcntl
import os
from pathlib import Path

from state.folder import private_file


def take_lock(path: Path) -> int | None:
    """Lock the file; `None` where another process holds it. The lock lives as long as the returned descriptor."""
    descriptor = private_file(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def is_locked(path: Path) -> bool:
    """Whether an engine holds the lock now."""
    descriptor = take_lock(path)
    if descriptor is None:
        return True
    os.close(descriptor)
    return False
