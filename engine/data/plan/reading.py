"""Reads a plan and refuses mistakes with their place."""

import re
import tomllib
from pathlib import Path

import msgspec

from engine.data.catalogue.benchmarks import benchmark_of
from engine.data.plan.records import Plan, PlanError, PlanSource
from state.outside_file import read_small_text

_PLACE = re.compile(r" - at `\$\.?(.*)`$")
_STEP = re.compile(r"(\w+)(?:\[(\d+)\])?")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")


def read_plan(path: Path) -> Plan:
    """The plan in a file; paths in it are taken from the file's folder.

    Raises:
        PlanError: It cannot be read, or holds a mistake.
    """
    try:
        text = read_small_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(f"cannot read {path}: {error}", "write one: alula data plan --output plan.toml") from error
    return resolved(parse_plan(text, path.name), path.absolute().parent)


def parse_plan(text: str, name: str = "plan") -> Plan:
    """The plan in a TOML text.

    Raises:
        PlanError: It holds a mistake; the message names the line.
    """
    try:
        plan = msgspec.convert(tomllib.loads(text), Plan)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise PlanError(f"{name}: not TOML: {error}", "mend that line") from error
    except msgspec.ValidationError as error:
        raise _explained(str(error), text, name) from error
    for place, message, remedy in mistakes(plan):
        raise PlanError(f"{name}:{line_of(text, place)}: {place}: {message}", remedy)
    return plan


def mistakes(plan: Plan) -> list[tuple[str, str, str]]:
    """What no type can refuse: place, message, remedy."""
    found: list[tuple[str, str, str]] = []
    if not _NAME.fullmatch(plan.name):
        found.append(("name", f"{plan.name!r} cannot be used", "letters, digits, dot, dash and underscore, 60 at most"))
    if not plan.source:
        found.append(("source", "the plan has no source", "add a [[source]] with path or hub"))
    if plan.total is not None and plan.total < 1:
        found.append(("total", "is not positive", "give the number of records, or leave it away"))
    found += _wrong_filters(plan)
    names: set[str] = set()
    for index, source in enumerate(plan.source):
        place = f"source[{index}]"
        found += [(f"{place}.{field}", message, remedy) for field, message, remedy in _wrong_source(plan, source)]
        if source.name in names:
            found.append((f"{place}.name", f"there is a source {source.name!r} already", "give each its own name"))
        names.add(source.name)
    return found


def line_of(text: str, place: str) -> int:
    """The line of the file where `source[2].quota` stands, or at least its table; 1 where it is nowhere."""
    steps = [(name, int(index or 0)) for name, index in _STEP.findall(place)]
    line, lines = 1, text.splitlines()
    if not steps:
        return line
    table, index = steps[0]
    seen = -1
    inside = len(steps) == 1
    for number, content in enumerate(lines, 1):
        stripped = content.strip()
        if stripped.startswith("["):
            seen += stripped.strip("[] ") == table
            inside = stripped.strip("[] ") == table and seen == index
            line = number if inside else line
        elif inside and re.match(rf"{re.escape(steps[-1][0])}\s*=", stripped):
            return number
    return line


def resolved(plan: Plan, folder: Path) -> Plan:
    """The same plan with whole paths."""

    def whole(text: str | None) -> str | None:
        return text if text is None or not (folder / text).exists() else str((folder / text).absolute())

    sources = tuple(
        msgspec.structs.replace(one, path=None if one.path is None else str((folder / one.path).absolute()))
        for one in plan.source
    )
    benchmarks = tuple(whole(one) or one for one in plan.decontamination.benchmarks)
    return msgspec.structs.replace(
        plan,
        source=sources,
        target=msgspec.structs.replace(plan.target, tokenizer=whole(plan.target.tokenizer)),
        decontamination=msgspec.structs.replace(plan.decontamination, benchmarks=benchmarks),
    )


def _wrong_filters(plan: Plan) -> list[tuple[str, str, str]]:
    filters, duplicates, decontamination = plan.filters, plan.duplicates, plan.decontamination
    ratio = plan.target.characters_per_token
    rules = (
        (0 <= filters.min_tokens <= filters.max_tokens, "filters.min_tokens", "is not between 0 and max_tokens", "1"),
        (0.3 <= duplicates.similarity <= 1, "duplicates.similarity", "is not between 0.3 and 1", "0.8"),
        (1 <= duplicates.words <= 50, "duplicates.words", "is not between 1 and 50", "5"),
        (2 <= decontamination.words <= 50, "decontamination.words", "is not between 2 and 50", "8"),
        (0 < decontamination.overlap <= 1, "decontamination.overlap", "is not above 0 and at most 1", "0.3"),
        (0 <= plan.faults.most_bad_share <= 1, "faults.most_bad_share", "is not between 0 and 1", "0.5"),
        (plan.output.shard_rows >= 1, "output.shard_rows", "is not positive", "20000"),
        (ratio is None or ratio > 0, "target.characters_per_token", "is not positive", "3.5"),
    )
    found = [(place, message, f"{usual} is usual") for holds, place, message, usual in rules if not holds]
    for code in filters.languages:
        if not re.fullmatch(r"[a-z]{2,3}", code):
            found.append(("filters.languages", f"{code!r} is no language code", "give ISO 639-1 codes: en, zh, de"))
    return found


def _wrong_source(plan: Plan, source: PlanSource) -> list[tuple[str, str, str]]:
    found = []
    if (source.path is None) == (source.hub is None):
        found.append(("name", "needs path or hub, and not both", "path = 'file.jsonl', or hub = 'owner/name'"))
    if source.hub is not None and source.hub.count("/") != 1:
        found.append(("hub", f"{source.hub!r} is no hub id", "give owner/name"))
    if source.quota is not None and source.weight is not None:
        found.append(("quota", "stands beside a weight", "give one of the two"))
    if source.quota is not None and source.quota < 0:
        found.append(("quota", "is negative", "give the number of records"))
    if source.weight is not None and plan.total is None:
        found.append(("weight", "has no total to be a part of", "give total at the top of the plan, or a quota here"))
    if source.weight is not None and source.weight < 0:
        found.append(("weight", "is negative", "give a weight of 0 or more"))
    if source.limit is not None and source.limit < 1:
        found.append(("limit", "is not positive", "give the number of rows"))
    known = benchmark_of(source.hub or "")
    if known is not None and not source.benchmark:
        found.append(
            ("hub", f"is the benchmark {known}: figures measured on it afterwards are worth nothing",
             "leave it out, or write benchmark = true")
        )  # fmt: skip
    return found


def _explained(message: str, text: str, name: str) -> PlanError:
    match = _PLACE.search(message)
    place = match[1] if match else ""
    said = message[: match.start()] if match else message
    unknown = re.search(r"unknown field `(\w+)`", said)
    wanted = f"{place}.{unknown[1]}".lstrip(".") if unknown else place
    return PlanError(f"{name}:{line_of(text, wanted)}: {wanted or 'top'}: {said}", "see docs/data.md for the fields")
