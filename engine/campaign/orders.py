"""What is asked of the engine for a step: a command and its arguments, from the campaign's file and earlier outputs.
Pure."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from engine.bench.records import Load, Plan, Point, PromptSet, Sampling
from engine.bench.sweep_file import chain_arguments
from engine.campaign.specification import CampaignError, Specification
from engine.campaign.steps import AFTER, UNTRAINED, output_of, samples_of
from state.records.campaigns import CampaignStep, StepKind

ALULA = (sys.executable, "-m", "console")
REFERENCE_SERVER = (*ALULA, "reference", "serve", "--port", "{port}")
SGLANG_SERVER = ("python", "-m", "sglang.launch_server", "--port", "{port}")
SERVER_GRACE_S = 30.0
TRAIN_GRACE_S = 120.0
"""A training saves a checkpoint before it ends."""
LENGTH_OPTIONS = ("--steps", "--epochs", "--seconds", "--max-steps")


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One command of the engine."""

    kind: str
    arguments: dict[str, Any]
    work: str = ""
    """Name or folder under which the work can be found."""
    inputs: dict[str, str] = {}
    outputs: dict[str, str] = {}
    """What is known before the work has begun."""


class Around(msgspec.Struct, frozen=True, kw_only=True):
    """What an order needs to know of the machine and of earlier tries."""

    folder: Path
    """Of the campaign."""
    home: str
    """State folder."""
    port: int = 0
    """A free one."""
    model: str = ""
    """As the server that answers calls it."""
    begun: bool = False
    """Work of this step was begun before and is to be gone on with."""
    resumable: bool = False
    """A training has left a checkpoint."""
    answered: bool = False
    """The regeneration has ended, with failures."""
    data: str = ""
    """SpecForge: the file with as many samples as the step trains on."""


def order_of(wanted: Specification, step: CampaignStep, steps: tuple[CampaignStep, ...], around: Around) -> Order:
    """The command that begins a step, or goes on with it.

    Raises:
        CampaignError: An earlier step has not made what this one needs.
    """
    makers: dict[StepKind, Callable[[Specification, CampaignStep, tuple[CampaignStep, ...], Around], Order]] = {
        "bench": _bench, "data": _data, "serve": _serve, "regen": _regenerate, "export": _export, "verify": _verify,
        "release": _release, "train": _train, "forecast": _forecast,
    }  # fmt: skip
    return makers[step.kind](wanted, step, steps, around)


def server_command(wanted: Specification) -> tuple[str, ...]:
    """The target's server, with no draft."""
    target = wanted.target
    given = target.command or (REFERENCE_SERVER if target.reference else SGLANG_SERVER)
    return (*given, "--model-path", target.model)


def _bench(wanted: Specification, step: CampaignStep, steps: tuple[CampaignStep, ...], around: Around) -> Order:
    if around.begun:
        return Order(kind="bench.resume", arguments={"name": step.work}, work=step.work, inputs=step.inputs)
    drafts = dict(_drafts(wanted, steps)) if step.name == AFTER else {}
    if wanted.draft is not None:
        drafts = {"present": wanted.draft.path, **drafts}
    plan = bench_plan(wanted, f"{wanted.name}-{step.name}", drafts, faulty=step.name != AFTER)
    inputs = {"prompts": wanted.bench.prompts, **{f"draft {name}": path for name, path in drafts.items()}}
    return Order(kind="bench.start", arguments={"plan": msgspec.to_builtins(plan)}, work=plan.name, inputs=inputs)


