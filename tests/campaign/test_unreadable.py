"""A campaign whose stored specification or figures another release wrote, or that is damaged."""

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from console.command_line.root import alula
from engine.campaign.part import campaigns_part
from engine.campaign.reading import stored
from engine.campaign.reports import read_view
from engine.campaign.requests import CAMPAIGN_HANDLERS, resume
from engine.campaign.specification import BenchPart, CampaignError, DataPart, DraftPart, TargetPart, specification_of
from engine.commands import Request
from engine.context import EngineContext, Refusal
from state.alerts import open_alerts
from state.campaigns import find_campaign, read_campaigns
from state.database import open_database
from state.folder import StateFolder, make_private
from tests.campaign.made import fill, specification
from tests.campaign.test_screen import app, shown  # noqa: F401 - a fixture
from tests.console.seeded import text_of

DAMAGE = {
    "newer": '{"name": "story", "planet": "Mars"}',
    "older": '{"name": "story"}',
    "wrong type": '{"name": "story", "target": 7, "data": {}, "bench": {}}',
    "cut": '{"name": "sto',
    "no object": "[1, 2]",
}


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    monkeypatch.setenv("ALULA_HOME", str(tmp_path / "home"))
    folder = StateFolder(path=make_private(tmp_path / "home"))
    with closing(open_database(folder.database_path)) as opened:
        yield opened


def two(database: sqlite3.Connection, folder: Path, damage: str, **changes: Any) -> None:
    """One that is sound, and `story`, which is not."""
    fill(database, folder / "sound", 12, state="done", specification={"name": "sound"})
    fill(database, folder / "story", 3, **changes)
    database.execute("UPDATE campaign SET specification = ? WHERE name = 'story'", [damage])


def said(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(alula, ["campaign", *words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
    return done.exit_code, done.output


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_reader_is_told_what_where_and_what_to_do(damage: str, database: sqlite3.Connection, tmp_path: Path) -> None:
    two(database, tmp_path, damage, state="stopped")
    campaign = find_campaign(database, "story")
    assert campaign is not None
    with pytest.raises(CampaignError, match="stored specification of campaign story cannot be read") as caught:
        specification_of(campaign)
    assert "alula campaign resume story --file FILE" in caught.value.remedy
    views = {one.name: read_view(database, one) for one in read_campaigns(database)}
    assert views["sound"].unreadable == "" and views["sound"].milestones
    assert views["story"].unreadable == str(caught.value) and len(views["story"].steps) == 12


@pytest.mark.parametrize("words", [("next", "story"), ("document", "story"), ("forecast", "story")])
def test_each_command_tells_it_and_ends_with_2(
    words: tuple[str, ...], database: sqlite3.Connection, tmp_path: Path
) -> None:
    two(database, tmp_path, DAMAGE["newer"], state="stopped")
    code, output = said(*words)
    assert code == 2 and "unknown field `planet`" in output and "--file FILE" in output


def test_figures_of_another_release_are_told_too(database: sqlite3.Connection, tmp_path: Path) -> None:
    fill(database, tmp_path / "story", 12, state="done")
    for figures in ({"rows": [{"name": "x"}]}, {"rows": 7}, {"rows": [3]}):
        database.execute("UPDATE campaign_step SET figures = ? WHERE kind = 'bench'", [json.dumps(figures)])
        view = read_view(database, read_campaigns(database)[0])
        assert "stored figures of campaign story cannot be read" in view.unreadable
    database.execute("UPDATE campaign_step SET figures = '{cut' WHERE name = 'serve'")
    assert "campaign step" in read_view(database, read_campaigns(database)[0]).unreadable


def test_its_file_brings_it_back(database: sqlite3.Connection, tmp_path: Path) -> None:
    two(database, tmp_path, DAMAGE["cut"], state="failed", message="damaged")
    for name in ("plan.toml", "held.jsonl"):
        (tmp_path / name).touch()
    (tmp_path / "config.json").write_text("{}")
    mended = specification(
        target=TargetPart(model=str(tmp_path), reference=True),
        draft=DraftPart(path=str(tmp_path), faulty_flag=True),
        data=DataPart(plan=str(tmp_path / "plan.toml")),
        bench=BenchPart(prompts=str(tmp_path / "held.jsonl"), num_steps=(3, 5)),
    )

    def ask(**arguments: Any) -> dict[str, Any]:
        return resume(Request(database, {"name": "story", **arguments}, context(tmp_path), 0.0))

    with pytest.raises(Refusal, match="cannot be read"):
        ask()
    ask(specification=stored(mended))
    campaign = find_campaign(database, "story")
    assert campaign is not None and campaign.state == "running" and specification_of(campaign) == mended


async def test_the_engine_lets_it_stand_and_carries_the_others_on(database: sqlite3.Connection, tmp_path: Path) -> None:
    fill(database, tmp_path / "story", 3)
    fill(database, tmp_path / "sound", 12, specification={"name": "sound"})
    database.execute("UPDATE campaign SET specification = ? WHERE name = 'story'", [DAMAGE["newer"]])
    own = context(tmp_path)
    task = asyncio.create_task(campaigns_part(CAMPAIGN_HANDLERS)(own))
    try:
        async with asyncio.timeout(60):
            while any(one.state == "running" for one in read_campaigns(database)) or not open_alerts(database):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
    finally:
        task.cancel()
    states = {one.name: (one.state, one.message) for one in read_campaigns(database)}
    assert states["sound"] == ("done", "")
    assert states["story"][0] == "failed" and "resume story --file FILE" in states["story"][1]
    assert [alert.subject for alert in open_alerts(database)] == ["campaign story"]


async def test_the_screen_shows_the_others_and_says_what_to_do(app: Any, tmp_path: Path) -> None:  # noqa: F811
    with closing(open_database(app.folder.database_path)) as rows:
        two(rows, tmp_path, DAMAGE["newer"], state="stopped")
        rows.execute("UPDATE campaign_step SET figures = ? WHERE campaign_id = 2 AND position = 0", ['{"rows": 7}'])
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(app)(pilot)
        text = " ".join(text_of(app).split())
        assert "unknown field `planet`" in text and "--file FILE" in text
        await pilot.press("v")
        await pilot.pause()
        assert "reached 1.08x" in text_of(app)


def context(tmp_path: Path) -> EngineContext:
    folder = StateFolder(path=make_private(tmp_path / "home"))
    return EngineContext(folder=folder, stopping=asyncio.Event(), jobs_changed=asyncio.Event())
