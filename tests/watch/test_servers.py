"""Servers over real loopback HTTP."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from engine.watch.readings import Board, Readings, merge
from engine.watch.server_client import open_client
from engine.watch.server_watch import ServerWatch
from engine.watch.servers import watch_servers
from state.database import open_database
from state.records.servers import Server
from state.servers import add_server, read_servers, remove_server
from tests.limits import LIMIT_S
from tests.watch import http_servers
from tests.watch.http_servers import RecordedSglang, serving


def given(url: str) -> Server:
    return Server(url=url, found_by="url", seen_at=0, health="starting")


async def eventually(condition: Callable[[], Any]) -> Any:
    async with asyncio.timeout(LIMIT_S):
        while not (found := condition()):  # noqa: ASYNC110 - looks at what another task or thread has done
            await asyncio.sleep(0.02)
        return found


async def test_a_server_with_a_key_is_asked_with_it() -> None:
    recorded = RecordedSglang()

    async def guarded(request: web.Request) -> web.StreamResponse:
        known = request.headers.get("Authorization") == "Bearer right"
        return await recorded(request) if known else web.Response(status=401)

    async with serving(guarded) as url, open_client() as client:
        board = Board()
        for key, health in (("wrong", "unreadable"), ("right", "up")):
            watch = ServerWatch(given(url), board, client, key)
            task = asyncio.create_task(watch.run())
            await eventually(lambda watch=watch, health=health: watch.server.health == health)
            task.cancel()
            if key == "wrong":
                assert "API key" in watch.server.health_message
        assert watch.server.speculative_algorithm == "EAGLE"


class Watched:
    """A server watch under way, with all that it has put on its board."""

    def __init__(self, watch: ServerWatch, board: Board) -> None:
        self.watch, self._board, self.readings = watch, board, Readings()

    async def until(self, condition: Callable[[Readings], Any]) -> Any:
        def look() -> Any:
            self.readings = merge(self.readings, self._board.take())
            return condition(self.readings)

        return await eventually(look)

    async def health(self, *healths: str) -> Server:
        return await self.until(lambda r: next((s for s in reversed(r.servers) if s.health in healths), None))


@pytest.fixture
async def watching() -> AsyncIterator[Callable[[str], Watched]]:
    tasks = []
    async with open_client() as client:

        def start(url: str, **known: Any) -> Watched:
            board = Board()
            watch = ServerWatch(msgspec.structs.replace(given(url), **known), board, client)
            tasks.append(asyncio.create_task(watch.run()))
            return Watched(watch, board)

        yield start
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_the_incident_as_sglang_reports_it(watching: Callable[[str], Watched]) -> None:
    async with serving(RecordedSglang("eagle")) as url:
        watched = watching(url)
        server = await watched.health("up")
        assert (server.framework, server.version, server.speculative_algorithm) == ("sglang", "0.5.17", "EAGLE")
        assert (server.model, server.draft_model) == ("/models/tiny/target", "/models/tiny/draft")
        assert server.flags["speculative_num_draft_tokens"] == 4
        (sample, *_) = await watched.until(lambda r: r.server_samples)
        assert (sample.accept_length, sample.accept_rate) == (1.0, 0.0)
        assert (sample.running_requests, sample.queued_requests, sample.tokens_per_s) == (0, 0, 0.0)


async def test_accept_length_between_two_polls_is_exact(watching: Callable[[str], Watched]) -> None:
    sglang = RecordedSglang("eagle")
    async with serving(sglang) as url:
        watched = watching(url)
        await watched.until(lambda r: r.server_samples)
        sglang.set("generation_tokens_total", 2112 + 301)
        sglang.set("num_requests_total", 19 + 1)
        sglang.set("spec_verify_calls_total", 2093 + 100)
        sample = await watched.until(lambda r: next((s for s in r.server_samples if s.accept_length != 1.0), None))
        assert (sample.accept_length, sample.accept_rate) == (3.0, pytest.approx(2 / 3))


async def test_a_server_without_metrics_still_tells_its_mean(watching: Callable[[str], Watched]) -> None:
    sglang = RecordedSglang("eagle3")
    sglang.metrics = None
    async with serving(sglang) as url:
        watched = watching(url)
        server = await watched.health("up")
        assert server.metrics_enabled is False and "--enable-metrics" in server.health_message
        (sample, *_) = await watched.until(lambda r: r.server_samples)
        assert (sample.accept_length, sample.tokens_per_s) == (
            pytest.approx(3.0168, abs=1e-3),
            pytest.approx(965, abs=1),
        )
        assert sample.running_requests is None


async def test_a_restart_is_an_event_that_names_the_flags(watching: Callable[[str], Watched]) -> None:
    sglang = RecordedSglang("eagle3")
    sglang.metrics = RecordedSglang("eagle").metrics
    async with serving(sglang) as url:
        watched = watching(url)
        await watched.until(lambda r: r.server_samples)
        sglang.info = RecordedSglang("eagle").info
        sglang.set("generation_tokens_total", 12)
        event = await watched.until(lambda r: next((e for e in r.server_events if e.kind != "up"), None))
        assert (event.kind, event.message) == (
            "restarted",
            "restarted with other flags: speculative_algorithm EAGLE3 -> EAGLE",
        )


async def test_a_restart_while_nobody_watched_is_noticed(watching: Callable[..., Watched]) -> None:
    sglang = RecordedSglang("eagle")
    async with serving(sglang) as url:
        before = {"random_seed": 1, "speculative_algorithm": "EAGLE3"}
        watched = watching(url, health="up", flags=before)
        event = await watched.until(lambda r: next((e for e in r.server_events if e.kind == "restarted"), None))
        assert "speculative_algorithm EAGLE3 -> EAGLE" in event.message


async def test_a_server_that_stops_and_comes_back(watching: Callable[[str], Watched]) -> None:
    sglang = RecordedSglang()
    async with serving(sglang) as url:
        watched = watching(url)
        await watched.health("up")
    await watched.until(lambda r: r.servers and r.servers[-1].health_message == "nothing listens there")
    assert watched.watch.server.health == "down"
    watched.readings = Readings()
    async with serving(sglang, int(url.rpartition(":")[2])):
        await watched.health("up")
        assert [event.kind for event in watched.readings.server_events] == ["up"]


@pytest.mark.parametrize(
    ("handler", "health", "words"),
    [
        (http_servers.hangs, "down", "within 3 s"),
        (http_servers.streams_for_ever, "down", ""),
        (http_servers.is_a_web_site, "unreadable", "not as SGLang"),
        (http_servers.answers_rubbish, "unreadable", "not as SGLang"),
        (http_servers.wants_a_key, "unreadable", "API key"),
    ],
)
async def test_whatever_answers_is_told_in_words(
    watching: Callable[[str], Watched], handler: http_servers.Handler, health: str, words: str
) -> None:
    async with serving(handler) as url:
        server = await watching(url).health(health)
        assert words in server.health_message


async def test_servers_are_watched_from_adding_to_removing(tmp_path: Path) -> None:
    database = open_database(tmp_path / "state.db")
    board = Board()
    task = asyncio.create_task(watch_servers(board, database))
    sglang = RecordedSglang()
    async with serving(sglang) as url:
        add_server(database, given(url))
        await eventually(lambda: "/metrics" in sglang.asked)
        remove_server(database, url)
        await eventually(lambda: url in board.take().servers_removed)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert read_servers(database) == []


def test_a_url_is_watched_once(tmp_path: Path) -> None:
    database = open_database(tmp_path / "state.db")
    assert add_server(database, given("http://a"))
    assert not add_server(database, given("http://a"))
