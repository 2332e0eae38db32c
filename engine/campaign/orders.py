"""What is asked of the engine for a step: a command and its arguments, from the campaign's file and earlier outputs.
Pure."""

from collections.abc import Callable
from typing import Any

from engine.campaign.measuring import measuring, server_command
from engine.campaign.order import ALULA, Around, Order, job, made
from engine.campaign.specification import CampaignError, Specification
from engine.campaign.steps import output_of
from engine.campaign.training import training
from state.records.campaigns import CampaignStep, StepKind

SERVER_GRACE_S = 30.0


def order_of(wanted: Specification, step: CampaignStep, steps: tuple[CampaignStep, ...], around: Around) -> Order:
    """The command that begins a step, or goes on with it.

    Raises:
        CampaignError: An earlier step has not made what this one needs.
    """
    makers: dict[StepKind, Callable[[Specification, CampaignStep, tuple[CampaignStep, ...], Around], Order]] = {
        "bench": measuring, "data": _data, "serve": _serve, "regen": _regenerate, "export": _export, "verify": _verify,
        "release": _release, "train": training, "forecast": _forecast,
    }  # fmt: skip
    return makers[step.kind](wanted, step, steps, around)


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
        arguments=job(wanted, step, "serve", command, SERVER_GRACE_S, schedule),
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
    run = made(steps, "regen", "run")
    output = around.folder / "train.jsonl"
    words = [*ALULA, "regen", "export", run, "--output", str(output), "--held-out", str(wanted.regenerate.held_out)]
    outputs = {"train": str(output)}
    if wanted.regenerate.held_out:
        outputs["held_out"] = str(output.with_name("train.held-out.jsonl"))
    arguments = job(wanted, step, "regen", [*words, "--json"], home=around.home)
    return Order(kind="jobs.launch", arguments=arguments, inputs={"run": run}, outputs=outputs)


def _verify(wanted: Specification, step: CampaignStep, steps: tuple[CampaignStep, ...], around: Around) -> Order:
    run, train = made(steps, "regen", "run"), made(steps, "export", "train")
    arguments = job(wanted, step, "regen", [*ALULA, "regen", "verify", run, train], home=around.home)
    return Order(kind="jobs.launch", arguments=arguments, inputs={"run": run, "train": train})


def _release(wanted: Specification, step: CampaignStep, steps: tuple[CampaignStep, ...], around: Around) -> Order:
    serve = next(one for one in steps if one.kind == "serve")
    return Order(
        kind="jobs.stop", arguments={"job_id": serve.job_ids[-1]}, inputs={"url": serve.outputs.get("url", "")}
    )


def _forecast(wanted: Specification, step: CampaignStep, steps: tuple[CampaignStep, ...], around: Around) -> Order:
    words = [*ALULA, "campaign", "forecast", wanted.name]
    output = str(around.folder / "forecast.json")
    arguments = job(wanted, step, "train", words, home=around.home)
    inputs = {f"bench {one.name}": one.work for one in steps if one.kind == "bench"}
    return Order(kind="jobs.launch", arguments=arguments, inputs=inputs, outputs={"forecast": output})
