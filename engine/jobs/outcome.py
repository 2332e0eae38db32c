"""What a job's end means: a pure function from facts to a state and a reason in words."""

import signal

from engine.jobs.run_folder import ExitFile
from state.records.jobs import JobState


def outcome(end: ExitFile, stop_requested: bool, stop_reason: str | None = None) -> tuple[JobState, str | None]:
    """State and reason of a job whose end is recorded.

    A job that ended by itself with code 0 is done, even when a stop was on its way. One that was stopped for a reason,
    such as its time limit, has failed.
    """
    if end.problem is not None:
        return "failed", f"could not start: {end.problem}"
    if end.exit_code == 0 and not end.stopped:
        return "done", None
    if end.stopped or stop_requested:
        return ("failed", stop_reason) if stop_reason else ("stopped", _how(end))
    if end.exit_code is None and end.exit_signal is None:
        return "lost", "its runner was killed, and its exit code went with it; see the end of its log"
    return "failed", _how(end)


def _how(end: ExitFile) -> str | None:
    if end.exit_signal is not None:
        return f"ended by {_signal_name(end.exit_signal)}"
    return f"exit code {end.exit_code}" if end.exit_code is not None else None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
