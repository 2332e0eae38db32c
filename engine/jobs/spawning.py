"""Starts runners, and remembers how that went."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from engine.jobs.run_folder import JOB_ID_VARIABLE, JOB_VARIABLE, RunFolder
from state.process_identity import ProcessIdentity

PROGRAM_ROOT = Path(__file__).parents[2]
"""The folder that holds the packages `engine` and `state`."""

START_LIMIT_S = 20.0
"""A runner that has not taken its job after this long is not waited for; of two that start at most one takes it."""
FIRST_WAIT_S = 0.5
"""Until the next try, doubled with each try."""


@dataclass
class _Tries:
    runner: "subprocess.Popen[bytes]"
    began: float
    count: int
    after: ProcessIdentity | None
    """The runner that was to be replaced; where it has been, the count starts anew."""


class Spawner:
    """The runners that this engine has started."""

    def __init__(self) -> None:
        self._tries: dict[int, _Tries] = {}
        self._ending: list[subprocess.Popen[bytes]] = []

    def spawn(self, job_id: int, folder: RunFolder, after: ProcessIdentity | None) -> None:
        """Start a runner for a job, in a session of its own.

        Args:
            job_id: Of the job.
            folder: Its run folder.
            after: The dead runner that it is to replace.

        Raises:
            OSError: It could not be started.
        """
        count = self.tries(job_id, after) + 1
        self._retire(job_id)
        hidden = (JOB_VARIABLE, JOB_ID_VARIABLE)
        with os.fdopen(os.open(folder.runner_log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600), "wb") as log:
            runner = subprocess.Popen(
                [sys.executable, "-m", "engine.jobs.runner", str(folder.path)],
                cwd=PROGRAM_ROOT,
                env={name: value for name, value in os.environ.items() if name not in hidden},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._tries[job_id] = _Tries(runner, time.monotonic(), count, after)

    def tries(self, job_id: int, after: ProcessIdentity | None) -> int:
        """How many runners in a row were started to replace that one (or to be the first) and did not."""
        tries = self._tries.get(job_id)
        return tries.count if tries is not None and tries.after == after else 0

    def is_pending(self, job_id: int) -> bool:
        """Whether a runner is on its way to take the job, or it is too early for the next one."""
        tries = self._tries.get(job_id)
        if tries is None:
            return False
        waited_s = time.monotonic() - tries.began
        if tries.runner.poll() is None:
            return waited_s < START_LIMIT_S
        return waited_s < FIRST_WAIT_S * 2.0 ** (tries.count - 1)

    def forget_all_but(self, open_ids: set[int]) -> None:
        """Drop what is known of jobs that have ended, and take the exit status of their runners."""
        for job_id in set(self._tries) - open_ids:
            self._retire(job_id)
        self._ending = [runner for runner in self._ending if runner.poll() is None]

    def _retire(self, job_id: int) -> None:
        if tries := self._tries.pop(job_id, None):
            self._ending.append(tries.runner)
