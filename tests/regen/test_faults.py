"""Servers that fail in every way: good records go on, each failure has its kind, and outages are waited out."""

import asyncio
import contextlib
import gzip
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

import engine.regen.answering
import engine.regen.member
import engine.regen.wire
from engine.regen.answering import Ask
from engine.regen.export import export_run
from engine.regen.plan import PlanError, lock_run
from engine.regen.records import Plan, Sample
from engine.regen.reporting import Report
from engine.regen.run import Run
from engine.regen.store import Store
from engine.regen.verify import verify_run
from engine.regen.wire import Wire
from engine.regen.worker import tell_each_second
from tests.regen.conftest import Fault, ScriptedServer, completion, make_run


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (engine.regen.answering, engine.regen.member):
        monkeypatch.setattr(module, "FIRST_WAIT_S", 0.01)
        monkeypatch.setattr(module, "LONGEST_WAIT_S", 0.05)
    monkeypatch.setattr(engine.regen.member, "OVERLOAD_WAIT_S", 0.02)


def answers(status: int, body: bytes = b"", **headers: str) -> Fault:
    async def fault(request: web.Request) -> web.Response:
        return web.Response(status=status, body=body, headers={k.replace("_", "-"): v for k, v in headers.items()})

    return fault


def completes(content: object, model: str = "scripted", finish_reason: str = "stop") -> Fault:
    async def fault(request: web.Request) -> web.Response:
        return web.json_response(completion(content, model, finish_reason))

    return fault


def says(**more: object) -> Fault:
    async def fault(request: web.Request) -> web.Response:
        found = completion("words")
        found["choices"][0]["message"] |= more
        return web.json_response(found)

    return fault


def counts(tokens: int) -> Fault:
    async def fault(request: web.Request) -> web.Response:
        return web.json_response(completion("words") | {"usage": {"prompt_tokens": tokens, "completion_tokens": 1}})

    return fault


