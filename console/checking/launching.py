"""The corrected command of a deployment as a job that the engine can start."""

import re
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from engine.check.records import Launch
from engine.check.report.command_change import change_of, corrected_arguments
from engine.check.report.result import Checked
from state.secret_words import is_secret_name

CONTAINERS = ("docker", "podman", "nerdctl", "ssh", "kubectl", "srun")


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A job of kind `serve`, and what must be said before it is started."""

    argv: tuple[str, ...]
    name: str
    working_dir: str
    environment: Mapping[str, str]
    schedule: Mapping[str, Any]
    remarks: tuple[str, ...]

    def arguments(self) -> dict[str, Any]:
        """Arguments of the engine's command `jobs.launch`."""
        return {
            "argv": list(self.argv),
            "name": self.name,
            "kind": "serve",
            "working_dir": self.working_dir,
            "environment": dict(self.environment),
            "schedule": dict(self.schedule),
        }


class NotLaunchable(Exception):
    """Why a command cannot be started from here; the text says it."""


def proposal(one: Checked, gpus_here: int, kept_secrets: Collection[str] = ()) -> Proposal:
    """The command with every fix in it.

    Args:
        one: What was checked.
        gpus_here: How many GPUs the engine sees; without any none is asked for.
        kept_secrets: Names of secrets that the engine has values for.

    Raises:
        NotLaunchable: No command, one with holes, or one of another host.
    """
    launch, change = one.deployment.launch, change_of(one)
    if launch is None or not launch.program:
        raise NotLaunchable("no command is known here, only what a server says of itself")
    if launch.unresolved:
        names = ", ".join(f"${name}" for name in launch.unresolved[:3])
        raise NotLaunchable(f"{names} is not known here: start the script itself")
    starter = launch.program[0].text.rsplit("/", 1)[-1]
    if launch.elsewhere and starter not in CONTAINERS:
        raise NotLaunchable("it runs in a container or on another host: copy the command with c")
    words = (*launch.program, *corrected_arguments(launch.arguments, change, one.deployment.arguments))
    environment = {**launch.environment, **change.set_environment}
    environment = {name: value for name, value in environment.items() if name not in change.drop_environment}
    secrets = sorted(name for name in environment if is_secret_name(name))
    handed_on = [name for name in secrets if name in kept_secrets]
    schedule, waits = _schedule(one, environment, gpus_here)
    changed = [f"{name} {value or ''}".strip() for name, value in change.set_flags.items()]
    changed += [f"without {name}" for name in sorted(change.drop_flags)]
    remarks = [f"Changed: {', '.join(changed)}." if changed else "Nothing in the command is changed."]
    errors = sorted({finding.rule for finding in one.findings if finding.severity == "error" and _stays(finding.fix)})
    remarks += [f"These errors stay: {', '.join(errors)}."] if errors else []
    remarks += [f"Process {launch.pid} goes on; stop it for its port and GPUs."] if launch.pid else []
    remarks += waits
    remarks += [f"{name} is not handed on: alula jobs secret set {name}" for name in secrets if name not in handed_on]
    return Proposal(
        argv=tuple(word.text for word in words if word.raw != ""),
        name=_name(one),
        working_dir=launch.working_folder or _folder_of(launch),
        environment={
            name: value for name, value in environment.items() if name not in secrets and name != "CUDA_VISIBLE_DEVICES"
        },
        schedule={**schedule, "secrets": handed_on},
        remarks=tuple(remarks),
    )


def _stays(fix: Any) -> bool:
    """Whether a finding's fix changes nothing in the command."""
    return fix is None or not (fix.set_flags or fix.drop_flags or fix.set_environment or fix.drop_environment)


def _schedule(one: Checked, environment: Mapping[str, str], gpus_here: int) -> tuple[dict[str, Any], list[str]]:
    """GPUs by the parallel sizes or the devices that were chosen; the port; when it is ready."""
    schedule: dict[str, Any] = {}
    chosen = environment.get("CUDA_VISIBLE_DEVICES", "")
    waits = []
    if gpus_here and re.fullmatch(r"\d+(,\d+)*", chosen):
        schedule["gpu_choice"] = [int(index) for index in chosen.split(",")]
        waits.append(f"It waits until the GPUs {chosen} are free.")
    elif gpus_here:
        sizes = [_number(one, name) or 1 for name in ("tp_size", "pp_size")]
        schedule["gpus"] = min(sizes[0] * sizes[1], gpus_here)
        waits.append(f"It waits until {schedule['gpus']} of {gpus_here} GPUs are free.")
    port = _number(one, "port") or 30000
    schedule["ports"] = [port]
    schedule["ready_url"] = f"http://127.0.0.1:{port}/health"
    return schedule, waits


def _number(one: Checked, name: str) -> int | None:
    arguments = one.deployment.arguments
    flag = arguments.flags.get(name) if arguments is not None else None
    return flag.value if flag is not None and isinstance(flag.value, int) and not flag.unresolved else None


def _name(one: Checked) -> str:
    target = one.deployment.target
    return "serve " + (target.reference.rstrip("/").rsplit("/", 1)[-1][:40] if target is not None else "server")


def _folder_of(launch: Launch) -> str:
    from pathlib import Path

    source = Path(launch.place.source)
    return str(source.resolve().parent if source.is_file() else Path.cwd())
