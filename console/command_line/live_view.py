"""What `gpus`, `servers` and `alerts` share: the engine at work, one look or one each second, text or JSON."""

import re
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import click
import msgspec

from engine.client import Client, CommandRefused, EngineUnavailable
from state.database import open_database
from state.errors import StateError
from state.folder import StateFolder, state_folder
from state.outside_text import plain_line, plain_text

REFRESH_S = 1.0
FIRST_LOOK_S = 10.0
FIGURES_S = 30.0
"""How often plain lines repeat what changes in its figures alone."""
_LOOK_AGAIN_S = 0.05
_FIGURE = re.compile(r"[\d.,]*\d")
_LINE_LIMIT = 20_000
_OBEYED = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


class View(msgspec.Struct, frozen=True):
    """One look: lines for people, a value for scripts."""

    lines: Sequence[str]
    value: Any
    ready: bool = True
    """False while the engine has not looked yet."""
    exit_code: int = 0


Look = Callable[[Any], View]


def show(look: Look, *, as_json: bool, watch: bool, plain: bool = False) -> int:
    """Print one look, or one each second until Ctrl-C. Starts the engine if none runs. Gives the exit code.

    `plain` prints, after the first look, only lines that say something new; figures alone are repeated now and then.
    """
    try:
        folder = state_folder()
        Client(folder).ensure_engine()
        with closing(open_database(folder.database_path)) as database:
            view = _first(look, database)
            news = News()
            while watch:
                if plain and not as_json:
                    for line in news.of(view.lines, time.monotonic()):
                        click.echo(plain_line(line, _LINE_LIMIT))
                else:
                    _print(view, as_json, clear=not as_json and sys.stdout.isatty())
                time.sleep(REFRESH_S)
                view = look(database)
            _print(view, as_json, clear=False)
            return view.exit_code
    except KeyboardInterrupt:
        return 0
    except (StateError, EngineUnavailable) as error:
        return could_not(error, as_json=as_json)


class News:
    """What of each look is worth a line of its own."""

    def __init__(self) -> None:
        self._said: dict[str, tuple[str, float]] = {}

    def of(self, lines: Sequence[str], now: float) -> list[str]:
        """Lines with words that were not in the look before, and those whose figures have changed for long enough."""
        words = {line: _FIGURE.sub("0", line) for line in lines}
        self._said = {word: self._said[word] for word in words.values() if word in self._said}
        new = [line for line in lines if self._is_new(line, words[line], now)]
        self._said |= {words[line]: (line, now) for line in new}
        return new

    def _is_new(self, line: str, words: str, now: float) -> bool:
        said, at = self._said.get(words, ("", 0.0))
        return words not in self._said or (line != said and now - at >= FIGURES_S)


def ask(kind: str, arguments: dict[str, Any], *, as_json: bool, said: Callable[[dict[str, Any]], str]) -> int:
    """Have the engine do something and print what it did. Gives the exit code."""
    try:
        folder: StateFolder = state_folder()
        client = Client(folder)
        client.ensure_engine()
        answer = client.ask(kind, arguments)
    except (StateError, EngineUnavailable, CommandRefused) as error:
        return could_not(error, as_json=as_json)
    click.echo(to_json(answer) if as_json else plain_text(said(answer)))
    return 0


def could_not(error: StateError | EngineUnavailable | CommandRefused, *, as_json: bool) -> int:
    """Say why and what to do, on standard error; 2."""
    if as_json:
        click.echo(to_json({"error": str(error), "remedy": error.remedy}), err=True)
    else:
        click.echo(plain_text(f"alula: {error}\n{error.remedy}").rstrip(), err=True)
    return 2


def to_json(value: Any) -> str:
    """Records as JSON text. What a terminal could obey is written as an escape of JSON's."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", msgspec.json.encode(value).decode())


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Columns as wide as their widest cell. `right` names the columns that are set to the right."""
    cells = [list(headings), *[[plain_line(cell) for cell in row] for row in rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headings))]
    return [
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def _first(look: Look, database: Any) -> View:
    deadline = time.monotonic() + FIRST_LOOK_S
    view = look(database)
    while not view.ready and time.monotonic() < deadline:
        time.sleep(_LOOK_AGAIN_S)
        view = look(database)
    return view


def _print(view: View, as_json: bool, *, clear: bool) -> None:
    if clear:
        click.clear()
    click.echo(to_json(view.value) if as_json else "\n".join(plain_line(line, _LINE_LIMIT) for line in view.lines))
