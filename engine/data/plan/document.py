"""`train_plan_vN.md`: what is to be trained on, why, how much of it, how long it takes and what it costs.

`document_of` is a pure function of recorded facts; what was not recorded or told is said to be unknown, never guessed.
"""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from engine.data.plan.editing import parts_of_plan
from engine.data.plan.records import Plan, PlanError
from engine.data.prepare.parts import write_whole
from engine.train_plan import next_document
from state.markdown import safe, section
from state.records.data import DataPreparation, DataSet


class Speed(msgspec.Struct, frozen=True):
    """How fast the target answers, and where that was read."""

    tokens_per_s: float
    answer_tokens: float
    """Of an answer, on average."""
    source: str


class Price(msgspec.Struct, frozen=True):
    """What the target's GPUs cost."""

    gpus: int
    per_gpu_hour: float | None = None
    currency: str = ""


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """What is known beside the plan."""

    preparation: DataPreparation | None = None
    sets: Mapping[str, DataSet] = {}
    """Hub id to what a search, or the catalogue, found out."""
    speed: Speed | None = None
    price: Price | None = None


def document_of(plan: Plan, recorded: Recorded, written_at: str) -> str:
    """The whole page."""
    sections = [
        ("What", _what(plan)),
        ("Sources", _sources(plan, recorded)),
        ("Why", _why(plan, recorded.sets)),
        ("Counts", _counts(recorded.preparation)),
        ("What is left out, and when", _rules(plan)),
        ("Times and costs", _times(plan, recorded)),
        ("Next", _next(plan, recorded.preparation)),
    ]
    body = "\n".join(section(title, lines) for title, lines in sections)
    return (
        f"# Training data of {safe(plan.name)}\n\nWritten {written_at} from the plan and the recorded state.\n\n{body}"
    )


