"""From a decoded input record to a sample: `messages`, ShareGPT `conversations`, `prompt` or MT-bench `turns`."""

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec

from engine.regen.records import Sample

ID_KEYS = ("id", "task_id", "question_id", "conversation_id", "prompt_id", "uuid")
USER_NAMES = frozenset({"user", "human"})
ASSISTANT_NAMES = frozenset({"assistant", "gpt", "chatgpt", "bing", "bard"})
LARGEST_PROMPT = 4_000_000


class Unusable(Exception):
    """A record cannot be used: the message says why, `remedy` what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


def to_sample(record: object) -> Sample:
    """The prompt in one input record.

    Raises:
        Unusable: It holds none, or one that no server can be asked.
    """
    if not isinstance(record, dict):
        raise Unusable(f"the record is {_kind(record)}, not an object", 'write it as {"messages": [...]}')
    system, users = _turns(record)
    for text in (*users, system or ""):
        _check_text(text)
    tools = tools_of(record.get("tools"))
    return Sample(id=_record_id(record, system, users), users=tuple(users), system=system, tools=tools)


def tools_of(found: object) -> list[Any] | None:
    """Tools that come with a record: a list, or one as JSON text, as SpecForge takes them.

    Raises:
        Unusable: Neither.
    """
    if isinstance(found, str) and found.strip():
        try:
            found = msgspec.json.decode(found)
        except (msgspec.DecodeError, RecursionError) as error:
            raise Unusable(f"tools is not JSON: {error}", "give a list of tools, or leave the field away") from error
    if not found:
        return None
    if not isinstance(found, list) or not all(isinstance(tool, dict) for tool in found):
        raise Unusable(
            f"tools is {_kind(found)}, not a list of tools", "give a list of tools as OpenAI's API takes them"
        )
    return found


def copies(sample: Sample, count: int) -> Iterator[Sample]:
    """A sample as often as answers to it are wanted; all but the first with a number behind the id."""
    yield sample
    for copy in range(2, count + 1):
        yield msgspec.structs.replace(sample, id=f"{sample.id}#{copy}", copy=copy)


def _turns(record: dict[str, Any]) -> tuple[str | None, list[str]]:
    for key in ("messages", "conversations", "conversation"):
        if key in record:
            return _from_messages(record[key], key)
    if "turns" in record:
        return None, _texts(record["turns"], "turns")
    prompt = record.get("prompt")
    if isinstance(prompt, list):
        return _from_messages(prompt, "prompt")
    if prompt is not None:
        return None, _texts([prompt], "prompt")
    found = ", ".join(sorted(map(str, record))[:6]) or "nothing"
    raise Unusable(
        f"no field messages, conversations, prompt or turns (there is {found})",
        "rename the field that holds the prompt",
    )


def _from_messages(messages: object, key: str) -> tuple[str | None, list[str]]:
    if not isinstance(messages, list) or not messages:
        raise Unusable(f"{key} is {_kind(messages)}, not a list of messages", "give at least one user message")
    system: str | None = None
    users: list[str] = []
    for index, message in enumerate(messages):
        role, content = _message(message, f"{key}[{index}]")
        if role == "system":
            if system is not None or users:
                raise Unusable(f"{key}[{index}]: a system message after the first turn", "put it first, once")
            system = content
        elif role in USER_NAMES:
            users.append(content)
        elif role not in ASSISTANT_NAMES:
            raise Unusable(
                f"{key}[{index}]: the role {role[:40]!r} cannot be replayed", "flatten tool turns into user messages"
            )
    if not users:
        raise Unusable(f"{key} has no user message", "there is nothing to answer")
    return system, users


def _message(message: object, where: str) -> tuple[str, str]:
    if not isinstance(message, dict):
        raise Unusable(f"{where} is {_kind(message)}, not a message", 'write {"role": "user", "content": "..."}')
    role = message.get("role", message.get("from"))
    content = message.get("content", message.get("value"))
    if not isinstance(role, str):
        raise Unusable(f"{where} has no role", 'add "role" (or ShareGPT\'s "from")')
    role = role.lower()
    if role in ASSISTANT_NAMES:
        return role, ""
    if isinstance(content, list) and all(isinstance(part, dict) and part.get("type") == "text" for part in content):
        content = "".join(str(part.get("text", "")) for part in content)
    if not isinstance(content, str):
        raise Unusable(f"{where}: the content is {_kind(content)}, not text", "only text can be regenerated")
    return role, content


def _texts(values: object, key: str) -> list[str]:
    if not isinstance(values, list) or not values or not all(isinstance(value, str) for value in values):
        raise Unusable(f"{key} does not hold text", "give a string (prompt) or a list of strings (turns)")
    return list(values)


def _check_text(text: str) -> None:
    if len(text) > LARGEST_PROMPT:
        raise Unusable(f"a turn has {len(text):,} characters", f"at most {LARGEST_PROMPT:,} are sent")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Unusable(
            f"a turn holds a lone surrogate at character {error.start}", "repair the text's encoding"
        ) from None


def _record_id(record: dict[str, Any], system: str | None, users: list[str]) -> str:
    for user in users:
        if not user.strip():
            raise Unusable("a user turn is empty", "remove the record, or fill the turn")
    for key in ID_KEYS:
        value = record.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return str(value)[:300]
    return "sha256:" + hashlib.sha256(msgspec.json.encode([system, users])).hexdigest()[:24]


def _kind(value: object) -> str:
    names = {"NoneType": "null", "dict": "an object", "list": "a list", "str": "text", "bool": "a boolean"}
    return names.get(type(value).__name__, "a number")
