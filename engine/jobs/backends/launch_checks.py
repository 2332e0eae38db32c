"""What is wrong with a launch on a cluster, as far as that can be known before it is queued."""

import shutil

from engine.context import Refusal
from engine.jobs.backends.target import Target, parse_target
from state.records.jobs import Schedule


def target_of(on: str, schedule: Schedule) -> Target:
    """Where a job is to run.

    Raises:
        Refusal: That is no place, or not one for this job.
    """
    try:
        target = parse_target(on)
    except ValueError as error:
        raise Refusal(str(error), "see docs/clusters.md") from error
    if target.backend == "local":
        return target
    if schedule.gpu_choice:
        raise Refusal(
            "GPUs by index are GPUs of this host", f"give how many it needs: --gpus {len(schedule.gpu_choice)}"
        )
    if target.backend == "slurm" and shutil.which("sbatch") is None:
        raise Refusal("there is no sbatch here", "start the engine on a host with Slurm's commands on its PATH")
    if target.backend == "ray" and schedule.secrets:
        raise Refusal(
            "Ray shows a job's variables to all who see its dashboard, so no secrets are sent there",
            "set them on the cluster's nodes, or let the command read a file that only you can read",
        )
    return target
