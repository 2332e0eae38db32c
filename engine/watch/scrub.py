"""Takes names out of a recording: people, paths, hosts, serial numbers. Figures stay as they are."""

import re
from typing import Any
from urllib.parse import urlsplit

import msgspec

from engine.watch.readings import Readings

_PATH = re.compile(r"(?:~|\.{0,2})/[^\s,:;()\"']+")
_UUID = re.compile(r"(GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Scrubber:
    """Gives the same stand-in to the same name throughout one recording."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], str] = {}

    def readings(self, readings: Readings) -> Readings:
        """The same readings without names."""
        scrubbed = self._record(readings)
        assert isinstance(scrubbed, Readings)
        return scrubbed

    def _record(self, value: Any, field: str = "") -> Any:
        if isinstance(value, msgspec.Struct):
            changes = {name: self._record(getattr(value, name), name) for name in value.__struct_fields__}
            return type(value)(**changes)
        if isinstance(value, tuple):
            return tuple(self._record(item, "url" if field == "servers_removed" else field) for item in value)
        if isinstance(value, dict):
            return {name: self._record(item, name) for name, item in value.items()}
        if field == "pid" and isinstance(value, int):
            return int(self._stand_in("pid", str(value), first=1000))
        if field == "random_seed":
            return None
        return self._text(field, value) if isinstance(value, str) else value

    def _text(self, field: str, text: str) -> str:
        if field == "user":
            return f"user{self._stand_in('user', text)}"
        if field == "url":
            return self._url(text)
        if field == "pci_bus_id":
            return f"00000000:{int(self._stand_in('pci', text)):02X}:00.0"
        if field == "mount":
            return "/" if text == "/" else f"/disk{self._stand_in('mount', text)}"
        if field == "command":
            return text.split(" ", 1)[0].rsplit("/", 1)[-1]
        text = re.sub(r"https?://[^\s/]+", lambda match: self._url(match.group()), text)
        text = _UUID.sub(lambda match: self._uuid(match.group(1), match.group()), text)
        return (
            _PATH.sub(lambda match: match.group().rstrip("/").rsplit("/", 1)[-1], text) if "://" not in text else text
        )

    def _uuid(self, kind: str, uuid: str) -> str:
        return f"{kind}-00000000-0000-0000-0000-{int(self._stand_in('uuid', uuid)):012d}"

    def _url(self, url: str) -> str:
        port = urlsplit(url).port
        return f"http://host{self._stand_in('host', urlsplit(url).hostname or url)}:{port or 80}"

    def _stand_in(self, kind: str, name: str, first: int = 1) -> str:
        return self._names.setdefault((kind, name), str(first + sum(key[0] == kind for key in self._names)))
