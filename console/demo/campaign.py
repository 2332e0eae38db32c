"""The story in small: a server with the wrong flag, the finding, the fix, and a regeneration that ends complete."""

import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import msgspec

from console.demo.commands import CommandFailed, Commands
from engine.demo.prompts import standard_library_prompts, write_prompts

PROMPTS = 300
MEASURED_PROMPTS = 20
MEASURED_TOKENS = 96
MAX_TOKENS = 192
STEPS = 5
START_LIMIT_S = 60.0
RUN_NAME = "demo"
FAULTY, MENDED = "server-eagle", "server-eagle3"


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What the demonstration measured."""

    accept_length_eagle: float
    accept_length_eagle3: float
    finding: str
    answered: int
    failed: int
    tokens: int
    tokens_per_s: float | None
    seconds: float


class Campaign:
    """Its steps, in order; each says what it does."""

    def __init__(self, commands: Commands) -> None:
        self.commands = commands
        self.prompts = commands.folder / "prompts.jsonl"

    def start_server(self, name: str, algorithm: str) -> str:
        """Start a reference server with its draft as a job; returns its URL once it answers.

        Raises:
            CommandFailed: It does not come up.
        """
        port = _free_port()
        draft = self.commands.ask("reference", "paths")["draft"]
        self.commands.run(
            "jobs", "launch", "--name", name, "--", sys.executable, "-m", "console", "reference", "serve",
            "--port", str(port),
            "--speculative-algorithm", algorithm, "--speculative-draft-model-path", draft,
            "--speculative-num-steps", str(STEPS), "--speculative-eagle-topk", "1",
            "--speculative-num-draft-tokens", str(STEPS + 1),
        )  # fmt: skip
        url = f"http://127.0.0.1:{port}"
        _wait_for(lambda: httpx.get(f"{url}/health", timeout=2).status_code == 200, f"{url} does not answer")
        return url

    def measure(self, url: str) -> float:
        """Ask a few prompts, one after the other; returns the accept length that the server reports."""
        with httpx.Client(timeout=60) as client:
            for prompt in standard_library_prompts(MEASURED_PROMPTS):
                content = {
                    "model": "target",
                    "messages": prompt.messages,
                    "max_tokens": MEASURED_TOKENS,
                    "temperature": 0,
                }
                client.post(f"{url}/v1/chat/completions", json=content).raise_for_status()
            states = client.get(f"{url}/server_info").json()["internal_states"]
        return float(states[0]["avg_spec_accept_length"])

    def findings(self, url: str) -> list[dict[str, Any]]:
        """What the checker says of a running server."""
        found: list[dict[str, Any]] = self.commands.ask("check", "--server", url, allowed=(0, 1))["findings"]
        return found

    def start_run(self, url: str) -> None:
        """Start the regeneration of real prompts."""
        write_prompts(self.prompts, PROMPTS)
        self.commands.run(
            "regen", "start", str(self.prompts), "--server", url, "--name", RUN_NAME,
            "--max-tokens", str(MAX_TOKENS), "--temperature", "0", "--concurrency", "32",
        )  # fmt: skip

    def status(self) -> dict[str, Any]:
        """How far the regeneration is."""
        found: dict[str, Any] = self.commands.ask("regen", "status", RUN_NAME, allowed=(0, 1))
        return found

    def stop_server(self, name: str) -> None:
        """Stop a server's job."""
        for job in self.commands.ask("jobs", "list"):
            if job["name"] == name and job["ended_at"] is None:
                self.commands.run("jobs", "stop", str(job["id"]))

    def clean_up(self) -> None:
        """Stop what still runs, and the engine."""
        try:
            for job in self.commands.ask("jobs", "list"):
                if job["ended_at"] is None:
                    self.commands.ask("jobs", "stop", str(job["id"]))
            _wait_for(lambda: self._nothing_runs(), "a job did not stop")
            self.commands.ask("engine", "stop")
        except CommandFailed as error:
            self.commands.say(str(error))

    def _nothing_runs(self) -> bool:
        return all(job["ended_at"] is not None for job in self.commands.ask("jobs", "list"))


def make_folder() -> Path:
    """A state folder of its own, thrown away in the end."""
    import tempfile

    return Path(tempfile.mkdtemp(prefix="alula-demo-"))


def _wait_for(holds: Callable[[], bool], problem: str) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline:
        try:
            if holds():
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.2)
    raise CommandFailed(problem)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
