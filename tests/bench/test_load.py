"""Loads on a scripted server: what is counted, what is timed, and a true account of every fault."""

import asyncio
import re
import time
from collections import Counter

import pytest
from aiohttp import web

from engine.bench.client_cost import client_limit
from engine.bench.records import ClientCost, Load, Prompt, Sampling
from tests.bench.scripted import answering, asker, load, native, serving, stream


@pytest.mark.parametrize("concurrency", [1, 4])
async def test_every_prompt_is_asked_once_and_timed(concurrency: int) -> None:
    async with serving(answering(8, 0.01, spec_verify_ct=4, spec_correct_drafts_histogram=[1, 3])) as url:
        end, records = await load(asker(url), Load(concurrency=concurrency, warmup=2))
    assert sorted(record.prompt for record in records) == [f"p{number}" for number in range(6)]
    for record in records:
        assert record.completion_tokens == 8 and record.verifications == 4 and record.histogram == (1, 3)
        assert record.ttft_s is not None and record.e2e_s is not None
        assert record.e2e_s - record.ttft_s >= 7 * 0.01 * 0.9
        assert record.itl_p50_s is not None and record.itl_p50_s >= 0.009
    assert end.ended_early == "" and end.wall_s >= 6 / concurrency * 0.07
    assert end.client.requests == 6


async def test_no_more_than_the_concurrency_is_in_flight() -> None:
    flying, most = 0, 0

    async def handler(request: web.Request) -> web.StreamResponse:
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        await asyncio.sleep(0.01)
        flying -= 1
        return await stream(request, [native(2, finish=True)])

    async with serving(handler) as url:
        await load(asker(url), Load(concurrency=3, requests=30))
    assert most == 3


async def test_an_open_loop_keeps_its_mean_rate_whatever_the_server_takes() -> None:
    async with serving(answering(2, 0.05)) as url:
        end, records = await load(asker(url), Load(rate=100.0, requests=80))
    started = sorted(record.started_s for record in records)
    assert len(records) == 80
    assert 40 < 79 / (started[-1] - started[0]) < 250, "Poisson arrivals at 100 a second, from a fixed seed"
    assert end.client.late_p99_s < 1


async def test_a_duration_ends_a_load_and_prompts_go_round() -> None:
    async with serving(answering(2)) as url:
        end, records = await load(asker(url), Load(concurrency=2, duration_s=0.3), prompts=2)
    names = Counter(record.prompt for record in records)
    assert max(names.values()) == 1 and "p0@2" in names, "a second pass has names of its own"
    assert end.wall_s >= 0.28


async def test_turns_of_a_conversation_carry_the_answers_before() -> None:
    seen: list[str] = []

    async def handler(request: web.Request) -> web.StreamResponse:
        seen.append((await request.json())["text"])
        return await stream(request, [native(3, finish=True)])

    async with serving(handler) as url:
        one = asker(url)
        found = await one.ask(Prompt("talk", ("first", "second"), "be brief"), 0.0)
        one.close()
    assert [record.prompt for record, _ in found] == ["talk", "talk#2"]
    assert seen == ["be brief\n\nfirst", "be brief\n\nfirst\n\nxxx\n\nsecond"]


async def refuse(request: web.Request) -> web.StreamResponse:
    return web.Response(status=500, text="out of memory")