def bench_plan(wanted: Specification, name: str, drafts: dict[str, str], *, faulty: bool) -> Plan:
    """The target alone, then each draft: the last one with every number of steps, the others with the largest."""
    bench = wanted.bench
    server = server_command(wanted)
    points = [_point(wanted, "baseline", server, None)]
    if faulty and wanted.draft is not None and wanted.draft.faulty_flag:
        steps = max(bench.num_steps)
        words = (*server, *chain_arguments("EAGLE", wanted.draft.path, steps, 1, None))
        wrong = _point(wanted, f"eagle-flag-s{steps}", words, steps)
        points.append(msgspec.structs.replace(wrong, launch_despite_errors=True))
    for label, path in drafts.items():
        last = label == list(drafts)[-1]
        for steps in bench.num_steps if last else (max(bench.num_steps),):
            words = (*server, *chain_arguments("EAGLE3", path, steps, 1, None))
            points.append(_point(wanted, f"{label}-s{steps}", words, steps))
    return Plan(
        name=name,
        kind="sweep",
        points=tuple(points),
        baseline="baseline",
        loads=tuple(Load(concurrency=number, warmup=2) for number in bench.concurrency),
        repeats=bench.repeats,
        prompts=PromptSet(path=bench.prompts, limit=bench.limit),
        sampling=Sampling(max_tokens=bench.max_tokens),
        flush_cache=True,
    )


def _point(wanted: Specification, name: str, command: Sequence[str], num_steps: int | None) -> Point:
    limit_s = wanted.target.ready_within_s
    return Point(name=name, command=tuple(command), ready_timeout_s=limit_s, num_steps=num_steps)


def _drafts(wanted: Specification, steps: tuple[CampaignStep, ...]) -> list[tuple[str, str]]:
    """Trained drafts, the one of most samples last."""
    done = [one for one in steps if one.kind == "train" and one.state == "done" and "checkpoint" in one.outputs]
    return [(one.name.removeprefix("train-"), one.outputs["checkpoint"]) for one in done]


def _data(wanted: Specification, step: CampaignStep, steps: tuple[CampaignStep, ...], around: Around) -> Order:
    output = str(around.folder / "prompts")
    arguments = {"plan_path": wanted.data.plan, "output_folder": output, "workers": wanted.data.workers}
    return Order(kind="data.prepare", arguments=arguments, work=output, inputs={"plan": wanted.data.plan})


def _serve(wanted: Specification, step: CampaignStep, steps: tuple[CampaignStep, ...], around: Around) -> Order:
    url = f"http://127.0.0.1:{around.port}"
    command = [word.replace("{port}", str(around.port)) for word in server_command(wanted)]
    schedule = {
        "ports": [around.port],
        "gpus": wanted.target.gpus,
        "ready_url": f"{url}/health",
        "ready_within_s": wanted.target.ready_within_s,
    }
    return Order(
        kind="jobs.launch",
        arguments=_job(wanted, step, "serve", command, SERVER_GRACE_S, schedule),
        inputs={"target": wanted.target.model},
        outputs={"url": url},
    )


def _regenerate(wanted: Specification, step: CampaignStep, steps: tuple[CampaignStep, ...], around: Around) -> Order:
    if around.begun:
        kind = "regen.retry" if around.answered else "regen.resume"
        return Order(kind=kind, arguments={"name": step.work}, work=step.work, inputs=step.inputs)
    how = wanted.regenerate
    prompts = output_of(steps, "data", "prompts")
    inputs = [prompts] if prompts else list(wanted.data.prompts)
    sampling: dict[str, Any] = {"max_tokens": how.max_tokens}
    if how.temperature is not None:
        sampling["temperature"] = how.temperature
    name = f"{wanted.name}-{step.name}"
    arguments = {
        "inputs": inputs,
        "server_url": server_url(wanted, steps),
        "model": around.model,
        "name": name,
        "sampling": sampling,
        "concurrency": how.concurrency,
        "limit": how.limit,
    }
    return Order(
        kind="regen.start",
        arguments=arguments,
        work=name,
        inputs={f"prompts {number}": path for number, path in enumerate(inputs, 1)},
    )


def server_url(wanted: Specification, steps: tuple[CampaignStep, ...]) -> str:
    """Who answers the prompts.

    Raises:
        CampaignError: Nobody was started.
    """
    url = wanted.regenerate.server or output_of(steps, "serve", "url")
    if not url:
        raise CampaignError("no server answers the prompts", "give [regenerate] server")
    return url.rstrip("/")


