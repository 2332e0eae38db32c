"""A campaign as an operator sees it: funnel, milestones, cost, outlook, next step. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.campaign.costs import cost_of
from engine.campaign.outlook import outlook_lines, proposal
from engine.campaign.specification import CampaignError, Specification, specification_of
from engine.campaign.steps import AFTER, UNTRAINED
from state.records.campaigns import Campaign, CampaignCost, CampaignStep, CampaignView, FunnelRow, Milestone
from state.records.jobs import Job


def view_of(
    campaign: Campaign,
    steps: tuple[CampaignStep, ...],
    jobs: Mapping[int, Job],
    now: float,
    progress: Mapping[str, int] = {},
) -> CampaignView:
    """All that is drawn of a campaign. `progress` holds the counts of a regeneration that still runs.

    Raises:
        CampaignError: What is stored of it cannot be read.
    """
    wanted = specification_of(campaign)
    try:
        return _whole(campaign, wanted, steps, jobs, now, progress)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:  # figures are plain JSON
        raise CampaignError(
            f"the stored figures of campaign {campaign.name} cannot be read ({type(error).__name__}: {error})",
            "use the release of Alula that wrote them, or start it anew under another name",
        ) from error


def unreadable_view(campaign: Campaign, steps: tuple[CampaignStep, ...], problem: CampaignError) -> CampaignView:
    """What can be drawn of a campaign whose row cannot be read: its name, its steps, and what to do."""
    return CampaignView(
        campaign=campaign,
        steps=steps,
        funnel=(),
        milestones=(),
        cost=CampaignCost(seconds=0.0, gpu_seconds=0.0, tokens=0),
        outlook=(str(problem),),
        proposal=problem.remedy,
        unreadable=str(problem),
    )


def _whole(
    campaign: Campaign,
    wanted: Specification,
    steps: tuple[CampaignStep, ...],
    jobs: Mapping[int, Job],
    now: float,
    progress: Mapping[str, int],
) -> CampaignView:
    words, command = proposal(campaign, wanted, steps)
    return CampaignView(
        campaign=campaign,
        steps=steps,
        funnel=funnel_of(wanted, steps, progress),
        milestones=milestones_of(steps),
        cost=cost_of(steps, jobs, wanted.limits, now),
        outlook=tuple(outlook_lines(wanted, steps)),
        proposal=words,
        proposed_command=command,
    )


def funnel_of(
    wanted: Specification, steps: Sequence[CampaignStep], progress: Mapping[str, int] = {}
) -> tuple[FunnelRow, ...]:
    """How many are left from stage to stage. A stage that is not reached has no count."""
    done = {step.kind: step.figures for step in steps if step.state == "done"}
    data, regen, export = done.get("data", {}), done.get("regen", {}), done.get("export", {})
    if not regen and progress:
        regen = dict(progress)
    failed = f"{regen['failed']:,} failed" if regen.get("failed") else ""
    trainings = [step for step in steps if step.kind == "train" and step.name != UNTRAINED and step.state == "done"]
    rows = []
    if wanted.data.plan:
        rows += [FunnelRow("read", data.get("read")), FunnelRow("prepared", data.get("kept"))]
    rows += [
        FunnelRow("prompts", regen.get("total")),
        FunnelRow("answered", regen.get("done"), failed),
        FunnelRow("to train on", export.get("train"), _held_out(export)),
    ]
    if wanted.train is not None:
        amounts = [int(step.figures["samples"]) for step in trainings if step.figures.get("samples")]
        several = f"{len(amounts)} trainings: {', '.join(f'{one:,}' for one in amounts)}" if len(amounts) > 1 else ""
        rows.append(FunnelRow("trained on", max(amounts, default=None), several))
    return tuple(rows)


def milestones_of(steps: Sequence[CampaignStep]) -> tuple[Milestone, ...]:
    """Every configuration that was measured, of the newest benchmark that measured it, in order."""
    found: dict[str, Milestone] = {}
    for step in steps:
        for row in step.figures.get("rows", []) if step.kind == "bench" else []:
            if not row["baseline"]:
                name = row["name"] if step.name == AFTER else f"before: {row['name']}"
                found[name] = _milestone(name, row)
    return tuple(found.values())


def _milestone(name: str, row: dict[str, Any]) -> Milestone:
    speedup = row["speedup"] or [None, None, None]
    length = row["accept_length"][0] if row["accept_length"] else None
    return Milestone(name, length, speedup[0], speedup[1], speedup[2], row["void"] or _even(row["break_even"]))


def _even(found: Sequence[float | None] | None) -> str:
    """A round cannot cost less than one step of the target: where it seems to, the target alone was held up."""
    if not found or found[0] is None:
        return ""
    doubt = ", below 1: the baseline was disturbed, measure again" if found[0] < 1 else ""
    return f"break-even {found[0]:.2f}{doubt}"


def _held_out(export: Mapping[str, Any]) -> str:
    parts = [f"{export['held_out']:,} held out"] if export.get("held_out") else []
    parts += [f"{export['native']:,} native"] if export.get("native") else []
    return ", ".join(parts)
