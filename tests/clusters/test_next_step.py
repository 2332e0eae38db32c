"""The state machine of a job on a cluster."""

import msgspec
import pytest

from engine.jobs.backends.cluster import Sighting
from engine.jobs.backends.next_step import ClusterFacts, next_cluster_step
from engine.jobs.run_folder import ExitFile
from state.records.jobs import Job

JOB = Job(
    id=7, name="n", kind="command", state="starting", argv=("true",), working_dir="/", run_folder="/runs/x-12345678",
    created_at=0.0, backend="slurm", backend_address="slurm", grace_s=10.0,
)  # fmt: skip
RUNS = Sighting(backend_id="12", phase="running")
WAITS = Sighting(backend_id="12", phase="pending", why="waits in Slurm for free resources")
ENDED = Sighting(backend_id="12", phase="ended", why="COMPLETED", ended_at=5.0, exit_code=0)
OUT_OF_TIME = Sighting(backend_id="12", phase="ended", ended_at=5.0, exit_signal=15, verdict=("failed", "out of time"))
GOOD, BAD = ExitFile(ended_at=5.0, exit_code=0), ExitFile(ended_at=5.0, exit_code=3)
RUNNING = {"state": "running", "backend_id": "12"}
STOPPED = {"stop_requested_at": 100.0}
STOPPING = {"state": "stopping", "backend_id": "12", "stop_requested_at": 100.0}
SILENT = {"unreachable": "no answer"}


@pytest.mark.parametrize(
    ("job", "facts", "do", "state"),
    [
        ({}, {}, "submit", None),
        ({}, {"may_submit": False}, "wait", None),
        ({}, {"sighting": WAITS}, "hold", None),
        ({}, {"sighting": RUNS}, "mark_running", None),
        ({}, SILENT, "hold", None),
        ({}, {"submitted": True}, "end", "lost"),
        (RUNNING, {"sighting": RUNS}, "wait", None),
        (RUNNING, {"sighting": RUNS, "end": GOOD}, "wait", None),  # Slurm will see it at the next look
        (RUNNING, {"sighting": ENDED, "end": GOOD}, "end", "done"),
        (RUNNING, {"sighting": ENDED}, "end", "done"),
        (RUNNING, {"submitted": True, "end": BAD}, "end", "failed"),  # Slurm has forgotten it
        (RUNNING, SILENT | {"end": GOOD}, "end", "done"),
        (RUNNING, {"sighting": OUT_OF_TIME, "end": BAD}, "end", "failed"),
        (RUNNING, {"sighting": msgspec.structs.replace(ENDED, exit_code=None, cancelled=True)}, "end", "stopped"),
        (RUNNING, {"sighting": msgspec.structs.replace(ENDED, exit_code=None)}, "end", "lost"),
        (STOPPED, {}, "end", "stopped"),
        (STOPPED, {"may_submit": False}, "wait", None),
        (STOPPED, {"submitted": True}, "end", "stopped"),
        (STOPPED, SILENT, "end", "stopped"),
        (STOPPED, SILENT | {"attempted": True}, "hold", None),
        (STOPPED, {"sighting": WAITS}, "stop", None),
        (RUNNING | STOPPED, {"sighting": RUNS}, "stop", None),
        (RUNNING | STOPPED, {"sighting": ENDED}, "end", "done"),
        (STOPPING, {"sighting": RUNS, "told": True, "now": 105.0}, "wait", None),
        (STOPPING, {"sighting": RUNS, "told": True, "now": 111.0}, "force", None),
        (STOPPING, {"sighting": RUNS, "told": True, "now": 112.0, "forced_at": 111.0}, "wait", None),
        (STOPPING, {"sighting": RUNS, "told": True, "now": 142.0, "forced_at": 111.0}, "force", None),
        (STOPPING, {"sighting": ENDED, "end": GOOD}, "end", "stopped"),
        (STOPPING | {"stop_reason": "its time limit ran out"}, {"sighting": ENDED, "end": BAD}, "end", "failed"),
    ],
)
def test_steps(job: dict[str, object], facts: dict[str, object], do: str, state: str | None) -> None:
    known = ClusterFacts(**({"now": 101.0} | facts))  # type: ignore[arg-type]
    step = next_cluster_step(msgspec.structs.replace(JOB, **job), known)
    assert (step.do, step.state) == (do, state)
    if state in ("failed", "lost"):
        assert step.reason
