"""Follows a shell script without running it and collects the commands it would start, in order.

Variables set in the script are resolved; what depends on the outside stays unresolved and is named. Where a condition
is not known, both branches are followed and what differs between them afterwards counts as unresolved.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.check.bounded_file import read_text
from engine.check.errors import SourceUnreadable
from engine.check.paths import is_file
from engine.check.records import Place
from engine.check.sources.shell_control import ControlFlow
from engine.check.sources.shell_expansion import Value, typed
from engine.check.sources.shell_state import ShellCommand, ShellState
from engine.check.sources.shell_strings import nested_script, reads_script
from engine.check.sources.shell_syntax import ShellTree, named
from engine.check.sources.text import SourceText, Text, joined

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_STATEMENTS = 20_000
MAX_DEPTH = 24


def shell_commands(
    source: SourceText, variables: Mapping[str, str], folder: Path | None = None, script: Text | None = None
) -> list[ShellCommand]:
    """The commands of a script, by default the whole source.

    `variables` are known beforehand (HOME); `folder` is where the script lies. Raises `SourceUnreadable`.
    """
    follower = _Follower(source, ShellState({name: typed(value) for name, value in variables.items()}, set()), folder)
    try:
        if script is None:
            follower.script(source.text, range(len(source.text)))
        else:
            follower.script(script.characters, script.offsets)
    except RecursionError:
        raise SourceUnreadable("a script nested too deep", Place(source.name)) from None
    return follower.commands


def commands_of_words(source: SourceText, words: list[Text], exported: Mapping[str, str]) -> list[ShellCommand]:
    """The commands that a list of words starts: itself, or what it hands to a shell (`["bash", "-c", "..."]`)."""
    variables: dict[str, Value] = {name: typed(value) for name, value in exported.items()}
    follower = _Follower(source, ShellState(variables, set(exported)), None)
    follower.started(words, {})
    return follower.commands


class _Follower(ControlFlow):
    def __init__(self, source: SourceText, state: ShellState, folder: Path | None) -> None:
        super().__init__(source, state, folder)
        self._functions: dict[str, tuple[ShellTree, Node]] = {}
        self._called: set[str] = set()
        self._wrappers: tuple[tuple[Text, ...], ...] = ()
        self._depth = 0
        self._statements = 0
        self.commands: list[ShellCommand] = []

    def script(self, characters: str, offsets: Sequence[int]) -> None:
        """Follow a whole script, then the functions that nothing called."""
        tree = ShellTree(characters, offsets)
        self._block(tree, tree.root)
        for name, (where, body) in list(self._functions.items()):
            if name not in self._called:
                self._called.add(name)
                self._branch(where, [body])

    def _statement(self, tree: ShellTree, node: "Node") -> None:
        self._statements += 1
        if self._statements > MAX_STATEMENTS:
            raise SourceUnreadable(f"a script of more than {MAX_STATEMENTS} commands", Place(self._source.name))
        if self._depth >= MAX_DEPTH:
            return
        self._depth += 1
        try:
            self._follow(tree, node)
        finally:
            self._depth -= 1

    def _follow(self, tree: ShellTree, node: "Node") -> None:
        handlers = {
            "command": self._command,
            "variable_assignment": self._assign,
            "declaration_command": self._declare,
            "unset_command": self._unset,
            "redirected_statement": self._redirected,
            "list": self._list,
            "if_statement": self._if,
            "for_statement": self._for,
            "while_statement": self._while,
            "case_statement": self._case,
            "function_definition": self._define,
            "subshell": self._apart,
            "pipeline": self._apart,
        }
        if node.type not in ("comment", "test_command", "heredoc_body"):
            handlers.get(node.type, self._block)(tree, node)

    def _apart(self, tree: ShellTree, node: "Node") -> None:
        """What a subshell or a pipe sets is lost behind it."""
        self._branch(tree, list(named(node)))

    def _define(self, tree: ShellTree, node: "Node") -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            self._functions[tree.source(name)] = (tree, body)

    def _redirected(self, tree: ShellTree, node: "Node") -> None:
        body = node.child_by_field_name("body")
        inputs = [child for child in named(node) if child.type == "heredoc_redirect"]
        if body is not None:
            self._statement(tree, body)
        for redirect in inputs:
            script = next((child for child in named(redirect) if child.type == "heredoc_body"), None)
            pipes = [child for child in named(redirect) if child.type == "pipeline"]
            readers = [*pipes, *([body] if body is not None else [])]
            runs = any(reads_script(tree.source(reader)) for reader in readers)
            if script is not None and (runs or _writes_script(tree, node, redirect)):
                self._nested(tree.text(script), ())

    def _nested(self, script: Text, wrapper: tuple[Text, ...]) -> None:
        """Follow a script that stands in a string."""
        if self._depth >= MAX_DEPTH:
            return
        kept, self._wrappers = self._wrappers, (*self._wrappers, wrapper)
        tree = ShellTree(script.characters, script.offsets)
        self._depth += 1
        self._branch(tree, list(named(tree.root)))
        self._depth -= 1
        self._wrappers = kept

    def _command(self, tree: ShellTree, node: "Node") -> None:
        self._refuse_length(tree, node)
        prefix: dict[str, str] = {}
        expander = self._expander(tree)
        words: list[Text] = []
        for child in named(node):
            if child.type == "variable_assignment" and not words:
                self._prefix(tree, node, child, prefix)
            elif child.type not in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
                words.extend(expander.words(child))
        given = next((child for child in named(node) if child.type == "herestring_redirect"), None)
        if words and given is not None and reads_script(words[0].characters):
            self._nested(expander.value(next(named(given))), tuple(words))
        elif words:
            self.started(words, prefix)

    def _prefix(self, tree: ShellTree, command: "Node", node: "Node", prefix: dict[str, str]) -> None:
        """An assignment before a command; one that stands on a line of its own belongs to the script."""
        name = command.child_by_field_name("name")
        gap = tree.between(node.end_byte, name.start_byte).characters if name is not None else ""
        before = dict(self._state.variables)
        assigned = self._assign(tree, node)
        if "\n" in gap.replace("\\\n", "") or assigned is None:
            return
        self._state.variables = before
        if isinstance(assigned[1], Text):
            prefix[assigned[0]] = assigned[1].characters

    def started(self, words: list[Text], prefix: dict[str, str]) -> None:
        """Take up one command whose words are expanded; `ENTRYPOINT []` has none."""
        if not words:
            return
        first = words[0].characters
        if first in self._functions:
            self._call(first, words[1:])
            return
        if self._builtin(first, words):
            return
        nested = nested_script(words)
        if nested is not None:
            self._nested(nested[1], tuple(words[: nested[0]]))
            return
        exported = {
            name: value.characters
            for name in sorted(self._state.exported)
            if isinstance(value := self._state.variables.get(name), Text)
        }
        self.commands.append(
            ShellCommand(
                words=tuple(words),
                prefix=prefix,
                exported=exported,
                wrappers=self._wrappers,
                folder=self._state.folder,
                source=self._source,
            )
        )

    def _call(self, name: str, parameters: list[Text]) -> None:
        self._called.add(name)
        tree, body = self._functions[name]
        names = ("@", "*", *map(str, range(1, 10)))
        kept = {key: self._state.variables[key] for key in names if key in self._state.variables}
        self._set_parameters(parameters)
        self._statement(tree, body)
        for key in names:
            self._state.variables.pop(key, None)
        self._state.variables.update(kept)

    def _builtin(self, first: str, words: list[Text]) -> bool:
        """Follow a command that changes what comes after it; False for any other."""
        arguments = [word.characters for word in words[1:]]
        match first:
            case "cd" if arguments:
                path = Path(self._state.folder or "") / arguments[0]
                self._state.folder = str(path) if path.is_absolute() and not words[1].unresolved else None
            case "set":
                self._state.exports_all = self._state.exports_all or "-a" in arguments or "allexport" in arguments
                if "--" in arguments:
                    self._set_parameters(words[arguments.index("--") + 2 :])
            case "source" | "." if arguments and not words[1].unresolved:
                self._include(arguments[0])
            case "eval":
                self._nested(joined([part for word in words[1:] for part in (typed(" "), word)][1:]), ())
            case "shift":
                self._shift(int(arguments[0]) if arguments and arguments[0].isdecimal() else 1)
            case "local" | "read" | "trap":
                pass
            case _:
                return False
        return True

    def _shift(self, count: int) -> None:
        parameters = self._state.variables.get("@")
        if isinstance(parameters, list):
            self._set_parameters(parameters[count:])

    def _set_parameters(self, parameters: list[Text]) -> None:
        self._state.variables.update({"@": parameters, "*": parameters})
        for index in range(1, 10):
            self._state.variables[str(index)] = parameters[index - 1] if index <= len(parameters) else typed("")

    def _include(self, name: str) -> None:
        """Follow a sourced file that lies on this machine."""
        folders = [folder for folder in (self._state.folder, self._folder) if folder is not None]
        path = next((found for folder in folders if is_file(found := Path(folder) / name)), None)
        if path is None or self._depth >= MAX_DEPTH - 8:
            return
        inner = _Follower(SourceText(str(path), read_text(path)), self._state, path.parent)
        inner._functions, inner._depth, inner._statements = self._functions, self._depth + 8, self._statements
        tree = ShellTree(inner._source.text, range(len(inner._source.text)))
        inner._block(tree, tree.root)
        self._statements = inner._statements
        self.commands.extend(inner.commands)
        for key, value in self._state.variables.items():
            self._state.variables[key] = _elsewhere(value)


def _writes_script(tree: ShellTree, *nodes: "Node") -> bool:
    """`cat > serve.sh <<EOF`: a script that is written to be run."""
    files = [child for node in nodes for child in named(node) if child.type == "file_redirect"]
    names = [name for file in files if (name := file.child_by_field_name("destination")) is not None]
    return any(tree.source(name).strip("\"'").endswith((".sh", ".bash", ".sbatch", ".slurm")) for name in names)


def _elsewhere(value: Value) -> Value:
    if isinstance(value, list):
        return [typed(item.characters) if not item.unresolved else item for item in value]
    return typed(value.characters) if isinstance(value, Text) and not value.unresolved else value
