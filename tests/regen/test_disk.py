"""A full disk: answers wait in memory, nothing is lost when there is room again, and a stop ends in time."""

import asyncio
import itertools
import os
import subprocess
import time
from pathlib import Path

import msgspec
import pytest

import engine.regen.run
from console.command_line.regen_silence import silence_lines
from engine.regen.export import export_run
from engine.regen.guard import read_known
from engine.regen.records import Answer, Message, Plan
from engine.regen.run import Run
from engine.regen.store import Store
from engine.regen.verify import verify_run
from state.database import open_database
from state.records.regeneration import Regeneration, RegenerationProgress
from state.regenerations import add_regeneration, latest_progress, progress_history, write_progress
from tests.regen.conftest import ScriptedServer, make_run
from tests.regen.test_faults import until

ROOM_FOR_ALL = 2**30


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine.regen.run, "DISK_AGAIN_S", 0.05)
    monkeypatch.setattr(engine.regen.run, "STOP_STORES_S", 0.2)


def start_on_full_disk(folder: Path, plan: Plan, stopping: asyncio.Event) -> tuple[Run, asyncio.Task[None]]:
    run = Run(folder, plan)
    make_room(run, 1)
    return run, asyncio.create_task(run.work(stopping))


def make_room(run: Run, pages: int) -> None:
    run._writer.database.execute(f"PRAGMA max_page_count = {pages}")


def long_prompts() -> list[str]:
    return [f"question {number}" for number in range(300)]


async def test_answers_wait_for_room_and_none_is_lost(tmp_path: Path, server: ScriptedServer) -> None:
    folder, plan = make_run(tmp_path, server.url, long_prompts(), concurrency=16)
    run, task = start_on_full_disk(folder, plan, asyncio.Event())
    await until(lambda: "full" in run.disk_problem)
    make_room(run, ROOM_FOR_ALL)
    await asyncio.wait_for(task, 60)
    manifest = export_run(folder, plan)
    assert (manifest.answered, run.progress.done, run.disk_problem) == (300, 300, "")
    assert verify_run(folder, Path(manifest.file)).problems == ()
    assert set(server.asked.values()) == {1}


async def test_a_stop_on_a_full_disk_ends_and_the_run_can_go_on(tmp_path: Path, server: ScriptedServer) -> None:
    folder, plan = make_run(tmp_path, server.url, long_prompts(), concurrency=16)
    stopping = asyncio.Event()
    run, task = start_on_full_disk(folder, plan, stopping)
    await until(lambda: "full" in run.disk_problem)
    stopping.set()
    await asyncio.wait_for(task, 60)
    assert run.progress.done < 300
    again = Run(folder, plan)
    await asyncio.wait_for(again.work(asyncio.Event()), 60)
    manifest = export_run(folder, plan)
    assert manifest.answered == 300
    assert verify_run(folder, Path(manifest.file)).problems == ()


async def test_a_file_system_that_turns_read_only_is_told_and_waited_for(
    tmp_path: Path, server: ScriptedServer
) -> None:
    folder, plan = make_run(tmp_path, server.url, long_prompts(), concurrency=16)
    run = Run(folder, plan)
    run._writer.database.execute("PRAGMA query_only = 1")
    task = asyncio.create_task(run.work(asyncio.Event()))
    await until(lambda: "readonly" in run.message())
    run._writer.database.execute("PRAGMA query_only = 0")
    await asyncio.wait_for(task, 60)
    assert verify_run(folder, Path(export_run(folder, plan).file)).problems == ()
    assert set(server.asked.values()) == {1}


async def test_a_run_that_cannot_write_who_answers_goes_on_and_writes_it_later(
    tmp_path: Path, server: ScriptedServer
) -> None:
    folder, plan = make_run(tmp_path, server.url, ["one"])
    in_the_way = folder / f".identity.json.{os.getpid()}"
    in_the_way.mkdir()
    run = Run(folder, plan)
    await asyncio.wait_for(run.work(asyncio.Event()), 60)
    assert run.progress.done == 1 and read_known(folder) is None
    in_the_way.rmdir()
    assert run.pool.problem() is None and run.guard.known is not None
    assert run.guard.problem(server.url, run.guard.known.reference) is None
    assert read_known(folder) == run.guard.known


