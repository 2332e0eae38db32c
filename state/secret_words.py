"""Words that hold secrets, hidden wherever a command, an environment or a job is shown: pure functions."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from state.records.jobs import Job

HIDDEN = "•••"
_TELLING = re.compile(
    r"(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY)$", re.IGNORECASE
)
_NO_SECRETS = re.compile(r"(^|_)(EOS|BOS|PAD|UNK|MASK|STOP|SEP|CLS|IMAGE)_TOKEN$", re.IGNORECASE)
_VALUE = r"(?:'[^']*'|\"[^\"]*\"|[^\s'\";&|]+)"
_NAMED = re.compile(rf"(?P<name>--[A-Za-z][\w-]*)(?P<between>=|\s+){_VALUE}|(?P<variable>[A-Za-z_]\w*)={_VALUE}")
_SHAPED = (
    re.compile(r"(?<![\w-])(?:hf_[A-Za-z0-9]{16,}|sk-[\w-]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|glpat-[\w-]{16,})"),
    re.compile(r"(?<=Bearer )[^\s'\"]+"),
    re.compile(r"(?<=://)[^\s/@'\"]+(?=@)"),
)
"""Access tokens of the Hugging Face hub, OpenAI, GitHub and GitLab, HTTP's authorization, a URL's user and password."""


_HINT = re.compile(r"token|secret|pass|credential|key|bearer|@|hf_|sk-|gh[pousr]_|glpat", re.IGNORECASE)
"""Text without any of these hides nothing: most commands, looked at once and not a word at a time."""


def is_secret_name(name: str) -> bool:
    """Whether a variable or flag of this name probably holds a secret."""
    plain = name.lstrip("-").replace("-", "_")
    return _TELLING.search(plain) is not None and _NO_SECRETS.search(plain) is None


def shown_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """A command as it may be shown: what follows a flag such as `--api-key` is hidden, in a script's text as well."""
    if not _HINT.search("\0".join(argv)):
        return tuple(argv)
    shown: list[str] = []
    for text in argv:
        flag, equals, value = text.partition("=")
        if shown and shown[-1].startswith("--") and is_secret_name(shown[-1]) and not text.startswith("--"):
            shown.append(HIDDEN)
        elif equals and value and is_secret_name(flag):
            shown.append(f"{flag}={HIDDEN}")
        else:
            shown.append(shown_text(text))
    return tuple(shown)


def shown_text(text: str) -> str:
    """A script, a URL or any text as it may be shown."""
    for shape in _SHAPED:
        text = shape.sub(HIDDEN, text)
    return _NAMED.sub(_without_value, text) if "=" in text or "--" in text else text


def shown_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables as they may be shown."""
    return {
        name: HIDDEN if is_secret_name(name) and value else shown_text(value) for name, value in environment.items()
    }


def shown_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a recipe as they may be shown."""
    return {name: HIDDEN if is_secret_name(name) and value else _shown(value) for name, value in parameters.items()}


def shown_job(job: Job) -> Job:
    """A job as it may be shown or exported."""
    return msgspec.structs.replace(
        job,
        argv=shown_argv(job.argv),
        environment=shown_environment(job.environment),
        parameters=shown_parameters(job.parameters),
    )


def _without_value(found: re.Match[str]) -> str:
    name, between = found["name"] or found["variable"], found["between"] or "="
    return f"{name}{between}{HIDDEN}" if is_secret_name(name) else found[0]


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return shown_text(value)
    if isinstance(value, list | tuple):
        return type(value)(shown_argv([str(one) for one in value]))
    return value
