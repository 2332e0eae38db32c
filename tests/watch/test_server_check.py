"""The checker on a running server: the real reference server with the incident's flag, found, checked and told."""

import asyncio
import sys
from collections.abc import AsyncIterator

import httpx
import pytest

from engine.reference.checkpoint import shipped_draft
from engine.watch.parts import watch_parts
from engine.watch.server_check import check
from state.alerts import open_alerts
from state.records.servers import Server
from tests.watch.conftest import RunningParts
from tests.watch.test_servers import eventually


@pytest.fixture
async def incident() -> AsyncIterator[tuple[str, int]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "console", "reference", "serve", "--port", "0", "--speculative-algorithm", "EAGLE",
        "--speculative-draft-model-path", str(shipped_draft()), "--speculative-num-steps", "3",
        "--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode()
    yield line.removeprefix("listening on ").strip(), process.pid
    process.terminate()
    await process.wait()


async def test_the_cause_is_named_before_any_request_and_the_accept_length_after(
    incident: tuple[str, int], running: RunningParts
) -> None:
    url, _pid = incident

    def told(rule: str) -> object:
        return next((a for a in open_alerts(database) if a.rule == rule and a.subject == f"server {url}"), None)

    async with running(watch_parts()) as database:
        first = await eventually(lambda: told("server-check"))
        assert "EAGLE flag with an EAGLE-3 draft" in first.title
        body = {"text": "def read_lines(path):\n    ", "sampling_params": {"max_new_tokens": 160, "temperature": 0}}
        async with httpx.AsyncClient(timeout=60) as client:
            for _ in range(2):
                await client.post(f"{url}/generate", json=body)
        second = await eventually(lambda: told("server-accept-length-one"))
        assert second.title.startswith("accept length 1.00: EAGLE flag with an EAGLE-3 draft")
        assert "EAGLE3" in second.remedy


async def test_a_server_that_cannot_be_checked_is_logged_and_gives_no_findings(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gone = Server(url="http://127.0.0.1:1", framework="sglang", found_by="url", seen_at=0, health="up")
    assert await check(gone) == ()
