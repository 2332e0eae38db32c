"""Tells when one of the files under check changes."""

import threading
from collections.abc import Callable, Set
from pathlib import Path


class FileWatch(threading.Thread):
    """Calls `changed()` once for each burst of changes, until ended. Folders are watched without what lies below."""

    def __init__(self, paths: Set[Path], changed: Callable[[], None]) -> None:
        super().__init__(name="file-watch", daemon=True)
        self._paths = paths
        self._changed = changed
        self._ended = threading.Event()

    def end(self) -> None:
        """Stop watching."""
        self._ended.set()

    def run(self) -> None:
        """Watch; a file that is replaced, as editors do, is seen through its folder."""
        from watchfiles import watch

        folders = {path if path.is_dir() else path.parent for path in self._paths if path.exists()}
        if not folders:
            return
        for changes in watch(*folders, stop_event=self._ended, recursive=False, raise_interrupt=False):
            if any(self._concerns(Path(name)) for _, name in changes):
                self._changed()

    def _concerns(self, path: Path) -> bool:
        return path in self._paths or path.parent in self._paths
