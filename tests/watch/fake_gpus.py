"""The fake NVML library and a watcher process that uses it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from queue import Empty, Queue
from shutil import which
from threading import Thread
from typing import Any

import msgspec
import pytest

from engine.watch.readings import Readings, merge
from tests.limits import LIMIT_S

SOURCE = Path(__file__).parent / "fake_nvml.c"


def build(folder: Path) -> Path:
    compiler = which("gcc")
    if compiler is None:
        pytest.skip("NOT TESTED: no gcc, so the fake libnvidia-ml.so.1 cannot be built")
    library = folder / "libnvidia-ml.so.1"
    subprocess.run(
        [compiler, "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", library, SOURCE], check=True
    )
    return library


class WatchedHost:
    """A process that watches the fake GPUs; `script` changes them while it runs."""

    def __init__(self, library: Path | None, folder: Path, script: str) -> None:
        self._script = folder / "script"
        self.script(script)
        environment = os.environ | {"FAKE_NVML": str(self._script), "LD_LIBRARY_PATH": str(library and library.parent)}
        command = [sys.executable, "-m", "tests.watch.watch_gpus_here"]
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self.readings = Readings()
        self._lines: Queue[str] = Queue()
        Thread(target=self._read, daemon=True).start()

    def script(self, text: str) -> None:
        new = self._script.with_suffix(".new")
        new.write_text(text)
        new.rename(self._script)

    def wait_for(self, condition: Callable[[Readings], Any]) -> Any:
        """Gather readings until the condition gives something true, and return that."""
        while not (found := condition(self.readings)):
            try:
                line = self._lines.get(timeout=LIMIT_S)
            except Empty:
                pytest.fail(f"not seen within {LIMIT_S} s; last: {self.readings}")
            self.readings = merge(self.readings, msgspec.json.decode(line, type=Readings))
        return found

    def forget(self) -> None:
        self.readings = Readings()

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(LIMIT_S)
        finally:
            self.process.kill()
            self.process.wait()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
