"""The last round: what all scouts found becomes one table, without mirrors, with the same facts for each set."""

from collections.abc import Sequence

import msgspec

from engine.data.catalogue.catalogue import catalogue
from engine.data.discovery.copies import merged
from engine.data.discovery.leads import Lead
from engine.data.discovery.rounds import GOOD, ScoutRun
from engine.data.discovery.scouts import Scout
from engine.data.shapes.text import columns_of
from state.records.data import DataSet

_CATALOGUE_FACTS = ("config", "split", "rows", "bytes", "languages", "licence", "columns", "mapping")


def curated(runs: Sequence[ScoutRun]) -> tuple[DataSet, ...]:
    """The table: those that are kept by domain and fit, then those that are left out and why.

    A set that several scouts found belongs to the one that it fits best. Sets that nobody looked at are not in it,
    except those of names that must not be missed.
    """
    best, finders = _best_of_each(runs)
    known = frozenset(name for run in runs for name in run.scout.known)
    told = [lead for _, lead in best.values() if lead.looked or lead.id in known]
    catalogued = {one.id: one for one in catalogue()}
    rows = []
    kept: dict[str, int] = {}
    for lead, copies in merged(told, known | catalogued.keys()):
        scout = best[lead.id][0]
        place = kept.get(scout.domain, 0)
        why_not = _why_not(lead, place, scout, catalogued.get(lead.id))
        kept[scout.domain] = place + (not why_not)
        row = _row(lead, scout, finders[lead.id], copies)
        row = msgspec.structs.replace(row, kept=not why_not, remark=why_not)
        rows.append(_with_catalogue(row, catalogued.get(lead.id)))
    order = {run.scout.domain: number for number, run in enumerate(runs)}
    return tuple(sorted(rows, key=lambda one: (not one.kept, order.get(one.domain, 99), -one.score, one.id)))


def _best_of_each(runs: Sequence[ScoutRun]) -> tuple[dict[str, tuple[Scout, Lead]], dict[str, tuple[str, ...]]]:
    best: dict[str, tuple[Scout, Lead]] = {}
    finders: dict[str, tuple[str, ...]] = {}
    for run in runs:
        for name, lead in run.leads.items():
            finders[name] = (*finders.get(name, ()), run.scout.name)
            rank = (lead.looked, name in run.scout.known, lead.score)
            if name not in best or rank > (
                best[name][1].looked, name in best[name][0].known, best[name][1].score
            ):  # fmt: skip
                best[name] = (run.scout, lead)
    return best, finders


def _why_not(lead: Lead, place: int, scout: Scout, catalogued: DataSet | None) -> str:
    """Why a set is left out; empty where it is kept."""
    if lead.benchmark:
        return "A benchmark: figures measured on it afterwards would be worth nothing."
    if catalogued is not None and not catalogued.kept:
        return catalogued.remark
    if lead.listed.private:
        return "Private."
    readable = lead.usable or (catalogued is not None and bool(catalogued.mapping))
    if not readable:
        return "No prompt was found in its first rows." if lead.guess else "Its first rows could not be seen."
    if lead.score < GOOD and lead.id not in scout.known:
        return f"Its fit is below {GOOD}."
    return f"{scout.wanted} others of its domain fit better." if place >= scout.wanted else ""


def _row(lead: Lead, scout: Scout, found_by: tuple[str, ...], copies: tuple[str, ...]) -> DataSet:
    listed, viewed, guess = lead.listed, lead.viewed, lead.guess
    tagged = [tag.partition(":") for tag in listed.tags]
    languages = listed.languages or tuple(value for name, _, value in tagged if name == "language")
    form = next((value for name, _, value in tagged if name == "format"), None)
    size = (viewed.bytes if viewed else None) or listed.bytes_of_card
    facts = {
        "rows": ("viewer" if viewed and viewed.rows else "card") if lead.rows is not None else None,
        "bytes": ("viewer" if viewed and viewed.bytes else "card") if size is not None else None,
        "licence": "card" if listed.licence else None,
        "languages": ("card" if listed.languages else "tags") if languages else None,
        "access": "list of the hub" if lead.access != "unknown" else None,
        "columns": "viewer" if viewed and viewed.columns else None,
        "mapping": "guessed from its first rows" if guess and guess.shape else None,
    }
    return DataSet(
        id=lead.id,
        domain=scout.domain,
        config=viewed.config if viewed else None,
        split=viewed.split if viewed else None,
        rows=lead.rows,
        bytes=size,
        languages=languages[:12],
        licence=listed.licence,
        format=form,
        access=lead.access,
        benchmark=lead.benchmark,
        downloads=listed.downloads,
        modified_at=listed.modified_at,
        columns=viewed.columns if viewed else {},
        shape=guess.shape if guess else None,
        mapping=msgspec.to_builtins(guess.mapping) if guess and guess.shape else {},
        score=lead.score,
        why=lead.why + ("; at least so many rows" if viewed and viewed.rows_at_least else ""),
        found_by=found_by,
        copies=copies,
        sources={name: source for name, source in facts.items() if source is not None},
    )


def _with_catalogue(row: DataSet, known: DataSet | None) -> DataSet:
    """What the hub did not tell, from the built-in catalogue. A mapping of the catalogue was tried, a guess was not."""
    if known is None:
        return row
    changes = {name: getattr(known, name) for name in _CATALOGUE_FACTS if not getattr(row, name)}
    if known.mapping and (not row.columns or _fits(known.mapping, row.columns)):
        changes["mapping"] = known.mapping
    told = {name: known.sources.get(name, "catalogue") for name in changes if getattr(known, name)}
    remark = row.remark or known.remark
    return msgspec.structs.replace(row, **changes, remark=remark, sources={**row.sources, **told})


def _fits(mapping: dict[str, str], columns: dict[str, str]) -> bool:
    wanted = {name.partition(".")[0] for spec in mapping.values() for name in columns_of(spec)}
    return wanted <= columns.keys()
