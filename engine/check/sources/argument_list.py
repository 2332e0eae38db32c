"""Commands given as a list of words: behind `--`, of a process, or as a server states its own."""

import shlex
from collections.abc import Sequence

import msgspec

from engine.check.errors import SourceUnreadable
from engine.check.records import Benchmark, Launch, Place
from engine.check.sources.benchmarks import ANY, benchmarks_in
from engine.check.sources.invocation import launches_in
from engine.check.sources.shell import commands_of_words
from engine.check.sources.shell_state import ShellCommand
from engine.check.sources.text import SourceText, literal


def read_argv(argv: Sequence[str], name: str, pid: int | None = None) -> Launch:
    """A command given as a list of words; raises `SourceUnreadable` where it starts no server."""
    launches = launches_in(_commands(argv, name))
    if not launches:
        raise SourceUnreadable(
            "starts no server that is known here",
            Place(name),
            "Give a command with 'python -m sglang.launch_server', 'sglang serve' or 'vllm serve'.",
        )
    return msgspec.structs.replace(launches[0], pid=pid)


def read_benchmark(argv: Sequence[str], name: str) -> Benchmark | None:
    """The benchmark that a list of words runs, if it runs one."""
    if not any(ANY.search(word) for word in argv):
        return None
    return next(iter(benchmarks_in(_commands(argv, name))), None)


def _commands(argv: Sequence[str], name: str) -> list[ShellCommand]:
    words, at = [], 0
    for word in argv:
        quoted = shlex.quote(word)
        words.append(literal(word, at + (1 if quoted != word else 0), False, True))
        at += len(quoted) + 1
    return commands_of_words(SourceText(name, shlex.join(argv)), words, {}) if words else []
