"""Concurrency found by itself: it rises while that pays, and falls back when the server objects."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as some

from engine.regen.tuning import FIRST, MOST, Measured, Tuning, enough, judge


def seek(throughput: Callable[[int], float], most: int = MOST) -> Tuning:
    """Search on a server that gives so many tokens a second at so many at once."""
    tuning = Tuning()
    for _ in range(40):
        each = throughput(tuning.at_once) / tuning.at_once
        tuning = judge(tuning, Measured(60.0, 100, 100 * 500.0, 100 * 500.0 / each), most)
    return tuning


def test_it_stops_where_more_gives_nothing() -> None:
    found = seek(lambda at_once: 20.0 * min(at_once, 100))
    assert found.settled and 81 <= found.at_once <= 122
    assert "at once gave" in found.reason


def test_it_rises_to_the_most_where_more_always_pays() -> None:
    found = seek(lambda at_once: 20.0 * at_once, most=256)
    assert (found.settled, found.at_once) == (True, 256)


@given(some.floats(1.0, 500.0))
def test_it_gives_most_of_what_a_server_can(half_at: float) -> None:
    """A server whose batch grows slower the fuller it is: three quarters of what the most allowed would give."""
    found = seek(lambda at_once: 100 * at_once / (at_once + half_at) * half_at)
    share = found.at_once / (found.at_once + half_at)
    assert found.settled
    assert share >= 0.75 * MOST / (MOST + half_at)


def test_a_queue_inside_the_server_or_429_lowers_it() -> None:
    queued = judge(Tuning(64), Measured(60.0, 100, 1e4, 1e3, queued=40))
    assert (queued.at_once, queued.settled) == (24, True)
    refused = judge(Tuning(64), Measured(1.0, 0, 0.0, 0.0, overloaded=3))
    assert (refused.at_once, refused.settled) == (42, True)
    assert "429" in refused.reason


def test_it_waits_until_a_level_was_seen() -> None:
    assert not enough(Tuning(), Measured(60.0, 3, 1.0, 1.0))
    assert not enough(Tuning(), Measured(1.0, 300, 1.0, 1.0))
    assert enough(Tuning(), Measured(6.0, FIRST, 1.0, 1.0))
