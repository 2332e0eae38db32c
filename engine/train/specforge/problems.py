"""What stands against a training before it starts. Each has a name, by which an operator can override it."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from engine.train.specforge.configuration import run_config
from engine.train.specforge.estimates import hidden_state_bytes, memory
from engine.train.specforge.plan import TrainingPlan

CONTEXT_HEADROOM = 7
"""Tokens that a capture server keeps free (SpecForge a6b6b02, config/schema.py)."""
DISK_RESERVE = 0.1


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One finding."""

    name: str
    severity: Literal["error", "warning"]
    message: str
    remedy: str


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What is there on this host, as far as it could be seen."""

    free_disk: int | None = None
    """Bytes, where the hidden states go."""
    gpu_memory: int | None = None
    """Bytes of the smallest training GPU."""
    context: int | None = None
    """The target's longest context."""
    hidden: int | None = None
    """The target's width."""
    program_found: bool = True
    """`specforge`, or the script of the checkout."""
    preparing: bool = False
    """Hidden states are to be written."""
    states_found: bool = True
    """The folder of hidden states holds some; asked where they are not to be written first."""
    heads: int | None = None
    """Attention heads of the target."""
    differs: tuple[str, ...] = ()
    """What a training that is to go on was begun with, and is not asked for now."""


def problems(plan: TrainingPlan, around: Surroundings) -> list[Problem]:
    """All that the plan and its surroundings tell; what the checker finds in the recipe comes beside it."""
    found = [
        *_of_plan(plan, around),
        *_of_states(plan, around),
        *_of_disk(plan, around),
        *_of_memory(plan, around),
        *_of_context(plan, around),
    ]
    if around.differs:
        text = f"it was begun otherwise ({'; '.join(around.differs)}), and SpecForge then refuses to go on"
        found.append(_error("train-resume-differs", text, "give the options that it was begun with, or another --name"))
    if not around.program_found:
        remedy = "an environment of its own for specforge (it pins sglang 0.5.14), and --specforge CHECKOUT for scripts"
        found.append(_error("train-no-specforge", "SpecForge is not there", remedy))
    return found


def standing(found: Sequence[Problem], overridden: Sequence[str]) -> list[Problem]:
    """Errors that nobody overrode by name."""
    return [one for one in found if one.severity == "error" and one.name not in overridden]


def recipe_problems(findings: Sequence[Mapping[str, Any]]) -> list[Problem]:
    """The checker's findings of the family train-."""
    return [
        Problem(
            name=str(one["rule"]),
            severity="error" if one["severity"] == "error" else "warning",
            message=str(one["message"]),
            remedy=str((one.get("fix") or {}).get("text") or "alula check --train"),
        )
        for one in findings
        if str(one["rule"]).startswith("train-")
    ]


def recipe(plan: TrainingPlan, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What the checker reads of a training: the configuration, and what the data's manifest says."""
    answers = {"answers_model": manifest["model"]} if isinstance(manifest.get("model"), str) else {}
    return {**run_config(plan), **answers, "draft_vocab_size": plan.draft.get("draft_vocab_size")}


def _of_plan(plan: TrainingPlan, around: Surroundings) -> list[Problem]:
    found = []
    if not plan.offline and plan.trainer == "specforge":
        if not plan.capture_gpus:
            found.append(
                _error("train-no-capture-gpu", "no GPU for the server that gives the states", "--capture-gpus 4,5")
            )
        elif around.heads is not None and around.heads % len(plan.capture_gpus):
            text = f"{len(plan.capture_gpus)} GPUs cannot share a target of {around.heads} attention heads"
            found.append(_error("train-capture-gpus-uneven", text, "give as many --capture-gpus as divide the heads"))
        shared = sorted(set(plan.capture_gpus) & set(plan.trainer_gpus))
        if shared:
            text = f"GPUs {', '.join(map(str, shared))} are to train and to capture at once"
            found.append(_error("train-gpus-shared", text, "give --gpus and --capture-gpus that do not overlap"))
        if plan.vocabulary_map is None:
            text = "an online EAGLE-3 training needs a vocabulary map, and SpecForge makes none for it"
            found.append(_error("train-no-vocabulary-map", text, "--vocabulary-map FILE, of prepare_hidden_states.py"))
        if plan.resume_from is not None:
            text = "SpecForge does not resume a training whose capture server it starts itself"
            found.append(_error("train-cannot-resume", text, "train offline (--hidden-states), or start anew"))
    if plan.save_interval == 0 and plan.trainer == "specforge-old":
        text = "the older script divides by the save interval: it would end at its first step"
        found.append(_error("train-no-checkpoints", text, "--save-interval 1000"))
    elif plan.save_interval == 0:
        found.append(_warning("train-no-checkpoints", "a crash loses the whole run", "--save-interval 1000"))
    return found


def _of_states(plan: TrainingPlan, around: Surroundings) -> list[Problem]:
    found = []
    if plan.offline and not around.preparing and not around.states_found:
        text = f"{plan.hidden_states} holds no hidden states (rows_*/data_*.ckpt)"
        found.append(_error("train-no-states", text, "write them: --offline, or name their folder"))
    if not plan.offline and plan.trainer == "specforge-old":
        text = "the older script holds the target on the GPUs that train: the memory estimate leaves that out"
        found.append(_warning("train-target-beside", text, "--offline, where both do not fit"))
    return found


def _of_disk(plan: TrainingPlan, around: Surroundings) -> list[Problem]:
    if not around.preparing or plan.tokens is None or around.hidden is None or around.free_disk is None:
        return []
    needed = hidden_state_bytes(plan.tokens, around.hidden)
    if needed <= around.free_disk * (1 - DISK_RESERVE):
        return []
    text = f"the hidden states take {needed / 1e9:,.0f} GB, {around.free_disk / 1e9:,.0f} GB are free"
    return [
        _error("train-disk-too-small", text, "a smaller --max-length, fewer samples, another disk, or train online")
    ]


def _of_memory(plan: TrainingPlan, around: Surroundings) -> list[Problem]:
    if around.gpu_memory is None:
        return []
    needed = memory(plan.draft, plan.batch * plan.max_length, plan.ttt_length).total
    if needed <= around.gpu_memory:
        return []
    text = f"about {needed / 1e9:.0f} GB on a GPU of {around.gpu_memory / 1e9:.0f} GB"
    return [_error("train-memory-too-small", text, "a smaller --batch, --max-length or --ttt-length")]


def _of_context(plan: TrainingPlan, around: Surroundings) -> list[Problem]:
    if around.context is None or plan.max_length + CONTEXT_HEADROOM <= around.context:
        return []
    text = f"conversations of {plan.max_length} tokens on a target with a context of {around.context}"
    return [_error("train-context-too-short", text, f"--max-length {around.context - CONTEXT_HEADROOM} at most")]


def _error(name: str, message: str, remedy: str) -> Problem:
    return Problem(name=name, severity="error", message=message, remedy=remedy)


def _warning(name: str, message: str, remedy: str) -> Problem:
    return Problem(name=name, severity="warning", message=message, remedy=remedy)
