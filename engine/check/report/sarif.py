"""The report as SARIF 2.1.0 (OASIS), for code review tools."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

from engine.check.paths import is_file
from engine.check.records import Finding, Place, Severity
from engine.check.report.encoding import indented
from engine.check.report.result import Checked, Outcome, Unchecked
from state.version import VERSION

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}


def sarif_report(outcome: Outcome) -> bytes:
    """One run with a result for each finding, and a notification for each source that could not be checked."""
    findings = [(one, finding) for one in outcome.checked for finding in one.findings]
    rules = {finding.rule: finding for _, finding in findings}
    order = {rule: index for index, rule in enumerate(rules)}
    run = {
        "tool": {"driver": {"name": "alula", "version": VERSION, "rules": [_rule(f) for f in rules.values()]}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, finding, order[finding.rule]) for one, finding in findings],
        "invocations": [
            {
                "executionSuccessful": outcome.exit_code != 2,
                "exitCode": outcome.exit_code,
                "toolExecutionNotifications": [_notification(one) for one in outcome.unchecked],
            }
        ],
    }
    report = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return indented(report)


def _rule(finding: Finding) -> dict[str, Any]:
    described = {"id": finding.rule, "shortDescription": {"text": finding.title}}
    return {**described, "help": {"text": finding.source}} if finding.source else described


def _result(one: Checked, finding: Finding, rule_index: int) -> dict[str, Any]:
    text = f"{finding.title}. {finding.message}" + (f" Fix: {finding.fix.text}" if finding.fix is not None else "")
    places = [evidence.place for evidence in finding.evidence if evidence.place is not None]
    launch = one.deployment.launch
    if not places and launch is not None:
        places = [launch.place]
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        "level": LEVELS[finding.severity],
        "message": {"text": text},
    }
    locations = [location for place in places if (location := _location(place)) is not None]
    return {**result, "locations": locations} if locations else result


def _location(place: Place) -> dict[str, Any] | None:
    """A place in a file; `None` for a process or a URL, which SARIF cannot point into."""
    if "://" in place.source or not is_file(Path(place.source)):
        return None
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(place.source)}}
    if place.line is not None:
        region = {"startLine": place.line, "startColumn": place.column, "endColumn": place.end_column}
        physical["region"] = {name: value for name, value in region.items() if value is not None}
    return {"physicalLocation": physical}


def _uri(source: str) -> str:
    path = Path(source)
    return path.as_uri() if path.is_absolute() else quote(source)


def _notification(one: Unchecked) -> dict[str, Any]:
    place = ":".join(str(part) for part in (one.source, one.line, one.column) if part is not None)
    return {"level": "error", "message": {"text": f"{place}: {one.message}"}}
