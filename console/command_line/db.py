"""`alula db`: the state database: where it is, whether it is sound, copies of it, and what can be saved of it."""

import os
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from console.command_line.live_view import could_not, to_json
from state.errors import StateError
from state.folder import StateFolder, state_folder

_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def db() -> None:
    """The state database: where it is, copies of it, and what can be saved of a damaged one."""


@db.command()
@_json_option
def path(as_json: bool) -> None:
    """Print where the state database lies.

    Example: ls -l "$(alula db path)"
    """

    def work(folder: StateFolder) -> int:
        answer = {"path": str(folder.database_path), "notice": folder.notice}
        _show(answer, [str(folder.database_path)], as_json)
        if folder.notice and not as_json:
            click.echo(folder.notice, err=True)
        return 0

    sys.exit(_explained(work, as_json))


@db.command()
@click.option("--into", type=click.Path(file_okay=False, path_type=Path), help="Folder for the copy.")
@_json_option
def backup(into: Path | None, as_json: bool) -> None:
    """Copy the database, while others use it. The last copies in a folder are kept, older ones removed.

    Example: alula db backup --into /mnt/safe
    """
    from state.database import back_up, open_database

    def work(folder: StateFolder) -> int:
        with closing(open_database(folder.database_path)) as database:
            copy = back_up(database, into or folder.backups_path, "by-hand")
        _show({"path": str(copy), "bytes": copy.stat().st_size}, [str(copy)], as_json)
        return 0

    sys.exit(_explained(work, as_json))


@db.command()
@_json_option
def check(as_json: bool) -> None:
    """Read the whole database and say what is damaged. Nothing is written.

    Exit code 0: sound. 1: damaged; what can still be read is listed. 2: could not check.

    Example: alula db check --json | jq .problems
    """
    from state.salvage import check_database

    def work(folder: StateFolder) -> int:
        found = check_database(folder.database_path)
        if found.sound:
            rows = sum(table.rows for table in found.tables)
            lines = [f"{folder.database_path} is sound: {len(found.tables)} tables, {rows:,} rows"]
        else:
            lines = [f"{folder.database_path} is damaged:", *(f"  {problem}" for problem in found.problems)]
            lines += ["What can still be read:", *_table_lines(found.tables)]
            lines += ["To save it into a new file: alula db recover", *_copies(folder)]
        _show(found, lines, as_json)
        return 0 if found.sound else 1

    sys.exit(_explained(work, as_json))


@db.command()
@click.option("--into", type=click.Path(dir_okay=False, path_type=Path), help="The new file.")
@click.option("--use", is_flag=True, help="Put the new file in the place of the damaged one, which is kept beside it.")
@_json_option
def recover(into: Path | None, use: bool, as_json: bool) -> None:
    """Save what can be read of a damaged database into a new file. The damaged one is never changed.

    Example: alula engine stop; alula db recover --use
    """
    from state.salvage import recover_database

    def work(folder: StateFolder) -> int:
        if use:
            _refuse_while_engine_runs(folder)
        new = into or _unused(folder.path, "recovered")
        saved = recover_database(folder.database_path, new)
        lines = [f"saved {sum(table.rows for table in saved):,} rows into {new}", *_table_lines(saved)]
        kept = _put_in_place(folder, new) if use else None
        lines.append(
            f"it is in use now; the damaged file is kept as {kept}"
            if kept
            else "to put it in place: alula db recover --use"
        )
        _show({"path": str(folder.database_path if kept else new), "kept": kept and str(kept), "tables": saved}, lines,
              as_json)  # fmt: skip
        return 0

    sys.exit(_explained(work, as_json))


@db.command()
@_json_option
def prune(as_json: bool) -> None:
    """Drop answered commands and ended alerts that are old, and give the space back to the disk.

    Jobs, their logs and what they made stay.

    Example: alula db prune
    """
    from state.alerts import prune_alerts
    from state.commands import prune_commands
    from state.database import open_database

    def work(folder: StateFolder) -> int:
        before = folder.database_path.stat().st_size if folder.database_path.exists() else 0
        with closing(open_database(folder.database_path)) as database:
            dropped = {
                "commands": prune_commands(database, time.time()), "alerts": prune_alerts(database, time.time())
            }  # fmt: skip
            database.execute("VACUUM")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        freed = max(0, before - folder.database_path.stat().st_size)
        words = f"dropped {dropped['commands']:,} answered commands and {dropped['alerts']:,} ended alerts"
        _show({**dropped, "freed_bytes": freed}, [f"{words}; {freed / 2**20:.1f} MiB given back"], as_json)
        return 0

    sys.exit(_explained(work, as_json))


def _explained(work: Callable[[StateFolder], int], as_json: bool) -> int:
    from state.database import explained

    try:
        folder = state_folder()
        with explained(folder.database_path):
            return work(folder)
    except StateError as problem:
        return could_not(problem, as_json=as_json)


def _show(answer: Any, lines: list[str], as_json: bool) -> None:
    for line in [to_json(answer)] if as_json else lines:
        click.echo(line)


def _table_lines(tables: tuple[Any, ...]) -> list[str]:
    return [
        f"  {table.name}: {table.rows:,} rows" + (f" ({table.problem})" if table.problem else "") for table in tables
    ]


def _copies(folder: StateFolder) -> list[str]:
    copies = sorted(folder.backups_path.glob("*.sqlite"), key=lambda copy: copy.stat().st_mtime)
    return [f"The newest copy: {copies[-1]}"] if copies else []


def _refuse_while_engine_runs(folder: StateFolder) -> None:
    from engine.lock import is_locked

    if is_locked(folder.engine_lock_path):
        raise StateError("the engine uses the database", "stop it first: alula engine stop")


def _put_in_place(folder: StateFolder, new: Path) -> Path:
    """The damaged file and its write-ahead log are kept together: the log belongs to that file alone."""
    kept = _unused(folder.path, "damaged")
    logs = [folder.database_path.with_name(folder.database_path.name + suffix) for suffix in ("-wal", "-shm")]
    for old in (folder.database_path, *(log for log in logs if log.exists())):
        os.link(old, old.with_name(old.name.replace(folder.database_path.name, kept.name)))
    for log in logs:
        log.unlink(missing_ok=True)
    new.replace(folder.database_path)
    return kept


def _unused(folder: Path, name: str) -> Path:
    stem = f"{name}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}"
    candidates = (folder / f"{stem}{suffix}.sqlite" for suffix in ("", *(f"-{number}" for number in range(2, 1000))))
    return next(path for path in candidates if not path.exists())
