"""`alula jobs metrics`: the figures in a job's log."""

import sys
from contextlib import closing
from pathlib import Path

import click

from console.command_line.live_view import could_not, table, to_json
from state.database import explained, open_database
from state.errors import StateError
from state.folder import state_folder
from state.jobs import read_job
from state.outside_text import plain_line

HEADINGS = ("FROM", "FIGURE", "LAST", "MEAN", "LEAST", "GREATEST", "LINES")


@click.command()
@click.argument("job_id", type=int, metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the points of each series.")
def metrics(job_id: int, as_json: bool) -> None:
    """Figures in a job's log: SGLang decode and prefill lines, SpecForge steps, progress bars, and
    what its recipe looks for.

    With --json: a list of series; `points` are pairs of a place (`along`: UTC seconds, step or line) and a value, of
    long logs the means of neighbours; `recent` are the newest, as they stand.

    Example: alula jobs metrics 12 --json | jq '.[] | select(.name == "accept_length") | .last'
    """
    from engine.jobs.log_series import LogMetricsReader
    from engine.jobs.recipes.catalogue import load_catalogue
    from engine.jobs.recipes.log_patterns import patterns_of

    path = state_folder().database_path
    try:
        with closing(open_database(path)) as database, explained(path):
            job = read_job(database, job_id)
        if job is None:
            raise StateError(f"there is no job {job_id}", "see them: alula jobs list")
    except StateError as error:
        sys.exit(could_not(error, as_json=as_json))
    recipe = load_catalogue().recipes.get(job.recipe) if job.recipe is not None else None
    reader = LogMetricsReader(Path(job.run_folder) / "log.txt", patterns_of(recipe))
    reader.read()
    found = reader.series()
    if as_json:
        click.echo(to_json(found))
        return
    if not found:
        click.echo(f"no figures in the log of job {job_id}: alula jobs logs {job_id}")
    rows = [
        (
            plain_line(series.source, 30), plain_line(series.name, 30), *(f"{value:.4g}" for value in (
                series.last, sum(value for _, value in series.points) / len(series.points), series.least,
                series.greatest,
            )), str(series.count),
        )
        for series in found
    ]  # fmt: skip
    for line in table(HEADINGS, rows, right=(2, 3, 4, 5, 6)) if rows else ():
        click.echo(line)