async def drop(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def pour(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b"x" * 65536)


async def promise_more(request: web.Request) -> web.StreamResponse:
    """A length that the body never reaches, then the end."""
    response = web.StreamResponse(headers={"Content-Length": "5000"})
    await response.prepare(request)
    await response.write(b'{"choices": [')
    return await drop(request)


async def stall(request: web.Request) -> web.StreamResponse:
    """Half an answer, then nothing for ever."""
    response = web.StreamResponse(headers={"Content-Length": "5000"})
    await response.prepare(request)
    await response.write(b'{"choices": [')
    return await hang(request)


async def understate(request: web.Request) -> web.StreamResponse:
    """More than the length that was said."""
    assert request.transport is not None
    request.transport.write(b'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"choices": [{"message": 1}]}')
    await asyncio.sleep(0.05)
    return await drop(request)


async def hang(request: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    return web.Response()


async def work(folder: Path, plan: Plan, limit_s: float | None = None, stopping: asyncio.Event | None = None) -> Run:
    run = Run(folder, msgspec.structs.replace(plan, limit_s=limit_s))
    async with asyncio.timeout(60):
        await run.work(stopping or asyncio.Event())
    return run


def only_server(run: Run) -> Wire:
    (member,) = run.pool.members.values()
    return member.server.wire


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110  # the condition is of another program's making
            await asyncio.sleep(0.01)


@contextlib.contextmanager
def full_listener() -> Iterator[str]:
    """An address whose queue of connections is full: Linux drops what else knocks, as a host that went dark does."""
    with contextlib.ExitStack() as opened:
        listener = opened.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            knocking = opened.enter_context(socket.socket())
            knocking.setblocking(False)
            knocking.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def spoiled_export(folder: Path, plan: Plan, spoil: Callable[[list[bytes]], list[bytes]]) -> Path:
    file = Path(export_run(folder, plan).file)
    file.write_bytes(b"".join(spoil(file.read_bytes().splitlines(keepends=True))))
    return file


SPOILED: list[Callable[[list[bytes]], list[bytes]]] = [
    lambda rows: rows[:2],
    lambda rows: [*rows, rows[0]],
    lambda rows: [rows[0], rows[0], rows[2]],
    lambda rows: [b"{\n", *rows[1:]],
    lambda rows: [b"[" * 99_999 + b"\n", *rows[1:]],
    lambda rows: [rows[0].replace(b"answer", b"anewer"), *rows[1:]],
]

TOO_LONG = b'{"message": "The input (9 tokens) is longer than the model\'s context length (4 tokens)."}'
LASTING = {
    "context_too_long": answers(400, TOO_LONG),
    "refused_by_server": answers(400, b"no"),
    "not_found": answers(404),
    "not_allowed": answers(401),
    "redirected": answers(307, Location="http://127.0.0.1:1/"),
    "server_error": answers(500, b"boom"),
    "rubbish_answer": answers(200, b"<html>"),
    "empty_answer": completes(" "),
    "too_large": pour,
    "connection_lost": drop,
    "timeout": hang,
}
LASTING_BY_OTHER_MEANS = {
    "stalls in the middle": ("timeout", stall), "lies about length": ("connection_lost", promise_more),
}  # fmt: skip


@pytest.mark.parametrize("kind", LASTING)
async def test_a_lasting_fault_is_one_failure_of_its_kind(
    kind: str, tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.regen.wire, "LARGEST_ANSWER", 2**20)
    server.always["bad"] = LASTING[kind]
    folder, plan = make_run(tmp_path, server.url, ["good", "bad", "fine"])
    run = await work(folder, plan, limit_s=0.5 if kind == "timeout" else None)
    assert (run.progress.done, run.progress.failed) == (2, {kind: 1})
    store = Store(folder)
    assert store.forget_failures(kind) == 1
    store.close()
    server.always.clear()
    await work(folder, plan)
    manifest = export_run(folder, plan)
    assert (manifest.answered, manifest.failed) == (3, {})
    assert verify_run(folder, Path(manifest.file)).problems == ()
    assert server.asked["good"] == 1


@pytest.mark.parametrize("how", LASTING_BY_OTHER_MEANS)
async def test_a_lasting_fault_in_the_body_is_one_failure(how: str, tmp_path: Path, server: ScriptedServer) -> None:
    kind, server.always["bad"] = LASTING_BY_OTHER_MEANS[how]
    folder, plan = make_run(tmp_path, server.url, ["good", "bad"])
    run = await work(folder, plan, limit_s=0.3)
    assert (run.progress.done, run.progress.failed) == (1, {kind: 1})
    store = Store(folder, read_only=True)
    assert store.failures()[0][2] == "p1" and store.failures()[0][3]
    store.close()


PASSING = {
    "promises more than it sends": promise_more,
    "sends more than it promised": understate,
    "429": answers(429, Retry_After="0"),
    "500": answers(500),
    "503": answers(503),
    "dropped": drop,
    "broken": answers(200, b'{"choices": ['),
    "broken UTF-8": answers(200, b'{"choices": [{"message": {"content": "\xff"}}]}'),
    "no choices": answers(200, b'{"choices": []}'),
    "lone surrogate": answers(200, b'{"choices": [{"message": {"content": "\\ud800"}}]}'),
    "no text": completes(["a list"]),
    "only NULs": completes("\0\0 \0"),
    "given up": completes("half an ans", finish_reason="abort"),
    "nested without end": answers(200, b'{"choices": [{"message": {"tool_calls": ' + b"[" * 100_000),
    "reasoning that is no text": says(reasoning_content=5),
    "calls that are none": says(tool_calls="x"),
    "more tokens than can be": counts(10**30),
    "fewer tokens than none": counts(-5),
    "another model": completes("stranger", model="other"),
}


@pytest.mark.parametrize("fault", PASSING)
async def test_a_passing_fault_is_tried_again(fault: str, tmp_path: Path, server: ScriptedServer) -> None:
    server.faults["shaky"] = [PASSING[fault]]
    folder, plan = make_run(tmp_path, server.url, ["good", "shaky"])
    run = await work(folder, plan)
    assert (run.progress.done, run.progress.failed) == (2, {})
    assert server.asked["shaky"] == 2


class Stumbling(Run):
    """A run whose own code has an error that certain prompts bring out."""

    def _ask(self, number: int, sample: Sample) -> Ask:
        if sample.users[0].startswith("odd"):
            raise KeyError(f"{sample.users[0]}\x1b[2J")
        return super()._ask(number, sample)


async def test_an_error_of_the_program_costs_one_sample(tmp_path: Path, server: ScriptedServer) -> None:
    folder, plan = make_run(tmp_path, server.url, ["good", "odd", "fine"])
    run = Stumbling(folder, plan)
    await asyncio.wait_for(run.work(asyncio.Event()), 60)
    assert (run.progress.done, run.progress.failed) == (2, {"program_error": 1})
    store = Store(folder, read_only=True)
    assert "KeyError" in store.failures()[0][3] and "\x1b" not in store.failures()[0][3]
    store.close()


async def test_a_program_that_errs_again_and_again_pauses_the_run(tmp_path: Path, server: ScriptedServer) -> None:
    server.delay_s = 0.01
    prompts = [f"{word} {number}" for number in range(400) for word in ("odd", "good")]
    folder, plan = make_run(tmp_path, server.url, prompts)
    run = Stumbling(folder, plan)
    await asyncio.wait_for(run.work(asyncio.Event()), 60)
    assert "errors of Alula itself" in (run.pause_reason or "")
    assert run.progress.done + run.progress.failed_count < 800


async def test_figures_that_cannot_be_told_end_nothing(tmp_path: Path, server: ScriptedServer) -> None:
    class Mute:
        def tell(self, report: Report) -> None:
            raise ZeroDivisionError

    folder, plan = make_run(tmp_path, server.url, ["one"])
    run, ended = Run(folder, plan), asyncio.Event()
    telling = asyncio.create_task(tell_each_second(run, Mute(), ended))
    await asyncio.wait_for(run.work(asyncio.Event()), 60)
    ended.set()
    await asyncio.wait_for(telling, 60)
    assert run.progress.done == 1


async def test_the_answer_to_another_prompt_is_not_stored(tmp_path: Path, server: ScriptedServer) -> None:
    server.framework = "sglang"
    seen: list[str] = []

    async def swapped(request: web.Request) -> web.StreamResponse:
        rid = msgspec.json.decode(await request.read())["rid"]
        seen.append(rid)
        return web.json_response({**completion("of another prompt"), "id": f"{rid.rpartition('-')[0]}-999"})

    server.faults["one"] = [swapped]
    folder, plan = make_run(tmp_path, server.url, ["one", "two"])
    run = await work(folder, plan)
    assert (run.progress.done, len(seen), server.asked["one"]) == (2, 1, 2)
    assert verify_run(folder, Path(export_run(folder, plan).file)).problems == ()
    store = Store(folder, read_only=True)
    assert all("another prompt" not in one.assistants[0].content for one in store.answers())
    store.close()


async def test_a_bomb_is_not_unpacked(tmp_path: Path, server: ScriptedServer) -> None:
    server.always["bomb"] = answers(200, gzip.compress(b"0" * 10**7), Content_Encoding="gzip")
    folder, plan = make_run(tmp_path, server.url, ["bomb", "good"])
    run = await work(folder, plan)
    assert (run.progress.done, run.progress.failed) == (1, {"rubbish_answer": 1})


async def test_a_host_that_drops_packets_is_waited_for(
    tmp_path: Path, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.regen.wire, "CONNECT_S", 0.3)
    with full_listener() as url:
        folder, plan = make_run(tmp_path, url, ["one", "two"])
        run = Run(folder, plan)
        task = asyncio.create_task(run.work(asyncio.Event()))
        await until(lambda: "does not answer" in run.message())
        only_server(run).url = server.url
        await asyncio.wait_for(task, 60)
    assert (run.progress.done, run.progress.failed) == (2, {})


async def test_a_server_that_is_down_is_waited_for(tmp_path: Path, server: ScriptedServer) -> None:
    folder, plan = make_run(tmp_path, "http://127.0.0.1:1", ["one", "two"])
    run = Run(folder, plan)
    task = asyncio.create_task(run.work(asyncio.Event()))
    await until(lambda: "127.0.0.1:1 does not answer" in run.message())
    only_server(run).url = server.url
    await asyncio.wait_for(task, 60)
    assert (run.progress.done, run.progress.failed) == (2, {})


async def test_a_prompt_that_is_always_turned_away_does_not_hold_the_run(
    tmp_path: Path, server: ScriptedServer
) -> None:
    server.always["poison"] = answers(503, b"no worker")
    folder, plan = make_run(tmp_path, server.url, ["poison", *(f"good {number}" for number in range(40))])
    run = await work(folder, plan)
    assert (run.progress.done, run.progress.failed) == (40, {"server_error": 1})


async def test_a_server_that_comes_back_with_another_model_ends_the_pass(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async def swap(request: web.Request) -> web.StreamResponse:
        server.model = "other"
        return await drop(request)

    server.faults["last"] = [swap]
    folder, plan = make_run(tmp_path, server.url, ["first", "last"], concurrency=1)
    run = await work(folder, plan)
    assert "now serves other, the run began with scripted" in (run.pause_reason or "")
    assert run.progress.done == 1 and not run.progress.failed


async def test_answers_cut_by_length_are_marked(tmp_path: Path, server: ScriptedServer) -> None:
    server.always["long"] = completes("and so on", finish_reason="length")
    folder, plan = make_run(tmp_path, server.url, ["long", "short"])
    await work(folder, plan)
    manifest = export_run(folder, plan)
    assert (manifest.answered, manifest.cut_by_length) == (2, 1)
    store = Store(folder, read_only=True)
    assert [one.finish_reasons for one in store.answers()] == [("length",), ("stop",)]
    store.close()


async def test_what_was_answered_before_a_stop_is_kept(tmp_path: Path, server: ScriptedServer) -> None:
    server.always["slow"] = hang
    folder, plan = make_run(tmp_path, server.url, ["slow", "quick"], concurrency=2)
    stopping = asyncio.Event()
    task = asyncio.create_task(work(folder, plan, stopping=stopping))
    reader = Store(folder)
    await until(lambda: reader.tally().done == 1 and server.asked["slow"] == 1)
    stopping.set()
    run = await task
    assert run.progress.done == 1 and not run.progress.failed
    assert list(reader.marks()) == [0, 0, 1]
    reader.close()


async def test_verify_finds_lost_doubled_and_changed_rows(tmp_path: Path, server: ScriptedServer) -> None:
    folder, plan = make_run(tmp_path, server.url, ["one", "two", "three"])
    await work(folder, plan)
    for spoil in SPOILED:
        assert verify_run(folder, spoiled_export(folder, plan, spoil)).problems


def test_a_second_worker_is_turned_away(tmp_path: Path) -> None:
    lock_run(tmp_path)
    with pytest.raises(PlanError, match="another worker"):
        lock_run(tmp_path)
