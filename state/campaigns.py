"""Campaigns and their steps in the database."""

import sqlite3
from collections.abc import Iterable

import msgspec

from state import rows
from state.records.campaigns import Campaign, CampaignStep

_SELECT = """SELECT *, CASE WHEN json_valid(specification) THEN
    CASE json_type(specification) WHEN 'object' THEN specification ELSE '{}' END ELSE '{}' END AS specification
    FROM campaign"""
"""Where a specification is damaged, the rest of its campaign can be read all the same, and the others too."""


def add_campaign(connection: sqlite3.Connection, campaign: Campaign, steps: Iterable[CampaignStep]) -> int:
    """Add one with its steps; returns its id.

    Raises:
        sqlite3.IntegrityError: The name is taken.
    """
    campaign_id = rows.insert(connection, "campaign", campaign)
    for step in steps:
        rows.insert(connection, "campaign_step", msgspec.structs.replace(step, campaign_id=campaign_id))
    return campaign_id


def read_campaigns(connection: sqlite3.Connection) -> list[Campaign]:
    """All of them, the newest first."""
    return rows.read(connection, Campaign, f"{_SELECT} ORDER BY id DESC")


def running_campaigns(connection: sqlite3.Connection) -> list[Campaign]:
    """Those that go on by themselves, the oldest first."""
    return rows.read(connection, Campaign, f"{_SELECT} WHERE state = 'running' ORDER BY id")


def find_campaign(connection: sqlite3.Connection, name: str | None) -> Campaign | None:
    """One by name or id; the newest where none is given."""
    sql = f"""{_SELECT} WHERE ?1 IS NULL OR name = ?1 OR CAST(id AS TEXT) = ?1
        ORDER BY name = ?1 DESC, id DESC LIMIT 1"""
    return rows.read_one(connection, Campaign, sql, [name])


def read_campaign(connection: sqlite3.Connection, campaign_id: int) -> Campaign | None:
    """One by its id."""
    return rows.read_one(connection, Campaign, f"{_SELECT} WHERE id = ?", [campaign_id])


def read_campaign_steps(connection: sqlite3.Connection, campaign_id: int) -> tuple[CampaignStep, ...]:
    """The steps of one, in order."""
    sql = "SELECT * FROM campaign_step WHERE campaign_id = ? ORDER BY position"
    return tuple(rows.read(connection, CampaignStep, sql, [campaign_id]))


def update_campaign(connection: sqlite3.Connection, campaign_id: int, **changes: object) -> None:
    """Change some fields of a campaign."""
    rows.update(connection, "campaign", campaign_id, **changes)


def update_campaign_step(connection: sqlite3.Connection, step_id: int, **changes: object) -> None:
    """Change some fields of a step."""
    rows.update(connection, "campaign_step", step_id, **changes)
