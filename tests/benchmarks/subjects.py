"""The programs that are measured: the console on a fed state folder, naive Textual, htop, nvitop on a fake NVML."""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks.results import Skipped

ROOT = Path(__file__).parent.parent.parent
ALULA = [sys.executable, "-m", "console"]
FAKE_NVML = ROOT / "tests" / "watch" / "fake_nvml.c"
NVITOP = "nvitop==1.7.2"


@dataclass(frozen=True)
class Subject:
    """A command, its environment, and a text by which its first full frame is known."""

    name: str
    command: list[str]
    environment: dict[str, str | None] = field(default_factory=dict)
    marker: bytes = b""


@contextmanager
def fed_folder(scratch: Path, *, jobs: int = 40) -> Iterator[Path]:
    """A state folder that a feeder writes to, once a second, for as long as the context lasts."""
    folder = scratch / f"home-{jobs}"
    command = [sys.executable, "-m", "tests.benchmarks.feeder", str(folder), "--jobs", str(jobs)]
    feeder = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert feeder.stdout is not None
        if feeder.stdout.readline().strip() != "fed":
            raise Skipped("the feeder ended early")
        yield folder
    finally:
        feeder.kill()
        feeder.wait()


def console(folder: Path, **environment: str | None) -> Subject:
    """`alula` on a state folder."""
    return Subject("alula", ALULA, {"ALULA_HOME": str(folder), **environment}, b"GPU")


def widgets(jobs: int = 30) -> Subject:
    """The project's widgets without the console's screens."""
    command = [sys.executable, "-m", "tests.benchmarks.widgets_app", str(jobs)]
    return Subject("alula's widgets", command, {}, b"GPU 7")


def naive() -> Subject:
    """The same content by Textual's own widgets."""
    return Subject("Textual, own widgets", [sys.executable, "-m", "tests.benchmarks.naive_app"], {}, b"GPU 7")


def htop() -> Subject:
    """htop at 1 Hz."""
    if shutil.which("htop") is None:
        raise Skipped("htop is not installed (apt-get install htop)")
    return Subject("htop -d 10", ["htop", "-d", "10"], {}, b"PID")


def nvitop(scratch: Path) -> Subject:
    """nvitop at 1 Hz on a stand-in for NVML with eight busy GPUs, in an environment of its own."""
    compiler = shutil.which("gcc")
    if compiler is None or not FAKE_NVML.exists():
        raise Skipped("nvitop needs gcc to build the fake NVML library")
    library = scratch / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, FAKE_NVML], check=True)
    (scratch / "script").write_text("gpus 8\njitter 1\n")
    return Subject(
        "nvitop --interval 1, 8 GPUs",
        [str(_nvitop_python()), "-m", "nvitop", "--monitor", "full", "--interval", "1"],
        {"LD_LIBRARY_PATH": str(scratch), "FAKE_NVML": str(scratch / "script")},
        b"GPU",
    )


def _nvitop_python() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "alula-benchmarks" / "nvitop"
    python = cache / "bin" / "python"
    if not python.exists():
        venv.create(cache, with_pip=True)
    installed = subprocess.run([python, "-c", "import nvitop"], check=False, capture_output=True)
    if installed.returncode:
        done = subprocess.run([python, "-m", "pip", "install", "-q", NVITOP], check=False, capture_output=True)
        if done.returncode:
            raise Skipped(f"{NVITOP} cannot be installed")
    return python
