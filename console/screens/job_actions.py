"""What a job can be asked to do, from the list and from its own screen."""

from typing import TYPE_CHECKING

from state.records.jobs import Job
from widgets import figures
from widgets.jobs.columns import is_over, took

if TYPE_CHECKING:
    from console.app import Console


def stop_job(console: "Console", job: Job | None) -> None:
    """Say what stopping means, ask once, and stop."""
    if job is None:
        return
    if is_over(job):
        console.notify(f"job {job.id} has ended already: {job.state}", markup=False)
        return
    from widgets.confirmation import Confirmation

    consequences = [
        f"SIGTERM goes to every process of the job; after {figures.duration(job.grace_s)} SIGKILL.",
        f"It has run for {figures.duration(took(job))}." if took(job) is not None else "It has not started yet.",
        "Its log and run folder stay.",
    ]

    def answered(confirmed: bool | None) -> None:
        if confirmed:
            console.ask("jobs.stop", {"job_id": job.id}, f"job {job.id} is being stopped")

    question = f"Stop job {job.id}, {job.name}?"
    console.push_screen(Confirmation(question, consequences, confirm="Stop", refuse="Keep", danger=True), answered)


def retry_job(console: "Console", job: Job | None) -> None:
    """Run an ended job again, as a new job."""
    if job is None:
        return
    if not is_over(job):
        console.notify(f"job {job.id} is {job.state}; stop it first: press x", markup=False)
        return
    console.ask("jobs.retry", {"job_id": job.id}, f"{job.name} is queued again")
