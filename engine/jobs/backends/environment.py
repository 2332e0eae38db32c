"""The variables of a job on a cluster."""

from pathlib import Path

from engine.jobs.backends.cluster import Submission, cluster_name
from engine.jobs.run_folder import JOB_ID_VARIABLE, JOB_VARIABLE
from engine.jobs.secrets import read_secrets
from state.records.jobs import Job

CLUSTER_OWN = frozenset({"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"})
"""Set by the cluster for the GPUs that it gives."""
HOST_OWN = frozenset({"PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME", "LD_LIBRARY_PATH", "HF_HOME"})
"""Paths of this host, which a Ray cluster does not share."""


def submission_of(job: Job, secrets_path: Path) -> Submission:
    """What is handed over.

    Raises:
        LookupError: A secret has no value.
        OSError: A secret cannot be read.
    """
    left_out = CLUSTER_OWN | HOST_OWN if job.backend == "ray" else CLUSTER_OWN
    environment = {name: value for name, value in job.environment.items() if name not in left_out}
    environment[JOB_ID_VARIABLE] = str(job.id)
    if job.backend == "slurm":
        environment[JOB_VARIABLE] = job.run_folder
    secrets = read_secrets(secrets_path, job.schedule.secrets)
    return Submission(name=cluster_name(job), job=job, environment=environment, secrets=secrets)
