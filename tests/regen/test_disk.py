"""A full disk: answers wait in memory, nothing is lost when there is room again, and a stop ends in time."""

import asyncio
from pathlib import Path

import pytest

import engine.regen.run
from engine.regen.export import export_run
from engine.regen.records import Answer, Message, Plan
from engine.regen.run import Run
from engine.regen.store import Store
from engine.regen.verify import verify_run
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


def test_a_damaged_answer_is_never_exported(tmp_path: Path) -> None:
    folder, plan = make_run(tmp_path, "http://127.0.0.1:1", ["one"])
    store = Store(folder)
    store.write([_answer("true")])
    store.database.execute("UPDATE answer SET body = CAST(replace(CAST(body AS TEXT), 'true', 'tame') AS BLOB)")
    store.close()
    with pytest.raises(ValueError, match="damaged"):
        export_run(folder, plan)
    assert [path.name for path in folder.iterdir() if "conversations" in path.name] == []


def _answer(content: str) -> Answer:
    return Answer(
        number=1,
        assistants=(Message("assistant", content),),
        finish_reasons=("stop",),
        prompt_tokens=1,
        completion_tokens=1,
        seconds=0.1,
    )
