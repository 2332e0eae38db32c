"""A training as it would be started: plan, estimates, checks, commands."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from engine.train.checkpoints import find_checkpoints
from engine.train.specforge.checking import recipe_findings
from engine.train.specforge.configuration import command, preparation, run_config
from engine.train.specforge.estimates import MemoryEstimate, hidden_state_bytes, memory
from engine.train.specforge.inputs import draft_of, manifest_beside, sample_count, token_count
from engine.train.specforge.plan import CannotPlan, TrainingPlan
from engine.train.specforge.preparing import (
    chat_template,
    differences,
    environment_of,
    surroundings,
    target_config,
    trainer_of,
)
from engine.train.specforge.problems import Problem, Surroundings, problems
from engine.train.store import JOBS, read_plan, training_folder
from state.folder import StateFolder

MOST_GPUS = 1024
MAP_FILE = Path("vocab_mapping") / "vocab_mapping.pt"


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator sees before a training starts."""

    plan: TrainingPlan
    problems: tuple[Problem, ...]
    around: Surroundings
    memory: MemoryEstimate
    preparation: tuple[str, ...]
    """Command that writes the hidden states first; empty where that is not to be done."""
    command: tuple[str, ...]

    @property
    def state_bytes(self) -> int | None:
        """Disk for all hidden states."""
        known = self.plan.tokens is not None and self.around.hidden is not None
        return hidden_state_bytes(self.plan.tokens or 0, self.around.hidden or 0) if known else None

    def value(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "plan": msgspec.to_builtins(self.plan, enc_hook=str),
            "config": run_config(self.plan),
            "command": self.command,
            "preparation": self.preparation,
            "hidden_state_bytes": self.state_bytes,
            "gpu_memory": msgspec.to_builtins(self.memory) | {"total": self.memory.total},
            "free_disk": self.around.free_disk,
            "problems": msgspec.to_builtins(self.problems),
        }

    def lines(self) -> list[str]:
        """For people."""
        plan, memory = self.plan, self.memory
        steps = f"{plan.total_steps:,} steps" if plan.total_steps else "steps not known"
        mode = "offline" if plan.offline else "online"
        found = [
            f"{plan.name}: {plan.samples:,} conversations, {steps}, {mode}, {plan.release}",
            f"GPU memory  about {memory.total / 1e9:.1f} GB: draft and optimizer {memory.draft / 1e9:.1f}, target's "
            f"tables {memory.frozen / 1e9:.1f}, teacher {memory.teacher / 1e9:.1f}, depths {memory.unrolled / 1e9:.1f}",
        ]
        if self.state_bytes is not None and plan.offline:
            free = f", {self.around.free_disk / 1e9:,.0f} GB free" if self.around.free_disk is not None else ""
            found.append(f"hidden states  at most {self.state_bytes / 1e9:,.1f} GB{free}")
        if self.preparation:
            found.append(f"first  {' '.join(self.preparation)}")
        found.append(f"then   {' '.join(self.command)}")
        return found + [f"{one.severity}: {one.name}: {one.message}; {one.remedy}" for one in self.problems]


def reviewed(state: StateFolder, options: Mapping[str, Any], gpu_memory: int | None) -> Review:
    """Plan a training and look for what stands against it. Writes nothing. Raises `CannotPlan`."""
    config = target_config(options["target"])
    manifest = manifest_beside(options["data"])
    plan, preparing = _plan(state, options, config, manifest)
    around = surroundings(plan, config, gpu_memory, preparing, _differences(plan))
    program, python = environment_of(plan.checkout)
    heads = config.get("num_attention_heads")
    return Review(
        plan=plan,
        problems=(*problems(plan, around), *recipe_findings(plan, manifest)),
        around=around,
        memory=memory(plan.draft, plan.batch * plan.max_length, plan.ttt_length),
        preparation=tuple(preparation(plan, preparing, python, heads)) if preparing else (),
        command=tuple(command(plan, program or "specforge", python)),
    )


def job_requests(review: Review) -> list[dict[str, Any]]:
    """Arguments of `jobs.launch`: the preparation, if any, then the training."""
    plan = review.plan
    schedule = {"gpu_choice": [*plan.trainer_gpus, *plan.capture_gpus]}
    working = str(plan.checkout or plan.folder)
    shared = {"kind": "train", "working_dir": working, "grace_s": 60.0}
    found = []
    if review.preparation:
        first = {"argv": review.preparation, "name": f"{plan.name}: hidden states", "schedule": dict(schedule)}
        found.append({**shared, **first, "run_folder": str(plan.folder / "preparation")})
    last = {"argv": review.command, "name": plan.name, "schedule": dict(schedule)}
    return [*found, {**shared, **last, "run_folder": str(plan.folder / JOBS)}]


