"""Of `alula check` and `alula probe`."""

from typing import Any, TypedDict

from console.json_forms.common import Forms
from engine.check.probe import Probe
from engine.check.records import Finding, ModelProblem, Place, Severity
from engine.check.report.flow import Flow
from engine.check.report.result import Unchecked


class DeploymentFinding(Finding, frozen=True, kw_only=True):
    """A finding with the index of its deployment."""

    deployment: int


class CheckedModel(TypedDict):
    """A model as its files describe it; `tensors` is their number."""

    reference: str
    folder: str | None
    architectures: list[str] | None
    tensors: int | None
    problems: list[ModelProblem]


class CheckedServer(TypedDict):
    """What the running server says of itself."""

    url: str
    problem: str | None
    release: str | None
    speculative_algorithm: Any
    accept_length: float | None
    verifications: int | None


class CheckedDeployment(TypedDict):
    """One server: its command, flags, models and widths."""

    index: int
    framework: str
    source: Place | None
    pid: int | None
    command: list[str] | None
    environment: dict[str, str]
    unresolved: list[str]
    release: str | None
    release_known: bool
    flags: dict[str, Any]
    target: CheckedModel | None
    draft: CheckedModel | None
    widths: Flow
    live: CheckedServer | None


class Counts(TypedDict):
    """Findings by severity."""

    errors: int
    warnings: int
    infos: int
    deployments: int
    exit_code: int


class CheckReport(TypedDict):
    """All that a check found; `deployment` is the first of `deployments`."""

    schema: int
    deployment: CheckedDeployment | None
    deployments: list[CheckedDeployment]
    findings: list[DeploymentFinding]
    unchecked: list[Unchecked]
    summary: Counts


class RuleShown(TypedDict):
    """A rule: what it finds, why it matters, where its fact was read."""

    id: str
    severity: Severity
    title: str
    explanation: str
    source: str


class ProbeReport(Probe, frozen=True, kw_only=True):
    """What a probe measured, and what a check of the server says."""

    findings: tuple[DeploymentFinding, ...] = ()


FORMS: Forms = {
    "check": {"": CheckReport, "--list-rules": list[RuleShown], "--explain RULE": RuleShown},
    "probe": {"": ProbeReport},
}
