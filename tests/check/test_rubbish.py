"""Sources made to exhaust a reader, in a process that may take 1 GiB: each ends in launches or a clear error."""

import json
import resource
import subprocess
import sys

import pytest

from engine.check.errors import SourceUnreadable
from engine.check.sources.reading import find_servers

ROOM = 1024 * 1024 - 200
RUN = "python3 -m sglang.launch_server --model-path /m\n"
SOURCES: dict[str, tuple[str, str]] = {
    "as many assignments as fit": ("x.sh", "A=1\n" * (ROOM // 4) + RUN),
    "nested defaults": ("x.sh", RUN + "echo " + "${A:-" * 5000 + "}" * 5000),
    "nested substitutions": ("x.sh", RUN + "echo " + "$(" * 20000 + ")" * 20000),
    "one long word": ("x.sh", RUN + "x" * ROOM),
    "many words": ("x.sh", RUN + "echo " + "a " * (ROOM // 2)),
    "variables in one word": ("x.sh", "A=b\n" + RUN[:-1] + " --x " + "$A" * (ROOM // 2)),
    "many servers": ("x.sh", RUN * (ROOM // len(RUN))),
    "an array that doubles": ("x.sh", "A=(x x)\n" + 'A=("${A[@]}" "${A[@]}")\n' * 40 + RUN[:-1] + ' "${A[@]}"'),
    "a string that doubles": ("x.sh", "A=xx\n" + "A=$A$A\n" * 60 + RUN[:-1] + " $A"),
    "scripts in scripts": ("x.sh", "bash -c '" * 5000 + RUN + "'" * 5000),
    "quotes": ("x.sh", RUN + "'" * (ROOM // 2)),
    "many values": ("x.yaml", "- a\n" * (ROOM // 4)),
    "many services": ("x.yaml", "services:\n" + "".join(f"  a{i}:\n    command: {RUN}" for i in range(15000))),
    "an unended log line": ("x.log", "server_args=ServerArgs(" + "(" * 100_000),
    "many starts in a log": ("x.log", "server_args=ServerArgs(a=1)\n" * (ROOM // 28)),
    "a unit that never ends": ("x.service", "[Service]\nExecStart=" + RUN[:-1] + "\\\n" * (ROOM // 3)),
}
LIMIT = 1 << 30


def read_all() -> dict[str, str]:
    """What comes of each source."""
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    outcomes = {}
    for name, (file, text) in SOURCES.items():
        try:
            outcomes[name] = f"{len(find_servers(text, file, None).launches)} launches"
        except SourceUnreadable as error:
            outcomes[name] = str(error)
    return outcomes


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.check.test_rubbish"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_ends_in_launches_or_an_error_with_its_place(name: str, outcomes: dict[str, str]) -> None:
    assert outcomes[name].endswith("launches") or outcomes[name].startswith(f"{SOURCES[name][0]}:")


if __name__ == "__main__":
    sys.stdout.write(json.dumps(read_all()))
