"""The JSON report. Its schema is told in docs/check.md; keys are added, never renamed or dropped."""

from collections.abc import Mapping
from typing import Any

import msgspec

from engine.check.deployment import words_of
from engine.check.live import accept_length, release_of
from engine.check.records import Finding, Launch, LiveServer, Model, ServerArguments
from engine.check.report.encoding import indented
from engine.check.report.flow import flow_of
from engine.check.report.result import Checked, Outcome
from state.secret_words import HIDDEN, is_secret_name, shown_argv

SCHEMA_VERSION = 1
ENVIRONMENT_PREFIXES = ("SGLANG_", "SGL_", "VLLM_")


def json_report(outcome: Outcome) -> bytes:
    """The report as indented JSON, with a line break at its end."""
    deployments = [describe(one, index) for index, one in enumerate(outcome.checked)]
    findings = [finding_object(finding, index) for index, one in enumerate(outcome.checked) for finding in one.findings]
    counts = {f"{name}s": sum(one.count(name) for one in outcome.checked) for name in ("error", "warning", "info")}
    report = {
        "schema": SCHEMA_VERSION,
        "deployment": deployments[0] if deployments else None,
        "deployments": deployments,
        "findings": findings,
        "unchecked": [msgspec.to_builtins(one) for one in outcome.unchecked],
        "summary": {**counts, "deployments": len(deployments), "exit_code": outcome.exit_code},
    }
    return indented(report)


def finding_object(finding: Finding, index: int) -> dict[str, Any]:
    """One finding with the index of its deployment."""
    return {**msgspec.to_builtins(finding), "deployment": index}


def describe(one: Checked, index: int) -> dict[str, Any]:
    """One deployment: its command, flags, models, widths and live answers."""
    deployment = one.deployment
    return {
        "index": index,
        **_launch(deployment.launch),
        **_arguments(deployment.arguments),
        "target": _model(deployment.target),
        "draft": _model(deployment.draft),
        "widths": msgspec.to_builtins(flow_of(one)),
        "live": _live(deployment.live),
    }


def _launch(launch: Launch | None) -> dict[str, Any]:
    if launch is None:
        return {
            "framework": "sglang",
            "source": None,
            "pid": None,
            "command": None,
            "environment": {},
            "unresolved": [],
        }
    environment = {name: value for name, value in launch.environment.items() if name.startswith(ENVIRONMENT_PREFIXES)}
    return {
        "framework": launch.framework,
        "source": msgspec.to_builtins(launch.place),
        "pid": launch.pid,
        "command": list(shown_argv([word.text for word in words_of(launch)])),
        "environment": environment,
        "unresolved": list(launch.unresolved),
    }


def _arguments(arguments: ServerArguments | None) -> dict[str, Any]:
    if arguments is None:
        return {"release": None, "release_known": False, "flags": {}}
    given = {name: flag for name, flag in arguments.flags.items() if flag.origin != "default"}
    return {
        "release": arguments.release,
        "release_known": arguments.release_known,
        "flags": {name: HIDDEN if is_secret_name(name) else _plain(flag.value) for name, flag in given.items()},
    }


def _model(model: Model | None) -> dict[str, Any] | None:
    if model is None:
        return None
    return {
        "reference": model.reference,
        "folder": model.folder,
        "architectures": (model.config or {}).get("architectures"),
        "tensors": len(model.tensors) if model.tensors is not None else None,
        "problems": [msgspec.to_builtins(problem) for problem in model.problems],
    }


def _live(live: LiveServer | None) -> dict[str, Any] | None:
    if live is None:
        return None
    information: Mapping[str, Any] = live.server_info or {}
    return {
        "url": live.url,
        "problem": live.problem,
        "release": release_of(live),
        "speculative_algorithm": _plain(information.get("speculative_algorithm")),
        "accept_length": accept_length(live),
        "verifications": live.verifications,
    }


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float | bool | list | dict) else str(value)
