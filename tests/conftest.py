"""What holds for every test: nothing that a test started outlives the session, and no property is judged by time."""

from collections.abc import Iterator

import psutil
import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # a busy machine stands still for longer than any example takes
settings.load_profile("untimed")


@pytest.fixture(scope="session", autouse=True)
def no_process_outlives_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Engines, runners and workers leave the test's process group, so that a failed test would leave them running."""
    yield
    end_processes_of(str(tmp_path_factory.getbasetemp()))


def end_processes_of(folder: str) -> None:
    """Kill every process whose command or state folder lies in a folder."""
    for process in psutil.process_iter():
        try:
            words = [*process.cmdline(), process.environ().get("ALULA_HOME", "")]
            if any(folder in word for word in words):
                process.kill()
        except psutil.Error:
            continue
