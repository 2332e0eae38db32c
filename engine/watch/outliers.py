"""Which of several ranks, or of several servers of one model, is not like the rest. Pure."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from state.records.servers import Server, ServerRank, ServerSample

_SLOW_SHARE = 0.5
_GAIN_SHARE = 0.5


def mark_outliers(ranks: Sequence[ServerRank]) -> tuple[ServerRank, ...]:
    """Say which rank differs from the middle one: half as fast or slower, or half the gain in accept length."""
    oddities = _oddities(ranks)
    return tuple(msgspec.structs.replace(rank, outlier=words) for rank, words in zip(ranks, oddities, strict=True))


def server_outliers(servers: Iterable[Server], samples: Mapping[str, ServerSample]) -> dict[str, str]:
    """URL to what sets that server apart from the others of the same model and algorithm."""
    alike: dict[tuple[str | None, str | None], list[ServerSample]] = {}
    for server in servers:
        if server.health == "up" and (sample := samples.get(server.url)):
            alike.setdefault((server.model, server.speculative_algorithm), []).append(sample)
    found = {}
    for group in alike.values():
        for sample, words in zip(group, _oddities(group), strict=True):
            if words:
                found[sample.url] = words
    return found


def _oddities(members: Sequence[ServerRank] | Sequence[ServerSample]) -> list[str | None]:
    if len(members) < 2:
        return [None] * len(members)
    busy = [member.tokens_per_s for member in members if member.running_requests]
    speed, length = _median(busy), _median([member.accept_length for member in members])
    return [_oddity(member, speed, length) for member in members]


def _oddity(member: ServerRank | ServerSample, speed: float | None, length: float | None) -> str | None:
    own_speed, own_length = member.tokens_per_s, member.accept_length
    if speed and member.running_requests and own_speed is not None and own_speed < _SLOW_SHARE * speed:
        return f"{own_speed:.0f} tok/s where the others do {speed:.0f}"
    if length and own_length is not None and own_length - 1 < _GAIN_SHARE * (length - 1):
        return f"accept length {own_length:.2f} where the others have {length:.2f}"
    return None


def _median(values: Iterable[float | None]) -> float | None:
    present = sorted(value for value in values if value is not None)
    return present[len(present) // 2] if present else None
