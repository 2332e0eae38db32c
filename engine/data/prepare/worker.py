"""Prepares data as a job: `python -m engine.data.prepare.worker OUTPUT WORKERS`. May be killed and started again.

Exit codes: 0 done; 2 it cannot go on, and says why; 4 stopped, to be gone on with later.
"""

import logging
import signal
import sys
import threading
from pathlib import Path

from engine.data.plan.records import PlanError
from engine.data.prepare.manifest import Manifest, brief
from engine.data.prepare.reading import Stopped
from engine.data.prepare.reporting import Reporter
from engine.data.prepare.run import WORK, Preparation

STOPPED = 4


def work(
    output: Path, workers: int, reporter: Reporter, *, keep_work: bool = False
) -> tuple[int, Manifest | None, str]:
    """Work until done, stopped or stuck. Gives the exit code, the manifest, and what is wrong."""
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    preparation = Preparation(output, workers, reporter, stopping.is_set)
    try:
        manifest = preparation.finished()
        if manifest is None:
            with preparation.work.locked():
                manifest = preparation.run(preparation.work.plan(), keep_work=keep_work)
    except Stopped:
        reporter.ended("stopped", "run the same command again to go on")
        return STOPPED, None, "stopped\nrun the same command again to go on"
    except PlanError as error:
        reporter.ended("failed", f"{error}; {error.remedy}")
        return 2, None, f"{error}\n{error.remedy}"
    except OSError as error:
        message = f"cannot write in {output}: {error}"
        reporter.ended("failed", message)
        return 2, None, f"{message}\nfree space, or see the folder's rights, and run it again"
    whole = manifest.records + manifest.native_records
    reporter.ended("done", f"{whole} records", stage="done", funnel=manifest.funnel, manifest=brief(manifest))
    return 0, manifest, ""


def main() -> int:
    """Work on the output folder named in the arguments."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stdout)
    output = Path(sys.argv[1]).absolute()
    reporter = Reporter(output / WORK)
    try:
        code, _, problem = work(output, int(sys.argv[2]), reporter)
    finally:
        reporter.close()
    if problem:
        logging.getLogger("data").error("%s", problem)
    return code


if __name__ == "__main__":
    sys.exit(main())
