"""What of the host stands against a launch is said before it: by rule, with what to do."""

import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import state.gpus
from engine.jobs.recipes import host_checks
from engine.jobs.recipes.command import Wishes
from engine.jobs.recipes.preparing import Place, Prepared, prepare
from engine.jobs.recipes.reading import read_recipe
from engine.jobs.recipes.records import Value
from state.database import open_database
from state.records.gpus import Gpu, GpuProcess, GpuSample, GpuStatus

RECIPE = """
name = "serve"
argv = ["{program}", "--port", "{port}"]
[parameters]
program = { default = "sh" }
port = { type = "port", default = 30000 }
gpus = { type = "int", default = 0 }
[resources]
gpus = ["gpus"]
disk = "1GiB"
"""
PYTHON = """
name = "python"
argv = ["{python}", "-c", "0"]
[interpreter]
imports = "no_such_package_anywhere"
"""
GIB = 1 << 30


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Of a host whose two GPUs were just looked at; somebody else works on GPU 0."""
    with closing(open_database(tmp_path / "alula.sqlite")) as database:
        now = time.time()
        state.gpus.write_status(database, GpuStatus(taken_at=now, availability="available", message="2 GPUs"))
        gpus = [Gpu(uuid=f"GPU-{index}", index=index, name="H200", memory_total_bytes=141 * GIB, seen_at=now)
                for index in range(2)]  # fmt: skip
        state.gpus.write_gpus(database, gpus)
        state.gpus.write_samples(database, [GpuSample(uuid=gpu.uuid, taken_at=now) for gpu in gpus])
        other = GpuProcess(
            uuid="GPU-0", pid=4242, memory_bytes=90 * GIB, user="kim", command="vllm serve", taken_at=now
        )
        state.gpus.write_processes(database, [other])
        yield database


def prepared(
    database: sqlite3.Connection, folder: Path, text: str = RECIPE, wishes: Wishes | None = None, **given: Value
) -> Prepared:
    place = Place(working_dir=str(folder), secrets_path=folder / "secrets", runs_path=folder / "runs")
    return prepare(read_recipe(text, "x.toml"), given, wishes or Wishes(), place, database)


def rules(found: Prepared) -> dict[str, str]:
    return {one.rule: f"{one.severity}: {one.title}. {one.remedy}" for one in found.problems}


def test_nothing_stands_against_a_plain_launch(database: sqlite3.Connection, tmp_path: Path) -> None:
    assert rules(prepared(database, tmp_path)) == {}


def test_a_port_in_use(database: sqlite3.Connection, tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        found = prepared(database, tmp_path, port=port)
        assert rules(found).keys() == {"port-in-use"} and str(port) in rules(found)["port-in-use"]
        assert not found.standing(frozenset({"port-in-use"}))


def test_a_program_that_is_not_there_and_a_folder_that_is_not(database: sqlite3.Connection, tmp_path: Path) -> None:
    assert "no-such-program" in rules(prepared(database, tmp_path, program="no-such-program"))["binary-not-found"]
    plain = tmp_path / "plain"
    plain.write_text("no program")
    assert "binary-not-found" in rules(prepared(database, tmp_path, program=str(plain)))
    assert "folder-missing" in rules(prepared(database, tmp_path / "gone"))


def test_gpus_that_are_taken_or_not_there(database: sqlite3.Connection, tmp_path: Path) -> None:
    waits = rules(prepared(database, tmp_path, gpus=2))["will-wait"]
    assert waits.startswith("warning") and "vllm serve (pid 4242, kim)" in waits
    assert "will-wait" in rules(prepared(database, tmp_path, wishes=Wishes(gpu_choice=(0,))))
    assert rules(prepared(database, tmp_path, wishes=Wishes(gpu_choice=(1,)))) == {}
    assert "asks for 3 GPUs" in rules(prepared(database, tmp_path, gpus=3))["cannot-start"]


def test_a_disk_that_is_full_or_small(
    database: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = RECIPE.replace("1GiB", "900000GiB")
    assert rules(prepared(database, tmp_path, small))["disk-small"].startswith("warning")
    monkeypatch.setattr(host_checks, "FULL_BYTES", 1 << 60)
    assert rules(prepared(database, tmp_path))["disk-full"].startswith("error")


def test_an_interpreter_without_the_package_and_none_at_all(database: sqlite3.Connection, tmp_path: Path) -> None:
    assert "no_such_package_anywhere" in rules(prepared(database, tmp_path, PYTHON))["interpreter"]
    place = Place(working_dir=str(tmp_path), secrets_path=tmp_path, runs_path=tmp_path)
    recipe = read_recipe(PYTHON, "x.toml")
    found = prepare(recipe, {}, Wishes(), place, database, chosen_python=str(tmp_path / "bin" / "python"))
    assert "there is no" in rules(found)["interpreter"] and found.standing(frozenset())


def test_a_secret_that_nobody_keeps(database: sqlite3.Connection, tmp_path: Path) -> None:
    found = prepared(database, tmp_path, wishes=Wishes(secrets=("NO_SUCH_TOKEN",)))
    assert "alula jobs secret set NO_SUCH_TOKEN" in rules(found)["secret-missing"]
