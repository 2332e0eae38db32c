"""Which steps a campaign has, in order. Pure."""

from collections.abc import Iterator

from engine.campaign.specification import Specification
from state.records.campaigns import CampaignStep, StepKind

UNTRAINED = "train-untrained"
BEFORE, AFTER = "measure-before", "measure"


def steps_of(wanted: Specification) -> tuple[CampaignStep, ...]:
    """All steps, none begun."""
    return tuple(
        CampaignStep(campaign_id=0, position=position, name=name, kind=kind)
        for position, (name, kind) in enumerate(_named(wanted))
    )


def _named(wanted: Specification) -> Iterator[tuple[str, StepKind]]:
    if wanted.draft is not None:
        yield BEFORE, "bench"
    if wanted.data.plan:
        yield "prepare", "data"
    if not wanted.regenerate.server:
        yield "serve", "serve"
    yield "regenerate", "regen"
    yield "export", "export"
    yield "verify", "verify"
    if not wanted.regenerate.server:
        yield "release", "release"
    if wanted.train is not None:
        if wanted.train.untrained:
            yield UNTRAINED, "train"
        for samples in sorted(wanted.train.samples):
            yield f"train-{samples}", "train"
        if not wanted.train.samples:
            yield "train-all", "train"
        yield AFTER, "bench"
    yield "forecast", "forecast"


def samples_of(step: CampaignStep) -> int | None:
    """How many samples a training's name tells; `None` for all of them."""
    number = step.name.rpartition("-")[2]
    return int(number) if number.isdigit() else None


def output_of(steps: tuple[CampaignStep, ...], kind: StepKind, role: str) -> str:
    """What the newest done step of a kind has made; empty where there is none."""
    found = [
        step.outputs[role] for step in steps if step.kind == kind and step.state == "done" and role in step.outputs
    ]
    return found[-1] if found else ""
