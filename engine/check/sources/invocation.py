"""Recognises a server's start in the words of a command, whatever stands around it."""

import re
from collections.abc import Sequence

import msgspec

from engine.check.records import Argument, Launch, Place
from engine.check.sources.containers import VLLM_IMAGE, container_of, release_in
from engine.check.sources.shell_state import ShellCommand
from engine.check.sources.text import SourceText, Text

SGLANG_MODULES = {"sglang.launch_server", "sglang.srt.launch_server", "sglang.cli.main"}
VLLM_MODULES = {"vllm.entrypoints.openai.api_server", "vllm.entrypoints.cli.main"}
MENTION_ONLY = {
    *("echo", "printf", "grep", "egrep", "pgrep", "pkill", "kill", "killall", "ps", "cat", "tee", "awk", "sed"),
    *("which", "type", "man", "logger", "alias", "rm", "touch", "find", "head", "tail", "less", "wc", "read"),
}
"""Commands whose arguments may name a server that they do not start."""

FED = {"xargs", "parallel"}
"""Commands that add arguments which they read from standard input."""


class Invocation(msgspec.Struct, frozen=True):
    """Where in a list of words a server's own arguments begin."""

    framework: str
    arguments_from: int
    positional_model: bool = False
    """`sglang serve MODEL`, `vllm serve MODEL`."""


def launches_in(commands: Sequence[ShellCommand]) -> list[Launch]:
    """The server starts of one script, in order; `pip install sglang==0.5.9` before one is a hint."""
    found: list[Launch] = []
    pinned: str | None = None
    previous: Launch | None = None
    for command in commands:
        words = [word.characters for word in command.words]
        if any(word == "install" for word in words):
            pinned = release_in(words) or pinned
        if previous is not None and words[0].startswith("-") and len(words[0]) > 1:
            detached = tuple(command.source.argument(word) for word in command.words if word.characters.startswith("-"))
            found[-1] = msgspec.structs.replace(found[-1], detached=(*found[-1].detached, *detached))
            continue
        previous = launch_of(command, pinned)
        if previous is not None:
            found.append(previous)
    return found


def launch_of(command: ShellCommand, pinned: str | None = None) -> Launch | None:
    """The server that a command starts; `None` where it starts none."""
    words = [word.characters for word in command.words]
    invocation = find_invocation(words)
    if invocation is None:
        return None
    before = [word.characters for wrapper in command.wrappers for word in wrapper]
    before += words[: invocation.arguments_from]
    container = container_of(before, command.exported)
    inherited = {} if container.isolated else dict(command.exported)
    program = tuple(command.source.argument(word) for word in command.words[: invocation.arguments_from])
    arguments = tuple(_arguments(command.source, command.words[invocation.arguments_from :], invocation))
    if FED & {_name(word) for word in before}:
        arguments = (*arguments, Argument("", Place(command.source.name), "", ("STDIN",)))
    return Launch(
        framework="vllm" if invocation.framework == "vllm" else "sglang",
        arguments=arguments,
        program=program,
        environment={**inherited, **container.environment, **command.prefix},
        place=command.source.place([offset for word in command.words for offset in word.offsets]),
        source_text=command.source.text,
        unresolved=tuple(dict.fromkeys(name for word in (*program, *arguments) for name in word.unresolved)),
        working_folder=command.folder,
        mounts=container.mounts,
        elsewhere=container.isolated,
        release_hint=container.release or pinned,
    )


def find_invocation(words: Sequence[str]) -> Invocation | None:
    """Look for `-m sglang.launch_server`, `sglang serve`, `vllm serve` and their kin."""
    if not words or _name(next((word for word in words if "=" not in word), "")) in MENTION_ONLY:
        return None
    for index, word in enumerate(words):
        following = words[index + 1] if index + 1 < len(words) else ""
        if word == "-m" and following in SGLANG_MODULES | VLLM_MODULES:
            return _module(following, words, index + 2)
        if word.startswith("-m") and word[2:] in SGLANG_MODULES | VLLM_MODULES:
            return _module(word[2:], words, index + 1)
        if (
            _name(word) in ("alula", "console")
            and following == "reference"
            and words[index + 2 : index + 3] == ["serve"]
        ):
            return Invocation("alula-reference", index + 3)
        if _name(word) in ("sglang", "vllm") and following == "serve":
            return Invocation(_name(word), index + 2, True)
        if re.search(r"(^|/)sglang/launch_server\.py$", word):
            return Invocation("sglang", index + 1)
        if VLLM_IMAGE.search(word) and following.startswith("--"):
            return Invocation("vllm", index + 1)
    return None


def _with_own_target(source: SourceText, arguments: list[Argument]) -> list[Argument]:
    """The reference server takes SGLang's flags, and serves Alula's own small model where none is named."""
    if any(argument.text.partition("=")[0] in ("--model-path", "--model") for argument in arguments):
        return arguments
    from engine.reference.checkpoint import shipped_target

    place = Place(source.name)
    return [Argument("--model-path", place, ""), Argument(str(shipped_target()), place, ""), *arguments]


def _module(module: str, words: Sequence[str], after: int) -> Invocation | None:
    framework = module.partition(".")[0]
    if module.endswith("cli.main"):
        return Invocation(framework, after + 1, True) if words[after : after + 1] == ["serve"] else None
    return Invocation(framework, after)


def _name(word: str) -> str:
    return word.rsplit("/", 1)[-1]


def _arguments(source: SourceText, words: Sequence[Text], invocation: Invocation) -> list[Argument]:
    """The words that the server's parser sees: a positional model as `--model-path`, without `--model-type`."""
    arguments = [source.argument(word) for word in words]
    if invocation.framework == "alula-reference":
        return _with_own_target(source, arguments)
    if invocation.framework != "sglang" or not invocation.positional_model:
        return arguments
    kept: list[Argument] = []
    skip = False
    for argument in arguments:
        if not skip and argument.text != "--model-type" and not argument.text.startswith("--model-type="):
            kept.append(argument)
        skip = argument.text == "--model-type"
    if kept and not kept[0].text.startswith("-"):
        kept.insert(0, Argument("--model-path", kept[0].place, ""))
    return kept
