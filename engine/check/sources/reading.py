"""Reads one source of any form: decides what it is by content and name, and finds the servers in it."""

import os
import re
import sys
from pathlib import Path

import msgspec

from engine.check.bounded_file import MAX_BYTES, read_ends, read_stream, read_text
from engine.check.errors import NoServer, SourceUnreadable
from engine.check.paths import is_file
from engine.check.records import Argument, Benchmark, Launch, LiveServer, Place
from engine.check.sources.text import SourceText

SPOKEN_OF = re.compile(r"launch_server|sglang[\s'\",]+serve\b|vllm|speculative", re.IGNORECASE)
"""A source with such words and no start found in it may start one in a way that is not understood."""
ADVICE = (
    "Give a file with 'python -m sglang.launch_server ...', 'sglang serve ...' or 'vllm serve ...': "
    "a script, a systemd unit, a compose file or Kubernetes manifest, a --config YAML, or a server's log."
)


class Found(msgspec.Struct, frozen=True):
    """What one source holds: launches and benchmarks, or what a log says of servers, or a benchmark's results."""

    launches: tuple[Launch, ...] = ()
    logged: tuple[LiveServer, ...] = ()
    benchmarks: tuple[Benchmark, ...] = ()


def read_source(name: str) -> Found:
    """Read a file, or standard input for `-`; raises `SourceUnreadable` where no server is found in it."""
    if name == "-":
        return find_servers(read_stream(sys.stdin.buffer, "standard input"), "standard input", None)
    path = Path(name)
    text = read_ends(path) if path.suffix in (".log", ".out", ".err") or _is_long_log(path) else read_text(path)
    return find_servers(text, name, path)


def find_servers(text: str, name: str, path: Path | None) -> Found:
    """The servers in a text; raises `SourceUnreadable`."""
    home = str(Path.home())
    found = _by_form(text, name, path, home)
    if not found.launches and not found.logged and not found.benchmarks:
        error = SourceUnreadable if SPOKEN_OF.search(text) is not None else NoServer
        raise error("no server start found", Place(name), ADVICE)
    return found


def _by_form(text: str, name: str, path: Path | None, home: str) -> Found:
    from engine.check.sources.dockerfile import is_dockerfile, read_dockerfile
    from engine.check.sources.log_file import is_log, read_log
    from engine.check.sources.systemd import is_unit, read_unit

    folder = path.parent if path is not None else None
    if is_unit(text):
        return Found(tuple(read_unit(SourceText(name, text), home)))
    if is_log(text):
        return Found(logged=tuple(read_log(text, name)))
    if _is_yaml(text, name):
        return Found(_from_yaml(SourceText(name, text), path, home))
    if is_dockerfile(text):
        return Found(tuple(read_dockerfile(SourceText(name, text))))
    if text.lstrip()[:1] == "{":
        from engine.check.sources.benchmarks import read_results

        return Found(benchmarks=tuple(read_results(text, name)))
    return _from_script(SourceText(name, text), folder, home)


def _from_script(source: SourceText, folder: Path | None, home: str) -> Found:
    from engine.check.sources.benchmarks import ANY, benchmarks_in

    measures = ANY.search(source.text) is not None
    if "sglang" not in source.text and "vllm" not in source.text and not measures:
        return Found()
    from engine.check.sources.invocation import launches_in
    from engine.check.sources.shell import shell_commands

    known = {name: value for name in ("USER", "PWD") if (value := os.environ.get(name))}
    commands = shell_commands(source, {**known, "HOME": home}, folder)
    return Found(tuple(launches_in(commands)), benchmarks=tuple(benchmarks_in(commands) if measures else ()))


def _from_yaml(source: SourceText, path: Path | None, home: str) -> tuple[Launch, ...]:
    from engine.check.sources.manifests import is_server_configuration, read_manifest

    launches = read_manifest(source, path.parent if path is not None else None, home)
    if launches or path is None or not is_server_configuration(source.text, source.name):
        return tuple(launches)
    place = Place(source.name, 1, 1)
    words = (Argument("--config", place), Argument(str(path.resolve()), place))
    return (Launch(framework="sglang", arguments=words, place=place, source_text=source.text),)


def _is_yaml(text: str, name: str) -> bool:
    if name.endswith((".yaml", ".yml")):
        return True
    first = text.lstrip()[:4000]
    return not first.startswith("#!") and (
        "\nservices:" in f"\n{first}" or ("apiVersion:" in first and "kind:" in first)
    )


def _is_long_log(path: Path) -> bool:
    """A file over the limit may still be a log, of which both ends are read."""
    try:
        if not is_file(path) or path.stat().st_size <= MAX_BYTES:
            return False
    except OSError:
        return False
    from engine.check.sources.log_file import is_log

    return is_log(read_ends(path, 64 * 1024, 64 * 1024))
