"""Which sets are mirrors or derivatives of others: only one of them is worth having."""

import re
from collections.abc import Sequence

import xxhash

from engine.data.discovery.leads import Lead
from engine.data.records import Prompt
from engine.data.shapes.convert import preview

SAME_ROWS = 0.5
"""Share of the fewer first prompts that two sets have in common, from which on one was made from the other."""

_EDITIONS = re.compile(
    r"[-_. ]?(?:dedup\w*|filtered|clean\w*|formatted|sharegpt|chatml|openai|messages|alpaca|parquet|jsonl?|mirror|copy|"
    r"fork|backup|train|full|sample[ds]?|subset|small|mini|tiny|v?\d+(?:\.\d+)*k?|en|english|hf)(?=[-_. ]|$)",
)


def merged(leads: Sequence[Lead], preferred: frozenset[str]) -> list[tuple[Lead, tuple[str, ...]]]:
    """Each lead that is worth having, with the ids of its copies; the best one first.

    Args:
        leads: Rated.
        preferred: Ids that are known to be the originals.
    """
    ranked = sorted(leads, key=lambda lead: (lead.id not in preferred, -(lead.listed.downloads or 0), lead.id))
    prints = {lead.id: first_prompts(lead) for lead in ranked}
    chosen: list[Lead] = []
    copies: dict[str, list[str]] = {}
    for lead in ranked:
        original = next((one for one in chosen if is_copy(lead, one, prints[lead.id], prints[one.id])), None)
        if original is None or lead.id in preferred:
            chosen.append(lead)
        else:
            copies.setdefault(original.id, []).append(lead.id)
    chosen.sort(key=lambda lead: (-lead.score, lead.id))
    return [(lead, tuple(sorted(copies.get(lead.id, ())))) for lead in chosen]


def is_copy(lead: Lead, original: Lead, prints: frozenset[str], originals: frozenset[str]) -> bool:
    """Whether a set is a mirror or derivative of another: by its first prompts, else by name and what else is known."""
    if prints and originals:
        return len(prints & originals) >= max(2, SAME_ROWS * min(len(prints), len(originals)))
    if plain_name(lead.id) != plain_name(original.id):
        return False
    if lead.viewed and original.viewed:
        return lead.viewed.columns == original.viewed.columns or lead.rows == original.rows
    return True


def plain_name(name: str) -> str:
    """A set's name without its owner and the words that editions are told apart by."""
    return re.sub(r"[-_. ]+", "-", _EDITIONS.sub("", name.rpartition("/")[2].lower())).strip("-") or name.lower()


def first_prompts(lead: Lead) -> frozenset[str]:
    """Marks of the prompts in the first rows that the viewer showed."""
    if lead.viewed is None or lead.guess is None or lead.guess.shape in (None, "native"):
        return frozenset()
    found = (preview(row, lead.guess.mapping) for row in lead.viewed.first_rows)
    texts = (" ".join(one.messages[-1].content.lower().split()) for one in found if isinstance(one, Prompt))
    return frozenset(xxhash.xxh3_64_hexdigest(text.encode()) for text in texts)
