"""What changed about a server between two looks, as events. Pure."""

from collections.abc import Mapping
from typing import Any

from state.records.servers import Server, ServerEvent

_NOT_SETTINGS = ("random_seed", "max_total_num_tokens")


def changes(before: Server, now: Server, at: float, *, restarted: bool = False) -> list[ServerEvent]:
    """Events that lead from one state to the next.

    Args:
        before: The server as it was known, perhaps by an earlier engine.
        now: As it is.
        at: UTC seconds.
        restarted: Whether it is known to have been started anew in between.
    """
    events = []
    different = changed_flags(before.flags, now.flags) if before.flags and now.flags else ""
    if restarted:
        how = f"with other flags: {different}" if different else "with the same flags"
        events.append(ServerEvent(url=now.url, at=at, kind="restarted", message=f"restarted {how}"))
    elif different:
        events.append(ServerEvent(url=now.url, at=at, kind="changed", message=f"its settings changed: {different}"))
    if before.health != now.health and "up" in (before.health, now.health):
        kind, words = ("up", "answers") if now.health == "up" else ("down", now.health_message or "does not answer")
        events.append(ServerEvent(url=now.url, at=at, kind="up" if kind == "up" else "down", message=words))
    return events


def changed_flags(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """`name old -> new` for each setting that differs, in order of name."""
    names = sorted((before.keys() | now.keys()) - set(_NOT_SETTINGS))
    return ", ".join(
        f"{name} {before.get(name, 'unset')} -> {now.get(name, 'unset')}"
        for name in names
        if before.get(name) != now.get(name)
    )


def other_start(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether two readings of a server's settings come from two starts: SGLang draws a random seed at each."""
    seeds = before.get("random_seed"), now.get("random_seed")
    return None not in seeds and seeds[0] != seeds[1]
