"""A real Slurm node and a real Ray head for all tests; where this host forbids one, its tests say so loudly."""

import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.clusters.ray_head import PROGRAM, RayHead, is_installed, ray_head
from tests.clusters.slurm_node import SlurmNode, missing_programs, slurm_node
from tests.jobs.conftest import LIMIT_S, Host

RAY_LIMIT_S = 150.0


@pytest.fixture(scope="session")
def slurm() -> Iterator[SlurmNode]:
    if missing := missing_programs():
        skip_loudly(f"NO SLURM HERE: {', '.join(missing)} not installed; run tests/clusters/install")
    with ExitStack() as stack:
        try:
            node = stack.enter_context(slurm_node())
        except (RuntimeError, OSError) as error:
            skip_loudly(f"SLURM CANNOT RUN HERE: {error}")
        yield node


@pytest.fixture(scope="session")
def ray() -> Iterator[RayHead]:
    if not is_installed():
        skip_loudly(f"NO RAY HERE: {PROGRAM} is missing; run tests/clusters/install")
    with ExitStack() as stack:
        try:
            head = stack.enter_context(ray_head())
        except (RuntimeError, OSError) as error:
            skip_loudly(f"RAY CANNOT RUN HERE: {error}")
        yield head


@pytest.fixture
def slurm_host(slurm: SlurmNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    with host_with(slurm.environment, tmp_path, monkeypatch) as host:
        yield host


@pytest.fixture
def ray_host(ray: RayHead, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    # Ray starts a Python for each job: seconds, and on a busy host many.
    monkeypatch.setattr("tests.jobs.conftest.LIMIT_S", RAY_LIMIT_S)
    with host_with(ray.environment, tmp_path, monkeypatch) as host:
        yield host


@contextmanager
def host_with(environment: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """An engine that reaches a cluster."""
    for name, value in environment.items() | {("ALULA_HOME", str(folder / "home"))}:
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ALULA_CONFIG_HOME", str(folder / "config"))
    host = Host(folder)
    host.client.ensure_engine()
    yield host
    with suppress(Exception):
        host.client.ask("engine.stop", {}, timeout_s=LIMIT_S)


def skip_loudly(reason: str) -> None:
    warnings.warn(reason, stacklevel=2)
    pytest.skip(reason)
