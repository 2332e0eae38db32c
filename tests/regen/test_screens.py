"""The screen of one regeneration: what its worker told, and its keys on a real run."""

import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot

from console.app import Console
from engine.regen.plan import read_plan
from engine.regen.steering import Steering, read_steering
from state.database import open_database
from state.folder import state_folder
from state.records.regeneration import (
    Regeneration,
    RegenerationDetail,
    RegenerationProgress,
    RegenerationServer,
    SlowSample,
    SourceProgress,
)
from state.regenerations import add_regeneration, find_regeneration, write_detail, write_progress
from tests.console.seeded import console, ready, seed, stand_still
from tests.console.test_snapshots import SIZES, Compare, text_of
from tests.limits import LIMIT_S
from tests.regen.conftest import ScriptedServer, served
from tests.regen.test_commands import Shell, alula, prompts_file
from tests.regen.test_faults import answers, hang
from widgets.chart import Chart

__all__ = ["alula"]
NOW = 1_790_000_000.0
DETAIL = RegenerationDetail(
    run_id=0,
    sources=(
        SourceProgress("/data/ultrachat.jsonl", 60_000, 30_000, 4, 18_000_000, {"cut_by_length": 120}),
        SourceProgress("/data/[b]evil[b]\x1b[31m.jsonl", 23_288, 1_000, 0, 900_000, {"repetition": 9, "refusal": 2}),
    ),
    slowest=(SlowSample("chat/17", 340.0), SlowSample("chat/29", 61.5)),
    moved="12 min later: answers of ultrachat.jsonl came out longer",
    concurrency=144,
    servers=(
        RegenerationServer("http://10.0.0.1:30000", "asked", "", 2.0, 96, 96, 20_000, 0, 830.0, "rises: 96 at once"),
        RegenerationServer("http://10.0.0.2:30000", "away", "connection refused", 1.0, 0, 48, 11_000, 4, None),
        RegenerationServer("http://10.0.0.3:30000", "overloaded", "429", 1.0, 30, 33, 900, 0, 300.0, "429 above 33"),
        RegenerationServer("http://10.0.0.4:30000", "leaving", "", 1.0, 3, 16, 12, 0, 20.0),
    ),
)


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Console:
    """The console in UTC at one moment, on a run of 83,288 prompts that has four servers and failures of two kinds."""
    stand_still(monkeypatch, NOW)
    folder = seed(tmp_path / "state", gpus=2, jobs=3)
    with closing(open_database(folder.database_path)) as database:
        run = Regeneration(
            name="large", run_folder="/runs/large", inputs=("/data/ultrachat.jsonl", "/data/evil.jsonl"),
            server_url="http://10.0.0.1:30000", model="target", sampling={"max_tokens": 4096}, concurrency=0,
            total=83_288, created_at=NOW - 9000,
        )  # fmt: skip
        number = add_regeneration(database, run)
        write_detail(database, msgspec.structs.replace(DETAIL, run_id=number))
        progress = RegenerationProgress(
            run_id=number, taken_at=NOW - 1, done=31_000, failed=4, failed_by_kind={"timeout": 3, "too_large": 1},
            in_flight=129, completion_tokens=18_900_000, tokens_per_s_now=1150.0, tokens_per_s_5m=1100.0,
            tokens_per_s_overall=990.0, eta_s=86_400.0, eta_low_s=80_000.0, eta_high_s=95_000.0,
        )  # fmt: skip
        write_progress(database, progress)
    made = console(folder)
    made.animation_level = "none"
    return made


def opened(name: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Opens the newest run."""

    async def going(pilot: Pilot[Any]) -> None:
        await pilot.press("5")
        await ready(pilot, lambda: name in text_of(pilot.app))
        await pilot.press("enter")
        await ready(pilot, lambda: "run folder" in text_of(pilot.app))
        await ready(pilot, lambda: pilot.app.screen.query_one(Chart).record is not None)
        await pilot.pause(0.5)

    return going


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_a_regeneration(size: tuple[int, int], app: Console, snap_compare: Compare) -> None:
    assert snap_compare(app, terminal_size=size, run_before=opened("large"))


async def test_it_says_what_the_worker_told_and_text_from_outside_does_nothing(app: Console) -> None:
    async with app.run_test(size=(120, 60)) as pilot:
        await opened("large")(pilot)
        shown = text_of(app)
    for word in (
        "144 at once", "12 min later", "away", "connection refused", "weight 2", "96/96", "429 above 33", "chat/17",
        "95 % of all tokens", "120 cut_by_length", "! ", "3 timeout", "lower --max-tokens",
        "[b]evil[b].jsonl",
    ):  # fmt: skip
        assert word in shown, word
    assert "\x1b" not in shown


def steering() -> Steering:
    with closing(open_database(state_folder().database_path)) as database:
        run = find_regeneration(database, "trial")
    assert run is not None
    return read_steering(Path(run.run_folder), read_plan(Path(run.run_folder)))


async def test_keys_steer_pause_and_ask_again(alula: Shell, tmp_path: Path, server: ScriptedServer) -> None:
    server.always = {"slow": hang, "bad": answers(400, b"no"), "lost": answers(404)}
    source = prompts_file(tmp_path, ["good", "slow", "bad", "lost"])
    await alula("start", source, "--server", server.url, "--name", "trial", "--concurrency", "4")
    app = console(state_folder())
    async with served() as other, app.run_test(size=(120, 40), notifications=True) as pilot:
        await opened("trial")(pilot)
        await ready(pilot, lambda: "1 not_found" in text_of(app) and "1 refused_by_server" in text_of(app))
        await pilot.press("f")
        await ready(pilot, lambda: any("once it is paused" in one.message for one in app._notifications))
        await pilot.press("c", "backspace", "7", "enter")
        await ready(pilot, lambda: steering().concurrency == 7)
        await pilot.press("a", *other.url, *",2", "enter")
        await ready(pilot, lambda: [one.weight for one in steering().servers] == [1.0, 2.0])
        await ready(pilot, lambda: "weight 2" in text_of(app))  # told by the worker, not by the notice
        await pilot.press("d")
        await ready(pilot, lambda: type(app.screen).__name__ == "OneOf" and app.screen.focused is not None)
        await pilot.press("end", "enter")
        await ready(pilot, lambda: [one.url for one in steering().servers] == [server.url])
        await pilot.press("x")
        await ready(pilot, lambda: type(app.screen).__name__ == "Confirmation")
        await pilot.press("y")
        await ready(pilot, lambda: "paused" in text_of(app) and "stopped with 1 to go" in text_of(app))
        await alula.wait_for("trial", "paused")
        server.always.clear()
        await ask_again(pilot, app, server)
        await ready(pilot, lambda: "state        done" in text_of(app))
    assert (server.asked["good"], server.asked["lost"], server.asked["bad"]) == (1, 2, 1)


async def ask_again(pilot: Pilot[Any], app: Console, server: ScriptedServer) -> None:
    """The second kind, once the stopped job has ended."""
    deadline = time.monotonic() + LIMIT_S
    while server.asked["lost"] != 2:
        assert time.monotonic() < deadline, text_of(app)
        await pilot.press("f")
        await pilot.pause(0.1)
        if type(app.screen).__name__ == "OneOf":
            rows = [app.screen.query_one("OptionList").get_option_at_index(at).prompt for at in range(3)]  # type: ignore[attr-defined]
            place = next(at for at, row in enumerate(rows) if "not_found" in str(row))
            await pilot.press(*["down"] * place, "enter")
        await pilot.pause(1.0)
