"""Several servers: shared by weight, left when they fail, come and go, never asked more than they bear."""

import asyncio
from pathlib import Path

import pytest

import engine.regen.run
from engine.regen.export import export_run
from engine.regen.records import Plan
from engine.regen.run import Run
from engine.regen.server import ChatServer
from engine.regen.steering import ServerEntry, Steering, write_steering
from engine.regen.verify import verify_run
from tests.regen.conftest import ScriptedServer, make_run, served
from tests.regen.test_faults import answers, drop, short_waits, until

__all__ = ["short_waits"]
PROMPTS = [f"question {number}" for number in range(300)]


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine.regen.run, "TEND_S", 0.02)
    monkeypatch.setattr(engine.regen.run, "LOOK_S", 0.02)


def steered(folder: Path, *entries: ServerEntry, concurrency: int | None = 8) -> None:
    write_steering(folder, Steering(servers=entries, concurrency=concurrency))


async def finished(folder: Path, plan: Plan) -> Run:
    run = Run(folder, plan)
    async with asyncio.timeout(60):
        await run.work(asyncio.Event())
    return run


def assert_sound(folder: Path, plan: Plan, count: int) -> None:
    manifest = export_run(folder, plan)
    assert manifest.answered == count
    assert verify_run(folder, Path(manifest.file)).problems == ()


async def test_work_is_shared_by_weight(tmp_path: Path, server: ScriptedServer) -> None:
    async with served() as other:
        server.delay_s = other.delay_s = 0.02
        folder, plan = make_run(tmp_path, server.url, PROMPTS)
        steered(folder, ServerEntry(server.url, 3.0), ServerEntry(other.url, 1.0))
        await finished(folder, plan)
        assert_sound(folder, plan, 300)
        assert server.asked.total() + other.asked.total() == 300
        assert server.asked.total() > 1.8 * other.asked.total()


async def test_a_server_that_dies_loses_nothing_and_its_work_goes_to_the_others(
    tmp_path: Path, server: ScriptedServer
) -> None:
    folder, plan = make_run(tmp_path, server.url, PROMPTS)
    steered(folder, ServerEntry(server.url), ServerEntry("http://127.0.0.1:1"))
    run = await finished(folder, plan)
    assert (run.progress.done, run.progress.failed) == (300, {})
    assert_sound(folder, plan, 300)


async def test_a_server_that_resets_each_answer_fails_no_sample(tmp_path: Path, server: ScriptedServer) -> None:
    async with served() as broken:
        broken.always = dict.fromkeys(PROMPTS, answers(503, b"not now"))
        folder, plan = make_run(tmp_path, server.url, PROMPTS)
        steered(folder, ServerEntry(server.url), ServerEntry(broken.url))
        run = await finished(folder, plan)
    assert (run.progress.done, run.progress.failed) == (300, {})


async def test_servers_are_added_and_removed_while_it_works(tmp_path: Path, server: ScriptedServer) -> None:
    async with served() as other:
        server.delay_s = other.delay_s = 0.03
        folder, plan = make_run(tmp_path, server.url, PROMPTS)
        steered(folder, ServerEntry(server.url), concurrency=4)
        run = Run(folder, plan)
        task = asyncio.create_task(run.work(asyncio.Event()))
        await until(lambda: server.asked.total() > 10)
        steered(folder, ServerEntry(server.url), ServerEntry(other.url), concurrency=4)
        await until(lambda: other.asked.total() > 10)
        steered(folder, ServerEntry(other.url), concurrency=4)
        await until(lambda: server.url not in [one.url for one in run.pool.told()])
        before = server.asked.total()
        await asyncio.wait_for(task, 60)
        assert server.asked.total() == before
    assert_sound(folder, plan, 300)


async def test_wishes_that_cannot_be_read_are_told_and_the_old_ones_stay(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.delay_s = 0.05
    folder, plan = make_run(tmp_path, server.url, PROMPTS[:100])
    run = Run(folder, plan)
    task = asyncio.create_task(run.work(asyncio.Event()))
    await until(lambda: server.asked.total() > 5)
    (folder / "steering.json").write_text('{"servers":' * 9999)
    await until(lambda: "steering.json is not followed" in run.message())
    await asyncio.wait_for(task, 60)
    assert run.progress.done == 100


async def test_an_overloaded_server_is_given_less_and_no_sample_fails(tmp_path: Path, server: ScriptedServer) -> None:
    server.limit, server.delay_s = 3, 0.01
    folder, plan = make_run(tmp_path, server.url, PROMPTS)
    steered(folder, ServerEntry(server.url), concurrency=64)
    run = await finished(folder, plan)
    assert (run.progress.done, run.progress.failed) == (300, {})
    assert server.asked.total() < 3 * 300


async def test_concurrency_is_kept(tmp_path: Path, server: ScriptedServer) -> None:
    async with served() as other:
        server.delay_s = other.delay_s = 0.01
        folder, plan = make_run(tmp_path, server.url, PROMPTS)
        steered(folder, ServerEntry(server.url), ServerEntry(other.url), concurrency=6)
        await finished(folder, plan)
        assert 2 <= server.most_at_once + other.most_at_once <= 6 + 1


@pytest.mark.parametrize(
    ("text", "queued"),
    [
        ("", None),
        ("sglang:num_running_reqs 3", None),
        ('sglang:num_queue_reqs{rank="0"} 2.0\nsglang:num_queue_reqs{rank="1"} 3.0', 5),
        ("vllm:num_requests_waiting 1", 1),
        ("sglang:num_queue_reqs NaN", None),
        ("sglang:num_queue_reqs +Inf", None),
        ("sglang:num_queue_reqs many", None),
        ("sglang:num_queue_reqs", None),
    ],
)
async def test_a_queue_is_read_where_it_is_a_number(text: str, queued: int | None, server: ScriptedServer) -> None:
    server.metrics_text = text
    asked = ChatServer(server.url, "scripted", 1)
    assert await asked.queued() == queued
    await asked.close()


async def test_a_dropped_connection_is_tried_on_another_server(tmp_path: Path, server: ScriptedServer) -> None:
    async with served() as other:
        server.faults["question 7"] = [drop] * 9
        folder, plan = make_run(tmp_path, server.url, PROMPTS[:50])
        steered(folder, ServerEntry(server.url), ServerEntry(other.url))
        run = await finished(folder, plan)
    assert (run.progress.done, run.progress.failed) == (50, {})
