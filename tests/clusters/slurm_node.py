"""A real Slurm of one node: munged, slurmctld and slurmd from Debian's packages, in a folder of their own.

with slurm_node() as node:
    subprocess.run(["sbatch", ...], env={**os.environ, **node.environment})
"""

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.clusters.free_ports import free_ports
from tests.clusters.processes import Daemons

START_S = 30.0
CPUS = 4
GPUS = 2
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel")
_CONFIGURATION = """\
ClusterName=alula
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ReturnToService=2
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000
MessageTimeout=5
KillWait=3
MinJobAge=2
GresTypes=gpu
NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=4000 Gres=gpu:{gpus} State=UNKNOWN
PartitionName=main Nodes=node1 Default=YES MaxTime=INFINITE State=UP
"""


class SlurmNode:
    """A node that runs, its controller, and what a test does to them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.daemons = Daemons(folder)
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf")}

    def start(self) -> None:
        self._configure()
        key, socket_path = self.folder / "munge.key", self.folder / "munge.socket"
        self.daemons.start(
            "munged",
            ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={socket_path}",
             *(f"--{name}-file={self.folder}/munged.{name}" for name in ("pid", "log", "seed"))],
            {},
        )  # fmt: skip
        self.daemons.wait("munged", socket_path.exists, START_S)
        self.start_controller()
        self.daemons.start("slurmd", ["slurmd", "-D", "-N", "node1"], self.environment)
        self.daemons.wait("slurmd", lambda: "idle" in self.ask("sinfo", "--noheader", "--format=%T"), START_S)

    def start_controller(self) -> None:
        self.daemons.start("slurmctld", ["slurmctld", "-D"], self.environment)
        self.daemons.wait("slurmctld", lambda: "UP" in self.ask("scontrol", "ping"), START_S)

    def stop_controller(self) -> None:
        self.daemons.stop("slurmctld")

    def ask(self, *arguments: str) -> str:
        """What a command of Slurm says; empty where it fails."""
        done = subprocess.run(
            arguments, env={**os.environ, **self.environment}, capture_output=True, text=True, timeout=30, check=False
        )  # fmt: skip
        return done.stdout if done.returncode == 0 else ""

    def stop(self) -> None:
        self.ask("scancel", "--me")
        self.daemons.end_all()

    def _configure(self) -> None:
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(256))
        key.chmod(0o400)
        controller_port, node_port = free_ports(2)
        text = _CONFIGURATION.format(
            host=socket.gethostname().partition(".")[0], controller_port=controller_port, node_port=node_port,
            user=pwd.getpwuid(os.getuid()).pw_name, folder=self.folder, cpus=CPUS, gpus=GPUS,
        )  # fmt: skip
        (self.folder / "slurm.conf").write_text(text)
        devices = "/dev/null,/dev/zero"
        (self.folder / "gres.conf").write_text(f"NodeName=node1 Name=gpu File={devices}\n")


def missing_programs() -> list[str]:
    """Programs of Slurm that are not installed here."""
    return [name for name in PROGRAMS if shutil.which(name) is None]


@contextmanager
def slurm_node() -> Iterator[SlurmNode]:
    """A node that is ready for jobs. RuntimeError where this host does not let it start."""
    # Under /tmp: the name of munge's socket must stay short.
    folder = Path(tempfile.mkdtemp(prefix="alula-slurm-", dir="/tmp"))
    node = SlurmNode(folder)
    try:
        node.start()
        yield node
    finally:
        node.stop()
        shutil.rmtree(folder, ignore_errors=True)
