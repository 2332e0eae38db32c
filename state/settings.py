"""The operator's settings: one small TOML file, read when the engine starts."""

import os
import tomllib
from pathlib import Path
from typing import Literal

import msgspec
import platformdirs

from state.errors import StateError
from state.outside_file import read_small_text


class Notifications(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where alerts are sent besides the console."""

    webhook: str | None = None
    """An HTTP or HTTPS URL that gets each alert as JSON when it begins and when it ends."""
    terminal: Literal["bell", "osc9", "both", "off"] = "both"
    """How an open console calls out: by the terminal's bell, by a desktop notification (OSC 9), or not at all."""
    command: tuple[str, ...] = ()
    """A program and its arguments; it gets the same JSON on standard input."""


class Watching(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is watched beyond what is found by itself."""

    disks: tuple[str, ...] = ()
    """Paths on further file systems, for example where checkpoints lie."""
    disk_full_hours: float = 12.0
    """A disk that will be full within this time is an alert."""
    api_keys: dict[str, str] = {}
    """The URL of a server that wants an API key, to the name of the secret or environment variable that holds it."""


class Clusters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where jobs on clusters find their files."""

    shared_folder: str | None = None
    """Holds the run folders of jobs on Slurm; every node sees it under this path. Without it: the account's state
    folder where that is on a network file system, else this host's own."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file; an empty one gives these defaults."""

    notify: Notifications = Notifications()
    watch: Watching = Watching()
    clusters: Clusters = Clusters()
    interpreters: dict[str, str] = {}
    """A package (`sglang`, `specforge`) to the Python, or the virtual environment, that has it."""


def settings_path() -> Path:
    """`settings.toml` in `ALULA_CONFIG_HOME`, else in the XDG configuration folder."""
    folder = os.environ.get("ALULA_CONFIG_HOME") or platformdirs.user_config_dir("alula")
    return Path(folder) / "settings.toml"


def load_settings(path: Path | None = None) -> Settings:
    """Read the file; defaults where there is none.

    Raises:
        StateError: It is no TOML, or names a setting that there is not.
    """
    place = path or settings_path()
    try:
        text = read_small_text(place)
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        raise StateError(f"{place} cannot be read: {error.strerror}", "Look at its owner and mode.") from error
    except UnicodeDecodeError as error:
        raise StateError(f"{place}: {error}", "docs/watch.md lists the settings.") from error
    try:
        return msgspec.convert(tomllib.loads(text), Settings)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, RecursionError) as error:
        raise StateError(f"{place}: {error}", "docs/watch.md lists the settings.") from error
