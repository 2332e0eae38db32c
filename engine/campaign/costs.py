"""What a campaign has cost so far. Pure."""

from collections.abc import Mapping, Sequence

from engine.campaign.specification import LimitsPart
from state.records.campaigns import CampaignCost, CampaignStep
from state.records.jobs import Job


def cost_of(steps: Sequence[CampaignStep], jobs: Mapping[int, Job], limits: LimitsPart, now: float) -> CampaignCost:
    """Time of the steps, GPU time of their jobs, tokens that the target has answered.

    A step that was gone on with counts the time of each of its jobs, not the time that it lay still.
    """
    own = [[jobs[number] for number in step.job_ids if number in jobs] for step in steps]
    gpu_seconds = sum(_seconds(job, now) * len(job.gpus) for group in own for job in group)
    price = limits.price_per_gpu_hour
    return CampaignCost(
        seconds=sum(
            _seconds(job, now) for step, group in zip(steps, own, strict=True) for job in group if step.kind != "serve"
        ),
        gpu_seconds=gpu_seconds,
        tokens=sum(_tokens(step) for step in steps if step.kind == "regen"),
        money=gpu_seconds / 3600 * price if price is not None else None,
    )


def _tokens(step: CampaignStep) -> int:
    """Figures are plain JSON, and the cost must be known even where they are damaged."""
    found = step.figures.get("tokens")
    return found if isinstance(found, int) else 0


def _seconds(job: Job, now: float) -> float:
    return max(0.0, (job.ended_at or now) - job.started_at) if job.started_at is not None else 0.0
