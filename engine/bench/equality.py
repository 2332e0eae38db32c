"""Whether a speculative server gives the baseline's greedy answers, and if not, whether that is a tie or a fault.

Verification keeps the target's own choice, so greedy texts must be equal. In bfloat16 two tokens can come out equally
likely, and a batch of another shape may break the tie the other way: on a real server 8 of 16 texts differed between
two speculative settings. At the first token that differs the target is asked what it thinks of both. bfloat16 keeps 8
bits of a logit; near 32 its steps are 0.25, and below that a margin says nothing.
"""

import asyncio
from pathlib import Path
from typing import Any, Literal

import msgspec

from engine.bench.asking import Asker
from engine.bench.cells import cell_name, read_records, write_json
from engine.bench.provenance import page
from engine.bench.records import Failed, Load, Plan, Point, Provenance

TIE_MARGIN_NATS = 0.25
MOST_EXAMINED = 16
CANDIDATES = 8
_CONTEXT = 40

Verdict = Literal["tie", "fault", "unknown"]


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt whose answers differ."""

    prompt: str
    at_character: int
    of_characters: int
    baseline: str
    """What the baseline wrote there, a few characters."""
    own: str
    margin_nats: float | None = None
    """Log probability of the baseline's next token less that of ours, by the target; `None` where it cannot be had."""
    verdict: Verdict = "unknown"


class Equality(msgspec.Struct, frozen=True, kw_only=True):
    """All prompts of one point."""

    compared: int
    equal: int
    divergences: tuple[Divergence, ...] = ()
    """Those that were looked into."""
    note: str = ""


async def examine(folder: Path, plan: Plan, point: Point, asker: Asker, provenance: Provenance) -> None:
    """Compare a point's answers with the baseline's while its server is still up; the result lies in the run folder."""
    try:
        if plan.sampling.temperature != 0:
            return
        load = min(plan.loads, key=lambda one: one.concurrency or 1 << 30)
        found = await asyncio.to_thread(compare_texts, folder, plan, point.name, load)
        if found is None:
            return
        if found.divergences and provenance.api == "generate":
            found = await _with_margins(found, folder, plan, load, point, asker)
        write_json(equality_path(folder, point.name), found)
    finally:
        asker.close()


def equality_path(folder: Path, point: str) -> Path:
    """Where a point's comparison lies."""
    return folder / "points" / f"{point}.equality.json"


def read_equality(folder: Path, point: str) -> Equality | None:
    """A point's comparison, where there is one."""
    try:
        return msgspec.json.decode(equality_path(folder, point).read_bytes(), type=Equality)
    except (OSError, msgspec.DecodeError, RecursionError):
        return None


def compare_texts(folder: Path, plan: Plan, point: str, load: Load) -> Equality | None:
    """Answers of the first round at the lowest concurrency, prompt by prompt. `None` where there is nothing to compare.

    The baseline's texts are held in memory, as many as there are prompts.
    """
    baseline = {
        record.prompt: record.text
        for record in read_records(folder, cell_name(plan.baseline, load, 0))
        if record.failure is None and "#" not in record.prompt
    }
    compared, equal = 0, 0
    divergences: list[Divergence] = []
    for record in read_records(folder, cell_name(point, load, 0)):
        other = baseline.get(record.prompt)
        if other is None or record.failure is not None:
            continue
        compared += 1
        if record.text == other:
            equal += 1
        elif len(divergences) < MOST_EXAMINED:
            divergences.append(divergence(record.prompt, other, record.text))
    if not compared:
        return None
    return Equality(compared=compared, equal=equal, divergences=tuple(divergences))


def divergence(prompt: str, baseline: str, own: str) -> Divergence:
    """Where two texts part."""
    at = next(
        (place for place, (one, other) in enumerate(zip(baseline, own, strict=False)) if one != other),
        min(len(baseline), len(own)),
    )
    return Divergence(
        prompt=prompt,
        at_character=at,
        of_characters=max(len(baseline), len(own)),
        baseline=baseline[at : at + _CONTEXT],
        own=own[at : at + _CONTEXT],
    )


async def _with_margins(found: Equality, folder: Path, plan: Plan, load: Load, point: Point, asker: Asker) -> Equality:
    from engine.bench.prompts import read_prompts

    prompts = {prompt.id: prompt for prompt in await asyncio.to_thread(read_prompts, plan.prompts)}
    texts = {
        record.prompt: record.text
        for record in read_records(folder, cell_name(point.name, load, 0))
        if record.prompt in {one.prompt for one in found.divergences}
    }
    judged, note = [], ""
    for one in found.divergences:
        prompt = prompts.get(one.prompt.partition("@")[0])
        if prompt is None:
            judged.append(one)
            continue
        system = [{"role": "system", "content": prompt.system}] if prompt.system else []
        before = asker.text([*system, {"role": "user", "content": prompt.turns[0]}])
        try:
            candidates = await _candidates(asker, before + texts[one.prompt][: one.at_character])
            judged.append(judge(one, candidates))
        except Failed as error:
            judged.append(one)
            note = f"no margins: {error}"
    return msgspec.structs.replace(found, divergences=tuple(judged), note=note)


def judge(one: Divergence, candidates: list[tuple[float, str]]) -> Divergence:
    """Set margin and verdict from the target's likeliest next tokens (log probability, text)."""
    baseline = _best(candidates, one.baseline)
    own = _best(candidates, one.own)
    if baseline is None or own is None:
        return one
    margin = baseline - own
    return msgspec.structs.replace(
        one, margin_nats=margin, verdict="tie" if abs(margin) <= TIE_MARGIN_NATS else "fault"
    )


def _best(candidates: list[tuple[float, str]], text: str) -> float | None:
    """The likeliest token that the text begins with; where the text ends, none can be told."""
    fitting = [likelihood for likelihood, token in candidates if token and text.startswith(token[: len(text)])]
    return max(fitting, default=None) if text else None


async def _candidates(asker: Asker, text: str) -> list[tuple[float, str]]:
    """The target's likeliest tokens after a text (sglang 0.5.23, `return_logprob`, `top_logprobs_num`)."""
    body = {
        "text": text,
        "sampling_params": {"temperature": 0, "max_new_tokens": 1},
        "return_logprob": True,
        "top_logprobs_num": CANDIDATES,
        "return_text_in_logprobs": True,
    }
    code, answer = await page(asker.connections, "POST", "/generate", msgspec.json.encode(body))
    if code != 200:
        raise Failed("http_error", f"the server refuses log probabilities (status {code})")
    try:
        rows: Any = msgspec.json.decode(answer)["meta_info"]["output_top_logprobs"][0]
        return [(float(likelihood), str(token)) for likelihood, _, token in rows]
    except (msgspec.DecodeError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise Failed("rubbish", "log probabilities of an unknown form") from error
