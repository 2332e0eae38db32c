"""Benchmarks in a script, and the results that they left.

Tools: `sglang.bench_serving` (`sglang.benchmark.serving` from 0.5.20 on) and `sglang.bench_one_batch_server` of the
package; `scripts/playground/bench_speculative.py` of SGLang's repository; `benchmarks/bench_eagle3.py` of SpecForge's.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from engine.check.records import Argument, Benchmark, Place
from engine.check.sources.invocation import MENTION_ONLY
from engine.check.sources.shell_state import ShellCommand

MODULES = {
    "sglang.bench_serving": "bench_serving",
    "sglang.benchmark.serving": "bench_serving",
    "sglang.bench_one_batch_server": "bench_one_batch_server",
}
FILES = re.compile(r"(?:^|/)(bench_serving|bench_one_batch_server|bench_speculative|bench_eagle3)\.py$")
ANY = re.compile(r"bench_serving|benchmark\.serving|bench_one_batch_server|bench_speculative|bench_eagle3")
RESULT_KEYS = frozenset({"accept_length", "acc_length", "output_throughput", "completed", "dataset_name"})


def benchmarks_in(commands: Sequence[ShellCommand]) -> list[Benchmark]:
    """The benchmarks that a script runs, in order."""
    return [found for command in commands if (found := _benchmark_of(command)) is not None]


def read_results(text: str, name: str) -> list[Benchmark]:
    """Results of `bench_serving` or `bench_one_batch_server`, one JSON object a line; none where it is no such file."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        result = _object(line)
        if result is None or len(RESULT_KEYS & result.keys()) < 2:
            return []
        tool = "bench_one_batch_server" if "acc_length" in result else "bench_serving"
        found.append(Benchmark(tool=tool, place=Place(name, number), result=result))
    return found


def _benchmark_of(command: ShellCommand) -> Benchmark | None:
    words = [command.source.argument(word) for word in command.words]
    texts = [word.text for word in words]
    if not texts or texts[0].rsplit("/", 1)[-1] in MENTION_ONLY:
        return None
    for index, text in enumerate(texts):
        module = texts[index + 1] if text == "-m" and index + 1 < len(texts) else text.removeprefix("-m")
        script = FILES.search(text)
        if text.startswith("-m") and module in MODULES:
            first = index + (2 if text == "-m" else 1)
            return Benchmark(tool=MODULES[module], place=words[index].place, options=_options(words[first:]))
        if script is not None:
            return Benchmark(tool=script[1], place=words[index].place, options=_options(words[index + 1 :]))
    return None


def _options(words: Sequence[Argument]) -> Mapping[str, str | None]:
    """Flags by name with underscores; `None` for a switch. Several values are joined by spaces."""
    options: dict[str, str | None] = {}
    name: str | None = None
    for word in words:
        if word.text.startswith("--"):
            flag, given, value = word.text[2:].partition("=")
            name = flag.replace("-", "_")
            options[name] = value if given else None
        elif name is not None:
            before = options[name]
            options[name] = word.text if before is None else f"{before} {word.text}"
    return options


def _object(line: str) -> dict[str, Any] | None:
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
