"""How a rule is written down, and how all of them are run."""

import logging
from collections.abc import Callable, Iterator
from typing import NamedTuple

from engine.check.facts.deployment import Facts
from engine.check.records import Deployment, Evidence, Finding, Fix, Severity, UnresolvedValue

log = logging.getLogger(__name__)


class Detail(NamedTuple):
    """What a rule found: the rest of the finding comes from the rule."""

    message: str
    evidence: tuple[Evidence, ...] = ()
    fix: Fix | None = None
    severity: Severity | None = None
    """Where it differs from the rule's own."""


Look = Callable[[Facts], Iterator[Detail]]


class Rule(NamedTuple):
    """One thing that is looked for."""

    id: str
    severity: Severity
    title: str
    explanation: str
    source: str
    framework: str
    look: Look


RULES: dict[str, Rule] = {}
"""Every rule by id, in the order in which they are run."""


def rule(
    rule_id: str, severity: Severity, title: str, *, explanation: str, source: str, framework: str = "sglang"
) -> Callable[[Look], Look]:
    """Register a function as a rule.

    Args:
        rule_id: Stable: tests, cases, JSON and SARIF use it.
        severity: The gravest that it reports.
        title: At most 70 characters.
        explanation: What is looked for, and what happens where it is found.
        source: Where the fact comes from, with the release.
        framework: `sglang`, `vllm`, or `any`.
    """

    def register(look: Look) -> Look:
        assert rule_id not in RULES and len(title) <= 70
        RULES[rule_id] = Rule(rule_id, severity, title, explanation, source, framework, look)
        return look

    return register


def findings(deployment: Deployment) -> tuple[Finding, ...]:
    """What every rule finds. A rule that lacks an input says nothing."""
    facts = Facts(deployment)
    framework = "sglang" if facts.is_sglang else "vllm"
    found = []
    for one in RULES.values():
        if one.framework in (framework, "any"):
            found += [_finding(one, detail) for detail in _details(one, facts)]
    return tuple(found)


def _details(one: Rule, facts: Facts) -> list[Detail]:
    try:
        return list(one.look(facts))
    except UnresolvedValue:
        return []  # told once by the rule `input-missing`
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError):
        # A config may hold anything. One that a rule cannot make sense of must not hide what the others find.
        log.debug("rule %s could not be decided", one.id, exc_info=True)
        return []


def _finding(one: Rule, detail: Detail) -> Finding:
    return Finding(
        rule=one.id,
        severity=detail.severity or one.severity,
        title=one.title,
        message=detail.message,
        evidence=detail.evidence,
        fix=detail.fix,
        source=one.source,
    )
