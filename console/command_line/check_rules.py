"""`alula check --list-rules` and `--explain RULE`."""

import difflib
from collections.abc import Iterator

import click
import msgspec

from engine.check.report.styled import Line, Span, line, wrapped
from engine.check.rules import RULES, Rule


def print_rules(rule: str | None, as_json: bool) -> int:
    """Print every rule, or explain one; the exit status: 0, or 2 for a rule that does not exist."""
    from console.command_line.styled import echo_lines

    if rule is not None and rule not in RULES:
        near = difflib.get_close_matches(rule, RULES, n=1)
        click.echo(f"alula check: there is no rule {rule!r}" + (f"; did you mean {near[0]}?" if near else ""), err=True)
        click.echo("See every rule with: alula check --list-rules", err=True)
        return 2
    if as_json:
        chosen = [RULES[rule]] if rule is not None else list(RULES.values())
        found = [{"id": one.id, **_facts(one)} for one in chosen]
        click.echo(msgspec.json.format(msgspec.json.encode(found[0] if rule is not None else found), indent=2))
    elif rule is not None:
        echo_lines(_explained(RULES[rule]))
    else:
        echo_lines(_listed())
    return 0


def _facts(rule: Rule) -> dict[str, str]:
    return {"severity": rule.severity, "title": rule.title, "explanation": rule.explanation, "source": rule.source}


def _listed() -> Iterator[Line]:
    for rule in sorted(RULES.values(), key=lambda rule: rule.id):
        yield line(Span(f"{rule.severity:<8}", rule.severity), " ", Span(rule.id, "heading"))
        yield from wrapped(rule.title, 9, style="dim")


def _explained(rule: Rule) -> Iterator[Line]:
    yield line(Span(rule.id, "heading"), "  ", Span(rule.severity, rule.severity))
    yield from wrapped(rule.title, 0)
    yield line()
    for paragraph in rule.explanation.split("\n\n"):
        yield from wrapped(paragraph, 0)
    yield line()
    yield from wrapped(rule.source, 8, "Source: ", "dim")
