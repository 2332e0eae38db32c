"""`alula data prepare`: run a plan, as a job or here."""

import os
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from console.command_line.data_options import json_option, leave
from console.command_line.live_view import ask, table, to_json
from state.errors import StateError
from state.folder import state_folder
from state.outside_file import read_small_text
from state.outside_text import plain_line
from widgets import figures

if TYPE_CHECKING:
    from engine.data.plan.records import Plan
    from engine.data.prepare.manifest import Manifest


@click.command("prepare")
@click.argument("plan_path", metavar="PLAN", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--output", type=click.Path(file_okay=False, path_type=Path), help="Folder to write; else named like the plan."
)
@click.option("--here", is_flag=True, help="Work in this terminal, not as a job.")
@click.option("--workers", type=click.IntRange(1, 256), help="Processes; as many as cores where not given.")
@click.option("--restart", is_flag=True, help="Throw away what an earlier run made there, and begin anew.")
@click.option("--keep-work", is_flag=True, help="With --here: keep the unfinished work's folder.")
@json_option
def prepare(
    plan_path: Path, output: Path | None, here: bool, workers: int | None, restart: bool, keep_work: bool, as_json: bool
) -> None:
    """Read the sources of PLAN, filter, remove copies and benchmarks, mix, and write shards with a manifest.

    Stopped or killed at any point, the same command goes on and ends with the same bytes.

    Exit code 0; 2 where it cannot go on; 4 where it was stopped.

    Example: alula data prepare plan.toml --output /data/campaign
    """
    from engine.data.plan.reading import read_plan
    from engine.data.plan.records import PlanError

    whole = (output or Path(plan_path.name.removesuffix(".toml"))).absolute()
    count = workers or len(os.sched_getaffinity(0))
    try:
        plan = read_plan(plan_path)
        finished = begin(plan, whole, plan_path, restart=restart)
    except PlanError as error:
        leave(plain_line(str(error)), error.remedy, as_json=as_json)
    except OSError as error:
        leave(f"cannot write {whole}: {error.strerror}", "give another --output", as_json=as_json)
    if finished is not None:
        click.echo(to_json(finished) if as_json else "\n".join(manifest_lines(finished, whole)))
    elif here:
        sys.exit(_work_here(plan, plan_path, whole, count, keep_work, as_json))
    else:
        sys.exit(_launch(plan_path, whole, count, as_json))


def begin(plan: "Plan", output: Path, plan_path: Path, *, restart: bool) -> "Manifest | None":
    """Make the work folder, or hold it against the plan. Gives the manifest where all is done already.

    Raises:
        PlanError: The folder holds the work of another plan.
        OSError: It cannot be written.
    """
    from engine.data.prepare.output_folder import begin_output

    output.mkdir(parents=True, exist_ok=True)
    return begin_output(output, plan, read_small_text(plan_path), restart=restart)


def manifest_lines(manifest: "Manifest", output: Path) -> list[str]:
    """A manifest in lines for people."""
    whole = manifest.records + manifest.native_records
    lines = [
        f"{plain_line(manifest.name)}: {figures.count(whole)} records in {len(manifest.shards)} shards in {output}"
    ]
    rows = [
        [step.name, figures.count(step.left), ", ".join(f"{count} {reason}" for reason, count in step.dropped.items())]
        for step in manifest.funnel
    ]
    lines += ["", *table(["STEP", "LEFT", "LEFT OUT"], rows, right=[1]), ""]
    sources = [
        [one.name, one.domain, figures.count(one.rows), figures.count(one.left["mix"]), one.skipped or one.shape or "–"]
        for one in manifest.sources
    ]
    lines += table(["SOURCE", "DOMAIN", "ROWS", "TAKEN", "SHAPE"], sources, right=[2, 3])
    first = next((shard.file for shard in manifest.shards), None)
    lines += ["", f"languages  {_told(manifest.languages)}", f"licences   {_told(manifest.licences)}"]
    lines.append(f"lengths    {plain_line(manifest.lengths)}")
    if first is not None and first.endswith(".jsonl"):
        lines.append(f"next       alula regen start {output}/data-*.jsonl --server http://127.0.0.1:30000")
    return lines


def _work_here(plan: "Plan", plan_path: Path, output: Path, workers: int, keep_work: bool, as_json: bool) -> int:
    from engine.data.prepare.reporting import Reporter
    from engine.data.prepare.run import WORK
    from engine.data.prepare.worker import work

    try:
        _register(plan, plan_path, output)
    except (StateError, sqlite3.Error) as error:
        click.echo(f"alula: the console will not show this run: {error}", err=True)
    reporter = Reporter(output / WORK, _silent if as_json else _say)
    try:
        code, manifest, problem = work(output, workers, reporter, keep_work=keep_work)
    finally:
        reporter.close()
    if manifest is not None:
        click.echo(to_json(manifest) if as_json else "\n".join(manifest_lines(manifest, output)))
    else:
        message, _, remedy = problem.partition("\n")
        click.echo(
            to_json({"error": message, "remedy": remedy}) if as_json else f"alula: {message}\n{remedy}", err=True
        )
    return code


def _launch(plan_path: Path, output: Path, workers: int, as_json: bool) -> int:
    arguments = {"plan_path": str(plan_path.absolute()), "output_folder": str(output), "workers": workers}
    return ask("data.prepare", arguments, as_json=as_json, said=lambda answer: _launched(plan_path, answer))


def _launched(plan_path: Path, answer: dict[str, Any]) -> str:
    job = answer["job_id"]
    return f"{plan_path.name} is prepared by job {job}\nalula jobs logs {job} --follow"


def _register(plan: "Plan", plan_path: Path, output: Path) -> None:
    from engine.data.prepare.run import WORK
    from state.data import add_preparation, preparation_of, update_preparation
    from state.database import open_database
    from state.records.data import DataPreparation

    record = DataPreparation(
        name=plan.name,
        run_folder=str(output / WORK),
        plan_path=str(plan_path.absolute()),
        output_folder=str(output),
        created_at=time.time(),
    )
    with closing(open_database(state_folder().database_path)) as database:
        known = preparation_of(database, record.run_folder)
        if known is None:
            add_preparation(database, record)
        else:
            update_preparation(database, known.id, state="running", message="", ended_at=None, job_id=None)


def _say(text: str) -> None:
    click.echo(plain_line(text), err=True)


def _silent(text: str) -> None:
    """Scripts are told by the JSON at the end."""


def _told(counts: dict[str, int]) -> str:
    return plain_line(", ".join(f"{name} {figures.count(count)}" for name, count in counts.items())) or "–"
