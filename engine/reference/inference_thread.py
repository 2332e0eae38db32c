"""The thread that does all arithmetic, so that HTTP never waits for it."""

import logging
import threading
import time
from collections import deque

from threadpoolctl import threadpool_limits

from engine.reference.requests import Finish, Request, Update
from engine.reference.scheduler import Scheduler

_log = logging.getLogger("alula.reference")


class InferenceThread:
    """Runs the scheduler while there is work, sleeps otherwise. All methods may be called from any thread."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._arrived: deque[Request] = deque()
        self._wake = threading.Condition()
        self._stopping = False
        self._stepped = time.monotonic()
        self._thread = threading.Thread(target=self._run_alone, name="inference", daemon=True)

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def stop(self, timeout_s: float = 10.0) -> None:
        """Abort what runs and end the thread."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join(timeout_s)

    def submit(self, request: Request) -> None:
        """Queue a request; after `stop` it is aborted at once."""
        with self._wake:
            if not self._stopping:
                self._arrived.append(request)
                self._wake.notify()
                return
        request.deliver(Update((), Finish("abort", message="The server is shutting down.")))

    @property
    def busy(self) -> bool:
        """True while any request waits or runs."""
        return bool(self._arrived) or self._scheduler.busy

    @property
    def healthy(self) -> bool:
        """False where the thread has died."""
        return self._thread.is_alive()

    @property
    def seconds_since_step(self) -> float:
        """Age of the last completed step."""
        return time.monotonic() - self._stepped

    def _run_alone(self) -> None:
        # Small matrices gain little from more threads, and two busy processes on two cores lose tenfold.
        with threadpool_limits(1, user_api="blas"):
            self._run()

    def _run(self) -> None:
        while True:
            with self._wake:
                while not (self._arrived or self._scheduler.busy or self._stopping):
                    self._wake.wait()
                while self._arrived:
                    self._scheduler.add(self._arrived.popleft())
            if self._stopping:
                self._scheduler.abort_all("The server is shutting down.")
                return
            try:
                self._scheduler.step()
            except Exception:
                _log.exception("A decoding step failed; its requests are aborted.")
                self._scheduler.abort_all("The server failed on this batch.")
            self._stepped = time.monotonic()
