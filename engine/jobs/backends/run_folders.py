"""Where the run folders of jobs lie: on this host, or where a Slurm cluster's nodes see them too."""

from pathlib import Path

from engine.context import Refusal
from engine.jobs.backends.target import Target
from state.errors import StateError
from state.folder import StateFolder, shared_runs_path
from state.settings import load_settings


def runs_path_of(target: Target, folder: StateFolder) -> Path:
    """The folder in which a job's own run folder is made.

    Raises:
        Refusal: The settings cannot be read.
    """
    return _shared(folder) if target.backend == "slurm" else folder.runs_path


def holds_many(parent: Path, folder: StateFolder) -> bool:
    """Whether the run folders of jobs that have nothing to do with each other lie there side by side.

    Raises:
        Refusal: The settings cannot be read.
    """
    return parent == folder.runs_path or parent == _shared(folder)


def _shared(folder: StateFolder) -> Path:
    try:
        return shared_runs_path(folder, load_settings().clusters.shared_folder)
    except StateError as error:
        raise Refusal(str(error), error.remedy) from error
