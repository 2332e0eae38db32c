"""`alula campaign status`: how far a campaign is, what it cost, what comes next."""

import sqlite3
import sys

import click
import msgspec

from console.command_line.live_view import View, show, table
from engine.campaign.reports import read_view
from state.campaigns import find_campaign, read_campaigns
from state.outside_text import plain_line
from state.records.campaigns import CampaignStep, CampaignView
from widgets import figures
from widgets.campaign.columns import took_s
from widgets.campaign.words import came_to, cost_words, done_words

MARKS = {"done": "done", "running": "runs", "waiting": "–", "failed": "FAILED"}


@click.command()
@click.argument("name", required=False)
@click.option("--all", "every", is_flag=True, help="All campaigns, a row each.")
@click.option("--watch", is_flag=True, help="Look again each second until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(name: str | None, every: bool, watch: bool, as_json: bool) -> None:
    """Funnel, steps, cost and forecast of a campaign; the newest where no NAME is given.

    Exit code 0; 1 where it has failed; 2 where there is none of that name, or what is stored of it cannot be read.

    Example: alula campaign status --watch
    """
    look = look_at_all if every else lambda database: look_at(database, name)
    sys.exit(show(look, as_json=as_json, watch=watch))


def look_at_all(database: sqlite3.Connection) -> View:
    """A row for each campaign."""
    views = [read_view(database, campaign) for campaign in read_campaigns(database)]
    rows = [
        [
            plain_line(one.campaign.name),
            one.campaign.state,
            done_words(one),
            plain_line(one.unreadable or one.proposal, 60),
        ]
        for one in views
    ]
    lines = table(["CAMPAIGN", "STATE", "STEPS", "NEXT"], rows, right=[2])
    return View(lines if rows else [EMPTY], [value_of(one) for one in views])


EMPTY = "No campaign yet. Write its file (docs/campaign.md shows one), then: alula campaign start campaign.toml"


def look_at(database: sqlite3.Connection, name: str | None) -> View:
    """One campaign in full."""
    campaign = find_campaign(database, name)
    if campaign is None:
        what = f"there is no campaign {plain_line(name, 80)}" if name else EMPTY
        return View([what], {"error": what}, exit_code=2 if name else 0)
    view = read_view(database, campaign)
    code = 2 if view.unreadable else 1 if campaign.state == "failed" else 0
    return View(lines_of(view), value_of(view), exit_code=code)


def value_of(view: CampaignView) -> object:
    """For scripts."""
    return msgspec.to_builtins(view)


def lines_of(view: CampaignView) -> list[str]:
    """For people."""
    campaign = view.campaign
    message = f"  {plain_line(campaign.message, 300)}" if campaign.message else ""
    cost = f"cost so far  {cost_words(view)}"
    lines = [f"{plain_line(campaign.name)}: {campaign.state}, {done_words(view)} steps{message}", cost, ""]
    lines += [_funnel_line(row.stage, row.count, row.note) for row in view.funnel]
    lines += [_milestone_line(one.name, one.accept_length, one.speedup, one.remark) for one in view.milestones]
    lines += [
        "",
        *table(["STEP", "STATE", "TOOK", "JOB", "CAME TO"], [_step_row(step) for step in view.steps], right=[2]),
    ]
    lines += ["", *(plain_line(text, 300) for text in view.outlook)]
    lines += [f"next: {plain_line(view.proposal, 300)}"]
    return [*lines, f"  {view.proposed_command}"] if view.proposed_command else lines


def _step_row(step: CampaignStep) -> list[str]:
    jobs = ",".join(map(str, step.job_ids)) or "–"
    return [step.name, MARKS[step.state], figures.duration(took_s(step)), jobs, plain_line(came_to(step), 90)]


def _funnel_line(stage: str, count: int | None, note: str) -> str:
    return f"  {stage:<12} {figures.count(count):>10}  {plain_line(note, 80)}".rstrip()


def _milestone_line(name: str, length: float | None, speedup: float | None, remark: str) -> str:
    shown = "–" if length is None else f"{length:.2f}"
    gain = "–" if speedup is None else f"{speedup:.2f}x"
    return f"  {plain_line(name, 28):<28} accept length {shown:>5}  speed {gain:>6}  {plain_line(remark, 60)}".rstrip()
