"""A regeneration against the reference server while the engine, the worker, its runner and the server die at random.

A console stays open on it all the time. In the end every sample is answered once, and the export is proven.

SOAK_SECONDS=3600 python -m tests.benchmarks soak_regen
"""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psutil

from engine.client import Client
from engine.demo.prompts import write_prompts
from state.folder import StateFolder
from tests.benchmarks.pseudo_terminal import PseudoTerminal
from tests.benchmarks.results import Result

PROMPTS = 2000
SAMPLES_A_PROMPT = 60
"""More than an hour's work: the run is paused in the end, and what is answered is proven."""
FLAWS = ("cut_by_length", "repetition", "refusal", "other_language", "echo")
"""The small model has them all: they shall not pause the run."""
LOOK_S = 30.0
KILL_AFTER_S = (15.0, 45.0)
VICTIMS = ("engine", "worker", "runner", "server")
RUN, SUBJECT = "soak", "regeneration"


class Scene:
    """The processes of the soak, by name."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = os.environ | {"ALULA_HOME": str(home)}
        self.client = Client(StateFolder(path=home))
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        self.server = self._serve()

    def _serve(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "console", "reference", "serve", "--port", str(self.port)]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            with suppress(httpx.HTTPError):
                if httpx.get(f"http://127.0.0.1:{self.port}/health", timeout=2).status_code == 200:
                    break
            time.sleep(0.1)
        return server

    def alula(self, *words: str) -> Any:
        """What `alula WORDS --json` prints."""
        command = [sys.executable, "-m", "console", *words, "--json"]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=120)
        return json.loads(done.stdout or done.stderr)

    def pids(self) -> dict[str, int]:
        """Those that live now."""
        found = {"server": self.server.pid}
        if engine := self.client.running_engine():
            found["engine"] = engine.pid
        for job in self.alula("jobs", "list"):
            if job["state"] == "running":
                found |= {"worker": job["pid"], "runner": job["runner_pid"]}
        return {name: pid for name, pid in found.items() if psutil.pid_exists(pid)}

    def kill(self, name: str) -> bool:
        """Kill one without warning; servers and engines are started again."""
        pid = self.pids().get(name)
        if pid is None:
            return False
        os.kill(pid, signal.SIGKILL)
        if name == "server":
            self.server.wait()
            time.sleep(random.uniform(0, 10))
            self.server = self._serve()
        if name == "engine":
            time.sleep(random.uniform(0, 5))
            self.client.ensure_engine()
        return True

    def close(self) -> None:
        """End all that runs."""
        for job in self.alula("jobs", "list"):
            if job["ended_at"] is None:
                self.alula("jobs", "stop", str(job["id"]))
        with suppress(Exception):
            self.client.ask("engine.stop", {}, timeout_s=20)
        self.server.kill()
        self.server.wait()


def run(report: Callable[[str], None]) -> Iterator[Result]:
    """A line each half minute, then what the soak found."""
    seconds = float(os.environ.get("SOAK_SECONDS", "3600"))
    with tempfile.TemporaryDirectory() as name:
        home = Path(name) / "home"
        home.mkdir(mode=0o700)
        scene = Scene(home)
        try:
            yield from _soak(scene, Path(name), seconds, report)
        finally:
            scene.close()


def _soak(scene: Scene, folder: Path, seconds: float, report: Callable[[str], None]) -> Iterator[Result]:
    write_prompts(folder / "prompts.jsonl", PROMPTS)
    scene.alula(
        "regen", "start", str(folder / "prompts.jsonl"), "--server", f"http://127.0.0.1:{scene.port}", "--name", RUN,
        "--max-tokens", "48", "--samples", str(SAMPLES_A_PROMPT), "--concurrency", "8",
        *(word for flaw in FLAWS for word in ("--pause-at", f"{flaw}=off")),
    )  # fmt: skip
    command = [sys.executable, "-m", "console"]
    with PseudoTerminal(command, size=(120, 40), environment={"ALULA_HOME": str(scene.home)}) as screen:
        yield from _kill_and_look(scene, screen, seconds, report)
    yield from _finish(scene, folder)


def _kill_and_look(
    scene: Scene, screen: PseudoTerminal, seconds: float, report: Callable[[str], None]
) -> Iterator[Result]:
    begun, killed, first = time.monotonic(), Counter[str](), None
    look_at = kill_at = begun + LOOK_S
    while (now := time.monotonic()) < begun + seconds:
        screen.read(1.0)
        screen.output = b""
        if now >= kill_at:
            victim = random.choice(VICTIMS)
            killed[victim] += scene.kill(victim)
            kill_at = time.monotonic() + random.uniform(*KILL_AFTER_S)
        if now >= look_at:
            look_at += LOOK_S
            console = _figures(psutil.Process(screen.pid))
            first = first or console
            report(f"  {now - begun:5.0f} s  {_line(scene, console)}  killed {killed.total()}")
    for victim in VICTIMS:
        yield Result(SUBJECT, f"kills of the {victim}", killed[victim], "")
    if first is not None:
        for what, before, after in zip(("MiB", "files", "threads"), first, console, strict=True):
            yield Result("console, open all the time", f"growth, {what}", after - before, what, 5)


def _figures(process: psutil.Process) -> tuple[float, int, int]:
    return process.memory_info().rss / 2**20, process.num_fds(), process.num_threads()


def _line(scene: Scene, console: tuple[float, int, int]) -> str:
    told = [f"console {console[0]:.1f} MiB {console[1]} files {console[2]} threads"]
    for name, pid in scene.pids().items():
        with suppress(psutil.Error):
            memory, files, threads = _figures(psutil.Process(pid))
            told.append(f"{name} {memory:.1f} MiB {files} files {threads} threads")
    size = sum(path.stat().st_size for path in scene.home.glob("alula.sqlite*")) / 2**20
    progress = scene.alula("regen", "status", RUN).get("progress") or {}
    return "; ".join([*told, f"database {size:.1f} MiB", f"done {progress.get('done')}"])


def _finish(scene: Scene, folder: Path) -> Iterator[Result]:
    """Pause the run, export what is answered, and prove it: each sample once, each byte as it was stored."""
    scene.alula("regen", "pause", RUN)
    deadline = time.monotonic() + 120
    while "worker" in scene.pids() and time.monotonic() < deadline:
        time.sleep(0.5)
    exported = scene.alula("regen", "export", RUN, "--output", str(folder / "out.jsonl"))
    verdict = scene.alula("regen", "verify", RUN, str(folder / "out.jsonl"))
    yield Result(SUBJECT, "answered", verdict.get("answered", -1), "")
    yield Result(SUBJECT, "failed", verdict.get("failed", -1), "")
    yield Result(SUBJECT, "rows exported", verdict.get("rows", -1), "")
    wrong = [text for text in verdict.get("problems", [str(exported), str(verdict)]) if "no outcome yet" not in text]
    yield Result(SUBJECT, "problems of the export", len(wrong), "", 0)
    yield Result(SUBJECT, "processes left", len(scene.pids()) - 1, "besides engine", 1)
