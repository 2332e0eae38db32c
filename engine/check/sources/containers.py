"""What a container command says around the server: environment, mounts, image."""

import re
from collections.abc import Mapping, Sequence

import msgspec

ISOLATING = {"docker", "podman", "nerdctl", "ssh"}
"""What does not hand the shell's environment on."""

MOUNTING = {"docker", "podman", "nerdctl", "apptainer", "singularity", "enroot", "srun"}
IMAGE_TAG = re.compile(r"(?:^|/)sglang[^:/]*:v?(\d+\.\d+\.\d+(?:[.-]?post\d+)?)")
PIN = re.compile(r"sglang(?:\[[^\]]*\])?==(\d+\.\d+\.\d+(?:\.?post\d+)?)")
VLLM_IMAGE = re.compile(r"(?:^|/)vllm-openai(?:[:@]|$)")


class Container(msgspec.Struct, frozen=True):
    """Surroundings that the words before a server's own command give."""

    isolated: bool
    """A container does not inherit the shell's environment."""
    environment: Mapping[str, str]
    mounts: tuple[tuple[str, str], ...]
    release: str | None


def container_of(words: Sequence[str], exported: Mapping[str, str]) -> Container:
    """Read the words before the server's command; `exported` fills `-e NAME` without a value."""
    names = {word.rsplit("/", 1)[-1] for word in words}
    isolated, mounting = bool(names & ISOLATING), bool(names & MOUNTING)
    environment: dict[str, str] = {}
    mounts: list[tuple[str, str]] = []
    for index, word in enumerate(words):
        following = words[index + 1] if index + 1 < len(words) else ""
        _environment(word, following, exported, environment, isolated)
        if mounting:
            mounts.extend(_mounts(word, following))
    return Container(isolated, environment, tuple(mounts), release_in(words))


def release_in(words: Sequence[str]) -> str | None:
    """The SGLang release that an image tag or a pin among the words names."""
    for word in words:
        found = IMAGE_TAG.search(word) or PIN.search(word)
        if found:
            return found[1].replace("-post", ".post")
    return None


def bind(specification: str) -> tuple[str, str] | None:
    """`HOST:INSIDE[:options]` as (inside, host); `None` for a named volume."""
    host, _, rest = specification.partition(":")
    inside = rest.partition(":")[0]
    return (inside, host) if host.startswith(("/", "~", ".")) and inside.startswith("/") else None


def _environment(word: str, following: str, exported: Mapping[str, str], into: dict[str, str], isolated: bool) -> None:
    setting = None
    if word in ("-e", "--env", "--setenv", "-E"):
        setting = following
    elif word.startswith(("--env=", "--setenv=")):
        setting = word.partition("=")[2]
    elif isolated and word.startswith("-e") and "=" in word and word[2:3] not in ("", "-"):
        setting = word[2:]
    elif word.startswith("--export="):
        for item in word.removeprefix("--export=").split(","):
            _set(item, exported, into)
    elif re.fullmatch(r"[A-Za-z_]\w*=(?!=).*", word, re.DOTALL) and not isolated:
        setting = word
    if setting:
        _set(setting, exported, into)


def _set(setting: str, exported: Mapping[str, str], into: dict[str, str]) -> None:
    name, equals, value = setting.partition("=")
    if equals:
        into[name] = value
    elif name in exported:
        into[name] = exported[name]


def _mounts(word: str, following: str) -> list[tuple[str, str]]:
    found = None
    if word in ("-v", "--volume", "--bind", "-B"):
        found = bind(following)
    elif word.startswith(("--volume=", "--bind=", "-v/")):
        found = bind(word.partition("=")[2] if "=" in word and not word.startswith("-v") else word[2:])
    elif word == "--mount" or word.startswith("--mount="):
        fields = dict(field.partition("=")[::2] for field in (following if word == "--mount" else word[8:]).split(","))
        inside = fields.get("target") or fields.get("dst") or fields.get("destination")
        host = fields.get("source") or fields.get("src")
        found = (inside, host) if inside and host and host.startswith("/") else None
    elif word.startswith(("--container-mounts=", "--mounts=")):
        return [mount for one in word.partition("=")[2].split(",") if (mount := bind(one)) is not None]
    return [found] if found else []