def _export(wanted: Specification, step: CampaignStep, steps: tuple[CampaignStep, ...], around: Around) -> Order:
    run = _made(steps, "regen", "run")
    output = around.folder / "train.jsonl"
    words = [*ALULA, "regen", "export", run, "--output", str(output), "--held-out", str(wanted.regenerate.held_out)]
    outputs = {"train": str(output)}
    if wanted.regenerate.held_out:
        outputs["held_out"] = str(output.with_name("train.held-out.jsonl"))
    arguments = _job(wanted, step, "regen", [*words, "--json"], home=around.home)
    return Order(kind="jobs.launch", arguments=arguments, inputs={"run": run}, outputs=outputs)


def _verify(wanted: Specification, step: CampaignStep, steps: tuple[CampaignStep, ...], around: Around) -> Order:
    run, train = _made(steps, "regen", "run"), _made(steps, "export", "train")
    arguments = _job(wanted, step, "regen", [*ALULA, "regen", "verify", run, train], home=around.home)
    return Order(kind="jobs.launch", arguments=arguments, inputs={"run": run, "train": train})


def _release(wanted: Specification, step: CampaignStep, steps: tuple[CampaignStep, ...], around: Around) -> Order:
    serve = next(one for one in steps if one.kind == "serve")
    return Order(
        kind="jobs.stop", arguments={"job_id": serve.job_ids[-1]}, inputs={"url": serve.outputs.get("url", "")}
    )


def _train(wanted: Specification, step: CampaignStep, steps: tuple[CampaignStep, ...], around: Around) -> Order:
    assert wanted.train is not None
    data, held_out = _made(steps, "export", "train"), output_of(steps, "export", "held_out")
    output = around.folder / step.name
    inputs = {"train": data, "target": wanted.target.model} | ({"held_out": held_out} if held_out else {})
    if wanted.target.reference:
        words = _reference_training(wanted, step, data, held_out, output, around)
        schedule = {"gpus": wanted.train.gpus}
        arguments = _job(wanted, step, "train", words, TRAIN_GRACE_S, schedule, home=around.home)
        return Order(kind="jobs.launch", arguments=arguments, work=str(output), inputs=inputs)
    name = f"{wanted.name}-{step.name}"
    words = [*ALULA, "train", "start", "--target", wanted.target.model, "--data", around.data or data, "--name", name]
    words += [*wanted.train.arguments, "--wait"] + (["--resume"] if around.resumable else [])
    arguments = _job(wanted, step, "train", words, TRAIN_GRACE_S, home=around.home)
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


def _forecast(wanted: Specification, step: CampaignStep, steps: tuple[CampaignStep, ...], around: Around) -> Order:
    words = [*ALULA, "campaign", "forecast", wanted.name]
    output = str(around.folder / "forecast.json")
    arguments = _job(wanted, step, "train", words, home=around.home)
    inputs = {f"bench {one.name}": one.work for one in steps if one.kind == "bench"}
    return Order(kind="jobs.launch", arguments=arguments, inputs=inputs, outputs={"forecast": output})


def _made(steps: tuple[CampaignStep, ...], kind: StepKind, role: str) -> str:
    found = output_of(steps, kind, role)
    if not found:
        raise CampaignError(f"no earlier step has made what this one needs ({role})", "see: alula campaign status")
    return found


def _job(
    wanted: Specification,
    step: CampaignStep,
    kind: str,
    argv: Sequence[str],
    grace_s: float = 10.0,
    schedule: dict[str, Any] | None = None,
    *,
    home: str = "",
) -> dict[str, Any]:
    return {
        "argv": list(argv),
        "name": f"{wanted.name}: {step.name}",
        "kind": kind,
        "grace_s": grace_s,
        "schedule": schedule or {},
        "environment": {"ALULA_HOME": home} if home else {},
    }
