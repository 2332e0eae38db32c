"""Paths that make the system refuse: each is told, none is a fault of the checker."""

from pathlib import Path

import pytest

from engine.check.collect import Collection
from engine.check.paths import host_path
from engine.check.report.json_report import json_report

LONG = "x" * 5000
RUN = "python3 -m sglang.launch_server"
SCRIPTS = {
    "a target's path": f"{RUN} --model-path {LONG}",
    "a draft's path": f"{RUN} --model-path m --speculative-algorithm EAGLE3 --speculative-draft-model-path /{LONG}/d",
    "a configuration file": f"{RUN} --config {LONG}.yaml",
    "a sourced file": f"source {LONG}\n. /{LONG}\n{RUN} --model-path m",
    "a folder to change to": f"cd /{LONG}\n{RUN} --model-path m",
    "an interpreter": f"/{LONG}/bin/python3 -m sglang.launch_server --model-path m",
    "an unknown user's home": f"{RUN} --model-path '~nobody-of-this-name/m' --config '~nobody-of-this-name/c.yaml'",
    "a mount": f"docker run -v ~nobody-of-this-name/m:/m -v /{LONG}:/d x {RUN} --model-path /m/a --config /d/c.yaml",
}


def read(path: Path, text: str) -> str:
    path.write_text(text)
    collection = Collection()
    collection.add_file(str(path))
    outcome = collection.outcome()
    assert len(outcome.checked) == 1
    return json_report(outcome)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_path_that_the_system_refuses(name: str, tmp_path: Path) -> None:
    read(tmp_path / "launch.sh", SCRIPTS[name])


def test_files_beside_a_unit(tmp_path: Path) -> None:
    read(tmp_path / "x.service", f"[Service]\nEnvironmentFile=/{LONG}\nExecStart=/usr/bin/{RUN} --model-path m\n")


def test_a_source_that_breaks_off_while_it_is_read() -> None:
    collection = Collection()
    collection.add_file(f"/{LONG}")
    collection.add_file("/proc/self/mem")
    long, broken = collection.outcome().unchecked
    assert (long.message, broken.message) == (
        "cannot be read: File name too long",
        "cannot be read: Input/output error",
    )


@pytest.mark.parametrize(
    ("inside", "host"), [("/m", "/h"), ("/m/a", "/h/a"), ("/m/b/c", "/other/c"), ("/mm", "/mm"), ("a", "a")]
)
def test_the_longest_mount_holds(inside: str, host: str) -> None:
    assert host_path(inside, [("/m/", "/h"), ("/m/b", "/other")]) == host
