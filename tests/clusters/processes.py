"""Starts and surely ends the programs of a cluster."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

END_S = 10.0


class Daemons:
    """Programs in a folder of their own, each with a log there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        with (self.folder / f"{name}.out").open("ab") as log:
            self._running[name] = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=self.folder,
                env={**os.environ, **environment}, start_new_session=True,
            )  # fmt: skip

    def stop(self, name: str, number: signal.Signals = signal.SIGTERM) -> None:
        process = self._running.pop(name)
        process.send_signal(number)
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(END_S)

    def wait(self, name: str, ready: Callable[[], bool], limit_s: float) -> None:
        deadline = time.monotonic() + limit_s
        while not ready():
            code = self._running[name].poll()
            if code is not None or time.monotonic() > deadline:
                what = f"ended with {code}" if code is not None else f"was not ready within {limit_s:.0f} s"
                raise RuntimeError(f"{name} {what}: {self.last_words(name)}")
            time.sleep(0.1)

    def last_words(self, name: str) -> str:
        with suppress(OSError):
            return " | ".join((self.folder / f"{name}.out").read_text(errors="replace").splitlines()[-3:])
        return "it said nothing"

    def end_all(self) -> None:
        for name in reversed(list(self._running)):
            self.stop(name)
        end_processes_of(self.folder)


def end_processes_of(folder: Path) -> None:
    """End whatever else carries the folder in its command, variables or working directory."""
    marked = [process for process in psutil.process_iter() if process.pid != os.getpid() and _is_of(process, folder)]
    for process in marked:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(marked, END_S)


def _is_of(process: psutil.Process, folder: Path) -> bool:
    mark = str(folder)
    try:
        return any(mark in word for word in process.cmdline()) or any(mark in one for one in process.environ().values())
    except psutil.Error:
        return False
