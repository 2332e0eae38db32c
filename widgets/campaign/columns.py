"""Columns of the table of a campaign's steps."""

import time

from textual.content import Content

from state.records.campaigns import CampaignStep
from widgets import figures
from widgets.campaign.words import came_to
from widgets.columns import Column

STATE_STYLES = {"running": "$accent", "done": "$success", "waiting": "$text-muted", "failed": "bold $error"}

STEP_COLUMNS: tuple[Column[CampaignStep], ...] = (
    Column("Step", lambda step: step.name, 16),
    Column("State", lambda step: Content.styled(step.state, STATE_STYLES.get(step.state, "")), 8),
    Column("Took", lambda step: figures.duration(took_s(step)), 11, "right", 1),
    Column("Job", lambda step: str(step.job_ids[-1]) if step.job_ids else figures.ABSENT, 5, "right", 2),
    Column("Came to", came_to, 20, grows=True),
)


def took_s(step: CampaignStep) -> float | None:
    """From its begin to its end, or until now."""
    return None if step.began_at is None else (step.ended_at or time.time()) - step.began_at
