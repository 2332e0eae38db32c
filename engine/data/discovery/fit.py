"""How well a set fits what a scout looks for: words, size, licence, downloads, age, and whether it holds prompts."""

import math
import time

import msgspec

from engine.data.discovery.leads import Lead
from engine.data.discovery.scouts import Scout

WEIGHTS = {"words": 0.4, "size": 0.2, "licence": 0.15, "downloads": 0.15, "age": 0.1}
HALF_LIFE_S = 2 * 365 * 86_400.0
"""After so long without a change a set counts half for its age."""

FULL_SIZE, FULL_DOWNLOADS = 100_000, 100_000
_FREE = ("apache-2.0", "mit", "bsd", "cc-by-4.0", "cc0", "odc-by", "cdla-permissive", "unlicense", "cc-by-sa")
_BOUND = ("nc", "non-commercial", "noncommercial", "research-only", "nd")


def rated(lead: Lead, scout: Scout, now: float) -> Lead:
    """The lead with its fit of 0 to 1, and why."""
    words = matched_words(lead, scout)
    known = lead.id in scout.known
    parts = {
        "words": 1.0 if known else min(1.0, len(words) / 2),
        "size": _logarithmic(lead.rows, FULL_SIZE),
        "licence": licence_freedom(lead.listed.licence),
        "downloads": _logarithmic(lead.listed.downloads, FULL_DOWNLOADS, unknown=0.0),
        "age": 0.5
        if lead.listed.modified_at is None
        else 0.5 ** (max(0.0, now - lead.listed.modified_at) / HALF_LIFE_S),
    }
    whole = sum(WEIGHTS[name] * part for name, part in parts.items()) * _holds_prompts(lead)
    return msgspec.structs.replace(lead, score=round(whole, 3), why=_why(lead, words, known))


def matched_words(lead: Lead, scout: Scout) -> list[str]:
    """The scout's words that stand in the set's id, tags or columns."""
    columns = lead.viewed.columns if lead.viewed else ()
    text = " ".join((lead.id, *lead.listed.tags, *columns)).lower()
    return [word for word in scout.words if word.lower() in text]


def licence_freedom(licence: str | None) -> float:
    """1 where a licence lets the data be used freely, 0.1 where it forbids commerce, between where it is not known."""
    if not licence:
        return 0.4
    text = licence.lower()
    if any(bound in text.replace("_", "-").split("-") or bound in text.split() for bound in _BOUND):
        return 0.1
    return 1.0 if any(text.startswith(free) for free in _FREE) else 0.5


def _logarithmic(value: int | None, full: int, unknown: float = 0.4) -> float:
    return unknown if value is None else min(1.0, math.log10(max(1, value)) / math.log10(full))


def _holds_prompts(lead: Lead) -> float:
    if lead.listed.private:
        return 0.0
    if not lead.looked:
        return 0.7
    if lead.guess is None:
        return 0.5
    return 1.0 if lead.guess.shape and lead.guess.sure else 0.2


def _why(lead: Lead, words: list[str], known: bool) -> str:
    said = ["a known name"] if known else []
    said += [f"words: {', '.join(words[:4])}"] if words else []
    said += [f"{lead.listed.downloads:,} downloads"] if lead.listed.downloads is not None else []
    if lead.listed.modified_at is not None:
        said.append(f"changed {time.strftime('%Y-%m', time.gmtime(lead.listed.modified_at))}")
    if lead.looked and lead.viewed is None:
        said.append("the viewer shows none of it")
    elif lead.guess is not None:
        said.append(lead.guess.shape or "no prompt found in it")
    return "; ".join(said)
