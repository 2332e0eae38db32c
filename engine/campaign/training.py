"""How a draft of a campaign is trained. Pure."""

from collections.abc import Sequence
from pathlib import Path

from engine.campaign.order import ALULA, Around, Order, job, made
from engine.campaign.specification import Specification
from engine.campaign.steps import UNTRAINED, output_of, samples_of
from state.records.campaigns import CampaignStep

TRAIN_GRACE_S = 120.0
"""A training saves a checkpoint before it ends."""
LENGTH_OPTIONS = ("--steps", "--epochs", "--seconds", "--max-steps")


def training(wanted: Specification, step: CampaignStep, steps: tuple[CampaignStep, ...], around: Around) -> Order:
    """Train one draft: with the reference trainer, or with SpecForge, whose job this one waits for."""
    assert wanted.train is not None
    data, held_out = made(steps, "export", "train"), output_of(steps, "export", "held_out")
    output = around.folder / step.name
    inputs = {"train": data, "target": wanted.target.model} | ({"held_out": held_out} if held_out else {})
    if wanted.target.reference:
        words = _reference_training(wanted, step, data, held_out, output, around)
        schedule = {"gpus": wanted.train.gpus}
        arguments = job(wanted, step, "train", words, TRAIN_GRACE_S, schedule, home=around.home)
        return Order(kind="jobs.launch", arguments=arguments, work=str(output), inputs=inputs)
    name = f"{wanted.name}-{step.name}"
    words = [*ALULA, "train", "start", "--target", wanted.target.model, "--data", around.data or data, "--name", name]
    words += [*wanted.train.arguments, "--wait"] + (["--resume"] if around.resumable else [])
    arguments = job(wanted, step, "train", words, TRAIN_GRACE_S, home=around.home)
    return Order(kind="jobs.launch", arguments=arguments, work=name, inputs=inputs)


def _reference_training(
    wanted: Specification, step: CampaignStep, data: str, held_out: str, output: Path, around: Around
) -> list[str]:
    assert wanted.train is not None
    given = list(wanted.train.arguments)
    if step.name == UNTRAINED:
        given = [*without_length(given), "--steps", "1"]
    words = [*ALULA, "train", "reference", "--data", data, "--target", wanted.target.model, "--output", str(output)]
    words += ["--held-out-data", held_out] if held_out else []
    samples = samples_of(step)
    words += ["--samples", str(samples)] if samples else []
    return [*words, *given, "--json"] + (["--resume"] if around.resumable else [])


def without_length(arguments: Sequence[str]) -> list[str]:
    """Arguments of a training without those that say how long it goes on."""
    kept: list[str] = []
    skip = False
    for word in arguments:
        if not skip and not word.startswith(tuple(f"{option}=" for option in LENGTH_OPTIONS)):
            if word in LENGTH_OPTIONS:
                skip = True
                continue
            kept.append(word)
        skip = False
    return kept
