"""Answers that look wrong are seen, ordinary ones are not, and a source with too many pauses the run."""

import asyncio
import random
from pathlib import Path
from typing import get_args

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as some

from engine.regen.quality import LEAST_JUDGED, SourceQuality, flaws_of, lower_bound, too_many
from engine.regen.records import Answer, FailureKind, FlawKind, Message, Sample
from engine.regen.remedies import FAILURE_REMEDIES, FLAW_REMEDIES
from engine.regen.steering import PAUSE_AT, ServerEntry, Steering, write_steering
from engine.regen.store import Store
from tests.regen.conftest import ScriptedServer, make_run
from tests.regen.test_faults import completes, work

ASKED = "Please explain at some length how a binary search works and when it can go wrong."
PROSE = (
    "A binary search halves a sorted list again and again. It looks at the middle, and goes on in the half where the "
    "wanted value must lie. Mistakes come from the ends: an interval that is open on one side and closed on the other "
    "is easily mixed up, and the sum of two large indices can overflow in languages with fixed integers. A list that "
    "is not sorted gives no error, only a wrong answer, which is the worst of all outcomes in practice. Each step "
    "costs one comparison, so a million entries need about twenty; a linear search would need half a million."
)


def flaws(text: str, asked: str = ASKED, finish: str = "stop") -> tuple[FlawKind, ...]:
    answer = Answer(
        number=1, assistants=(Message("assistant", text),), finish_reasons=(finish,), prompt_tokens=1,
        completion_tokens=1, seconds=1.0,
    )  # fmt: skip
    return flaws_of(Sample("one", (asked,)), answer)


FLAWED: dict[str, tuple[str, str]] = {
    "a loop of a word": ("the " * 900, "repetition"),
    "a loop at the end": (PROSE + " So it goes on, and on, and again." * 100, "repetition"),
    "a refusal": ("I'm sorry, but I can't assist with that request.", "refusal"),
    "a refusal without sorry": ("I cannot help with this.", "refusal"),
    "a Chinese refusal": ("抱歉,我无法回答这个问题。", "refusal"),
    "another language": ("二分查找是一种在有序数组中查找某一特定元素的搜索算法。" * 3, "other_language"),
    "an echo": (ASKED, "echo"),
}  # fmt: skip


@pytest.mark.parametrize("case", FLAWED)
def test_a_flaw_is_seen(case: str) -> None:
    text, kind = FLAWED[case]
    assert flaws(text) == (kind,)


def test_a_cut_answer_is_seen() -> None:
    assert flaws(PROSE, finish="length") == ("cut_by_length",)


ORDINARY = {
    "prose": (PROSE, ASKED),
    "code": ("\n".join(f"    if items[{n}] == wanted: return {n * 7}" for n in range(60)), ASKED),
    "a table": ("\n".join(f"| {n} | {n * n} | {random.Random(n).random():.6f} |" for n in range(150)), ASKED),
    "a translation": ("二分查找", "Translate «binary search» into Chinese, please, and nothing more than that."),
    "sorry in a story": ("Sorry was all he said. " + PROSE, ASKED),
    "short": ("42", "What is six times seven?"),
    "Chinese for Chinese": ("二分查找是一种在有序数组中查找某一特定元素的搜索算法" * 2, "请解释二分查找的原理" * 6),
}  # fmt: skip


@pytest.mark.parametrize("case", ORDINARY)
def test_an_ordinary_answer_has_none(case: str) -> None:
    text, asked = ORDINARY[case]
    assert flaws(text, asked) == ()


@given(some.text(), some.text())
def test_any_text_can_be_judged(text: str, asked: str) -> None:
    flaws(text, asked)


def test_shares_are_judged_only_when_they_are_sure() -> None:
    few = SourceQuality("a", LEAST_JUDGED - 1, {"refusal": LEAST_JUDGED - 1})
    assert too_many(few, PAUSE_AT) is None
    at_the_limit = SourceQuality("a", 1000, {"refusal": 310})
    assert too_many(at_the_limit, PAUSE_AT) is None
    above = SourceQuality("a", 1000, {"refusal": 400})
    assert "40 % of 1000 answers to a have the flaw refusal" in (too_many(above, PAUSE_AT) or "")
    assert too_many(above, {**PAUSE_AT, "refusal": 1.0}) is None
    assert 0 <= lower_bound(0, 10) < lower_bound(5, 10) < 0.5


async def slow_refusal(request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(0.01)
    return await completes("I'm sorry, but I can't assist with that.")(request)


async def test_a_source_of_refusals_pauses_the_run_and_a_resume_goes_on(tmp_path: Path, server: ScriptedServer) -> None:
    prompts = [f"question {number}" for number in range(2 * LEAST_JUDGED)]
    server.always = dict.fromkeys(prompts, slow_refusal)
    folder, plan = make_run(tmp_path, server.url, prompts)
    run = await work(folder, plan)
    assert "have the flaw refusal (limit 30 %)" in (run.pause_reason or "")
    assert LEAST_JUDGED <= run.progress.done < len(prompts)
    write_steering(folder, Steering(servers=(ServerEntry(server.url),), concurrency=4, pause_at={"refusal": 1.0}))
    run = await work(folder, plan)
    assert (run.pause_reason, run.progress.done) == (None, len(prompts))
    store = Store(folder, read_only=True)
    assert sum(kinds["refusal"] for kinds in store.flaws().values()) == len(prompts)
    store.close()


def test_every_kind_has_a_remedy() -> None:
    assert set(FAILURE_REMEDIES) == set(get_args(FailureKind))
    assert set(FLAW_REMEDIES) == set(PAUSE_AT) == set(get_args(FlawKind))
