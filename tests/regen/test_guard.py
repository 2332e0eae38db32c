"""Who answers a run stays the same: model, revision, flags, template, version."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import engine.regen.member
import engine.regen.run
from engine.regen.export import export_run
from engine.regen.guard import read_known
from engine.regen.identity import Identity, differences, identity_from
from engine.regen.run import Run
from engine.regen.steering import ServerEntry, Steering, write_steering
from tests.regen.conftest import ScriptedServer, completion, make_run, served
from tests.regen.test_faults import drop, short_waits, until, work

__all__ = ["short_waits"]

CHANGES: dict[str, dict[str, Any]] = {
    "revision": {"revision": "b" * 40},
    "version": {"version": "0.5.24"},
    "chat_template": {"chat_template": "/other.jinja"},
    "quantization": {"quantization": "fp8"},
    "reasoning_parser": {"reasoning_parser": "other"},
}
TOLD = {
    "version": "0.5.23", "revision": "a" * 40, "chat_template": "/one.jinja", "quantization": "none",
    "reasoning_parser": "one", "tp_size": 8, "port": 30000,
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
async def test_a_server_that_comes_back_changed_pauses_the_run(
    change: str, tmp_path: Path, server: ScriptedServer
) -> None:
    server.info = dict(TOLD)

    async def restart(request: Any) -> Any:
        server.info |= CHANGES[change]
        return await drop(request)

    server.faults["one"] = [restart]
    folder, plan = make_run(tmp_path, server.url, ["one", "two"], concurrency=1)
    run = await work(folder, plan)
    assert f"{change} is " in (run.pause_reason or "") or f"the {change} is " in (run.pause_reason or "")
    assert not run.progress.failed
    server.info = dict(TOLD)
    run = await work(folder, plan)
    assert (run.pause_reason, run.progress.done) == (None, 2)


async def test_weights_that_are_changed_while_it_answers_pause_the_run(tmp_path: Path, server: ScriptedServer) -> None:
    server.info = TOLD | {"weight_version": "first"}

    async def updated(request: web.Request) -> web.Response:
        server.info["weight_version"] = "second"
        return web.json_response(completion("of others") | {"metadata": {"weight_version": "second"}})

    server.faults["one"] = [updated]
    folder, plan = make_run(tmp_path, server.url, ["one", "two"], concurrency=1)
    run = await work(folder, plan)
    assert "weight_version is second, not first" in (run.pause_reason or "")
    assert (run.progress.done, run.progress.failed) == (0, {})


async def test_what_changes_behind_a_router_is_seen(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.regen.member, "LOOK_AGAIN_S", 0.0)
    monkeypatch.setattr(engine.regen.run, "TEND_S", 0.02)
    server.info, server.delay_s = dict(TOLD), 0.1
    folder, plan = make_run(tmp_path, server.url, [f"question {number}" for number in range(900)], concurrency=1)
    task = asyncio.create_task(work(folder, plan))
    await until(lambda: server.asked.total() > 2)
    server.info["quantization"] = "fp8"
    run = await task
    assert "quantization is fp8, not none" in (run.pause_reason or "")


async def test_what_answers_do_not_depend_on_may_change(tmp_path: Path, server: ScriptedServer) -> None:
    server.info = dict(TOLD)

    async def restart(request: Any) -> Any:
        server.info |= {"tp_size": 4, "port": 30001, "mem_fraction_static": 0.7}
        return await drop(request)

    server.faults["one"] = [restart]
    folder, plan = make_run(tmp_path, server.url, ["one", "two"], concurrency=1)
    run = await work(folder, plan)
    assert (run.pause_reason, run.progress.done) == (None, 2)


async def test_a_second_server_must_be_like_the_first(tmp_path: Path, server: ScriptedServer) -> None:
    async with served() as other:
        server.info, other.info = dict(TOLD), {**TOLD, "quantization": "fp8"}
        other.delay_s = server.delay_s = 0.05
        folder, plan = make_run(tmp_path, server.url, [f"question {number}" for number in range(50)])
        write_steering(folder, Steering(servers=(ServerEntry(server.url), ServerEntry(other.url)), concurrency=2))
        run = Run(folder, plan)
        await asyncio.wait_for(run.work(asyncio.Event()), 60)
        assert "is not what the run began with: quantization is" in (run.pause_reason or "")


async def test_lossy_acceptance_is_refused_unless_allowed(tmp_path: Path, server: ScriptedServer) -> None:
    server.info = {"speculative_accept_threshold_single": 0.5}
    folder, plan = make_run(tmp_path, server.url, ["one"])
    run = await work(folder, plan)
    assert "speculative_accept_threshold_single=0.5" in (run.pause_reason or "")
    assert server.asked.total() == 0


async def test_who_answered_is_kept_with_the_data(tmp_path: Path, server: ScriptedServer) -> None:
    server.info = dict(TOLD)
    folder, plan = make_run(tmp_path, server.url, ["one"])
    await work(folder, plan)
    known = read_known(folder)
    assert known is not None
    assert (known.reference.version, known.reference.flags["revision"]) == ("0.5.23", "a" * 40)
    assert "tp_size" not in known.reference.flags
    manifest = export_run(folder, plan)
    assert manifest.answered_by == known.servers


def test_a_flag_that_only_one_tells_is_not_compared() -> None:
    assert differences(Identity("m", version="1", flags={"dtype": "bf16"}), Identity("m")) == []


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"data": []}', b'{"data": [{}]}', b"\xff", b'{"data": 3}', b'{"data":' * 9999]
)
def test_rubbish_is_no_identity(body: bytes) -> None:
    assert identity_from(body, body, body) is None
    assert identity_from(b'{"data": [{"id": "m"}]}', body, body) == Identity("m")
