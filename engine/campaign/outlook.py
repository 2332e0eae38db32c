"""The forecast against the target in lines, and the next step that is proposed. Pure."""

from collections.abc import Iterator, Sequence
from typing import Any

from engine.campaign.measured import best
from engine.campaign.specification import Specification
from state.records.campaigns import Campaign, CampaignStep


def outlook_lines(wanted: Specification, steps: Sequence[CampaignStep]) -> Iterator[str]:
    """What is reached of the goal, and what more data would give."""
    row = _best(steps)
    if row is not None:
        low, high = row["speedup"][1], row["speedup"][2]
        ends = f" ({low:.2f}–{high:.2f})" if low is not None and high is not None else ""
        yield f"reached {row['speedup'][0]:.2f}x{ends} by {row['name']}; the goal is {wanted.speedup:g}x"
    else:
        yield f"nothing is measured yet; the goal is {wanted.speedup:g}x"
    found = forecast_of(steps)
    if "refused" in found:
        yield f"no forecast: {found['refused']}; {found['remedy']}"
        return
    if found.get("source") == "file":
        yield "the points below are those of the file, not measured by this campaign"
    for one in found.get("needed", []):
        span = one.get("hours") or {}
        hours = f", {span['value']:,.1f} h of regeneration" if span.get("value") is not None else ""
        yield f"{one['goal']}: {one['verdict']}{hours}"
    for one in found.get("at", []):
        length = one["accept_length"]
        speedup = f", {one['speedup']['value']:.2f}x" if one.get("speedup") else ""
        hours = f", {one['hours']:.1f} h more" if one.get("hours") is not None else ""
        span = f"{length['value']:.2f} ({length['low']:.2f}–{length['high']:.2f})"
        yield f"{one['samples']:,.0f} samples: accept length {span}{speedup}{hours}"
    for text in found.get("cautions", []):
        yield f"mind: {text}"


def proposal(campaign: Campaign, wanted: Specification, steps: Sequence[CampaignStep]) -> tuple[str, str]:
    """The next step in words, and the command for it; the command is empty where the engine does it by itself."""
    step = next((one for one in steps if one.state != "done"), None)
    if campaign.state == "done" or step is None:
        return _after_the_end(wanted, steps)
    if campaign.state == "running":
        return (f"{step.name} runs" if step.state == "running" else f"{step.name} begins"), ""
    if campaign.state == "failed":
        return f"mend what stopped {step.name}, then go on", f"alula campaign resume {campaign.name}"
    return f"{step.name}", f"alula campaign resume {campaign.name}"


def forecast_of(steps: Sequence[CampaignStep]) -> dict[str, Any]:
    """The forecast that the last step has left; empty before."""
    return next((one.figures for one in reversed(steps) if one.kind == "forecast" and one.state == "done"), {})


def _after_the_end(wanted: Specification, steps: Sequence[CampaignStep]) -> tuple[str, str]:
    row = _best(steps)
    if row is not None and row["speedup"][0] >= wanted.speedup:
        return _reached(row, wanted.speedup), ""
    name = f"{wanted.speedup:g}x" if wanted.speedup != 1 else "break even"
    needed = next((one for one in forecast_of(steps).get("needed", []) if one["goal"] == name), None)
    if needed is None:
        return "measure drafts on three amounts of data: then more data can be foretold", "alula train forecast --help"
    if needed["samples"]["value"] is None:
        return f"not more data ({needed['verdict']}): try another draft shape or cheaper rounds", "alula check"
    return f"regenerate up to {needed['samples']['value']:,.0f} samples: {needed['verdict']}", "alula data search"


def _reached(row: dict[str, Any], goal: float) -> str:
    """Nobody is told to deploy what may as well be slower than the goal."""
    value, low, high = row["speedup"]
    disturbed = bool(row["break_even"]) and row["break_even"][0] < 1
    if not disturbed and (low is None or low >= goal):
        return f"the goal is reached: deploy {row['name']}"
    ends = f" ({low:.2f}–{high:.2f})" if low is not None and high is not None else ""
    return (
        f"not sure yet: {row['name']} gave {value:.2f}x{ends}, which does not lie wholly above {goal:g}x; "
        "measure it again on a quiet machine, with more repeats"
    )


def _best(steps: Sequence[CampaignStep]) -> dict[str, Any] | None:
    benches = [step for step in steps if step.kind == "bench" and step.figures.get("rows")]
    return best(benches[-1].figures["rows"]) if benches else None
