"""Breaks each rule in small ways, one at a time, and counts how often a test of the rules notices.

python -m tests.benchmarks.rule_mutations [--survivors]   (a minute or two; the second form lists what nobody noticed)
"""

import argparse
import ast
import copy
import importlib
import inspect
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from engine.check.facts.deployment import Facts
from engine.check.rules.registry import RULES, Rule, _details
from tests.benchmarks.results import Result
from tests.check.test_rule_branches import FOUND, QUIET
from tests.check.test_rules import CASES, SEVERITIES, SILENT, read_setup

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
LONGEST_S = 5


class Expected(NamedTuple):
    """What a test of the rules holds of one deployment."""

    rule: str
    facts: Facts
    severity: str | None
    """`None`: the rule says nothing; empty: any."""


class Mutant(NamedTuple):
    """A module with one change."""

    tree: ast.Module
    line: int
    change: str


def run(report: Callable[[str], None] = print, survivors: bool = False) -> list[Result]:
    """The share of changes that a test notices, in all."""
    with tempfile.TemporaryDirectory() as folder:
        expected = list(_expectations(Path(folder)))
    killed = made = 0
    for name in sorted({rule.look.__module__ for rule in RULES.values()}):
        alive, count = _try_module(name, expected)
        killed, made = killed + count - len(alive), made + count
        report(f"{name.rpartition('.')[2]:<14} {count - len(alive):>4} of {count:>4} noticed")
        for mutant in alive if survivors else []:
            report(f"    line {mutant.line}: {mutant.change}")
    return [
        Result("rules", "changes noticed", 100.0 * killed / max(1, made), "%"),
        Result("rules", "changes", made, ""),
    ]


def _expectations(folder: Path) -> Iterator[Expected]:
    rows = [(rule, fault, "") for rule, (fault, _) in CASES.items()]
    rows += [(rule, near_miss, None) for rule, (_, near_miss) in CASES.items()]
    rows += [(rule, setup, severity) for rule, severity, setup in SEVERITIES]
    rows += [(rule, setup, None) for rule, setup in (*SILENT, *QUIET)]
    rows += [(rule, setup, "") for rule, setup in FOUND]
    for number, (rule, setup, severity) in enumerate(rows):
        root = folder / str(number)
        root.mkdir()
        yield Expected(rule, Facts(read_setup(setup, root)), severity)


def _try_module(name: str, expected: list[Expected]) -> tuple[list[Mutant], int]:
    module = importlib.import_module(name)
    own = {rule_id: rule for rule_id, rule in RULES.items() if rule.look.__module__ == name}
    concerned = [one for one in expected if one.rule in own]
    assert all(_holds(one, own[one.rule]) for one in concerned), "a test of the rules fails as it is"
    mutants = list(_mutants(ast.parse(inspect.getsource(module))))
    return [one for one in mutants if not _noticed(one, name, own, concerned)], len(mutants)


def _noticed(mutant: Mutant, name: str, own: dict[str, Rule], concerned: list[Expected]) -> bool:
    kept = dict(RULES)
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(LONGEST_S)
    try:
        for rule_id in own:
            del RULES[rule_id]
        exec(compile(mutant.tree, name, "exec"), {"__name__": name})
        return not all(one.rule in RULES and _holds(one, RULES[one.rule]) for one in concerned)
    except Exception:
        return True
    finally:
        signal.alarm(0)
        RULES.clear()
        RULES.update(kept)


def _too_long(number: int, frame: object) -> None:
    raise TimeoutError


def _holds(expected: Expected, rule: Rule) -> bool:
    severities = {detail.severity or rule.severity for detail in _details(rule, expected.facts)}
    if expected.severity is None:
        return not severities
    return bool(severities) if expected.severity == "" else expected.severity in severities


def _mutants(tree: ast.Module) -> Iterator[Mutant]:
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    count = sum(1 for function in functions for _ in _changes(function))
    for number in range(count):
        broken = copy.deepcopy(tree)
        places = (place for node in broken.body if isinstance(node, ast.FunctionDef) for place in _changes(node))
        line, what, change = next(place for index, place in enumerate(places) if index == number)
        change()
        yield Mutant(ast.fix_missing_locations(broken), line, what)


def _changes(function: ast.FunctionDef) -> Iterator[tuple[int, str, Callable[[], None]]]:
    for statement in function.body:
        for node in ast.walk(statement):
            yield from _changes_of(node)


def _changes_of(node: ast.AST) -> Iterator[tuple[int, str, Callable[[], None]]]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
        other = COMPARED[type(node.ops[0])]
        yield node.lineno, f"{ast.unparse(node)} with {other.__name__}", lambda: node.ops.__setitem__(0, other())
    elif isinstance(node, ast.BoolOp):
        turned = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield node.lineno, f"{ast.unparse(node)} with and/or changed", lambda: setattr(node, "op", turned)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.lineno, f"{ast.unparse(node)} without not", lambda: setattr(node, "op", ast.UAdd())
    elif isinstance(node, ast.If):
        yield node.lineno, f"if {ast.unparse(node.test)}: always", lambda: setattr(node, "test", ast.Constant(True))
        yield node.lineno, f"if {ast.unparse(node.test)}: never", lambda: setattr(node, "test", ast.Constant(False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--survivors", action="store_true", help="list the changes that no test notices")
    for result in run(survivors=parser.parse_args().survivors):
        print(result.line())


if __name__ == "__main__":
    main()
