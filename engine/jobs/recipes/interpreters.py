"""The Python that runs a job: found, shown, checked."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from engine.jobs.recipes.records import Interpreter

CHECK_LIMIT_S = 60.0
LOOK_LIMIT_S = 5.0
Origin = Literal["parameter", "variable", "setting", "environment", "path", "console"]
_LOOK = """
import importlib.metadata as m, importlib.util as u, json, platform, sys
try: version = m.version(sys.argv[2])
except Exception: version = None
try: found = u.find_spec(sys.argv[1].partition(".")[0]) is not None
except Exception: found = False
print("ALULA" + json.dumps([sys.executable, platform.python_version(), version, found]))
"""


class FoundInterpreter(msgspec.Struct, frozen=True, kw_only=True):
    """A Python, and what is known of it."""

    path: str
    origin: Origin
    python_version: str | None = None
    package: str = ""
    package_version: str | None = None
    checked: bool = False
    """The import itself has been tried."""
    problem: str | None = None
    """Why it cannot be used."""

    @property
    def words(self) -> str:
        """One line for a person."""
        versions = [f"Python {self.python_version}"] if self.python_version else []
        versions += [f"{self.package} {self.package_version}"] if self.package_version else []
        return f"{self.path} ({', '.join([*versions, self.origin])})"


def variable_of(wanted: Interpreter) -> str:
    """The environment variable that chooses: `ALULA_SGLANG_PYTHON`."""
    return f"ALULA_{wanted.package.upper().replace('-', '_')}_PYTHON"


def candidates(
    wanted: Interpreter, chosen: str | None, settings: Mapping[str, str], environment: Mapping[str, str] | None = None
) -> Iterator[tuple[str, Origin]]:
    """Where to look, in order. Somebody's explicit choice is the only candidate."""
    around = os.environ if environment is None else environment
    if chosen:
        yield _python_of(chosen), "parameter"
    elif named := around.get(variable_of(wanted)):
        yield _python_of(named), "variable"
    elif wanted.package in settings:
        yield _python_of(settings[wanted.package]), "setting"
    else:
        for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
            if around.get(name):
                yield str(Path(around[name]) / "bin/python"), "environment"
        for name in ("python3", "python"):
            if path := shutil.which(name, path=around.get("PATH")):
                yield path, "path"
        yield sys.executable, "console"


def find_interpreter(
    wanted: Interpreter, chosen: str | None, settings: Mapping[str, str], environment: Mapping[str, str] | None = None
) -> FoundInterpreter:
    """The first candidate that has the package; without one the first, with what is wrong with it."""
    first: FoundInterpreter | None = None
    for path, origin in dict.fromkeys(candidates(wanted, chosen, settings, environment)):
        found = look_at(path, origin, wanted)
        if found.problem is None:
            return found
        first = first or found
    assert first is not None
    return first


def look_at(path: str, origin: Origin, wanted: Interpreter) -> FoundInterpreter:
    """What a Python says of itself and the package, in some 50 ms, without importing that."""
    found = FoundInterpreter(path=path, origin=origin, package=wanted.package)
    said = _run(path, ["-c", _LOOK, wanted.imports, wanted.package], LOOK_LIMIT_S)
    if isinstance(said, str):
        return msgspec.structs.replace(found, problem=said)
    line = next((line for line in said.stdout.splitlines() if line.startswith("ALULA")), None)
    if said.returncode or line is None:
        return msgspec.structs.replace(found, problem=f"{path} is no Python: {_last(said.stderr)}")
    itself, python, version, present = msgspec.json.decode(line[5:], type=tuple[str, str, str | None, bool])
    problem = None if present else f"{itself} has no {wanted.imports}"
    # Itself: what stands in PATH may be a shim that starts another one by the folder that it is called in.
    return msgspec.structs.replace(
        found, path=itself or path, python_version=python, package_version=version, problem=problem
    )


def check_import(found: FoundInterpreter, wanted: Interpreter) -> FoundInterpreter:
    """Import the package in that Python: seconds to a minute, so never on the way to a frame."""
    if found.problem is not None:
        return found
    said = _run(found.path, ["-c", f"import {wanted.imports}"], CHECK_LIMIT_S)
    if isinstance(said, str):
        return msgspec.structs.replace(found, checked=True, problem=said)
    if said.returncode:
        problem = f"{found.path} cannot import {wanted.imports}: {_last(said.stderr)}"
        return msgspec.structs.replace(found, checked=True, problem=problem)
    return msgspec.structs.replace(found, checked=True)


def _run(path: str, arguments: list[str], limit_s: float) -> "subprocess.CompletedProcess[str] | str":
    try:
        return subprocess.run(
            [path, *arguments], capture_output=True, text=True, errors="replace", timeout=limit_s, check=False,
            stdin=subprocess.DEVNULL, cwd="/",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"{path} did not answer within {limit_s:.0f} s"
    except FileNotFoundError:
        return f"there is no {path}"
    except (OSError, ValueError) as error:
        return f"{path} cannot be run: {getattr(error, 'strerror', None) or error}"


def _python_of(choice: str) -> str:
    """A path to the program: a folder is taken for a virtual environment, a bare name is looked up."""
    path = Path(choice).expanduser()
    if path.is_dir():
        return str(path / "bin/python")
    return str(path.absolute()) if "/" in choice else shutil.which(choice) or choice


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "it says nothing"
