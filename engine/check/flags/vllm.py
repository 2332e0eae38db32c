"""vLLM's command line, as far as speculative decoding goes (vllm 0.33.0: `--speculative-config '<JSON>'`).

No flag table: any `--name value` is taken, and `speculative_config` is decoded.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from engine.check.records import Argument, FlagProblem, FlagValue, ServerArguments


def read_vllm_arguments(arguments: Sequence[Argument]) -> ServerArguments:
    """Flags by destination; `model` also where it stands without a flag."""
    flags: dict[str, FlagValue] = {}
    problems: list[FlagProblem] = []
    index = 0
    if arguments and not arguments[0].text.startswith("-"):
        flags["model"] = _flag("model", arguments[0].text, arguments[0], arguments[0])
        index = 1
    while index < len(arguments):
        argument = arguments[index]
        index += 1
        if not argument.text.startswith("--"):
            continue
        head, equals, tail = argument.text.partition("=")
        value: Any = tail
        word = argument
        if not equals and index < len(arguments) and not arguments[index].text.startswith("--"):
            word = arguments[index]
            value = word.text
            index += 1
        elif not equals:
            value = True
        name = head[2:].replace("-", "_").partition(".")[0]
        if name == "speculative_config" and "." not in head:
            value = _decoded(head, value, word, problems)
        elif "." in head:
            before = flags["speculative_config"].value if name in flags else {}
            value = {**(before if isinstance(before, dict) else {}), head.partition(".")[2]: value}
        flags[name] = _flag(name, value, argument, word)
    return ServerArguments(release="vllm", release_known=False, flags=flags, problems=tuple(problems))


def _flag(name: str, value: Any, argument: Argument, word: Argument) -> FlagValue:
    spelled = argument.text.partition("=")[0]
    return FlagValue(
        name=name, value=value, origin="command", spelled=spelled, place=argument.place, unresolved=word.unresolved
    )


def _decoded(head: str, value: Any, word: Argument, problems: list[FlagProblem]) -> Any:
    if word.unresolved or not isinstance(value, str):
        return None
    try:
        decoded = msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError) as error:
        problems.append(
            FlagProblem(kind="invalid", spelled=head, message=f"{head} is not valid JSON: {error}", place=word.place)
        )
        return None
    if not isinstance(decoded, dict):
        message = f"{head} must be a JSON object with method, model and num_speculative_tokens"
        problems.append(FlagProblem(kind="invalid", spelled=head, message=message, place=word.place))
        return None
    return decoded
