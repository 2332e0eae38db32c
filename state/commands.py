"""The `command` table: consoles ask, the engine answers. Nothing is answered twice."""

import sqlite3
from typing import Any

import msgspec

from state import rows
from state.records.commands import Command, Outcome

ANSWERS_KEPT_S = 7 * 24 * 3600.0


def add_command(connection: sqlite3.Connection, command: Command) -> int:
    """Ask; returns the id under which the answer will stand."""
    return rows.insert(connection, "command", command)


def read_command(connection: sqlite3.Connection, command_id: int) -> Command | None:
    """A command with its answer, once there is one."""
    return rows.read_one(connection, Command, "SELECT * FROM command WHERE id = ?", [command_id])


def open_commands(connection: sqlite3.Connection) -> list[Command]:
    """What is not answered yet, the oldest first."""
    return rows.read(connection, Command, "SELECT * FROM command WHERE answered_at IS NULL ORDER BY id")


def answer_command(
    connection: sqlite3.Connection, command_id: int, outcome: Outcome, answer: dict[str, Any], now: float
) -> None:
    """Give the answer; a second one changes nothing."""
    connection.execute(
        "UPDATE command SET answered_at = ?, outcome = ?, answer = ? WHERE id = ? AND answered_at IS NULL",
        [now, outcome, msgspec.json.encode(answer).decode(), command_id],
    )


def withdraw_command(connection: sqlite3.Connection, command_id: int) -> bool:
    """Take back a command that is not answered; `False` where it is too late."""
    return connection.execute("DELETE FROM command WHERE id = ? AND answered_at IS NULL", [command_id]).rowcount == 1


def prune_commands(connection: sqlite3.Connection, now: float) -> int:
    """Drop old answers; returns how many."""
    return connection.execute("DELETE FROM command WHERE answered_at < ?", [now - ANSWERS_KEPT_S]).rowcount
