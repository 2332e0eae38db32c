"""What is measured of a campaign: which configurations, under which loads. Pure."""

from collections.abc import Sequence

import msgspec

from engine.bench.records import Load, Plan, Point, PromptSet, Sampling
from engine.bench.sweep_file import chain_arguments
from engine.campaign.order import ALULA, Around, Order
from engine.campaign.specification import Specification
from engine.campaign.steps import AFTER
from state.records.campaigns import CampaignStep

REFERENCE_SERVER = (*ALULA, "reference", "serve", "--port", "{port}")
SGLANG_SERVER = ("python", "-m", "sglang.launch_server", "--port", "{port}")


def measuring(wanted: Specification, step: CampaignStep, steps: tuple[CampaignStep, ...], around: Around) -> Order:
    """Measure the target alone, the present draft, and after the trainings every trained one."""
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


def server_command(wanted: Specification) -> tuple[str, ...]:
    """The target's server, with no draft."""
    target = wanted.target
    given = target.command or (REFERENCE_SERVER if target.reference else SGLANG_SERVER)
    return (*given, "--model-path", target.model)
