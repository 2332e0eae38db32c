"""Does an answer look like one? Pure functions of the prompt and the text; each is cheap enough for every answer."""

import re
import string
import zlib
from collections.abc import Sequence

import msgspec

from engine.regen.records import Answer, FlawKind, Sample

TAIL = 4000
LEAST_FOR_REPETITION = 600
PROBE, LEAST_RECURRING = 10, 3
"""A text that loops holds so many of its characters at least so often."""
LOOP_RATIO = 0.12
"""Text that zlib shrinks below this share of its size says the same over and over; prose gives 0.4, code 0.2."""
LEAST_LETTERS = 40
LEAST_JUDGED = 200
"""Answers of a source before its shares are judged."""
_SCRIPTS = {
    "Latin": re.compile(r"[A-Za-zÀ-ɏ]"),
    "Chinese or Japanese": re.compile(r"[぀-ヿ㐀-鿿]"),
    "Korean": re.compile(r"[가-힯]"),
    "Cyrillic": re.compile(r"[Ѐ-ӿ]"),
    "Arabic": re.compile(r"[؀-ۿ]"),
    "Devanagari": re.compile(r"[ऀ-ॿ]"),
}
_ASCII_LETTERS = string.ascii_letters.encode()
_REFUSAL = re.compile(
    r"\s*(i['’]?m sorry|i am sorry|sorry|i apologi[sz]e|unfortunately)?[,.]?\s*(but\s+)?"
    r"(as an ai( language model| assistant)?,?\s*)?"
    r"i\s*(['’]?m (unable|not able)|am (unable|not able)|can['’]?t|cannot|won['’]?t)"
    r"\s*(to\s+)?(help|assist|provide|comply|fulfil|fulfill|answer|create|generate|discuss|do that|engage|write)"
    r"|\s*(抱歉|对不起|很抱歉)[,,]?我(无法|不能)",
    re.IGNORECASE,
)


def flaws_of(sample: Sample, answer: Answer) -> tuple[FlawKind, ...]:
    """What looks wrong with an answer."""
    found: list[FlawKind] = []
    if "length" in answer.finish_reasons:
        found.append("cut_by_length")
    for user, message in zip(sample.users, answer.assistants, strict=False):
        text = message.content
        if is_repetitive(text) or is_repetitive(message.reasoning_content or ""):
            found.append("repetition")
        if _REFUSAL.match(text):
            found.append("refusal")
        if is_other_language(user, text):
            found.append("other_language")
        if len(text) >= 20 and text.strip() == user.strip():
            found.append("echo")
    return tuple(dict.fromkeys(found))


def is_repetitive(text: str) -> bool:
    """Whether the end of a text repeats itself."""
    if len(text) < LEAST_FOR_REPETITION:
        return False
    tail = text[-TAIL:]
    probes = (tail[place : place + PROBE] for place in (len(tail) - PROBE, len(tail) // 2, len(tail) // 4))
    if all(tail.count(probe) < LEAST_RECURRING for probe in probes):  # cheap, and true of nearly all text
        return False
    plain = tail.encode(errors="replace")
    return len(zlib.compress(plain, 1)) < LOOP_RATIO * len(plain)


def is_other_language(asked: str, answered: str) -> bool:
    """Whether the answer is written in another script than the question."""
    question, answer = _letters(asked[:2000]), _letters(answered[:2000])
    letters, replied = sum(question.values()), sum(answer.values())
    if letters < LEAST_LETTERS or replied < LEAST_LETTERS:
        return False
    script, count = max(question.items(), key=lambda item: item[1])
    return count > 0.8 * letters and answer[script] < 0.2 * replied


def _letters(text: str) -> dict[str, int]:
    if text.isascii():
        plain = text.encode()
        return dict.fromkeys(_SCRIPTS, 0) | {"Latin": len(plain) - len(plain.translate(None, _ASCII_LETTERS))}
    return {name: len(pattern.findall(text)) for name, pattern in _SCRIPTS.items()}


class SourceQuality(msgspec.Struct):
    """What one source's answers looked like since this worker began."""

    name: str
    answers: int = 0
    flaws: dict[FlawKind, int] = {}

    def add(self, flaws: Sequence[FlawKind]) -> None:
        """Count one answer."""
        self.answers += 1
        for kind in flaws:
            self.flaws[kind] = self.flaws.get(kind, 0) + 1


def too_many(source: SourceQuality, pause_at: dict[FlawKind, float]) -> str | None:
    """Why the run should pause: a share that is surely above its threshold (95 % by Wilson's interval)."""
    if source.answers < LEAST_JUDGED:
        return None
    for kind, count in source.flaws.items():
        most = pause_at.get(kind)
        if most is not None and lower_bound(count, source.answers) > most:
            share = count / source.answers
            found = f"{share * 100:.0f} % of {source.answers} answers to {source.name} have the flaw {kind}"
            return f"{found} (limit {most * 100:.0f} %)"
    return None


def lower_bound(count: int, of: int) -> float:
    """Lower end of Wilson's 95 % interval of a share."""
    z = 1.96
    share = count / of
    middle = share + z * z / (2 * of)
    spread = z * ((share * (1 - share) + z * z / (4 * of)) / of) ** 0.5
    return float((middle - spread) / (1 + z * z / of))
