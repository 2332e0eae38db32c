"""Campaigns as rows of a database, without any work behind them."""

import sqlite3
from pathlib import Path
from typing import Any

import msgspec

from engine.campaign.reading import stored
from engine.campaign.specification import (
    BenchPart,
    DataPart,
    DraftPart,
    LimitsPart,
    RegeneratePart,
    Specification,
    TargetPart,
    TrainPart,
)
from engine.campaign.steps import steps_of
from state.campaigns import add_campaign, read_campaign_steps, update_campaign_step
from state.records.campaigns import Campaign, CampaignStep

NOW = 1_790_000_000.0


def specification(**changes: Any) -> Specification:
    """A campaign with every kind of step."""
    whole = Specification(
        name="story",
        speedup=1.5,
        target=TargetPart(model="/models/target"),
        draft=DraftPart(path="/drafts/public", faulty_flag=True),
        data=DataPart(plan="/plans/plan.toml"),
        regenerate=RegeneratePart(max_tokens=512),
        train=TrainPart(samples=(11_000, 22_000, 44_000)),
        bench=BenchPart(prompts="/prompts/held.jsonl", num_steps=(3, 5)),
        limits=LimitsPart(hours=80.0, price_per_gpu_hour=2.5, currency="EUR"),
    )
    return msgspec.structs.replace(whole, **changes)


def row(name: str, length: float, speed: float, *, void: str = "", baseline: bool = False) -> dict[str, Any]:
    """A measured configuration, as `measured` keeps it."""
    return {
        "name": name, "baseline": baseline, "tokens_per_s": [90 * speed, 89 * speed, 91 * speed],
        "accept_length": None if baseline else [length, length - 0.03, length + 0.03],
        "speedup": None if baseline else [speed, speed - 0.02, speed + 0.02],
        "break_even": None if baseline else [length / speed, 2.2, 2.4], "requests": 164, "failed": 0, "void": void,
    }  # fmt: skip


FIGURES: dict[str, dict[str, Any]] = {
    "measure-before": {
        "load": "c1", "problems": {}, "notes": [],
        "rows": [row("baseline", 1.0, 1.0, baseline=True), row("eagle-flag-s5", 1.0, 0.56, void="the checker finds "
                 "eagle-flag-on-eagle3-draft"), row("present-s3", 2.0, 0.9), row("present-s5", 2.1, 0.91)],
    },
    "prepare": {"read": 310_000, "kept": 88_088, "native": 4_800, "funnel": []},
    "regenerate": {"total": 83_288, "rejected": 0, "done": 83_101, "failed": 187, "failed_by_kind": {},
                   "tokens": 66_000_000, "tokens_per_s": 831.0},
    "export": {"train": 86_139, "held_out": 1_762, "native": 4_800, "tokens": 66_000_000, "left_out": {}},
    "train-11000": {"samples": 11_000, "steps": 3000, "accept_length": 2.15, "loss": 1.9},
    "train-22000": {"samples": 22_000, "steps": 6000, "accept_length": 2.31, "loss": 1.7},
    "train-44000": {"samples": 44_000, "steps": 12000, "accept_length": 2.48, "loss": 1.6},
    "measure": {
        "load": "c1", "problems": {}, "notes": [],
        "rows": [row("baseline", 1.0, 1.0, baseline=True), row("present-s5", 2.1, 0.91), row("11000-s5", 2.15, 0.94),
                 row("22000-s5", 2.31, 1.01), row("44000-s3", 2.3, 1.05), row("44000-s5", 2.48, 1.08)],
    },
    "forecast": {
        "source": "measured", "law": "log-linear", "points": [1, 2, 3],
        "needed": [{"goal": "1.5x", "accept_length": 3.45, "samples": {"value": 820_000, "low": 500_000, "high": None},
                    "hours": {"value": 200.0, "low": 120.0, "high": None}, "verdict": "820,000 by the best fit"}],
        "at": [{"samples": 88_000, "accept_length": {"value": 2.65, "low": 2.6, "high": 2.7}, "hours": 12.0,
                "speedup": {"value": 1.15, "low": 1.1, "high": 1.2}}],
    },
}  # fmt: skip


def fill(
    database: sqlite3.Connection, folder: Path, done: int, **changes: Any
) -> tuple[Campaign, tuple[CampaignStep, ...]]:
    """Add the campaign with its first steps done, and the next one running."""
    wanted = specification(**changes.pop("specification", {}))
    campaign = Campaign(
        name=wanted.name, folder=str(folder), specification=stored(wanted), created_at=NOW - 90_000, **changes
    )
    number = add_campaign(database, campaign, steps_of(wanted))
    for step in read_campaign_steps(database, number):
        if step.position < done:
            update_campaign_step(
                database, step.id, state="done", began_at=NOW - 5000, ended_at=NOW - 1400,
                figures=FIGURES.get(step.name, {}), job_ids=(), attempts=1,
                outputs={"made": f"/campaign/{step.name}"}, digests={"made": "ab" * 32},
            )  # fmt: skip
        elif step.position == done:
            update_campaign_step(database, step.id, state="running", began_at=NOW - 60, attempts=1)
    found = msgspec.structs.replace(campaign, id=number)
    return found, read_campaign_steps(database, number)
