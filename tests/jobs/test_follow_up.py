"""What follows an end: tries, restarts, and when they stop."""

import pytest

from engine.jobs.follow_up import QUICK_DEATHS, Following, following
from state.records.jobs import Job, JobState, Schedule


def after(state: JobState, *lines: str, ran_s: float = 5.0, **more: object) -> Following:
    own = {
        name: more.pop(name) for name in ("attempt", "exit_code", "stop_requested_at", "stop_reason") if name in more
    }
    job = Job(
        id=1, name="a", kind="serve", state=state, argv=("a",), working_dir="/", run_folder="/r", created_at=1.0,
        started_at=100.0, ended_at=100.0 + ran_s, schedule=Schedule(**more), **own,  # type: ignore[arg-type]
    )  # fmt: skip
    return following(job, lines, 1000.0)


def test_tries_have_growing_waits_and_an_end() -> None:
    first = after("failed", retries=2, retry_wait_s=10.0)
    assert (first.again_at, first.attempt, first.message) == (1010.0, 1, "try 2 of 3")
    assert after("failed", retries=2, retry_wait_s=10.0, attempt=1).again_at == 1020.0
    last = after("failed", retries=2, attempt=2)
    assert last.again_at is None and last.message == "not tried again: 3 tries failed"


@pytest.mark.parametrize(
    ("code", "line", "again"),
    [(75, "", True), (1, "RuntimeError: NCCL timeout", True), (1, "ValueError: no such flag", False)],
)
def test_only_passing_faults_are_tried_again(code: int, line: str, again: bool) -> None:
    found = after("failed", line, retries=3, retry_exit_codes=(75,), retry_log=("NCCL timeout",), exit_code=code)
    assert (found.again_at is not None) == again


def test_a_good_end_and_an_operators_stop_are_final() -> None:
    assert after("done", retries=3) == Following()
    assert after("stopped", retries=3, stop_requested_at=1.0).again_at is None
    assert after("stopped", restart="always", stop_requested_at=1.0).again_at is None
    assert after("done", restart="on-failure").again_at is None


def test_a_server_is_started_again_for_ever_unless_it_dies_at_once() -> None:
    assert after("done", restart="always").again_at is not None
    assert after("lost", restart="on-failure").again_at is not None
    long_lived = after("failed", restart="on-failure", ran_s=3600.0, attempt=QUICK_DEATHS - 1)
    assert (long_lived.attempt, long_lived.gives_up) == (0, False)
    dead = after("failed", restart="on-failure", attempt=QUICK_DEATHS - 1)
    assert dead.gives_up and dead.again_at is None


def test_one_that_was_stopped_for_a_reason_may_be_started_again() -> None:
    slow = after("failed", restart="on-failure", stop_requested_at=1.0, stop_reason="it was not ready within 5 s")
    assert slow.again_at is not None
