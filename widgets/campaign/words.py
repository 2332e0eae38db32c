"""A campaign's figures in a few words."""

from pathlib import Path

from state.outside_text import plain_line
from state.records.campaigns import CampaignStep, CampaignView
from widgets import figures


def done_words(view: CampaignView) -> str:
    """Steps done, of all."""
    return f"{sum(step.state == 'done' for step in view.steps)}/{len(view.steps)}"


def cost_words(view: CampaignView) -> str:
    """Time, GPU time, tokens, money."""
    cost, limits = view.cost, view.campaign.specification.get("limits", {})
    parts = [figures.duration(cost.seconds), f"{figures.count(cost.tokens)} tokens answered"]
    if cost.gpu_seconds:
        parts.append(f"{cost.gpu_seconds / 3600:.1f} GPU h")
    if cost.money is not None:
        parts.append(f"{cost.money:,.2f} {plain_line(str(limits.get('currency', '')), 8)}".strip())
    return ", ".join(parts)


def came_to(step: CampaignStep) -> str:
    """What a step measured or made; why it stands still, where it does."""
    try:
        return plain_line(step.message or _measured(step), 200)
    except (LookupError, TypeError, ValueError):  # figures are plain JSON, which another release may have written
        return "its figures cannot be read"


def _measured(step: CampaignStep) -> str:
    found = step.figures
    match step.kind:
        case "data" if found:
            return f"{found['kept']:,} of {found['read']:,} records"
        case "regen" if found:
            speed = f" at {found['tokens_per_s']:.0f} tokens/s" if found.get("tokens_per_s") else ""
            return f"{found['done']:,} answered, {found['failed']:,} failed, {found['tokens']:,} tokens{speed}"
        case "export" if found:
            return f"{found['train']:,} to train on, {found.get('held_out', 0):,} held out"
        case "train" if found:
            length = f", accept length {found['accept_length']:.2f} held out" if found.get("accept_length") else ""
            return f"{found['steps']:,} steps{length}"
        case "bench" if found.get("rows"):
            return f"{len(found['rows'])} configurations"
        case "forecast" if found:
            return str(found.get("refused") or f"{len(found['points'])} points, {found['law']}")
        case "serve" if step.state == "done":
            return step.outputs.get("url", "")
        case _:
            return "" if step.state != "done" else next((Path(path).name for path in step.outputs.values()), "")