def write_document(folder: Path, plan: Plan, recorded: Recorded) -> Path:
    """Write the next version into a folder; an older one is never written over.

    Raises:
        PlanError: It cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = next_document(folder)
        write_whole(path, document_of(plan, recorded, time.strftime("%Y-%m-%d %H:%M %Z")).encode())
    except OSError as error:
        raise PlanError(f"cannot write in {folder}: {error.strerror}", "give another folder") from error
    return path


def records_of(plan: Plan, preparation: DataPreparation | None) -> tuple[int | None, str]:
    """How many prompts are to be answered, and where that was read."""
    if preparation is not None and preparation.state == "done" and "records" in preparation.manifest:
        return int(preparation.manifest["records"]), "counted by the preparation"
    parts = parts_of_plan(plan)
    native = {one.name for one in plan.source if one.native}
    counts = [one.records for one in parts if one.name not in native]
    known = [one for one in counts if one is not None]
    if len(known) < len(counts):
        return None, "the plan takes all that its sources hold, and nothing is counted yet"
    return sum(known), "as the plan wants"


def _what(plan: Plan) -> list[str]:
    total = "all records of its sources" if plan.total is None else f"{plan.total:,} records"
    benchmarks = ", ".join(map(safe, plan.decontamination.benchmarks)) or "none is named: copies of them stay in"
    temperature = "the server's" if plan.sampling.temperature is None else f"{plan.sampling.temperature:g}"
    return [
        f"- mix: {total}, in an order of seed {plan.seed}",
        f"- target: {safe(plan.target.model) or 'not named'}; lengths in {_tokens(plan)}",
        f"- answers: at most {plan.sampling.max_tokens:,} tokens, temperature {temperature}",
        f"- benchmarks kept out: {benchmarks}",
    ]


def _tokens(plan: Plan) -> str:
    if plan.target.tokenizer is not None:
        return f"tokens of `{safe(plan.target.tokenizer)}`"
    ratio = plan.target.characters_per_token
    return f"tokens estimated at {ratio:g} characters" if ratio is not None else "no unit: no tokenizer is named"


def _sources(plan: Plan, recorded: Recorded) -> list[str]:
    shares = {one.name: one for one in recorded.preparation.shares} if recorded.preparation else {}
    lines = [
        "| source | read from | domain | licence | wanted | share | there | taken |",
        "|---|---|---|---|---:|---:|---:|---:|",
    ]
    for one, part in zip(plan.source, parts_of_plan(plan), strict=True):
        had = shares.get(one.name)
        cells = [
            safe(one.name), safe(part.read_from), safe(one.domain) + (", in tokens" if one.native else ""),
            safe(one.licence or "–"), _count(part.records) if part.records is not None else "all",
            "–" if part.share is None else f"{part.share * 100:.1f} %",
            _count(had.available if had else None), _count(had.taken if had else None),
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _why(plan: Plan, sets: Mapping[str, DataSet]) -> list[str]:
    lines = []
    for one in plan.source:
        known = sets.get(one.hub or "")
        if known is None:
            lines.append(f"- {safe(one.name)}: the operator's choice")
            continue
        told = " ".join(part for part in (known.why, known.remark) if part) or "no remark"
        access = f"; access: {known.access}" if known.access not in ("open", "unknown") else ""
        lines.append(f"- {safe(one.name)}: fit {known.score:.2f}. {safe(told)}{access}")
    return lines


def _counts(preparation: DataPreparation | None) -> list[str]:
    if preparation is None or not preparation.funnel:
        return ["Nothing is prepared yet."]
    lines = ["| step | left | left out |", "|---|---:|---|"]
    for step in preparation.funnel:
        gone = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in sorted(step.dropped.items()))
        lines.append(f"| {safe(step.name)} | {step.left:,} | {safe(gone)} |")
    if preparation.state != "done":
        lines += ["", f"The preparation is {preparation.state}: these counts are not the last."]
    return [*lines, *_kinds(preparation.manifest)]


def _kinds(manifest: Mapping[str, object]) -> Iterator[str]:
    for name in ("domains", "languages", "licences"):
        counts = manifest.get(name)
        if isinstance(counts, dict) and counts:
            yield f"\n{name.capitalize()}: " + ", ".join(f"{safe(str(key))} {value:,}" for key, value in counts.items())


def _rules(plan: Plan) -> list[str]:
    filters, twice = plan.filters, plan.duplicates
    near = f", and near-duplicates from a similarity of {twice.similarity:g} on" if twice.near else ""
    apart = plan.decontamination
    return [
        f"- length: outside {filters.min_tokens:,} to {filters.max_tokens:,} tokens",
        f"- languages: {', '.join(filters.languages) or 'any'}; code: {filters.code}",
        f"- licences: {', '.join(map(safe, filters.licences)) or 'any'}",
        f"- equal prompts: {'once' if twice.exact else 'kept'}{near}",
        f"- copies of benchmarks: from {apart.overlap * 100:.0f} % of a prompt's {apart.words}-word sequences on",
    ]


def _times(plan: Plan, recorded: Recorded) -> list[str]:
    lines = []
    one = recorded.preparation
    if one is not None and one.ended_at is not None and one.state == "done":
        lines.append(f"- preparation: {_hours(one.ended_at - one.created_at)} from its begin to its end")
    count, why = records_of(plan, one)
    if count is None:
        return [*lines, f"- regeneration: not known; {why}"]
    lines.append(f"- prompts to be answered: {count:,} ({why})")
    if recorded.speed is None:
        return [
            *lines,
            "- regeneration: not known; give --tokens-per-s and --answer-tokens, or run one: its speed is kept",
        ]
    tokens = count * recorded.speed.answer_tokens
    seconds = tokens / recorded.speed.tokens_per_s
    lines.append(
        f"- regeneration: {_hours(seconds)}: {tokens:,.0f} tokens at {recorded.speed.tokens_per_s:,.0f} tokens/s, "
        f"{recorded.speed.answer_tokens:,.0f} an answer ({safe(recorded.speed.source)})"
    )
    return [*lines, *_cost(seconds, recorded.price)]


def _cost(seconds: float, price: Price | None) -> Iterator[str]:
    if price is None:
        yield "- cost: not known; give --gpus and --price"
        return
    hours = seconds / 3600 * price.gpus
    money = "" if price.per_gpu_hour is None else f", {hours * price.per_gpu_hour:,.2f} {safe(price.currency)}".rstrip()
    yield f"- cost of the regeneration: {hours:,.1f} GPU h on {price.gpus} GPUs{money}"


def _next(plan: Plan, preparation: DataPreparation | None) -> list[str]:
    if preparation is None or preparation.state != "done":
        return ["    alula data prepare PLAN"]
    return [f"    alula regen start {safe(preparation.output_folder)}/data-*.jsonl --server URL"]


def _hours(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
