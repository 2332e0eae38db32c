"""Expands the words of a shell script: quotes, variables set in the same script, arrays, arithmetic."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engine.check.sources.shell_parameters import operated
from engine.check.sources.shell_syntax import ShellTree, named
from engine.check.sources.text import EMPTY, MAX_CHARACTERS, NOWHERE, Text, joined

if TYPE_CHECKING:
    from tree_sitter import Node

Value = Text | list[Text] | None
"""A scalar, an array, or a variable whose value is not known."""

MAX_FIELDS = 4096
SHOWN = 400
"""Characters kept of an expansion that is not followed."""
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "?": "?", "a": "\a", "b": "\b", "e": "\x1b"}


def typed(characters: str) -> Text:
    """Text that stands nowhere in the source."""
    return Text(characters, (NOWHERE,) * len(characters), (False,) * len(characters))


class Expander:
    """Expands nodes of one tree with the variables known so far."""

    def __init__(self, tree: ShellTree, variables: dict[str, Value], script_folder: str | None) -> None:
        self._tree = tree
        self._variables = variables
        self._script_folder = script_folder

    def words(self, node: "Node") -> list[Text]:
        """The words that a node becomes after expansion and field splitting."""
        fields = [word for field in self._fields(node) for word in field.fields()]
        return [self._with_home(word, node) for word in fields[:MAX_FIELDS]]

    def value(self, node: "Node | None") -> Text:
        """The value that an assignment stores: no field splitting; array items are joined by spaces."""
        if node is None:
            return EMPTY
        fields = self._fields(node)
        parts = [part for field in fields for part in (typed(" "), field)][1:]
        text = joined(parts)
        return (
            self._with_home(text, node) if len(text.characters) <= MAX_CHARACTERS else self._unresolved(node, "value")
        )

    def array(self, node: "Node") -> list[Text]:
        """The items of `(...)`."""
        return [word for child in named(node) for word in self.words(child)]

    def lookup(self, name: str) -> Value:
        """The value of a variable; `None` where it is not known."""
        return self._variables.get(name)

    def _with_home(self, word: Text, node: "Node") -> Text:
        home = self._variables.get("HOME")
        if node.type not in ("word", "concatenation") or not isinstance(home, Text):
            return word
        if word.characters == "~" or word.characters.startswith("~/"):
            return typed(home.characters) + word.part(1)
        return word

    def _fields(self, node: "Node") -> list[Text]:
        """Fields before splitting; more than one only where an array is expanded."""
        if node.child_count > MAX_FIELDS:
            return [self._unresolved(node, self._tree.source(node)[:SHOWN])]
        match node.type:
            case "concatenation" | "command_name":
                return self._chain([self._fields(child) for child in self._with_gaps(node)])
            case "string":
                return self._string(node)
            case "translated_string":
                return self._fields(next(named(node)))
            case "raw_string":
                inside = self._tree.text(node).part(1, -1)
                return [inside.with_splits(False)]
            case "ansi_c_string":
                return [_unescaped(self._tree.text(node).part(2, -1), ESCAPES)]
            case "simple_expansion" | "expansion":
                return self._expansion(node)
            case "arithmetic_expansion":
                return [self._arithmetic(node)]
            case "command_substitution" | "process_substitution":
                return [self._substitution(node)]
            case _:
                return [_plain_word(self._tree.text(node))]

    def _with_gaps(self, node: "Node") -> list["Node"]:
        return list(node.children)

    @staticmethod
    def _chain(parts: list[list[Text]]) -> list[Text]:
        """`a"${B[@]}"c`: the first item joins what is before it, the last one what is behind it."""
        done: list[Text] = []
        current: list[Text] = []
        for fields in parts:
            if not fields:
                continue
            current.append(fields[0])
            for field in fields[1:]:
                done.append(joined(current))
                current = [field]
        return [*done, joined(current)] if current else done

    def _string(self, node: "Node") -> list[Text]:
        parts: list[list[Text]] = []
        at = node.start_byte + 1
        for child in named(node):
            if child.start_byte > at:
                parts.append([_unescaped(self._tree.between(at, child.start_byte), {}, '"\\$`')])
            if child.type == "string_content":
                parts.append([_unescaped(self._tree.text(child), {}, '"\\$`')])
            else:
                parts.append([field.with_splits(False) for field in self._fields(child)])
            at = child.end_byte
        if node.end_byte - 1 > at:
            parts.append([_unescaped(self._tree.between(at, node.end_byte - 1), {}, '"\\$`')])
        if not parts:
            return [Text("", (), (), (), True)]
        return self._chain(parts)

    def _unresolved(self, node: "Node", name: str) -> Text:
        text = self._tree.text(node)
        shown = text if len(text.characters) <= SHOWN else text.part(0, SHOWN)
        return Text(shown.characters, shown.offsets, shown.splits, (name,), True)

    def _expansion(self, node: "Node") -> list[Text]:
        children = list(node.children)
        target = next((child for child in children if child.type in ("variable_name", "special_variable_name")), None)
        index = None
        for child in children:
            if child.type == "subscript":
                target = child.child_by_field_name("name")
                subscript = child.child_by_field_name("index")
                index = self.value(subscript).characters if subscript is not None else None
        if target is None:
            return [self._unresolved(node, self._tree.source(node))]
        name = self._tree.source(target)
        stored = self._variables.get(name)
        if any(child.type in ("#", "!") and child.start_byte < target.start_byte for child in children):
            return [self._unresolved(node, name)]
        operators = self._operator(node, target)
        found = self._stored(stored, index, name)
        named_item = self._variables.get(f"{name}[{index}]")
        if isinstance(named_item, Text):
            found = [named_item]
        if operators is None:
            return [self._unresolved(node, name)] if found is None else self._splitting(found)
        return self._operated(node, name, found, *operators)

    def _stored(self, stored: Value, index: str | None, name: str) -> list[Text] | None:
        if stored is None:
            return None
        if isinstance(stored, Text):
            return [stored]
        if index in ("@", "*") or name in ("@", "*"):
            return stored
        if index is None:
            return stored[:1]
        return stored[int(index) :][:1] if index.isdecimal() and len(index) < 6 else None

    @staticmethod
    def _splitting(fields: list[Text]) -> list[Text]:
        return [field.with_splits(True) if not field.unresolved else field for field in fields]

    def _operator(self, node: "Node", target: "Node") -> tuple[str, list["Node"]] | None:
        """The operator of `${NAME<operator>word}` and the nodes behind it."""
        rest = [
            child for child in node.children if child.start_byte >= target.end_byte and child.type not in ("}", "]")
        ]
        rest = [child for child in rest if child.type != "subscript"]
        return (rest[0].type, rest[1:]) if rest else None

    def _operated(
        self, node: "Node", name: str, found: list[Text] | None, sign: str, words: list["Node"]
    ) -> list[Text]:
        empty = found is not None and not any(field.characters for field in found)
        unset = found is None
        if unset and name in self._variables and sign not in (":?", "?"):
            return [self._unresolved(node, name)]
        if sign in (":-", "-", ":=", "=", ":?", "?"):
            takes_default = unset or (empty and sign.startswith(":"))
            if not takes_default or sign in (":?", "?"):
                return [self._unresolved(node, name)] if found is None else self._splitting(found)
            default = self._chain([self._fields(word) for word in words]) or [EMPTY]
            if unset and not any(field.characters for field in default):
                return [Text("", (), (), (name,))]
            if "=" in sign:
                self._variables[name] = joined(default)
            return default
        if sign in (":+", "+"):
            if unset:
                return [EMPTY]
            return [EMPTY] if empty and sign == ":+" else self._chain([self._fields(word) for word in words])
        if found is None or len(found) != 1:
            return [self._unresolved(node, name)]
        behind = [joined(self._fields(word)) for word in words if word.type not in ("/", ":")]
        if any(word.unresolved for word in (*behind, *found)):
            return [self._unresolved(node, name)]
        changed = operated(found[0], sign, [word.characters for word in behind])
        return [self._unresolved(node, name)] if changed is None else [changed.with_splits(True)]

    def _arithmetic(self, node: "Node") -> Text:
        body = self._tree.source(node).removeprefix("$((").removesuffix("))").removeprefix("$[").removesuffix("]")
        from engine.check.sources.shell_arithmetic import whole_number

        number = whole_number(body, self._known_number)
        if number is None:
            return self._unresolved(node, self._tree.source(node))
        return Text(str(number), self._tree.text(node).offsets[:1] * len(str(number)), (False,) * len(str(number)))

    def _known_number(self, name: str) -> int:
        stored = self._variables.get(name)
        if not isinstance(stored, Text) or stored.unresolved:
            raise ValueError(name)
        return int(stored.characters)

    def _substitution(self, node: "Node") -> Text:
        """The script's own folder is known; the output of any other command is not."""
        source = self._tree.source(node)
        own = "dirname" in source and ("$0" in source or "BASH_SOURCE" in source)
        if own and self._script_folder is not None and source.count("$(") <= 2:
            return typed(self._script_folder)
        return self._unresolved(node, source[:SHOWN])


def _plain_word(text: Text) -> Text:
    """An unquoted word: a backslash keeps the next character, a continued line vanishes."""
    return _unescaped(text, {}, None) if "\\" in text.characters else text


def _unescaped(text: Text, table: Mapping[str, str], only: str | None = "") -> Text:
    """Resolve backslashes. `table` gives ANSI-C escapes; `only` the characters a backslash escapes (`None`: all)."""
    if "\\" not in text.characters:
        return Text(text.characters, text.offsets, (False,) * len(text.characters), text.unresolved, only is not None)
    out: list[str] = []
    offsets: list[int] = []
    index = 0
    while index < len(text.characters):
        character = text.characters[index]
        following = text.characters[index + 1 : index + 2]
        if character == "\\" and following:
            index += 1
            if following == "\n" and not table:
                index += 1
                continue
            if table or only is None or following in only:
                character = table.get(following, following)
            else:
                index -= 1
        out.append(character)
        offsets.append(text.offsets[index])
        index += 1
    return Text("".join(out), tuple(offsets), (False,) * len(out), text.unresolved, only is not None)


def folder_of(script: str) -> str:
    """The folder a script lies in, as the shell would name it."""
    return str(PurePosixPath(script).parent)
