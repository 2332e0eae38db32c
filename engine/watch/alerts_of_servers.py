"""What can be wrong with servers. Pure."""

from collections.abc import Iterator, Sequence

from engine.check.records import Finding
from engine.watch.accept_trend import has_fallen
from engine.watch.alert_state import Symptom
from engine.watch.latest import Snapshot
from state.records.servers import Server, ServerSample

RULES = ("server-accept-length-one", "server-accept-length-falling", "server-check", "server-down", "server-restarted")
_REJECTED = "Every draft token is rejected: each step pays for a draft pass and gains nothing by it."
NOTHING_ACCEPTED = 1.05
"""Accept length up to which practically no draft token is accepted: the bonus token alone gives 1.0."""


def server_symptoms(snapshot: Snapshot) -> Iterator[Symptom]:
    """Down, restarted with other flags, at odds with the checker, or speculating for nothing."""
    for url, server in snapshot.servers.items():
        errors = _errors(snapshot.findings.get(url, ()))
        sample = snapshot.server_samples.get(url)
        if server.health == "down":
            if server.job_id is None or any(job.id == server.job_id for job in snapshot.jobs):
                yield _down(server)
        elif sample and server.speculative_algorithm and _accepts_nothing(sample):
            yield _accept_length_one(url, sample, errors)
        else:
            if errors:
                yield _finding(url, errors)
            if (trend := snapshot.accept_trends.get(url)) and has_fallen(trend):
                yield _falling(url, trend.recent or 0.0, trend.usual or 0.0)
    yield from _restarts(snapshot)


def _errors(findings: Sequence[Finding]) -> list[Finding]:
    """Errors, causes before the effects that the checker itself saw live."""
    errors = [finding for finding in findings if finding.severity == "error"]
    return sorted(errors, key=lambda finding: finding.rule.startswith("live-"))


def _accepts_nothing(sample: ServerSample) -> bool:
    return sample.accept_length is not None and sample.accept_length <= NOTHING_ACCEPTED


def _accept_length_one(url: str, sample: ServerSample, errors: Sequence[Finding]) -> Symptom:
    found = errors[0] if errors else None
    return Symptom(
        rule="server-accept-length-one",
        subject=f"server {url}",
        severity="error",
        title=f"accept length {sample.accept_length:.2f}: {found.title if found else 'no draft token is accepted'}",
        cause=found.message if found else _REJECTED,
        remedy=_remedy(found, url),
        raise_after_s=2,
        clear_after_s=30,
    )


def _finding(url: str, errors: Sequence[Finding]) -> Symptom:
    first, more = errors[0], len(errors) - 1
    return Symptom(
        rule="server-check",
        subject=f"server {url}",
        severity="error",
        title=first.title + (f" (and {more} more)" if more else ""),
        cause=first.message,
        remedy=_remedy(first, url),
    )


def _falling(url: str, recent: float, usual: float) -> Symptom:
    return Symptom(
        rule="server-accept-length-falling",
        subject=f"server {url}",
        severity="warning",
        title=f"accept length fell to {recent:.2f}, usual here is {usual:.2f}",
        cause="The requests of the last minutes suit the draft worse: other content, language or sampling.",
        remedy="Compare the prompts of now and before, and measure whether speculation still pays for these.",
        raise_after_s=60,
        clear_after_s=300,
    )


def _down(server: Server) -> Symptom:
    where = "its log" if server.job_id is None else f"its log (`alula jobs logs {server.job_id}`)"
    return Symptom(
        rule="server-down",
        subject=f"server {server.url}",
        severity="error",
        title=f"server {server.url} is down",
        cause=server.health_message or "It does not answer.",
        remedy=f"Look at {where}. If it is gone for good: `alula servers remove {server.url}`.",
        raise_after_s=10,
        clear_after_s=5,
    )


def _restarts(snapshot: Snapshot) -> Iterator[Symptom]:
    for event in snapshot.server_events:
        if event.url in snapshot.servers and "with other flags" in event.message:
            yield Symptom(
                rule="server-restarted",
                subject=f"server {event.url}",
                severity="warning",
                title=f"server {event.url} {event.message}"[:160],
                cause=event.message,
                remedy="If that was not meant, start it with the flags of before. Do not compare figures across it.",
                clear_after_s=0,
            )


def _remedy(finding: Finding | None, url: str) -> str:
    more = f"`alula check --server {url}` shows all."
    fix = finding.fix.text.rstrip(".") if finding and finding.fix else ""
    return f"{fix}. {more}" if fix else more
