"""Searches the hub as a job: `python -m engine.data.discovery.worker FOLDER SEARCH_ID`.

Exit codes: 0 done; 2 nothing could be found, or the results cannot be written; 4 stopped, to be gone on with later.
"""

import logging
import signal
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from engine.data.discovery.beginning import SearchError, kept_request
from engine.data.discovery.search import Outcome, Search, SearchRequest
from state.data import update_search
from state.database import open_database
from state.folder import state_folder

STOPPED = 4
EXIT_CODES = {"done": 0, "failed": 2, "stopped": STOPPED}
log = logging.getLogger("data")


def search(request: SearchRequest, search_id: int, folder: Path, told: Callable[[str], None]) -> Outcome:
    """Search until done or until a signal asks for an end.

    Raises:
        OSError: The results cannot be written.
        sqlite3.Error: The state database cannot be written.
    """
    path = state_folder().database_path
    running = Search(request, search_id, folder, path, told)
    before = {number: signal.signal(number, lambda *_: running.stop()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        return running.run()
    except OSError as error:
        with closing(open_database(path)) as database:
            update_search(database, search_id, state="failed", message=f"cannot write in {folder}: {error.strerror}")
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def main() -> int:
    """Run the search of the folder named in the arguments."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stdout)
    for name in ("httpx2", "huggingface_hub"):
        logging.getLogger(name).setLevel(logging.ERROR)
    folder = Path(sys.argv[1])
    try:
        outcome = search(kept_request(folder), int(sys.argv[2]), folder, log.info)
    except (SearchError, OSError, sqlite3.Error) as error:
        log.error("%s", error)
        return 2
    log.info("%s", outcome.message)
    return EXIT_CODES[outcome.state]


if __name__ == "__main__":
    sys.exit(main())
