"""What a training came to: its newest checkpoint, the checker's word on it, and its held-out figures. Reads files."""

import math
import sqlite3
from pathlib import Path
from typing import Any

import msgspec

from engine.campaign.specification import Specification
from engine.jobs.log_series import LogMetricsReader
from engine.train.checkpoints import Checkpoint, find_checkpoints
from engine.train.exporting import servable
from engine.train.progress import progress_of
from engine.train.specforge.checking import checkpoint_errors
from engine.train.specforge.plan import CannotPlan
from engine.train.store import read_plan
from state.jobs import read_job
from state.records.campaigns import CampaignStep

LAST_BYTES = 64 * 1024


class Trained(msgspec.Struct, frozen=True, kw_only=True):
    """What a training came to."""

    figures: dict[str, Any] = {}
    checkpoint: str = ""
    digest: str = ""
    problem: str = ""


def trained(database: sqlite3.Connection, wanted: Specification, step: CampaignStep) -> Trained:
    """Look at the checkpoints and the log of a training that has ended well."""
    from engine.bench.provenance import checkpoint_digest

    output = output_folder(step)
    found = find_checkpoints(output)
    if not found:
        return Trained(problem=f"{output} holds no checkpoint")
    figures = {**_log_figures(database, step, found), "steps": found[-1].step}
    try:
        newest = _servable(output, found[-1])
    except CannotPlan as error:
        return Trained(figures=figures, problem=f"{error}; {error.remedy}")
    problem = _problem(wanted, newest, figures)
    return Trained(figures=figures, checkpoint=str(newest), digest=checkpoint_digest(newest) or "", problem=problem)


def output_folder(step: CampaignStep) -> Path:
    """Where the checkpoints of a training lie: a path for the reference trainer, else by the training's name."""
    work = Path(step.work)
    if work.is_absolute():
        return work
    home = Path(str(step.arguments.get("environment", {}).get("ALULA_HOME", "/")))
    return home / "trainings" / step.work / "output"


def has_checkpoint(step: CampaignStep) -> bool:
    """Whether an earlier try has left something to go on from."""
    return bool(step.work) and bool(find_checkpoints(output_folder(step)))


def _servable(output: Path, newest: Checkpoint) -> Path:
    """SpecForge 0.2.0 writes checkpoints that no server can load: they are exported first."""
    return servable(read_plan(output.parent), newest) if newest.form == "runtime" else newest.path


def _problem(wanted: Specification, newest: Path, figures: dict[str, Any]) -> str:
    if (loss := figures.get("loss")) is not None and not math.isfinite(loss):
        return "the loss is not a number any more: a lower learning rate, from the checkpoint before"
    if errors := checkpoint_errors(wanted.target.model, newest):
        return f"the checker finds {', '.join(errors)} in {newest}"
    return ""


def _log_figures(database: sqlite3.Connection, step: CampaignStep, found: list[Checkpoint]) -> dict[str, Any]:
    job = read_job(database, step.job_ids[-1]) if step.job_ids else None
    if job is None:
        return {}
    log = Path(job.run_folder) / "log.txt"
    reader = LogMetricsReader(log)
    reader.read()
    progress = progress_of(step.name, job.state, job.id, None, reader.series(), found)
    figures: dict[str, Any] = {"loss": progress.loss, "accept_length": progress.held_out_accept_length}
    result = _last_line(log)
    if "held_out" in result and "samples" in result:  # what `alula train reference --json` ends with
        figures["samples"], figures["tokens"] = result["samples"], result["tokens"]
        if held := result["held_out"]:
            figures["accept_length"], figures["held_out_tokens"] = held["accept_length"], held["tokens"]
    return figures


def _last_line(log: Path) -> dict[str, Any]:
    """The last line of a log, where it is a JSON object."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size - LAST_BYTES))
            lines = stream.read().splitlines()
        found = msgspec.json.decode(lines[-1]) if lines else {}
    except (OSError, msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
