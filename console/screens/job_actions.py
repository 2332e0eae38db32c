"""What a job can be asked to do, from the list and from its own screen."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from console.screens.ask_first import ask_first
from state.outside_text import plain_line
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
    consequences = [
        f"SIGTERM goes to every process of the job; after {figures.duration(job.grace_s)} SIGKILL.",
        f"It has run for {figures.duration(took(job))}." if took(job) is not None else "It has not started yet.",
        "Its log and run folder stay.",
    ]

    def stop() -> None:
        console.ask("jobs.stop", {"job_id": job.id}, f"job {job.id} is being stopped")

    question = f"Stop job {job.id}, {job.name}?"
    ask_first(console, question, consequences, stop, confirm="Stop", refuse="Keep", danger=True)


def retry_job(console: "Console", job: Job | None) -> None:
    """Run an ended job again, as a new job."""
    if job is None:
        return
    if not is_over(job):
        console.notify(f"job {job.id} is {job.state}; stop it first: press x", markup=False)
        return
    console.ask("jobs.retry", {"job_id": job.id}, f"{job.name} is queued again")


def change_job(console: "Console", job: Job | None) -> None:
    """Open the launch form, filled as this job was."""
    if job is None:
        return
    from console.screens.launch import LaunchScreen
    from engine.jobs.recipes.catalogue import load_catalogue

    catalogue = load_catalogue()
    if job.recipe is not None and job.recipe not in catalogue.recipes:
        console.notify(plain_line(f"the recipe {job.recipe!r} is not there any more", 200), markup=False)
        return
    if job.recipe is None:
        job = msgspec.structs.replace(job, recipe="command", parameters={"command": job.argv})
    console.push_screen(LaunchScreen(catalogue.recipes[job.recipe or ""], job))


def compare_job(console: "Console", job: Job | None, jobs: Sequence[Job], marked: int | None) -> None:
    """Put a job beside the marked one, else beside the last one before it of the same recipe or name."""
    if job is None:
        return
    from console.screens.job_comparison import JobComparisonScreen
    from engine.jobs.recipes.comparison import one_before

    other = next((one for one in jobs if one.id == marked and one.id != job.id), None) or one_before(job, jobs)
    if other is None:
        console.notify("no other job to compare with: mark one by m", markup=False)
    else:
        console.push_screen(JobComparisonScreen(other, job))