def _plan(
    state: StateFolder, options: Mapping[str, Any], config: Mapping[str, Any], manifest: Mapping[str, Any]
) -> tuple[TrainingPlan, Path | None]:
    data: Path = options["data"].absolute()
    name = options["name"] or data.stem
    folder = training_folder(state, name)
    states = options["hidden_states"]
    if options["offline"] and states is None:
        states = folder / "hidden-states"
    states = states.absolute() if states is not None else None
    checkout = options["checkout"].expanduser().absolute() if options["checkout"] else None
    if checkout is not None and not checkout.is_dir():
        raise CannotPlan(f"--specforge {checkout}: there is no such folder", "git clone SpecForge, and name its folder")
    if not math.isfinite(options["learning_rate"]):
        raise CannotPlan(f"a learning rate of {options['learning_rate']}", "as --learning-rate 1e-4")
    trainer_gpus = _indices(options["gpus"], "--gpus")
    if not trainer_gpus:
        raise CannotPlan("--gpus names no GPU to train on", "as --gpus 0,1")
    samples = sample_count(data)
    mapped = options["vocabulary_map"]
    plan = TrainingPlan(
        name=name,
        folder=folder,
        trainer=trainer_of(checkout),
        checkout=checkout,
        target=_place(options["target"]),
        draft=draft_of(options["target"], options["draft_config"], options["draft_vocab_size"]),
        data=data,
        hidden_states=states,
        vocabulary_map=mapped.absolute() if mapped else _map_of(states, options["offline"]),
        control=_fresh_control(folder),
        samples=samples,
        tokens=token_count(manifest, samples, options["max_length"]),
        chat_template=options["chat_template"] or chat_template(config),
        trainer_gpus=trainer_gpus,
        capture_gpus=_indices(options["capture_gpus"], "--capture-gpus"),
        **{
            key: options[key]
            for key in (
                *("max_length", "epochs", "max_steps", "batch", "accumulation", "learning_rate"),
                *("ttt_length", "save_interval"),
            )
        },
    )
    whole = _resumed(plan, options["resume"])
    if whole.resume_from is not None:
        # Its states are there; to write them again would touch the vocabulary map, and SpecForge compares its time.
        return whole, None
    return whole, states if options["offline"] else None


def _differences(plan: TrainingPlan) -> tuple[str, ...]:
    if plan.resume_from is None:
        return ()
    try:
        return differences(read_plan(plan.folder), plan)
    except CannotPlan:
        return ()


def _fresh_control(folder: Path) -> str:
    names = ("control", *(f"control-{number}" for number in range(2, 1000)))
    return next(name for name in names if not (folder / name).exists())


def _map_of(states: Path | None, preparing: bool) -> Path | None:
    """The one that is written with the states; where there is none, SpecForge counts it from them itself."""
    if states is None or not (preparing or (states / MAP_FILE).is_file()):
        return None
    return states / MAP_FILE


def _place(target: str) -> str:
    """A folder from / on, since jobs run elsewhere; a repository id as it is."""
    return str(Path(target).absolute()) if Path(target).is_dir() else target


def _resumed(plan: TrainingPlan, resume: bool) -> TrainingPlan:
    """From its newest checkpoint; a training that has some is not started anew over them."""
    found = find_checkpoints(plan.output)
    if resume and not found:
        raise CannotPlan(f"{plan.name} has no checkpoint to go on from", "start it without --resume")
    if found and not resume:
        raise CannotPlan(f"{plan.name} has checkpoints up to step {found[-1].step}", "--resume, or another --name")
    return msgspec.structs.replace(plan, resume_from=found[-1].path) if found else plan


def _indices(text: str, option: str) -> tuple[int, ...]:
    try:
        found = tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise CannotPlan(f"{option} {text[:60]}: not GPU indices", f"as {option} 0,1") from error
    if len(set(found)) < len(found) or any(not 0 <= one < MOST_GPUS for one in found):
        raise CannotPlan(f"{option} {text[:60]}: an index twice, or none that a GPU has", f"as {option} 0,1")
    return found
