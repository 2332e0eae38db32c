"""Follows a shell script without running it and collects the commands it would start, in order.

Variables set in the script are resolved; what depends on the outside stays unresolved and is named. Where a condition
is not known, both branches are followed and what differs between them afterwards counts as unresolved.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from engine.check.bounded_file import read_text
from engine.check.errors import SourceUnreadable
from engine.check.records import Place
from engine.check.sources.shell_conditions import decide
from engine.check.sources.shell_expansion import Expander, Value, folder_of, typed
from engine.check.sources.shell_syntax import ShellTree, named
from engine.check.sources.text import SourceText, Text, joined, literal

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_STATEMENTS = 20_000
MAX_DEPTH = 24
MAX_LOOPS = 8
SHELLS = {"bash", "sh", "zsh", "dash", "ksh"}
NESTED = re.compile(r"(sglang[.\w]*launch_server|\bsglang\s+serve\b|\bvllm\s+serve\b|vllm\.entrypoints)")


class ShellCommand(msgspec.Struct, frozen=True, kw_only=True):
    """One simple command with its words expanded."""

    words: tuple[Text, ...]
    prefix: Mapping[str, str] = {}
    """`NAME=value` before the command."""
    exported: Mapping[str, str] = {}
    """Variables that the script exported before."""
    wrappers: tuple[tuple[Text, ...], ...] = ()
    """Commands around it that were handed this one as a string (`docker run image bash -c '...'`), outermost first."""
    folder: str | None = None
    source: SourceText


class _State(msgspec.Struct):
    variables: dict[str, Value]
    exported: set[str]
    folder: str | None = None
    exports_all: bool = False

    def copy(self) -> "_State":
        return _State(dict(self.variables), set(self.exported), self.folder, self.exports_all)

    def merge(self, branches: "list[_State]") -> None:
        """Keep what all branches agree on."""
        first, *others = branches
        for name in {name for branch in branches for name in branch.variables}:
            value = first.variables.get(name)
            agree = all(name in b.variables and b.variables[name] == value for b in branches)
            self.variables[name] = value if agree else None
        self.exported = set().union(*(branch.exported for branch in branches))
        self.folder = first.folder if all(b.folder == first.folder for b in others) else None


def shell_commands(
    source: SourceText, variables: Mapping[str, str], folder: Path | None = None, script: Text | None = None
) -> list[ShellCommand]:
    """The commands of a script, by default the whole source. `variables` are known beforehand (HOME); `folder` holds the script."""
    follower = _Follower(source, _State({name: typed(value) for name, value in variables.items()}, set()), folder)
    follower.script(literal(source.text, 0) if script is None else script)
    return follower.commands


def commands_of_words(source: SourceText, words: list[Text], exported: Mapping[str, str]) -> list[ShellCommand]:
    """The commands that a list of words starts: itself, or what it hands to a shell (`["bash", "-c", "..."]`)."""
    variables: dict[str, Value] = {name: typed(value) for name, value in exported.items()}
    follower = _Follower(source, _State(variables, set(exported)), None)
    follower.started(words, {})
    return follower.commands


class _Follower:
    def __init__(self, source: SourceText, state: _State, folder: Path | None) -> None:
        self._source = source
        self._state = state
        self._folder = folder
        self._functions: dict[str, tuple[ShellTree, Node]] = {}
        self._called: set[str] = set()
        self._wrappers: tuple[tuple[Text, ...], ...] = ()
        self._depth = 0
        self._statements = 0
        self.commands: list[ShellCommand] = []

    def script(self, text: Text) -> None:
        """Follow a whole script, then the functions that nothing called."""
        tree = ShellTree(text)
        self._block(tree, tree.root)
        for name, (where, body) in list(self._functions.items()):
            if name not in self._called:
                self._called.add(name)
                self._branch(where, body)

    def _block(self, tree: ShellTree, node: "Node") -> None:
        for child in named(node):
            self._statement(tree, child)

    def _branch(self, tree: ShellTree, node: "Node") -> _State:
        """Follow a node on a copy of the state; return that copy."""
        kept, self._state = self._state, self._state.copy()
        self._block(tree, node)
        branch, self._state = self._state, kept
        return branch

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
        match node.type:
            case "command":
                self._command(tree, node)
            case "variable_assignment":
                self._assign(tree, node)
            case "variable_assignments":
                self._block(tree, node)
            case "declaration_command":
                self._declare(tree, node)
            case "unset_command":
                for name in named(node):
                    self._state.variables[tree.source(name)] = None
            case "redirected_statement":
                self._redirected(tree, node)
            case "list":
                self._list(tree, node)
            case "if_statement":
                self._if(tree, node)
            case "for_statement":
                self._for(tree, node)
            case "case_statement":
                self._case(tree, node)
            case "function_definition":
                name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
                if name is not None and body is not None:
                    self._functions[tree.source(name)] = (tree, body)
            case "subshell" | "pipeline":
                self._branch(tree, node)
            case "comment" | "test_command" | "heredoc_body":
                return
            case _:
                self._block(tree, node)

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
            items = expander.array(value_node)
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
            kept, self._state = self._state, self._state.copy()
            self._statement(tree, right)
            branch, self._state = self._state, kept
            self._state.merge([kept.copy(), branch])
        elif holds is None or holds == (sign == "&&"):
            self._statement(tree, right)

    def _if(self, tree: ShellTree, node: "Node") -> None:
        """Follow the branch that is taken, or every one that may be."""
        branches: list[_State] = []
        condition: Node | None = None
        decided = False
        bodies: list[tuple[Node | None, list[Node]]] = []
        current: list[Node] = []
        for index, child in enumerate(node.children):
            if child.type == "comment" or not child.is_named:
                continue
            if node.field_name_for_child(index) == "condition":
                condition = child
            elif child.type == "elif_clause":
                inside = list(named(child))
                bodies.append((inside[0], inside[1:]))
            elif child.type == "else_clause":
                bodies.append((None, list(named(child))))
            else:
                current.append(child)
        for test, body in [(condition, current), *bodies]:
            holds = True if test is None else decide(test, tree, self._expander(tree))
            if holds is False:
                continue
            kept, self._state = self._state, self._state.copy()
            for statement in body:
                self._statement(tree, statement)
            branch, self._state = self._state, kept
            branches.append(branch)
            if holds:
                decided = True
                break
        self._state.merge(branches if decided else [*branches, self._state.copy()])

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

    def _case(self, tree: ShellTree, node: "Node") -> None:
        subject = node.child_by_field_name("value")
        word = self._expander(tree).value(subject) if subject is not None else None
        branches = []
        for item in named(node):
            if item.type != "case_item":
                continue
            patterns = [item.children[i] for i in range(len(item.children)) if item.field_name_for_child(i) == "value"]
            body = [child for child in named(item) if child not in patterns]
            matches = None
            if word is not None and not word.unresolved:
                matches = any(_case_matches(word.characters, tree.source(pattern)) for pattern in patterns)
            if matches is False:
                continue
            kept, self._state = self._state, self._state.copy()
            for statement in body:
                self._statement(tree, statement)
            branch, self._state = self._state, kept
            branches.append(branch)
            if matches:
                self._state.merge([branch])
                return
        self._state.merge([*branches, self._state.copy()])

    def _redirected(self, tree: ShellTree, node: "Node") -> None:
        body = node.child_by_field_name("body")
        inputs = [child for child in named(node) if child.type == "heredoc_redirect"]
        if body is not None:
            self._statement(tree, body)
        for redirect in inputs:
            script = next((child for child in named(redirect) if child.type == "heredoc_body"), None)
            pipes = [child for child in named(redirect) if child.type == "pipeline"]
            readers = [*pipes, *([body] if body is not None else [])]
            if script is not None and any(_reads_script(tree.source(reader)) for reader in readers):
                self._nested(tree.text(script), ())

    def _nested(self, script: Text, wrapper: tuple[Text, ...]) -> None:
        """Follow a script that stands in a string."""
        if self._depth >= MAX_DEPTH:
            return
        kept, self._wrappers = self._wrappers, (*self._wrappers, wrapper)
        tree = ShellTree(script)
        self._depth += 1
        self._branch(tree, tree.root)
        self._depth -= 1
        self._wrappers = kept

    def _command(self, tree: ShellTree, node: "Node") -> None:
        prefix: dict[str, str] = {}
        expander = self._expander(tree)
        words: list[Text] = []
        for child in named(node):
            if child.type == "variable_assignment" and not words:
                self._prefix(tree, node, child, prefix)
            elif child.type not in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
                words.extend(expander.words(child))
        if words:
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
        """Take up one command whose words are expanded."""
        first = words[0].characters
        if first in self._functions and first not in self._called_now():
            self._call(first, words[1:])
            return
        if self._builtin(first, words):
            return
        nested = _nested_script(words)
        if nested is not None:
            self._nested(words[nested], tuple(words[:nested]))
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

    def _called_now(self) -> set[str]:
        return self._called if self._depth > MAX_DEPTH // 2 else set()

    def _call(self, name: str, parameters: list[Text]) -> None:
        self._called.add(name)
        tree, body = self._functions[name]
        kept = {key: self._state.variables.get(key) for key in ("@", "*", *map(str, range(1, 10)))}
        self._state.variables.update({"@": parameters, "*": parameters})
        for index in range(1, 10):
            self._state.variables[str(index)] = parameters[index - 1] if index <= len(parameters) else typed("")
        self._statement(tree, body)
        self._state.variables.update(kept)

    def _builtin(self, first: str, words: list[Text]) -> bool:
        """Commands that change what follows."""
        arguments = [word.characters for word in words[1:]]
        if first == "cd" and arguments:
            known = not words[1].unresolved
            path = Path(self._state.folder or "") / arguments[0] if known else Path()
            self._state.folder = str(path) if path.is_absolute() else None
            return True
        if first == "set":
            self._state.exports_all = self._state.exports_all or "-a" in arguments or "allexport" in arguments
            return True
        if first in ("source", ".") and arguments and not words[1].unresolved:
            self._include(arguments[0])
            return True
        if first == "eval":
            self._nested(joined([part for word in words[1:] for part in (typed(" "), word)][1:]), ())
            return True
        return first in ("shift", "local", "read", "trap")

    def _include(self, name: str) -> None:
        """Follow a sourced file that lies on this machine."""
        folders = [folder for folder in (self._state.folder, self._folder) if folder is not None]
        path = next((found for folder in folders if (found := Path(folder) / name).is_file()), None)
        if path is None or self._depth >= MAX_DEPTH - 8:
            return
        inner = _Follower(SourceText(str(path), read_text(path)), self._state, path.parent)
        inner._functions, inner._depth, inner._statements = self._functions, self._depth + 8, self._statements
        tree = ShellTree(literal(inner._source.text, 0))
        inner._block(tree, tree.root)
        self._statements = inner._statements
        self.commands.extend(inner.commands)
        for key, value in self._state.variables.items():
            self._state.variables[key] = _elsewhere(value)


def _elsewhere(value: Value) -> Value:
    if isinstance(value, list):
        return [typed(item.characters) if not item.unresolved else item for item in value]
    return typed(value.characters) if isinstance(value, Text) and not value.unresolved else value


def _counted(source: str) -> list[Text]:
    """`{0..3}` as words; empty for anything else."""
    bounds = re.fullmatch(r"\{(\d{1,5})\.\.(\d{1,5})\}", source)
    if bounds is None:
        return []
    first, last = int(bounds[1]), int(bounds[2])
    return [typed(str(number)) for number in range(first, min(last, first + MAX_LOOPS) + 1)]


def _case_matches(word: str, pattern: str) -> bool:
    import fnmatch

    return fnmatch.fnmatchcase(word, pattern.strip("\"'"))


def _reads_script(command: str) -> bool:
    words = command.replace("|", " ").split()
    return any(word.rsplit("/", 1)[-1] in (*SHELLS, "ssh") for word in words[:1] + words[-1:])


def _nested_script(words: list[Text]) -> int | None:
    """Index of the word that holds a whole command for another shell."""
    for index, word in enumerate(words):
        if index and " " in word.characters.strip() and NESTED.search(word.characters):
            previous = words[index - 1].characters
            shell = any(earlier.characters.rsplit("/", 1)[-1] in SHELLS for earlier in words[:index])
            if (shell and re.fullmatch(r"-[a-z]*c", previous)) or _hands_on(words[:index]):
                return index
    return None


def _hands_on(words: list[Text]) -> bool:
    """Whether a command passes its string on to a shell: `ssh host '...'`, `tmux new -d '...'`, `su -c '...'`."""
    names = {word.characters.rsplit("/", 1)[-1] for word in words}
    return bool(names & {"ssh", "tmux", "screen", "su", "runuser", "script", "watch", "timeout", "parallel", "xargs"})
