"""Run in a process of its own, whose LD_LIBRARY_PATH names the fake library: prints readings, one JSON line each."""

import sys
import threading

import msgspec

from engine.watch.gpus import GpuWatcher
from engine.watch.readings import Board, Readings


class PrintingBoard(Board):
    def put(self, readings: Readings) -> None:
        sys.stdout.write(msgspec.json.encode(readings).decode() + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    watcher = GpuWatcher(PrintingBoard(), probe_s=0.2)
    threading.Thread(target=watcher.run, daemon=True).start()
    sys.stdin.read()