async def test_steps_of_the_clock_change_nothing(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.delay_s = 0.01
    folder, plan = make_run(tmp_path, server.url, long_prompts(), concurrency=16)
    steps = itertools.cycle([0.0, 86_400.0, -86_400.0, 1e9])
    truly = time.time
    monkeypatch.setattr(time, "time", lambda: truly() + next(steps))
    run = Run(folder, plan)
    await asyncio.wait_for(run.work(asyncio.Event()), 60)
    progress = run.progress.report(1, time.time())
    assert progress.done == 300 and (progress.tokens_per_s_overall or 0) < 1e7
    assert set(server.asked.values()) == {1}


def test_a_clock_set_back_leaves_no_progress_of_later_times(tmp_path: Path) -> None:
    database = open_database(tmp_path / "state.sqlite")
    run = Regeneration(name="r", run_folder="/r", inputs=(), server_url="u", concurrency=1, total=9, created_at=0.0)
    number = add_regeneration(database, run)
    for at, done in ((1000.0, 1), (1001.0, 2), (400.0, 3)):
        write_progress(database, _progress(number, at, done))
    newest = latest_progress(database, number)
    assert newest is not None and newest.done == 3
    assert [one.done for one in progress_history(database, number, 0.0)] == [3]
    database.close()


def test_the_first_outcome_of_a_sample_stays(tmp_path: Path) -> None:
    folder, _ = make_run(tmp_path, "http://127.0.0.1:1", ["one"])
    store = Store(folder)
    store.write([_answer("first")])
    store.write([_answer("second")])
    assert [one.assistants[0].content for one in store.answers()] == ["first"]
    store.close()


def test_an_export_is_of_one_moment(tmp_path: Path) -> None:
    folder, _ = make_run(tmp_path, "http://127.0.0.1:1", ["one"])
    reader = Store(folder, read_only=True)
    assert list(reader.answers()) == []
    store = Store(folder)
    store.write([_answer("late")])
    store.close()
    assert reader.tally().done == 0
    reader.close()


def test_what_was_answered_since_an_export_is_told_in_one_line(tmp_path: Path) -> None:
    folder, plan = make_run(tmp_path, "http://127.0.0.1:1", ["one", "two"])
    store = Store(folder)
    store.write([msgspec.structs.replace(_answer("last"), number=2)])
    exported = export_run(folder, plan)
    store.write([_answer("first")])
    store.close()
    assert verify_run(folder, Path(exported.file)).problems == ("1 samples have ended since this export: export again",)


def test_a_damaged_answer_is_never_exported(tmp_path: Path) -> None:
    folder, plan = make_run(tmp_path, "http://127.0.0.1:1", ["one"])
    store = Store(folder)
    store.write([_answer("true")])
    store.database.execute("UPDATE answer SET body = CAST(replace(CAST(body AS TEXT), 'true', 'tame') AS BLOB)")
    store.close()
    with pytest.raises(ValueError, match="damaged"):
        export_run(folder, plan)
    assert [path.name for path in folder.iterdir() if "conversations" in path.name] == []


def test_a_silent_worker_is_told_with_what_may_keep_it(tmp_path: Path) -> None:
    run = Regeneration(
        name="r", run_folder=str(tmp_path), job_id=7, inputs=(), server_url="u", concurrency=1, total=9, created_at=0.0
    )
    progress = _progress(1, 1000.0, 1)
    assert silence_lines(run, progress, 1003.0) == []
    assert silence_lines(msgspec.structs.replace(run, state="paused"), progress, 1100.0) == []
    assert "alula jobs show 7" in silence_lines(run, progress, 1100.0)[0]
    away = msgspec.structs.replace(run, run_folder=str(tmp_path / "away"))
    assert "cannot be reached" in silence_lines(away, progress, 1100.0)[0]
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", tmp_path], check=False).returncode:
        pytest.skip("a small disk needs the right to mount one")
    try:
        assert "answers wait in memory" in silence_lines(run, progress, 1100.0)[0]
    finally:
        subprocess.run(["umount", "-l", tmp_path], check=False)


def _progress(run_id: int, taken_at: float, done: int) -> RegenerationProgress:
    return RegenerationProgress(
        run_id=run_id, taken_at=taken_at, done=done, failed=0, in_flight=0, completion_tokens=0, tokens_per_s_now=None,
        tokens_per_s_overall=None, eta_s=None, eta_low_s=None, eta_high_s=None,
    )  # fmt: skip


def _answer(content: str) -> Answer:
    return Answer(
        number=1,
        assistants=(Message("assistant", content),),
        finish_reasons=("stop",),
        prompt_tokens=1,
        completion_tokens=1,
        seconds=0.1,
    )
