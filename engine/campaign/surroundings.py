"""What a step's order needs to know of this machine: a free port, the server's name for its model, earlier tries."""

import sqlite3
from pathlib import Path

from engine.campaign.order import Around
from engine.campaign.orders import server_url
from engine.campaign.specification import CampaignError, Specification
from engine.campaign.steps import samples_of
from engine.campaign.subset import write_subset
from engine.campaign.trained import has_checkpoint
from engine.jobs.ports import free_port, is_free
from state.folder import make_private
from state.jobs import open_jobs
from state.records.campaigns import CampaignStep
from state.regenerations import find_regeneration

FIRST_PORT = 31000


def surroundings(
    database: sqlite3.Connection,
    folder: Path,
    home: Path,
    wanted: Specification,
    step: CampaignStep,
    steps: tuple[CampaignStep, ...],
) -> Around:
    """Look at the machine for one step.

    Raises:
        CampaignError: The server that is to answer does not, or no port is free.
        OSError: A file cannot be read or written.
    """
    make_private(make_private(folder.parent) / folder.name)
    begun = bool(step.work or step.job_ids)
    run = find_regeneration(database, step.work) if step.kind == "regen" and begun else None
    return Around(
        folder=folder,
        home=str(home),
        port=_port(database, step) if step.kind == "serve" else 0,
        model=_served_model(server_url(wanted, steps)) if step.kind == "regen" and not begun else "",
        begun=begun,
        resumable=step.kind == "train" and has_checkpoint(step),
        answered=run is not None and run.state == "done",
        data=_subset(folder, wanted, step, steps),
    )


def _port(database: sqlite3.Connection, step: CampaignStep) -> int:
    """The one of the earlier try, since a regeneration knows it; else the first free one."""
    before = step.outputs.get("url", "").rpartition(":")[2]
    if before.isdigit() and is_free(int(before)):
        return int(before)
    taken = {port for job in open_jobs(database) for port in job.schedule.ports}
    port = free_port(FIRST_PORT, taken)
    if port is None:
        raise CampaignError("no TCP port is free", "stop a server, or give [regenerate] server")
    return port


def _served_model(url: str) -> str:
    from engine.regen.server import served_model
    from engine.regen.wire import ServerDown

    try:
        return served_model(url)
    except ServerDown as error:
        raise CampaignError(str(error), "start the server, then: alula campaign resume") from error


def _subset(folder: Path, wanted: Specification, step: CampaignStep, steps: tuple[CampaignStep, ...]) -> str:
    """SpecForge trains on whole files, so an amount is a file of its own."""
    samples = samples_of(step) if step.kind == "train" and not wanted.target.reference else None
    data = next((one.outputs.get("train", "") for one in steps if one.kind == "export"), "")
    if samples is None or not data:
        return ""
    path = folder / f"train-{samples}.jsonl"
    if not path.exists():
        write_subset(Path(data), path, samples)
    return str(path)
