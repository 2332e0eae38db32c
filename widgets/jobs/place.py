"""Where a job runs, in words."""

from state.outside_text import plain_line
from state.records.jobs import Job
from widgets import figures


def place_words(job: Job) -> str:
    """Its process here, or the cluster that runs it and its id there."""
    if job.backend == "local":
        return f"pid {job.pid or figures.ABSENT}"
    return f"on {plain_line(job.backend_address, 120)}, id {plain_line(job.backend_id or figures.ABSENT, 60)}"
