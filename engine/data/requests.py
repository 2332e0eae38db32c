"""What consoles may ask about training data. What it takes is imported when it is first asked for."""

from typing import Any

from engine.commands import Handler, Request


def search(request: Request) -> dict[str, Any]:
    """Search the hub, or go on with a stopped search. Answers `search_id`, `job_id` and `run_folder`."""
    from engine.data import launching

    return launching.search(request)


def prepare(request: Request) -> dict[str, Any]:
    """Run a plan, or go on with it. Answers `job_id`, or `done` where all of it is there already."""
    from engine.data import launching

    return launching.prepare(request)


DATA_HANDLERS: dict[str, Handler] = {"data.search": search, "data.prepare": prepare}
