"""Which SGLang release holds for a launch: named, found beside the interpreter, or the newest known."""

import re
from pathlib import Path

import msgspec

from engine.check.flags.table import tables
from engine.check.paths import exists

VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?(?:[.-]?(?:post|rc|dev)\d+)?")


class Release(msgspec.Struct, frozen=True):
    """The release whose flag table is used."""

    name: str
    known: bool
    """False where nothing named a release and the newest table stands in."""
    named: str | None = None
    """The release that was named, where it has no table of its own."""


def version_key(release: str) -> tuple[int, ...]:
    """Orders releases: `0.5.4.post3` after `0.5.4`, before `0.5.5`; a release candidate before its release."""
    numbers = tuple(int(part) for part in re.findall(r"\d+", re.split(r"rc|dev|\+", release)[0]))
    main = (*numbers, 0, 0, 0)[:3]
    post = numbers[3] if len(numbers) > 3 else 0
    return (*main, -1 if re.search(r"rc|dev", release) else post)


def choose_release(*named: str | None) -> Release:
    """The first of the named releases, or the newest known; a release without a table takes the nearest lower one."""
    releases = tables().releases
    for name in named:
        found = VERSION.search(name) if name else None
        if found is None:
            continue
        wanted = version_key(found[0])
        exact = next((release for release in releases if version_key(release) == wanted), None)
        if exact is not None:
            return Release(exact, True)
        lower = [release for release in releases if version_key(release) < wanted]
        return Release(lower[-1] if lower else releases[0], True, found[0])
    return Release(releases[-1], False)


def installed_release(interpreter: str) -> str | None:
    """The SGLang release installed for a Python interpreter of this machine, found by path; nothing is run."""
    path = Path(interpreter)
    if not path.is_absolute() or not exists(path):
        return None
    folders = [path.parent.parent, path.resolve().parent.parent]
    for folder in folders:
        for library in (*folder.glob("lib/python3*/site-packages"), *folder.glob("lib/python3*/dist-packages")):
            for information in library.glob("sglang-*.dist-info"):
                return information.name.removeprefix("sglang-").removesuffix(".dist-info")
    return None
