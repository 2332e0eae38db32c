"""argparse's reading of a command line, with places, and with every fault told instead of only the first.

Follows CPython 3.11's `ArgumentParser.parse_args` as SGLang uses it: exact spellings, `--flag=value`, unambiguous
abbreviations, the last of repeated flags, `--` ending the options.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from engine.check.flags.advice import ambiguous_problem, choice_problem, count_problem, unknown_problem
from engine.check.flags.table import Flag, FlagTable
from engine.check.flags.values import DESCRIPTIONS, convert
from engine.check.records import Argument, FlagProblem, FlagValue


class Parsed(msgspec.Struct, frozen=True):
    """What argparse would put in its namespace, and what it would refuse."""

    flags: dict[str, FlagValue]
    """Only flags that were given."""
    problems: tuple[FlagProblem, ...]
    unknown_words: tuple[str, ...] = ()
    """Variables that stand where flags stand: they may hold any flag."""


class _Option(msgspec.Struct, frozen=True):
    """A word that argparse takes for an option."""

    flag: Flag | None
    spelling: str
    """The full option string that the word stands for."""
    explicit: str | None
    """The part after `=`."""


def parse(arguments: Sequence[Argument], table: FlagTable, config_count: int = 0) -> Parsed:
    """Read `arguments`; the first `config_count` of them come from a configuration file."""
    return _Reading(arguments, table, config_count).run()


def classify(word: str, table: FlagTable) -> "_Option | tuple[str, ...] | None":
    """An option, or the spellings among which an abbreviation is ambiguous, or `None` for a plain value."""
    if not word.startswith("-"):
        return None
    if word in table.spellings:
        return _Option(table.spellings[word], word, None)
    if len(word) == 1:
        return None
    head, equals, tail = word.partition("=")
    explicit = tail if equals else None
    if equals and head in table.spellings:
        return _Option(table.spellings[head], head, explicit)
    matches = _abbreviated(word, head, explicit, table)
    if len(matches) > 1:
        return tuple(match.spelling for match in matches)
    if matches:
        return matches[0]
    if _looks_negative(word) or " " in word:
        return None
    return _Option(None, word, None)


def _abbreviated(word: str, head: str, explicit: str | None, table: FlagTable) -> list[_Option]:
    if word.startswith("--"):
        return [_Option(flag, s, explicit) for s, flag in table.spellings.items() if s.startswith(head)]
    short = word[:2]
    found = [_Option(flag, s, word[2:]) for s, flag in table.spellings.items() if s == short]
    return found + [_Option(flag, s, None) for s, flag in table.spellings.items() if s != short and s.startswith(word)]


def _looks_negative(word: str) -> bool:
    digits = word[1:]
    whole, dot, fraction = digits.partition(".")
    if not dot:
        return whole.isdecimal()
    return fraction.isdecimal() and (not whole or whole.isdecimal())


class _Unreadable(Exception):
    """A value of the wrong type: what the flag would be is not known."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class _Reading:
    """One pass over the words."""

    def __init__(self, arguments: Sequence[Argument], table: FlagTable, config_count: int) -> None:
        self._arguments = arguments
        self._table = table
        self._config_count = config_count
        self._flags: dict[str, FlagValue] = {}
        self._problems: list[FlagProblem] = []
        self._unknown_words: dict[str, None] = {}
        self._kinds: list[_Option | tuple[str, ...] | None] = []

    def run(self) -> Parsed:
        self._classify_all()
        index = 0
        while index < len(self._arguments):
            kind = self._kinds[index]
            argument = self._arguments[index]
            if isinstance(kind, _Option):
                index = self._take(index, kind)
                continue
            if isinstance(kind, tuple):
                problem = ambiguous_problem(argument, kind, self._table)
                self._problems.append(msgspec.structs.replace(problem, values=self._values_behind(index)))
            elif argument.unresolved:
                self._unknown_words.update(dict.fromkeys(argument.unresolved))
            elif argument.text != "--":
                self._problems.append(unknown_problem(argument, self._table))
            index = self._skip_values(index + 1) if isinstance(kind, tuple) else index + 1
        self._require()
        return Parsed(self._flags, tuple(self._problems), tuple(self._unknown_words))

    def _classify_all(self) -> None:
        ended = False
        for argument in self._arguments:
            if ended or argument.unresolved:
                self._kinds.append(self._unresolved_kind(argument) if not ended else None)
                continue
            ended = argument.text == "--"
            self._kinds.append(None if ended else classify(argument.text, self._table))

    def _unresolved_kind(self, argument: Argument) -> "_Option | tuple[str, ...] | None":
        """`--tp=$TP` is still that option; a word that begins with a variable is taken for a value."""
        return classify(argument.text, self._table) if argument.text.startswith("--") else None

    def _take(self, index: int, option: _Option) -> int:
        """Consume one option and its values; return the index behind them."""
        argument = self._arguments[index]
        after = self._skip_values(index + 1)
        if option.flag is None:
            problem = unknown_problem(argument, self._table)
            self._problems.append(msgspec.structs.replace(problem, values=self._values_behind(index)))
            return after
        if option.flag.takes_no_value:
            if option.explicit is not None:
                self._problems.append(count_problem(argument, option.spelling, "takes no value"))
            else:
                self._store(option, argument, ())
            return index + 1
        if option.explicit is not None:
            word = msgspec.structs.replace(argument, text=option.explicit)
            self._store(option, argument, (word,))
            return index + 1
        available = after - (index + 1)
        wanted = self._wanted(option.flag, available)
        if wanted is None:
            need = "needs at least one value" if option.flag.nargs == "+" else "needs a value"
            self._problems.append(count_problem(argument, option.spelling, need))
            return index + 1
        self._store(option, argument, tuple(self._arguments[index + 1 : index + 1 + wanted]))
        return index + 1 + wanted

    def _values_behind(self, index: int) -> tuple[str, ...] | None:
        """The values of a flag that no table knows; `None` where one hangs on an unknown variable."""
        words = self._arguments[index + 1 : self._skip_values(index + 1)]
        _, equals, explicit = self._arguments[index].text.partition("=")
        if any(word.unresolved for word in (self._arguments[index], *words)):
            return None
        return (*((explicit,) if equals else ()), *(word.text for word in words))

    def _skip_values(self, index: int) -> int:
        while index < len(self._arguments) and self._kinds[index] is None and self._arguments[index].text != "--":
            index += 1
        return index

    @staticmethod
    def _wanted(flag: Flag, available: int) -> int | None:
        """How many of the available words the flag consumes; `None` where they are too few."""
        if flag.nargs == "*":
            return available
        if flag.nargs == "?":
            return min(available, 1)
        if flag.nargs == "+":
            return available or None
        count = flag.nargs if isinstance(flag.nargs, int) else 1
        return count if available >= count else None

    def _store(self, option: _Option, argument: Argument, words: tuple[Argument, ...]) -> None:
        flag = option.flag
        assert flag is not None
        if flag.action in ("help", "ignored"):
            return
        if flag.action == "removed":
            text = flag.successor or f"{option.spelling} is no longer accepted by SGLang {self._table.release}"
            self._problems.append(count_problem(argument, option.spelling, text))
            return
        unresolved = tuple(dict.fromkeys(name for word in words for name in word.unresolved))
        value = None
        if not unresolved:
            try:
                value = self._value(option, words)
            except _Unreadable as error:
                unresolved = (error.text,)
        earlier = self._flags.get(flag.dest)
        self._flags[flag.dest] = FlagValue(
            name=flag.dest,
            value=value,
            origin="config" if self._is_config(argument) else "command",
            spelled=option.spelling,
            place=argument.place,
            repeated=self._overridden(earlier, argument),
            unresolved=unresolved,
        )

    def _overridden(self, earlier: FlagValue | None, argument: Argument) -> tuple[Any, ...]:
        if earlier is None or (earlier.origin == "config" and not self._is_config(argument)):
            return ()
        return (*earlier.repeated, earlier.value)

    def _is_config(self, argument: Argument) -> bool:
        return any(argument is word for word in self._arguments[: self._config_count])

    def _value(self, option: _Option, words: tuple[Argument, ...]) -> Any:
        flag = option.flag
        assert flag is not None
        match flag.action:
            case "store_true":
                return True
            case "store_false":
                return False
            case "boolean_optional":
                return not option.spelling.startswith("--no-")
        values = []
        for word in words:
            try:
                value = convert(flag.type, word.text)
            except (ValueError, ArithmeticError):
                wanted = f"{word.text!r} is not {DESCRIPTIONS.get(flag.type, flag.type)}"
                self._problems.append(choice_problem(word, option.spelling, wanted, None))
                raise _Unreadable(word.text) from None
            if flag.choices is not None and value not in flag.choices:
                refused = f"{word.text!r} is not among its values"
                self._problems.append(choice_problem(word, option.spelling, refused, flag.choices))
            values.append(value)
        if flag.action == "store_const":
            return flag.const
        if flag.nargs in ("+", "*") or isinstance(flag.nargs, int):
            return values
        return values[0] if values else flag.const

    def _require(self) -> None:
        if self._unknown_words:
            return  # it may stand in one of them
        for flag in self._table.flags:
            if flag.required and flag.dest not in self._flags:
                spelled = "/".join(flag.options)
                self._problems.append(
                    FlagProblem(
                        kind="missing_value", spelled=flag.options[0], message=f"{spelled} is required and not given"
                    )
                )
