"""Runs a cluster's own commands without holding up the engine: bounded in time, their words kept for the operator."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from engine.jobs.backends.cluster import Unreachable
from state.outside_text import plain_line

LIMIT_S = 60.0
"""sbatch and squeue try again by themselves for a while when the controller does not answer."""


class Said(msgspec.Struct, frozen=True):
    """What a command answered."""

    code: int
    output: str
    complaint: str
    """One line of its standard error."""


async def run_command(
    arguments: Sequence[str], *, environment: Mapping[str, str] | None = None, held: int | None = None,
    working_dir: Path | None = None, limit_s: float = LIMIT_S,
) -> Said:  # fmt: skip
    """Run a command to its end.

    Args:
        arguments: Program and arguments; no shell.
        environment: On top of the engine's own.
        held: A file descriptor that it keeps open as long as it lives.
        working_dir: Where it runs.
        limit_s: After which it is killed.

    Raises:
        Unreachable: There is no such program, or it does not end in time.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, env={**os.environ, **(environment or {})}, cwd=working_dir,
            pass_fds=() if held is None else (held,), start_new_session=True,
        )  # fmt: skip
    except FileNotFoundError:
        raise Unreachable(f"there is no program {arguments[0]} here") from None
    except OSError as error:
        raise Unreachable(f"{arguments[0]} cannot be run: {error.strerror}") from error
    try:
        async with asyncio.timeout(limit_s):
            output, complaint = await process.communicate()
    except TimeoutError:
        raise Unreachable(f"{arguments[0]} has not answered for {limit_s:.0f} s") from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
    return Said(process.returncode or 0, output.decode(errors="replace"), _one_line(complaint))


def _one_line(text: bytes) -> str:
    lines = [plain_line(line, 300).strip() for line in text.decode(errors="replace").splitlines()]
    return "; ".join(line for line in lines if line)[:600]
