"""What to say of a flag that the server's parser refuses: the nearest flag, and the releases that know it."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from engine.check.flags.table import FlagTable, releases_with
from engine.check.records import Argument, FlagProblem

SHOWN_CHOICES = 12


def unknown_problem(argument: Argument, table: FlagTable) -> FlagProblem:
    """For a word that is no flag of this release, or a value that belongs to no flag."""
    spelled = argument.text.partition("=")[0] if argument.text.startswith("-") else argument.text
    if not spelled.startswith("-"):
        message = f"{spelled!r} belongs to no flag: the server refuses it as an unrecognised argument"
        return FlagProblem(kind="unknown", spelled=spelled, message=message, place=argument.place)
    message = f"SGLang {table.release} has no flag {spelled}{_history(spelled)}"
    return FlagProblem(
        kind="unknown", spelled=spelled, message=message, nearest=nearest_flag(spelled, table), place=argument.place
    )


def ambiguous_problem(argument: Argument, matches: Sequence[str], table: FlagTable) -> FlagProblem:
    """For an abbreviation that several flags begin with."""
    spelled = argument.text.partition("=")[0]
    shown = ", ".join(sorted(matches)[:SHOWN_CHOICES])
    return FlagProblem(
        kind="ambiguous",
        spelled=spelled,
        message=f"SGLang {table.release} refuses {spelled} as ambiguous: it could be {shown}{_history(spelled)}",
        nearest=_successor(spelled, matches),
        place=argument.place,
    )


def count_problem(argument: Argument, spelled: str, what: str) -> FlagProblem:
    """For a flag without its value, or with one it does not take."""
    kind: Any = "missing_value" if what.startswith("needs") else "invalid"
    return FlagProblem(kind=kind, spelled=spelled, message=f"{spelled} {what}", place=argument.place)


def choice_problem(argument: Argument, spelled: str, what: str, choices: Sequence[Any] | None) -> FlagProblem:
    """For a value of the wrong type or not among the choices."""
    if choices is None:
        return FlagProblem(kind="invalid", spelled=spelled, message=f"{spelled}: {what}", place=argument.place)
    near = get_close_matches(argument.text, [str(choice) for choice in choices], n=1, cutoff=0.5)
    shown = ", ".join(str(choice) for choice in choices[:SHOWN_CHOICES]) + (
        " ..." if len(choices) > SHOWN_CHOICES else ""
    )
    return FlagProblem(
        kind="invalid",
        spelled=spelled,
        message=f"{spelled}: {what}: {shown}",
        nearest=near[0] if near else None,
        place=argument.place,
    )


def nearest_flag(spelled: str, table: FlagTable) -> str | None:
    """The flag of this release that a misspelt one most likely means."""
    dashed = spelled.replace("_", "-")
    if dashed in table.spellings:
        return dashed
    begins = [known for known in table.spellings if known.startswith(dashed)]
    if len(begins) == 1:
        return begins[0]
    near = get_close_matches(dashed, table.spellings, n=1, cutoff=0.6)
    return near[0] if near else None


def _successor(spelled: str, matches: Sequence[str]) -> str | None:
    decode = f"{spelled}-decode"
    return decode if decode in matches else min(matches, key=lambda match: (len(match), match), default=None)


def _history(spelled: str) -> str:
    known = releases_with(spelled)
    if not known:
        return ""
    return f" (releases {known[0]} to {known[-1]} have it)"
