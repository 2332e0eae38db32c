"""A real Ray head on this host, from an environment of its own (`make clusters` makes `.venv-ray`), with a token.

with ray_head() as head:
    ...  # head.address is ray://127.0.0.1:PORT, head.environment holds the token
"""

import os
import secrets
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.clusters.free_ports import free_ports
from tests.clusters.processes import Daemons

START_S = 100.0
ATTEMPTS = 3
"""On a busy host a start can fail."""
CPUS = 2
PROGRAM = Path(__file__).parents[2] / ".venv-ray" / "bin" / "ray"
WORKERS = 20


class RayHead:
    """A head that runs."""

    def __init__(self, folder: Path) -> None:
        self.daemons = Daemons(folder)
        self.folder = folder
        self.token = secrets.token_hex(32)
        self.environment = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": self.token}
        gcs, self.port, agent, agent_grpc, client, metrics, *workers = free_ports(6 + WORKERS)
        self.address = f"ray://127.0.0.1:{self.port}"
        self._arguments = [
            str(PROGRAM), "start", "--head", "--block", f"--port={gcs}", "--node-ip-address=127.0.0.1",
            "--dashboard-host=127.0.0.1", f"--dashboard-port={self.port}", f"--dashboard-agent-listen-port={agent}",
            f"--dashboard-agent-grpc-port={agent_grpc}", f"--ray-client-server-port={client}",
            f"--metrics-export-port={metrics}", f"--worker-port-list={','.join(map(str, workers))}",
            f"--num-cpus={CPUS}", "--num-gpus=1", "--object-store-memory=80000000", "--disable-usage-stats",
            f"--temp-dir={folder}",
        ]  # fmt: skip

    def start(self) -> None:
        self.daemons.start("ray", self._arguments, {**self.environment, "RAY_TMPDIR": str(self.folder)})
        self.daemons.wait("ray", lambda: self._has_started() and self.answers(), START_S)

    def _has_started(self) -> bool:
        """It answers before its node has joined, and gives up where that takes more than 30 s (ray 2.60, node.py)."""
        return "Ray runtime started" in (self.folder / "ray.out").read_text(errors="replace")

    def answers(self) -> bool:
        """Whether the Jobs API answers."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/jobs/", headers={"Authorization": f"Bearer {self.token}"}
        )  # fmt: skip
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def stop(self) -> None:
        self.daemons.end_all()


def is_installed() -> bool:
    """Whether there is a Ray to start."""
    return os.access(PROGRAM, os.X_OK)


@contextmanager
def ray_head() -> Iterator[RayHead]:
    """A head that takes jobs. RuntimeError where this host does not let it start."""
    for attempt in range(ATTEMPTS):
        folder = Path(tempfile.mkdtemp(prefix="alula-ray-", dir="/tmp"))
        head = RayHead(folder)
        try:
            try:
                head.start()
            except RuntimeError:
                if attempt == ATTEMPTS - 1:
                    raise
                continue
            yield head
            return
        finally:
            head.stop()
            shutil.rmtree(folder, ignore_errors=True)
