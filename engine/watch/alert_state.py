"""When an alert begins and ends: pure functions, so that nothing flaps and every edge can be tested."""

from collections.abc import Iterable, Mapping

import msgspec

from state.records.alerts import Alert, Severity

RETELL_S = 60.0
RETITLE_S = 5.0
Key = tuple[str, str]


class Symptom(msgspec.Struct, frozen=True, kw_only=True):
    """Something that looks wrong at this moment."""

    rule: str
    subject: str
    severity: Severity
    title: str
    cause: str
    remedy: str
    raise_after_s: float = 0.0
    """How long it must hold before it is an alert."""
    clear_after_s: float = 30.0
    """How long it must be gone before the alert ends."""


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """A symptom over time."""

    symptom: Symptom
    since: float
    last_seen: float
    raised: bool = False
    told: Symptom | None = None
    """What the alert says at present."""
    told_at: float = 0.0


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from one look."""

    conditions: Mapping[Key, Condition]
    raised: tuple[Symptom, ...] = ()
    """Alerts to open or to word anew."""
    begun: tuple[Symptom, ...] = ()
    """Those of `raised` that were not alerts before."""
    cleared: tuple[Key, ...] = ()


def step(conditions: Mapping[Key, Condition], symptoms: Iterable[Symptom], now: float) -> Step:
    """Take one look.

    Args:
        conditions: As the step before left them.
        symptoms: All that looks wrong now.
        now: Seconds of any clock that does not go back.
    """
    seen = {(symptom.rule, symptom.subject): symptom for symptom in symptoms}
    after: dict[Key, Condition] = {}
    raised, begun, cleared = [], [], []
    for key, symptom in seen.items():
        condition = _seen(conditions.get(key), symptom, now)
        if not condition.raised and now - condition.since >= symptom.raise_after_s:
            condition = msgspec.structs.replace(condition, raised=True)
            begun.append(symptom)
        if condition.raised and _worth_telling(condition, now):
            condition = msgspec.structs.replace(condition, told=symptom, told_at=now)
            raised.append(symptom)
        after[key] = condition
    for key, condition in conditions.items():
        if key in seen:
            continue
        if condition.raised and now - condition.last_seen < condition.symptom.clear_after_s:
            after[key] = condition
        elif condition.raised:
            cleared.append(key)
    return Step(conditions=after, raised=tuple(raised), begun=tuple(begun), cleared=tuple(cleared))


def restore(alerts: Iterable[Alert], rules: Iterable[str], now: float) -> dict[Key, Condition]:
    """Conditions from the alerts that an earlier engine left open: they end in time if they hold no longer."""
    ours, found = set(rules), {}
    for alert in alerts:
        if alert.rule in ours:
            symptom = Symptom(
                rule=alert.rule,
                subject=alert.subject,
                severity=alert.severity,
                title=alert.title,
                cause=alert.cause,
                remedy=alert.remedy,
            )
            found[alert.rule, alert.subject] = Condition(
                symptom=symptom, since=now, last_seen=now, raised=True, told=symptom, told_at=now
            )
    return found


def _seen(before: Condition | None, symptom: Symptom, now: float) -> Condition:
    if before is None:
        return Condition(symptom=symptom, since=now, last_seen=now)
    return msgspec.structs.replace(before, symptom=symptom, last_seen=now)


def _worth_telling(condition: Condition, now: float) -> bool:
    quiet = now - condition.told_at
    return condition.told is None or quiet >= RETELL_S or (condition.told != condition.symptom and quiet >= RETITLE_S)
