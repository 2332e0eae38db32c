"""Servers that run on this host: the command line and environment of a process."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import psutil

from engine.check.errors import SourceUnreadable
from engine.check.flags.release import installed_release
from engine.check.records import Launch, Place
from engine.check.sources.argument_list import read_argv
from engine.check.sources.invocation import find_invocation

ENVIRONMENT_PREFIXES = ("SGLANG_", "SGL_", "VLLM_", "HF_", "HUGGINGFACE_", "CUDA_VISIBLE", "TRANSFORMERS_")
"""Only variables that a rule may read are taken: the rest of an environment may hold secrets."""


def read_process(pid: int) -> Launch:
    """The server that a process is; raises `SourceUnreadable`."""
    name = f"process {pid}"
    try:
        process = psutil.Process(pid)
        argv = process.cmdline()
    except psutil.NoSuchProcess:
        raise SourceUnreadable("there is no such process", Place(name)) from None
    except psutil.AccessDenied:
        raise SourceUnreadable("belongs to another account", Place(name), "Run as that account, or as root.") from None
    launch = read_argv(argv, name, pid)
    return msgspec.structs.replace(
        launch,
        environment={**_environment(process), **launch.environment},
        working_folder=_folder(process),
        release_hint=launch.release_hint or _release(process, argv),
    )


def running_servers() -> list[Launch]:
    """Every SGLang and vLLM server of this host whose command line may be read, by pid."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        argv = process.info["cmdline"] or []
        if any(name in word for word in argv for name in ("sglang", "vllm", "reference")) and _is_server(argv):
            try:
                found.append(read_process(process.pid))
            except SourceUnreadable:
                continue
    return sorted(found, key=lambda launch: launch.pid or 0)


def _is_server(argv: Sequence[str]) -> bool:
    """A server itself, not a shell or a launcher (`docker run`, `srun`) that started one."""
    if find_invocation(argv) is None:
        return False
    program = Path(argv[0]).name
    return program.startswith("python") or program in ("sglang", "vllm", "alula")


def _environment(process: psutil.Process) -> dict[str, str]:
    try:
        return {name: value for name, value in process.environ().items() if name.startswith(ENVIRONMENT_PREFIXES)}
    except (psutil.Error, OSError):
        return {}


def _folder(process: psutil.Process) -> str | None:
    try:
        return process.cwd()
    except (psutil.Error, OSError):
        return None


def _release(process: psutil.Process, argv: Sequence[str]) -> str | None:
    try:
        executable = process.exe()
    except (psutil.Error, OSError):
        executable = argv[0]
    return installed_release(argv[0]) or installed_release(executable)
