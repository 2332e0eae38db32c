"""Text from outside that tries to drive the terminal: no screen and no command draws it as anything but text."""

import asyncio
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from textual.pilot import Pilot

from console.app import Console
from console.screens.table import SCREENS
from state.bench import add_bench
from state.campaigns import add_campaign
from state.data import add_preparation, add_search, write_scout
from state.database import open_database
from state.records.bench import Bench
from state.records.campaigns import Campaign, CampaignStep
from state.records.data import DataPreparation, DataSearch, DataSet, FunnelStep, ScoutProgress
from tests.console.seeded import console, seed

EVIL = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b31m\x07\b\r\n\u202e[bold]loud[/nope] [link=file:///etc]x"
FREE_TEXT = {
    "alert": ("subject", "title", "cause", "remedy"),
    "disk_sample": ("mount", "purpose"),
    "gpu": ("name",),
    "gpu_process": ("user", "command"),
    "gpu_status": ("message", "remedy"),
    "job": ("name", "kind", "reason", "working_dir"),
    "regeneration": ("name", "server_url", "model", "message"),
    "server": ("version", "model", "draft_model", "speculative_algorithm", "health_message", "framework"),
    "engine_part": ("last_error",),
}
SET = DataSet(id=EVIL, domain=EVIL, licence=EVIL, why=EVIL, remark=EVIL, columns={EVIL: EVIL}, copies=(EVIL,))
STEP = CampaignStep(campaign_id=0, position=0, name=EVIL, kind="data", message=EVIL, command=EVIL, outputs={EVIL: EVIL})
SPECIFICATION = {"name": EVIL, "target": {"model": EVIL}, "data": {"prompts": [EVIL]}, "bench": {"prompts": EVIL}}


def add_rows(database: sqlite3.Connection) -> None:
    """What the seeded state has none of."""
    add_bench(database, Bench(name=EVIL, kind="run", run_folder=EVIL, points=1, cells=1, created_at=1.0, message=EVIL))
    search = DataSearch(name=EVIL, run_folder=EVIL, created_at=1.0, message=EVIL, sets=(SET,))
    number = add_search(database, search)
    scout = {"scout": EVIL, "round": EVIL, "state": "failed", "message": EVIL, "updated_at": 1.0}
    write_scout(database, ScoutProgress(search_id=number, asked=1, to_ask=1, found=1, kept=1, **scout))
    paths = {"run_folder": EVIL, "plan_path": EVIL, "output_folder": EVIL}
    add_preparation(
        database,
        DataPreparation(name=EVIL, created_at=1.0, message=EVIL, stage=EVIL, funnel=(FunnelStep(EVIL, 1),), **paths),
    )
    campaign = Campaign(name=EVIL, folder=EVIL, specification=SPECIFICATION, created_at=1.0, message=EVIL)
    add_campaign(database, campaign, [STEP])


FORBIDDEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Console:
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "state"))
    folder = seed(tmp_path / "state")
    run = tmp_path / "run"
    run.mkdir()
    (run / "log.txt").write_bytes((EVIL * 3 + "\n").encode() * 200 + b"\xff\xfe\x00\x1b[")
    with closing(open_database(folder.database_path)) as database:
        poison(database, run)
    made = console(folder)
    made.animation_level = "none"
    return made


def poison(database: sqlite3.Connection, run: Path) -> None:
    for table, columns in FREE_TEXT.items():
        for column in columns:
            database.execute(f"UPDATE {table} SET {column} = ? || rowid", [EVIL])
    add_rows(database)
    arguments = '["a\\u001b[2J","--x=\\u009b31m[/nope]"]'
    database.execute("UPDATE job SET argv = ?, run_folder = ?", [arguments, str(run)])


def drawn(app: Console) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


async def settle(pilot: Pilot[None]) -> None:
    for _ in range(4):
        await pilot.pause(0.1)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=str)
async def test_no_screen_draws_control_characters(app: Console, size: tuple[int, int]) -> None:
    async with app.run_test(size=size) as pilot:
        for name in SCREENS:
            await app.run_action(f"show('{name}')")
            await settle(pilot)
            assert not FORBIDDEN.search(drawn(app)), name
            await pilot.press("enter")
            await settle(pilot)
            assert not FORBIDDEN.search(drawn(app)), f"{name}, opened"
            assert app.is_running
            await pilot.press("escape")


@pytest.mark.parametrize(
    "command",
    [("jobs", "list"), ("jobs", "show", "1"), ("jobs", "logs", "1"), ("alerts",), ("servers",), ("gpus",), ("status",),
     ("regen", "status"), ("regen", "list"), ("bench", "show"), ("campaign", "status")],
    ids=" ".join,
)  # fmt: skip
async def test_no_command_prints_control_characters(app: Console, command: tuple[str, ...]) -> None:
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-m", "console", *command], capture_output=True,
        env=os.environ | {"ALULA_HOME": str(app.folder.path)}, timeout=60,
    )  # fmt: skip
    text = done.stdout.decode() + done.stderr.decode()
    assert "Traceback" not in text
    assert "loud" in text, text[:500]
    assert not FORBIDDEN.search(text)
