"""Inference servers among this host's processes."""

import re
from collections.abc import Sequence
from itertools import pairwise

import msgspec
import psutil

from engine.watch.process_owner import job_of

_PROGRAMS = (
    # (framework, words that name it, default port)
    ("sglang", re.compile(r"(^|/)(sglang\.launch_server|sglang/launch_server\.py)$"), 30000),
    ("vllm", re.compile(r"(^|/)(vllm\.entrypoints\.openai\.api_server|vllm/entrypoints/openai/api_server\.py)$"), 8000),
    ("alula-reference", re.compile(r"^engine\.reference(\.\w+)?$"), 30000),
)
_COMMANDS = {("sglang", "serve"): ("sglang", 30000), ("vllm", "serve"): ("vllm", 8000),
             ("reference", "serve"): ("alula-reference", 30000)}  # fmt: skip
_LOOKS = 3
"""How often a new process is looked at before it is taken for something else: its command changes when it execs."""


class FoundServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server process and where it listens."""

    url: str
    framework: str
    pid: int
    started_at: float
    job_id: int | None = None
    api_key: str | None = None
    """From its command line; kept in memory alone."""


class Discovery:
    """Looks at each new process a few times, so that a scan of an unchanged host costs one listing of `/proc`."""

    def __init__(self) -> None:
        self._looks: dict[int, int] = {}
        self._found: dict[int, FoundServer] = {}

    def scan(self) -> tuple[FoundServer, ...]:
        """The servers that run now."""
        present = set(psutil.pids())
        self._looks = {pid: count for pid, count in self._looks.items() if pid in present}
        self._found = {pid: found for pid, found in self._found.items() if pid in present}
        for pid in present:
            if pid not in self._found and self._looks.get(pid, 0) < _LOOKS:
                self._looks[pid] = self._looks.get(pid, 0) + 1
                if found := look_at(pid):
                    self._found[pid] = found
        return tuple({found.url: found for found in self._found.values()}.values())


def look_at(pid: int) -> FoundServer | None:
    """The server that this process is; `None` for any other process, or one that may not be read."""
    try:
        process = psutil.Process(pid)
        arguments = process.cmdline()
        recognised = recognise(arguments)
        if recognised is None:
            return None
        framework, default_port = recognised
        host, port = address(arguments)
        if not port:
            port = _listening_port(process) or (default_port if port is None else None)
        if port is None:
            return None
        return FoundServer(
            url=f"http://{host}:{port}",
            framework=framework,
            pid=pid,
            started_at=process.create_time(),
            job_id=job_of(process),
            api_key=option(arguments, "--api-key"),
        )
    except (psutil.Error, OSError):
        return None


def recognise(arguments: Sequence[str]) -> tuple[str, int] | None:
    """Framework and default port from a command line; `None` for anything that is no server."""
    names = [argument.rsplit("/", 1)[-1] for argument in arguments[:5]]
    for first, second in pairwise(names):
        if (first, second) in _COMMANDS:
            return _COMMANDS[first, second]
    for argument in arguments[1:5]:
        for framework, pattern, port in _PROGRAMS:
            if pattern.search(argument):
                return framework, port
    return None


def address(arguments: Sequence[str]) -> tuple[str, int | None]:
    """Host to connect to and port as the command line gives them; 0 is a port that the system chose."""
    host, port = "127.0.0.1", None
    for index, argument in enumerate(arguments):
        name, _, value = argument.partition("=")
        value = value or (arguments[index + 1] if index + 1 < len(arguments) else "")
        if name == "--port" and value.isdecimal() and int(value) < 65536:
            port = int(value)
        elif name == "--host" and re.fullmatch(r"[\w.:-]+", value):
            host = "127.0.0.1" if value in ("0.0.0.0", "::", "localhost") else value
    return (f"[{host}]" if ":" in host else host), port


def option(arguments: Sequence[str], name: str) -> str | None:
    """The last value of a flag on a command line."""
    found = None
    for index, argument in enumerate(arguments):
        if argument.startswith(f"{name}="):
            found = argument.partition("=")[2]
        elif argument == name and index + 1 < len(arguments):
            found = arguments[index + 1]
    return found


def _listening_port(process: psutil.Process) -> int | None:
    ports = [socket.laddr.port for socket in process.net_connections("tcp") if socket.status == psutil.CONN_LISTEN]
    return min(ports, default=None)
