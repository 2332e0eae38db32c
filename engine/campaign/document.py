"""The document of a campaign in Markdown: what was planned, what was done, what came of it, what follows. Pure."""

from collections.abc import Iterator, Sequence

from engine.campaign.specification import Specification, specification_of
from state.markdown import safe, section
from state.records.campaigns import CampaignStep, CampaignView


def document_of(view: CampaignView, written_at: str, data_page: str = "") -> str:
    """The whole page. `data_page` is that of the plan of its data, which becomes a section of this one.

    Raises:
        CampaignError: The campaign's stored specification cannot be read.
    """
    wanted = specification_of(view.campaign)
    parts = [
        _head(view, wanted, written_at),
        section("Funnel", _funnel(view)),
        section("Measured", _measured(view)),
        section("Forecast", [f"- {safe(line)}" for line in view.outlook]),
        section(
            "Next step",
            [safe(view.proposal), *([f"\n    {view.proposed_command}"] if view.proposed_command else [])],
        ),
        section("Settings", list(_settings(wanted))),
        *([section("Data", [_one_level_down(data_page)])] if data_page else []),
        section("How each thing was made", list(_lineage(view.steps))),
    ]
    return "\n".join(parts)


def _head(view: CampaignView, wanted: Specification, written_at: str) -> str:
    cost, campaign = view.cost, view.campaign
    state = f"{campaign.state}: {safe(campaign.message)}" if campaign.message else campaign.state
    lines = [
        f"# Training plan of {safe(campaign.name)}",
        "",
        f"Written {written_at}. The campaign is {state}.",
        f"Goal: {wanted.speedup:g} times the speed of {safe(wanted.target.model)} alone.",
        f"So far: {cost.seconds / 3600:.2f} h, {cost.gpu_seconds / 3600:.2f} GPU h, {cost.tokens:,} tokens answered"
        + (f", {cost.money:,.2f} {safe(wanted.limits.currency)}".rstrip() if cost.money is not None else "")
        + ".",
        "",
    ]
    return "\n".join(lines)


def _one_level_down(page: str) -> str:
    """A page without its title, its headings one level lower."""
    lines = page.strip().splitlines()
    lines = lines[1:] if lines[:1] and lines[0].startswith("# ") else lines
    return "\n".join(f"#{line}" if line.startswith("#") else line for line in lines).strip()


def _funnel(view: CampaignView) -> list[str]:
    rows = [
        f"| {row.stage} | {'–' if row.count is None else f'{row.count:,}'} | {safe(row.note)} |" for row in view.funnel
    ]
    return ["| stage | left | |", "|---|---:|---|", *rows]


def _measured(view: CampaignView) -> list[str]:
    if not view.milestones:
        return ["Nothing yet."]
    rows = []
    for one in view.milestones:
        ends = (
            ""
            if one.speedup_low is None or one.speedup_high is None
            else f" ({one.speedup_low:.2f}–{one.speedup_high:.2f})"
        )
        speed = "–" if one.speedup is None else f"{one.speedup:.2f}x{ends}"
        length = "–" if one.accept_length is None else f"{one.accept_length:.2f}"
        rows.append(f"| {safe(one.name)} | {length} | {speed} | {safe(one.remark)} |")
    return ["| configuration | accept length | speed over the target alone | |", "|---|---:|---:|---|", *rows]


def _settings(wanted: Specification) -> Iterator[str]:
    how, bench = wanted.regenerate, wanted.bench
    prompts = wanted.data.plan or ", ".join(wanted.data.prompts)
    yield f"- prompts: {safe(prompts)}"
    sampling = (
        f"at most {how.max_tokens} tokens, temperature {'the server’s' if how.temperature is None else how.temperature}"
    )
    yield f"- answers: {sampling}; {how.held_out * 100:.0f} % held out; stops at {how.most_failed * 100:.1f} % failed"
    if wanted.train is not None:
        amounts = ", ".join(f"{one:,}" for one in wanted.train.samples) or "all"
        yield f"- trainings: {amounts} samples; options {safe(' '.join(wanted.train.arguments)) or 'none'}"
    loads = f"num steps {list(bench.num_steps)}, {list(bench.concurrency)} at once, greedy"
    yield f"- measured: {safe(bench.prompts)}, {loads}"
    limits = wanted.limits
    if limits.hours is not None or limits.gpu_hours is not None:
        yield f"- stops at {limits.hours or '–'} h or {limits.gpu_hours or '–'} GPU h"


def _lineage(steps: Sequence[CampaignStep]) -> Iterator[str]:
    """Each step with what it was made from and what it made, digests beside."""
    makers = {path: step.name for step in steps for role, path in step.outputs.items() if role != "url"}
    for step in steps:
        jobs = f", job {', '.join(map(str, step.job_ids))}" if step.job_ids else ""
        yield f"- **{safe(step.name)}** ({step.state}{jobs}){': ' + safe(step.message) if step.message else ''}"
        for role, path in step.inputs.items():
            made = f" ({makers[path]})" if makers.get(path, step.name) != step.name else ""
            yield f"  - from {safe(role)}: `{safe(path)}`{made}"
        for role, path in step.outputs.items():
            digest = f", sha256 {step.digests[role][:16]}" if role in step.digests else ""
            yield f"  - made {safe(role)}: `{safe(path)}`{digest}"
