"""What holds for every test: nothing that a test started outlives the session, and no property is judged by time."""

from collections.abc import Iterator
from contextlib import suppress

import psutil
import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # a busy machine stands still for longer than any example takes
settings.load_profile("untimed")

POLITE_S = 5.0
"""How long an engine may take to end by itself; what it ran is only then known to `make coverage`."""


@pytest.fixture(scope="session", autouse=True)
def no_process_outlives_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Engines, runners and workers leave the test's process group, so that a failed test would leave them running."""
    yield
    end_processes_of(str(tmp_path_factory.getbasetemp()))


def end_processes_of(folder: str) -> None:
    """End every process whose command or state folder lies in a folder: asked first, then killed."""
    found = list(_processes_of(folder))
    for process in found:
        with suppress(psutil.Error):
            process.terminate()
    psutil.wait_procs(found, POLITE_S)
    for process in _processes_of(folder):
        with suppress(psutil.Error):
            process.kill()


def _processes_of(folder: str) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            words = [*process.cmdline(), process.environ().get("ALULA_HOME", "")]
            if any(folder in word for word in words):
                yield process
