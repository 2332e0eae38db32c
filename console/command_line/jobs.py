"""`alula jobs`: what runs in the background, and what has run."""

import sys
import time
from contextlib import closing
from pathlib import Path

import click

from console.command_line import job_launch, job_metrics, job_queue, job_recipes, job_secrets, job_views
from console.command_line.live_view import ask, could_not, table, to_json
from state.database import explained, open_database
from state.errors import StateError
from state.folder import state_folder
from state.jobs import read_events, read_job, read_jobs
from state.records.jobs import ENDED, Job, JobEvent
from state.secret_words import shown_job

LIST_LIMIT = 50
LOOK_S = 0.1
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_job_argument = click.argument("job_id", type=int, metavar="ID")


@click.group()
def jobs() -> None:
    """Background jobs: they outlive this terminal and the engine."""


@jobs.command("list")
@click.option("--limit", type=click.IntRange(1), default=LIST_LIMIT, show_default=True, help="How many of the newest.")
@click.option("--open", "only_open", is_flag=True, help="Only those that have not ended.")
@_json_option
def list_jobs(limit: int, only_open: bool, as_json: bool) -> None:
    """List jobs, the newest first. Open ones are always among them.

    Example: alula jobs list --json | jq '.[] | select(.state == "failed")'
    """
    try:
        path = state_folder().database_path
        with closing(open_database(path)) as database, explained(path):
            found = read_jobs(database, limit)
    except StateError as error:
        sys.exit(could_not(error, as_json=as_json))
    found = [job for job in found if not only_open or job.state not in ENDED]
    if as_json:
        click.echo(to_json([shown_job(job) for job in found]))
        return
    for line in table(job_views.HEADINGS, [job_views.row(job, time.time()) for job in found], right=(0, 4)):
        click.echo(line)


@jobs.command()
@_job_argument
@_json_option
def show(job_id: int, as_json: bool) -> None:
    """Show one job and its timeline.

    Example: alula jobs show 12
    """
    job, events = _read(job_id, as_json)
    if as_json:
        click.echo(to_json({"job": shown_job(job), "events": events}))
    else:
        click.echo("\n".join(job_views.lines(job, events, time.time())))


@jobs.command()
@_job_argument
@click.option("-f", "--follow", is_flag=True, help="Go on until the job ends, or Ctrl-C.")
@click.option("-n", "--lines", "count", type=click.IntRange(0), default=200, show_default=True, help="From the end.")
@_json_option
def logs(job_id: int, follow: bool, count: int, as_json: bool) -> None:
    """Print the end of a job's log, without control sequences. With --json: a line of JSON for each line.

    Example: alula jobs logs -f 12
    """
    from console.command_line.log_tail import LogTail

    job, _ = _read(job_id, as_json)
    tail = LogTail(Path(job.run_folder) / "log.txt", count)
    try:
        while True:
            ended = job.state in ENDED  # asked for before the log is read, so that its last lines are not missed
            for line in tail.new_lines(last=ended or not follow):
                click.echo(to_json({"line": line}) if as_json else line)
            if ended or not follow:
                return
            time.sleep(LOOK_S)
            job, _ = _read(job_id, as_json)
    except KeyboardInterrupt:
        return
    except OSError as error:
        sys.exit(could_not(StateError(f"cannot read the log: {error}", f"see job {job_id}: alula jobs show {job_id}"),
                           as_json=as_json))  # fmt: skip


@jobs.command()
@_job_argument
@_json_option
def stop(job_id: int, as_json: bool) -> None:
    """Stop a job: SIGTERM to all its processes, and SIGKILL to what is left after its grace time.

    Example: alula jobs stop 12
    """

    def said(answer: dict[str, object]) -> str:
        return f"job {job_id} had ended" if answer["state"] in ENDED else f"job {job_id} is being stopped"

    sys.exit(ask("jobs.stop", {"job_id": job_id}, as_json=as_json, said=said))


@jobs.command()
@_job_argument
@_json_option
def retry(job_id: int, as_json: bool) -> None:
    """Run a job that has ended again, as a new job.

    Example: alula jobs retry 12
    """
    said = "job {job_id} is queued; its log: alula jobs logs -f {job_id}"
    sys.exit(ask("jobs.retry", {"job_id": job_id}, as_json=as_json, said=lambda answer: said.format(**answer)))


for _command in (
    job_launch.launch, job_metrics.metrics, job_queue.pause, job_queue.resume, job_queue.drain, job_recipes.recipes,
    job_secrets.secret,
):  # fmt: skip
    jobs.add_command(_command)


def _read(job_id: int, as_json: bool) -> tuple[Job, list[JobEvent]]:
    try:
        path = state_folder().database_path
        with closing(open_database(path)) as database, explained(path):
            job, events = read_job(database, job_id), read_events(database, job_id)
            if job is None:
                raise StateError(f"there is no job {job_id}", "see them: alula jobs list")
            return job, events
    except StateError as error:
        sys.exit(could_not(error, as_json=as_json))
