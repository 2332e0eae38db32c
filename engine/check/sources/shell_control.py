"""Control flow of a shell script: branches, loops, lists, and the assignments between them."""

import fnmatch
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.check.errors import SourceUnreadable
from engine.check.sources.shell_conditions import decide
from engine.check.sources.shell_expansion import Expander, Value, folder_of, typed
from engine.check.sources.shell_state import ShellState
from engine.check.sources.shell_syntax import ShellTree, named
from engine.check.sources.text import SourceText, Text

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_LOOPS = 8
MAX_WORDS = 4096
OWN_PARAMETERS = re.compile(r"\bgetopts?\b|\$\{?[#1@*]")
"""A condition on the parameters of the script: false where it is started without any."""


class ControlFlow:
    """Follows what decides which statements run; a subclass follows the statements themselves."""

    def __init__(self, source: SourceText, state: ShellState, folder: Path | None) -> None:
        self._source = source
        self._state = state
        self._folder = folder

    def _statement(self, tree: ShellTree, node: "Node") -> None:
        raise NotImplementedError

    def _block(self, tree: ShellTree, node: "Node") -> None:
        for child in named(node):
            self._statement(tree, child)

    def _refuse_length(self, tree: ShellTree, node: "Node") -> None:
        if node.named_child_count > MAX_WORDS:
            place = self._source.place(tree.text(node.children[0]).offsets)
            raise SourceUnreadable(f"a command or list of more than {MAX_WORDS} words", place)

    def _on_copy(self, follow: Callable[[], None]) -> ShellState:
        """Follow something on a copy of the state; return that copy."""
        kept, self._state = self._state, self._state.copy()
        follow()
        branch, self._state = self._state, kept
        return branch

    def _branch(self, tree: ShellTree, nodes: "list[Node]") -> ShellState:
        def follow() -> None:
            for node in nodes:
                self._statement(tree, node)

        return self._on_copy(follow)

    def _expander(self, tree: ShellTree) -> Expander:
        folder = str(self._folder) if self._folder is not None else folder_of(self._source.name)
        return Expander(tree, self._state.variables, folder)

    def _assign(self, tree: ShellTree, node: "Node") -> tuple[str, Value] | None:
        name_node, value_node = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name_node is None:
            return None
        name = tree.source(name_node)
        appends = any(child.type == "+=" for child in node.children)
        expander = self._expander(tree)
        value: Value
        if value_node is not None and value_node.type == "array":
            self._refuse_length(tree, value_node)
            items = expander.array(value_node)
            self._keep_named_items(name, items)
            before = self._state.variables.get(name)
            known = before if isinstance(before, list) else [before] if isinstance(before, Text) else []
            unknown = appends and name in self._state.variables and before is None
            value = None if unknown else [*known, *items] if appends else items
        else:
            value = expander.value(value_node)
            before = self._state.variables.get(name)
            if appends:
                value = before + value if isinstance(before, Text) else None
            if isinstance(value, Text) and value.unresolved and value.characters == tree.source(node)[len(name) + 1 :]:
                value = None
        self._state.variables[name] = value
        if self._state.exports_all:
            self._state.exported.add(name)
        return name, value

    def _keep_named_items(self, name: str, items: list[Text]) -> None:
        """`([key]=value ...)` of an associative array."""
        for item in items:
            found = re.match(r"\[([^]]+)\]=", item.characters)
            if found is not None and not item.unresolved:
                self._state.variables[f"{name}[{found[1]}]"] = item.part(found.end())

    def _unset(self, tree: ShellTree, node: "Node") -> None:
        for variable in named(node):
            self._state.variables.pop(tree.source(variable), None)

    def _declare(self, tree: ShellTree, node: "Node") -> None:
        words = [tree.source(child) for child in node.children]
        exports = words[0] == "export" or "-x" in words
        for child in named(node):
            if child.type == "variable_assignment":
                self._assign(tree, child)
                name = child.child_by_field_name("name")
                if exports and name is not None:
                    self._state.exported.add(tree.source(name))
            elif child.type == "variable_name" and exports:
                self._state.exported.add(tree.source(child))

    def _list(self, tree: ShellTree, node: "Node") -> None:
        children = list(named(node))
        left, right = children[0], children[-1]
        sign = next((child.type for child in node.children if child.type in ("&&", "||")), "&&")
        holds = decide(left, tree, self._expander(tree))
        self._statement(tree, left)
        if holds is None and (sign == "||" or left.type == "test_command"):
            branch = self._branch(tree, [right])
            self._state.merge([self._state.copy(), branch])
        elif holds is None or holds == (sign == "&&"):
            self._statement(tree, right)

    def _if(self, tree: ShellTree, node: "Node") -> None:
        """Follow the branch that is taken, or every one that may be."""
        branches: list[ShellState] = []
        for test, body in _arms(node):
            holds = True if test is None else decide(test, tree, self._expander(tree))
            if test is not None:
                self._statement(tree, test)
            if holds is not False:
                branches.append(self._branch(tree, body))
            if holds:
                self._state.merge(branches)
                return
        self._state.merge([*branches, self._state.copy()])

    def _for(self, tree: ShellTree, node: "Node") -> None:
        variable, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        if body is None:
            return
        if variable is None or node.type != "for_statement":
            self._block(tree, body)
            return
        expander = self._expander(tree)
        inside = [child for child in named(node) if child not in (variable, body)]
        words = [word for child in inside for word in _counted(tree.source(child)) or expander.words(child)]
        for word in words[:MAX_LOOPS]:
            self._state.variables[tree.source(variable)] = None if word.unresolved else word
            self._block(tree, body)

    def _while(self, tree: ShellTree, node: "Node") -> None:
        """Follow the body; what a loop over the script's own parameters sets is lost, as without parameters."""
        condition = node.child_by_field_name("condition")
        reads_parameters = condition is not None and OWN_PARAMETERS.search(tree.source(condition)) is not None
        if reads_parameters and "@" not in self._state.variables:
            self._branch(tree, list(named(node)))
        else:
            self._block(tree, node)

    def _case(self, tree: ShellTree, node: "Node") -> None:
        subject = node.child_by_field_name("value")
        word = self._expander(tree).value(subject) if subject is not None else None
        branches = []
        for item in (child for child in named(node) if child.type == "case_item"):
            patterns = [
                child for index, child in enumerate(item.children) if item.field_name_for_child(index) == "value"
            ]
            matches = None
            if word is not None and not word.unresolved:
                spelled = [tree.source(pattern).strip("\"'") for pattern in patterns]
                matches = any(fnmatch.fnmatchcase(word.characters, pattern) for pattern in spelled)
            if matches is not False:
                branches.append(self._branch(tree, [child for child in named(item) if child not in patterns]))
            if matches:
                self._state.merge(branches)
                return
        self._state.merge([*branches, self._state.copy()])


def _arms(node: "Node") -> "list[tuple[Node | None, list[Node]]]":
    """Condition and body of each arm of an `if`; no condition for `else`."""
    first: Node | None = None
    body: list[Node] = []
    arms: list[tuple[Node | None, list[Node]]] = []
    for index, child in enumerate(node.children):
        if node.field_name_for_child(index) == "condition":
            first = child if child.is_named else first
        elif child.type == "elif_clause":
            inside = list(named(child))
            arms.append((inside[0], inside[1:]) if inside else (None, []))
        elif child.type == "else_clause":
            arms.append((None, list(named(child))))
        elif child.is_named and child.type != "comment":
            body.append(child)
    return [(first, body), *arms] if first is not None else arms


def _counted(source: str) -> list[Text]:
    """`{0..3}` as words; empty for anything else."""
    bounds = re.fullmatch(r"\{(\d{1,5})\.\.(\d{1,5})\}", source)
    if bounds is None:
        return []
    first, last = int(bounds[1]), int(bounds[2])
    return [typed(str(number)) for number in range(first, min(last, first + MAX_LOOPS) + 1)]
