"""When alerts begin and end."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from engine.watch.alert_state import Symptom, restore, step
from state.records.alerts import Alert


def symptom(**changes: object) -> Symptom:
    base = Symptom(rule="gpu-hot", subject="gpu 0", severity="warning", title="hot", cause="c", remedy="r",
                   raise_after_s=15, clear_after_s=60)  # fmt: skip
    return msgspec.structs.replace(base, **changes)


def run(looks: dict[float, list[Symptom]]) -> tuple[list[float], list[float]]:
    """Times at which the alert began and ended."""
    conditions, begun, ended = {}, [], []
    for now, seen in looks.items():
        outcome = step(conditions, seen, now)
        conditions = outcome.conditions
        begun += [now] * len(outcome.begun)
        ended += [now] * len(outcome.cleared)
    return begun, ended


def test_a_symptom_becomes_an_alert_once_it_has_held_long_enough() -> None:
    assert run({second: [symptom()] for second in range(40)}) == ([15], [])


def test_one_look_without_it_starts_the_wait_anew() -> None:
    assert run({second: [] if second == 10 else [symptom()] for second in range(25)}) == ([], [])
    assert run({second: [] if second == 10 else [symptom()] for second in range(27)}) == ([26], [])


def test_an_alert_ends_only_when_the_symptom_stays_away() -> None:
    looks = {second: [symptom()] if second < 20 or second == 50 else [] for second in range(200)}
    assert run(looks) == ([15], [110])


def test_coming_back_within_the_quiet_time_does_not_flap() -> None:
    looks = {second: [symptom()] if second % 30 < 20 else [] for second in range(600)}
    assert run(looks) == ([15], [])


def test_a_changed_text_is_told_again_but_not_every_second() -> None:
    conditions, told = {}, 0
    for second in range(60):
        outcome = step(conditions, [symptom(title=f"{second} °C", raise_after_s=0)], second)
        conditions, told = outcome.conditions, told + len(outcome.raised)
    assert told == 12


def test_alerts_of_an_engine_that_died_end_if_they_hold_no_longer() -> None:
    alert = Alert(rule="gpu-hot", subject="gpu 0", severity="warning", title="hot", cause="c", remedy="r", since=1,
                  last_seen_at=2)  # fmt: skip
    other = msgspec.structs.replace(alert, rule="engine-part-restarting")
    conditions = restore([alert, other], ["gpu-hot"], now=100.0)
    assert list(conditions) == [("gpu-hot", "gpu 0")]
    assert not step(conditions, [symptom(clear_after_s=30)], 101).begun
    assert step(conditions, [], 131).cleared == (("gpu-hot", "gpu 0"),)


@given(st.lists(st.booleans(), max_size=300), st.integers(0, 20), st.integers(0, 20))
def test_begins_and_ends_alternate_whatever_is_seen(seen: list[bool], raise_after: int, clear_after: int) -> None:
    one = symptom(raise_after_s=raise_after, clear_after_s=clear_after)
    begun, ended = run({second: [one] if there else [] for second, there in enumerate(seen)})
    events = sorted([(at, 1) for at in begun] + [(at, 0) for at in ended])
    assert all(kind == (index + 1) % 2 for index, (_, kind) in enumerate(events))
    assert len(begun) - len(ended) in (0, 1)
