"""Campaigns: the way from prompts to a measured speed-up, step by step."""

from typing import Any, Literal

import msgspec

CampaignState = Literal["running", "stopped", "failed", "done"]
StepState = Literal["waiting", "running", "done", "failed"]
StepKind = Literal["bench", "data", "serve", "regen", "export", "verify", "release", "train", "forecast"]


class Campaign(msgspec.Struct, frozen=True, kw_only=True):
    """One campaign. `specification` is its file as it was read, with absolute paths."""

    id: int = 0
    name: str
    folder: str
    """Holds the outputs of its steps and its documents."""
    specification: dict[str, Any]
    created_at: float
    ended_at: float | None = None
    state: CampaignState = "running"
    message: str = ""
    """Why it stands still, in words."""
    single_step: bool = False
    """Stop after the step that runs."""


class CampaignStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step: what it was made from, what was asked for it, and what it came to."""

    id: int = 0
    campaign_id: int
    position: int
    name: str
    kind: StepKind
    state: StepState = "waiting"
    attempts: int = 0
    command: str = ""
    """Kind of the engine's command that began it."""
    arguments: dict[str, Any] = {}
    """Of that command."""
    job_ids: tuple[int, ...] = ()
    """Jobs that worked on it, the newest last."""
    work: str = ""
    """Name of its regeneration, benchmark or training, or folder of its preparation."""
    began_at: float | None = None
    ended_at: float | None = None
    message: str = ""
    inputs: dict[str, str] = {}
    """Role to path of what it was made from."""
    outputs: dict[str, str] = {}
    """Role to path or address of what it made."""
    digests: dict[str, str] = {}
    """Role of an output to its SHA-256."""
    figures: dict[str, Any] = {}
    """What it measured."""


class FunnelRow(msgspec.Struct, frozen=True):
    """How many are left after a stage of a campaign."""

    stage: str
    count: int | None
    """`None` before that step has ended."""
    note: str = ""


class Milestone(msgspec.Struct, frozen=True):
    """A measured configuration, for the end of the funnel."""

    name: str
    accept_length: float | None
    speedup: float | None
    speedup_low: float | None = None
    speedup_high: float | None = None
    remark: str = ""


class CampaignCost(msgspec.Struct, frozen=True, kw_only=True):
    """What a campaign has taken so far."""

    seconds: float
    """Of its steps, one after another."""
    gpu_seconds: float
    tokens: int
    """Answered by the target."""
    money: float | None = None
    """`None` without a price in its file."""


class CampaignView(msgspec.Struct, frozen=True, kw_only=True):
    """A campaign as screens and documents show it."""

    campaign: Campaign
    steps: tuple[CampaignStep, ...]
    funnel: tuple[FunnelRow, ...]
    milestones: tuple[Milestone, ...]
    cost: CampaignCost
    outlook: tuple[str, ...]
    """The forecast against the target, in lines."""
    proposal: str
    """The next step, in words."""
    proposed_command: str = ""
    """What to type for it; empty where the engine does it by itself."""
    unreadable: str = ""
    """Why what is stored of it cannot be read; funnel and outlook are then empty."""
