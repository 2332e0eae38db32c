"""Takes over what workers on other hosts have left in their run folders."""

import logging
import sqlite3
from pathlib import Path

import msgspec

from engine.regen.reporting import REPORT, Report, apply_report
from state.records.regeneration import Regeneration

log = logging.getLogger(__name__)


class Reports:
    """Remembers which reports it has read."""

    def __init__(self) -> None:
        self._read_at: dict[int, int] = {}

    def take(self, database: sqlite3.Connection, run: Regeneration) -> bool:
        """Write the newest report of a run into the database; whether it says that the run works no more."""
        path = Path(run.run_folder) / REPORT
        try:
            changed_at = path.stat().st_mtime_ns
            if changed_at == self._read_at.get(run.id):
                return False
            report = msgspec.json.decode(path.read_bytes(), type=Report)
        except FileNotFoundError:
            return False
        except (OSError, ValueError, RecursionError) as error:
            log.warning("%s cannot be read: %s", path, error)
            return False
        apply_report(database, Path(run.run_folder), report)
        self._read_at[run.id] = changed_at
        return report.state != "running"
