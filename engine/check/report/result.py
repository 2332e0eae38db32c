"""The outcome of one run of the checker over one or several deployments."""

import msgspec

from engine.check.records import Deployment, Finding, Severity

ORDER: dict[Severity, int] = {"error": 0, "warning": 1, "info": 2}


class Checked(msgspec.Struct, frozen=True):
    """One deployment with what the rules say of it, errors first."""

    deployment: Deployment
    findings: tuple[Finding, ...]

    def count(self, severity: Severity) -> int:
        """How many findings have this severity."""
        return sum(finding.severity == severity for finding in self.findings)


class Unchecked(msgspec.Struct, frozen=True):
    """A source that could not be checked at all."""

    source: str
    line: int | None
    column: int | None
    message: str
    remedy: str
    empty: bool = False
    """It was read, and speaks of no server: beside sources that do, that is no failure."""


class Outcome(msgspec.Struct, frozen=True):
    """All that a run gives."""

    checked: tuple[Checked, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()

    @property
    def exit_code(self) -> int:
        """2: something could not be checked, 1: errors found, 0: none."""
        if not self.checked or any(not one.empty for one in self.unchecked):
            return 2
        return 1 if any(one.count("error") for one in self.checked) else 0


def check_deployment(deployment: Deployment) -> Checked:
    """Run every rule."""
    from engine.check.rules import findings

    return Checked(deployment, tuple(sorted(findings(deployment), key=lambda finding: ORDER[finding.severity])))


def deployment_name(deployment: Deployment) -> str:
    """What a reader knows a deployment by."""
    if deployment.launch is not None:
        place = deployment.launch.place
        return f"{place.source}:{place.line}" if place.line is not None else place.source
    return deployment.live.url if deployment.live is not None else "deployment"
