"""What the fixes of a deployment change in its command, all together."""

from collections.abc import Mapping, Sequence

import msgspec

from engine.check.records import Argument, Fix, Place, ServerArguments
from engine.check.report.command_lines import destination_of, flag_of
from engine.check.report.result import Checked


class Change(msgspec.Struct, frozen=True):
    """What all fixes of a deployment ask for together; the gravest finding wins where two disagree."""

    set_flags: Mapping[str, str | None]
    drop_flags: frozenset[str]
    set_environment: Mapping[str, str]
    drop_environment: frozenset[str]

    def is_empty(self) -> bool:
        """Whether no fix touches the command."""
        return not (self.set_flags or self.drop_flags or self.set_environment or self.drop_environment)


def change_of(one: Checked) -> Change:
    """Merge the fixes of errors and warnings, errors first."""
    fixes = [finding.fix for finding in one.findings if finding.fix is not None and finding.severity != "info"]
    arguments = one.deployment.arguments
    set_flags: dict[str, str | None] = {}
    drop_flags: set[str] = set()
    taken: set[str] = set()
    for fix in fixes:
        for name, value in fix.set_flags.items():
            if _claim(name, arguments, taken):
                set_flags[name] = value
        drop_flags.update(name for name in fix.drop_flags if _claim(name, arguments, taken))
    return Change(set_flags, frozenset(drop_flags), *_environment(fixes))


def corrected_arguments(
    words: tuple[Argument, ...], change: Change, arguments: ServerArguments | None
) -> tuple[Argument, ...]:
    """The words after the change: values replaced where the flag stands, dropped flags gone, new flags at the end."""
    wanted = {setting_of(name, arguments): (name, value) for name, value in change.set_flags.items()}
    dropped = {setting_of(name, arguments) for name in change.drop_flags}
    last = {setting_of(head_of(word), arguments): index for index, word in enumerate(words) if is_flag(word)}
    kept: list[Argument] = []
    index = 0
    while index < len(words):
        word = words[index]
        end = end_of(words, index)
        key = setting_of(head_of(word), arguments) if is_flag(word) else None
        if key in dropped or (key in wanted and last[str(key)] != index):
            pass
        elif key in wanted:
            name, value = wanted.pop(str(key))
            kept.extend(_flag_words(name if flag_of(name, arguments) is None else head_of(word), value))
        else:
            kept.extend(words[index:end])
        index = end
    for name, value in wanted.values():
        kept.extend(_flag_words(name, value))
    return tuple(kept)


def setting_of(spelled: str, arguments: ServerArguments | None) -> str:
    """The destination that a spelling stands for; the spelling where this release has none."""
    return destination_of(spelled, arguments) or spelled


def head_of(word: Argument) -> str:
    """A flag without its `=value`."""
    return word.text.partition("=")[0]


def is_flag(word: Argument) -> bool:
    """Whether a word is spelled as a flag."""
    return word.text.startswith("--") and len(word.text) > 2


def end_of(words: Sequence[Argument], index: int) -> int:
    """Index behind a flag and its values."""
    end = index + 1
    while end < len(words) and not is_flag(words[end]):
        end += 1
    return end


def _environment(fixes: list[Fix]) -> tuple[dict[str, str], frozenset[str]]:
    dropped = frozenset(name for fix in fixes for name in fix.drop_environment)
    values = {name: value for fix in reversed(fixes) for name, value in fix.set_environment.items()}
    return {name: value for name, value in values.items() if name not in dropped}, dropped


def _claim(name: str, arguments: ServerArguments | None, taken: set[str]) -> bool:
    key = setting_of(name, arguments)
    free = key not in taken
    taken.add(key)
    return free


def _flag_words(name: str, value: str | None) -> list[Argument]:
    nowhere = Place("fix")
    return [Argument(name, nowhere), *([Argument(value, nowhere)] if value is not None else [])]