async def cut(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    await response.write(b'data: {"text": "x", "meta_info": {"completion_tokens": 1}}\n\n')
    assert request.transport is not None
    request.transport.abort()
    return response


async def stall(request: web.Request) -> web.StreamResponse:
    return await stream(request, [native(1), native(2)], pause_s=60)


async def empty(request: web.Request) -> web.StreamResponse:
    return await stream(request, [])


async def unfinished(request: web.Request) -> web.StreamResponse:
    return await stream(request, [native(1)], done=False)


async def endless(request: web.Request) -> web.StreamResponse:
    return await stream(request, (native(number) for number in range(1, 3000)))


async def in_stream_error(request: web.Request) -> web.StreamResponse:
    return await stream(request, [native(1), {"error": {"message": "aborted"}}])


async def rubbish(request: web.Request) -> web.StreamResponse:
    return web.Response(text="data: <html>\n\n")


@pytest.mark.parametrize(
    ("handler", "kind", "words"),
    [
        (refuse, "http_error", "status 500: out of memory"),
        (cut, "connection_lost", "closed the connection"),
        (stall, "stalled", "nothing arrived"),
        (empty, "empty", "without a token"),
        (unfinished, "cut", "without a finish reason"),
        (endless, "endless", "where 16 were asked for"),
        (in_stream_error, "server_error", "aborted"),
        (rubbish, "rubbish", "not what this endpoint answers"),
    ],
)
async def test_a_fault_is_named_and_the_rest_goes_on(handler: object, kind: str, words: str) -> None:
    good = answering(4)
    asked = 0

    async def sometimes(request: web.Request) -> web.StreamResponse:
        nonlocal asked
        asked += 1
        return await (handler(request) if asked == 2 else good(request))  # type: ignore[operator]

    async with serving(sometimes) as url:
        end, records = await load(asker(url, stall_s=0.3), Load(concurrency=1))
    (failed,) = (record for record in records if record.failure is not None)
    assert failed.failure == kind and re.search(words, failed.message)
    assert len(records) == 6 and end.ended_early == ""


async def test_a_server_that_dies_ends_the_load_with_an_account() -> None:
    answers = 0

    async def dying(request: web.Request) -> web.StreamResponse:
        nonlocal answers
        answers += 1
        if answers > 3:
            assert request.transport is not None
            request.transport.abort()
        return await answering(2)(request)

    async with serving(dying) as url:
        end, records = await load(asker(url), Load(concurrency=2, requests=500))
    assert "the server was lost after 3 answers" in end.ended_early
    assert len(records) < 20


@pytest.mark.parametrize("step_s", [3600.0, -3600.0])
async def test_a_clock_that_is_set_meanwhile_changes_no_time_and_is_told(
    step_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, true_time = 0, time.time

    async def handler(request: web.Request) -> web.StreamResponse:
        nonlocal answers
        answers += 1
        if answers == 3:
            monkeypatch.setattr(time, "time", lambda: true_time() + step_s)
        return await answering(3, pause_s=0.01)(request)

    began = time.monotonic()
    async with serving(handler) as url:
        end, records = await load(asker(url), Load(concurrency=1))
    took = time.monotonic() - began
    assert end.client.clock_step_s == pytest.approx(step_s, abs=2)
    assert 0 < end.wall_s <= took
    for record in records:
        assert record.ttft_s is not None and record.e2e_s is not None
        assert 0 < record.ttft_s <= record.e2e_s <= took


async def test_a_kept_connection_that_the_server_closed_meanwhile_is_no_fault() -> None:
    async def closing(request: web.Request) -> web.StreamResponse:
        response = await answering(2)(request)
        assert request.transport is not None
        asyncio.get_running_loop().call_later(0.01, request.transport.close)
        return response

    async with serving(closing) as url:
        one = asker(url)
        for number in range(3):
            ((record, _),) = await one.ask(Prompt(f"p{number}", ("?",)), 0.0)
            assert record.failure is None, record.message
            await asyncio.sleep(0.05)
        one.close()


async def test_a_stop_drops_what_is_in_flight() -> None:
    stopping = asyncio.Event()
    async with serving(answering(1000, 0.05)) as url:
        asyncio.get_running_loop().call_later(0.2, stopping.set)
        end, records = await load(
            asker(url, sampling=Sampling(max_tokens=1000)), Load(concurrency=2), stopping=stopping
        )
    assert records == [] and end.ended_early == "stopped by the operator"


def test_the_client_says_when_it_was_the_limit() -> None:
    calm = ClientCost(cpu_s=1, wall_s=10, requests=9, loop_lag_p50_s=0, loop_lag_p99_s=0.001, loop_lag_max_s=0.01)
    busy = ClientCost(cpu_s=9.5, wall_s=10, requests=9, loop_lag_p50_s=0, loop_lag_p99_s=0.001, loop_lag_max_s=0.01)
    late = ClientCost(cpu_s=1, wall_s=10, requests=9, loop_lag_p50_s=0, loop_lag_p99_s=0.05, loop_lag_max_s=0.1)
    assert client_limit(calm, 0.1) == ""
    assert "95 % of a core" in client_limit(busy, 0.1)
    assert "50 ms late" in client_limit(late, 0.1)
    assert client_limit(late, 2.0) == "", "beside two seconds to the first token it does not show"
