"""Gathers the sources that one run of the checker was given, and checks what is in them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from engine.check.deployment import assemble
from engine.check.errors import SourceUnreadable
from engine.check.records import Benchmark, Launch, LiveServer
from engine.check.report.result import Checked, Outcome, Unchecked, check_deployment

OWN_SERVER_TIMEOUT_S = 2.0


class Collection:
    """Launches and servers of one run. A source that cannot be read does not stop the others."""

    def __init__(
        self, sglang_version: str | None = None, break_even: float | None = None, api_key: str | None = None
    ) -> None:
        self._api_key = api_key
        self._sglang_version = sglang_version
        self._break_even = break_even
        self._training: Mapping[str, Any] | None = None
        self._launches: list[Launch] = []
        self._benchmarks: list[Benchmark] = []
        self._logged: list[LiveServer] = []
        self._servers: list[LiveServer] = []
        self._unchecked: list[Unchecked] = []

    def add_file(self, name: str) -> None:
        """A file of any form, or `-` for standard input."""
        from engine.check.sources.reading import read_source

        def read() -> None:
            found = read_source(name)
            self._launches.extend(found.launches)
            self._logged.extend(found.logged)
            self._benchmarks.extend(found.benchmarks)

        self._attempt(read)

    def add_command(self, words: Sequence[str]) -> None:
        """A command as a list of words: a server's start, or a benchmark."""
        from engine.check.sources.argument_list import read_argv, read_benchmark

        def read() -> None:
            benchmark = read_benchmark(words, "command line")
            if benchmark is not None:
                self._benchmarks.append(benchmark)
            else:
                self._launches.append(read_argv(words, "command line"))

        self._attempt(read)

    def add_process(self, pid: int) -> None:
        """A running process."""
        from engine.check.sources.processes import read_process

        self._attempt(lambda: self._launches.append(read_process(pid)))

    def add_running(self) -> None:
        """Every server of this host."""
        from engine.check.sources.processes import running_servers

        found = running_servers()
        self._launches.extend(found)
        if not found:
            self._unchecked.append(
                Unchecked("--running", None, None, "no SGLang or vLLM server runs here under this account", "")
            )

    def add_training(self, name: str) -> None:
        """A training recipe: SpecForge's run.yaml, with what the files that it names say beside it."""
        from engine.check.training_recipe import read_recipe

        def read() -> None:
            self._training = read_recipe(Path(name))

        self._attempt(read)

    def add_server(self, url: str) -> None:
        """A live server; what goes wrong with it becomes a finding."""
        from engine.check.live import read_server

        self._servers.append(read_server(url, api_key=self._api_key))

    def outcome(self) -> Outcome:
        """Check everything that was added."""
        checked = [self._check(launch, live) for launch, live in self._pairs()]
        return Outcome(tuple(checked), tuple(self._unchecked))

    def _pairs(self) -> list[tuple[Launch | None, LiveServer | None]]:
        """Each launch with its server: that of its port, or the only one given, or the one that its process is.

        The only log belongs to the only launch, where no server is asked beside it.
        """
        free, logged = list(self._servers), list(self._logged)
        if len(self._launches) == 1 and len(logged) == 1 and not free:
            free.append(logged.pop())
        pairs: list[tuple[Launch | None, LiveServer | None]] = []
        for launch in self._launches:
            live = next((server for server in free if _serves(launch, server)), None)
            if live is None and len(self._launches) == 1 and free:
                live = free[0]
            if live is not None:
                free.remove(live)
            pairs.append((launch, live if live is not None else _answering(launch, self._api_key)))
        pairs += [(None, live) for live in (*free, *logged)]
        return pairs or [(None, None) for _ in self._benchmarks[:1]]

    def _check(self, launch: Launch | None, live: LiveServer | None) -> Checked:
        deployment = assemble(
            launch,
            sglang_version=self._sglang_version,
            live=live,
            break_even_accept_length=self._break_even,
            benchmarks=tuple(self._benchmarks),
        )
        return check_deployment(msgspec.structs.replace(deployment, training=self._training))

    def _attempt(self, read: Callable[[], None]) -> None:
        try:
            read()
        except SourceUnreadable as error:
            place = error.place
            self._unchecked.append(
                Unchecked(place.source, place.line, place.column, error.message, error.remedy, error.empty)
            )


def _serves(launch: Launch, server: LiveServer) -> bool:
    """Whether a server's address ends in the port that a launch names."""
    port = setting(launch, "--port")
    return port is not None and server.url.endswith(f":{port}")


def _answering(launch: Launch, api_key: str | None) -> LiveServer | None:
    """What the server of a running process says; `None` where it does not answer, since it may still be starting."""
    if launch.pid is None or launch.framework != "sglang":
        return None
    from engine.check.live import read_server
    from engine.watch.server_discovery import look_at

    process = look_at(launch.pid)
    if process is None:
        return None
    live = read_server(process.url, OWN_SERVER_TIMEOUT_S, process.api_key or api_key)
    return live if live.problem is None else None


def setting(launch: Launch, name: str) -> str | None:
    """The last value of a flag as it is spelled."""
    words = [word.text for word in launch.arguments]
    found = None
    for index, word in enumerate(words):
        if word.startswith(f"{name}="):
            found = word.partition("=")[2]
        elif word == name and index + 1 < len(words):
            found = words[index + 1]
    return found
