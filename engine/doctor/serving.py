"""What serves models here: interpreters that have SGLang, and the ports servers listen on."""

import os
import shutil
import socket
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from engine.check.flags.release import installed_release
from engine.doctor.records import Examination
from engine.watch.server_discovery import Discovery

AREA = "Serving"
USUAL_PORT = 30000
"""SGLang's default (sglang 0.5.23, server_args.py)."""


def examine_serving() -> list[Examination]:
    """Interpreters, running servers, and the usual port."""
    running = [f"{server.framework} at {server.url}" for server in Discovery().scan()]
    found = [Examination(AREA, "servers", "good", ", ".join(running) if running else "none runs")]
    return [sglang_of(interpreters(os.environ)), *found, port(USUAL_PORT, bool(running))]


def interpreters(environment: Mapping[str, str]) -> list[str]:
    """Python interpreters that a serving environment may have, each once."""
    roots = [environment.get("VIRTUAL_ENV"), environment.get("CONDA_PREFIX")]
    candidates = [sys.executable, *(str(Path(root) / "bin/python") for root in roots if root)]
    candidates += [found for name in ("python3", "python") if (found := shutil.which(name))]
    return list(dict.fromkeys(path for path in candidates if Path(path).exists()))


def sglang_of(paths: Iterable[str]) -> Examination:
    """Which of them has SGLang, and in which release. None of them is run."""
    found = [f"SGLang {release} for {path}" for path in paths if (release := installed_release(path))]
    if found:
        return Examination(AREA, "interpreters", "good", "; ".join(found))
    return Examination(AREA, "interpreters", "note", "no SGLang for the Python on PATH or in this environment",
                       "give the interpreter's path in what you launch; checks need none")  # fmt: skip


def port(number: int, expected: bool) -> Examination:
    """Whether a server could listen on this port of loopback."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", number))
        except OSError:
            if expected:
                return Examination(AREA, f"port {number}", "good", "taken by a server that runs")
            return Examination(AREA, f"port {number}", "note", "taken by something that is no known server",
                               f"see by what: ss -ltnp 'sport = :{number}'")  # fmt: skip
    return Examination(AREA, f"port {number}", "good", "free")
