"""The fault of the story: a server with the flag EAGLE and an EAGLE-3 draft, what the checker says, and the fix."""

import socket
import sys
import time
from collections.abc import Callable
from typing import Any

import httpx
import msgspec

from console.demo.commands import CommandFailed, Commands
from engine.demo.prompts import standard_library_prompts

RULE = "eagle-flag-on-eagle3-draft"
ASKED_PROMPTS, ASKED_TOKENS = 6, 64
STEPS = 5
START_LIMIT_S = 120.0
FAULTY, MENDED = "server-eagle", "server-eagle3"


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen of the fault and of the fix."""

    accept_length_eagle: float
    finding: str
    accept_length_eagle3: float


def show_fault(commands: Commands, paths: dict[str, str]) -> Fault:
    """Start a server with the wrong flag, check it, start it again with the right one.

    Raises:
        CommandFailed: A server does not come up, or the checker misses the fault or finds one in the mended server.
    """
    say = commands.say
    say("1. A server is started with the flag EAGLE, and its draft is an EAGLE-3 one. Nothing fails.\n", bold=True)
    url = start_server(commands, FAULTY, "EAGLE", paths["draft"])
    bad = accept_length(url)
    say(f"   accept length {bad:.2f}: drafted tokens are thrown away\n")
    say("2. What does the checker say?\n", bold=True)
    say(_first_lines(commands.run("check", "--server", url, allowed=(0, 1)), 24))
    errors = _errors(commands, url)
    if RULE not in errors:
        raise CommandFailed(f"the checker did not find the fault; it found {errors}")
    stop_server(commands, FAULTY)
    say("\n3. The same draft with the right flag, on the same prompts.\n", bold=True)
    url = start_server(commands, MENDED, "EAGLE3", paths["draft"])
    good = accept_length(url)
    if left := _errors(commands, url):
        raise CommandFailed(f"the checker still finds {left}")
    stop_server(commands, MENDED)
    say(f"   accept length {good:.2f}, and the checker finds no error\n")
    return Fault(accept_length_eagle=bad, finding=RULE, accept_length_eagle3=good)


def start_server(commands: Commands, name: str, algorithm: str, draft: str) -> str:
    """Start a reference server with its draft as a job; returns its URL once it answers.

    Raises:
        CommandFailed: It does not come up.
    """
    port = _free_port()
    commands.run(
        "jobs", "launch", "--name", name, "--", sys.executable, "-m", "console", "reference", "serve",
        "--port", str(port),
        "--speculative-algorithm", algorithm, "--speculative-draft-model-path", draft,
        "--speculative-num-steps", str(STEPS), "--speculative-eagle-topk", "1",
        "--speculative-num-draft-tokens", str(STEPS + 1),
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    wait_for(lambda: httpx.get(f"{url}/health", timeout=5).status_code == 200, f"{url} does not answer")
    return url


def accept_length(url: str) -> float:
    """Ask a few prompts, one after the other; returns the accept length that the server reports."""
    with httpx.Client(timeout=120) as client:
        for prompt in standard_library_prompts(ASKED_PROMPTS):
            content = {"model": "target", "messages": prompt.messages, "max_tokens": ASKED_TOKENS, "temperature": 0}
            client.post(f"{url}/v1/chat/completions", json=content).raise_for_status()
        states: list[dict[str, Any]] = client.get(f"{url}/server_info").json()["internal_states"]
    return float(states[0]["avg_spec_accept_length"])


def stop_server(commands: Commands, name: str) -> None:
    """Stop a server's job."""
    for job in commands.ask("jobs", "list"):
        if job["name"] == name and job["ended_at"] is None:
            commands.run("jobs", "stop", str(job["id"]))


def wait_for(holds: Callable[[], bool], problem: str) -> None:
    """Look again and again until it holds.

    Raises:
        CommandFailed: It does not within two minutes.
    """
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline:
        try:
            if holds():
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.2)
    raise CommandFailed(problem)


def _errors(commands: Commands, url: str) -> list[str]:
    found = commands.ask("check", "--server", url, allowed=(0, 1))["findings"]
    return [str(one["rule"]) for one in found if one["severity"] == "error"]


def _first_lines(text: str, count: int) -> str:
    lines = text.splitlines()
    return "\n".join(lines[:count] + ([f"   ... {len(lines) - count} lines more"] if len(lines) > count else []))


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
