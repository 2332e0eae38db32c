"""A local HTTP server that answers as the hub and its data set viewer do, and misbehaves where it is told to."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

PAGE = 3
"""Sets of one page of a list, so that the client must follow links."""


class HubServer(ThreadingHTTPServer):
    """`sets` maps an id to its facts; `faults` maps the start of a path to what is answered first, in order.

    A fault is a status, `(status, headers)`, "broken" (no JSON), "shape" (JSON of another form), "cut" (the connection
    is dropped) or a number of seconds to wait as a float.
    """

    daemon_threads = True

    def __init__(self, sets: dict[str, dict[str, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.sets = sets
        self.faults: dict[str, list[Any]] = {}
        self.asked: list[str] = []
        self.at: list[float] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def counts(self) -> Counter[str]:
        return Counter(urlsplit(path).path for path in self.asked)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gave up is no news."""


@contextmanager
def hub_server(sets: dict[str, dict[str, Any]]) -> Iterator[HubServer]:
    server = HubServer(sets)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: HubServer

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        with self.server.lock:
            if not self.path.startswith("/api/agent"):
                self.server.asked.append(self.path)
                self.server.at.append(time.monotonic())
            fault = next(
                (left.pop(0) for start, left in self.server.faults.items() if left and self.path.startswith(start)),
                None,
            )
        if fault is None or not self._misbehave(fault):
            self._answer()

    def _misbehave(self, fault: Any) -> bool:
        if isinstance(fault, float):
            time.sleep(fault)
            return False
        if fault == "cut":
            self.close_connection = True
            self.connection.close()
        elif fault == "broken":
            self._send(200, b'{"splits": [{"data')
        elif fault == "shape":
            self._send(200, b'{"splits": 3, "id": {}, "rows": "none"}')
        else:
            status, headers = fault if isinstance(fault, tuple) else (fault, {})
            self._send(status, b'{"error": "told to"}', headers)
        return True

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        query = parse_qs(parts.query)
        if parts.path == "/api/datasets":
            self._list(query)
        elif parts.path.startswith("/api/datasets/"):
            name = parts.path.removeprefix("/api/datasets/")
            found = self.server.sets.get(name)
            if found is None:
                self._json({"error": "Repository not found"}, 404, {"X-Error-Code": "RepoNotFound"})
            else:
                self._json(_info(name, found))
        elif "dataset" in query:
            self._viewer(parts.path.strip("/"), query["dataset"][0])
        else:
            self._json({"error": "no such page"}, 404)

    def _list(self, query: dict[str, list[str]]) -> None:
        words = " ".join(query.get("search", [])).lower().split()
        tags, author = query.get("filter", []), query.get("author", [""])[0]
        names = [
            name
            for name, one in self.server.sets.items()
            if all(word in name.lower() for word in words)
            and all(tag in one.get("tags", []) for tag in tags)
            and (not author or name.startswith(f"{author}/"))
        ]
        names.sort(key=lambda name: -self.server.sets[name].get("downloads", 0))
        start = int(query.get("cursor", ["0"])[0])
        page = names[start : start + PAGE]
        headers = {}
        if start + PAGE < len(names):
            cut = self.path.partition("&cursor=")[0]
            headers["Link"] = f'<{self.server.url}{cut}&cursor={start + PAGE}>; rel="next"'
        self._json([_info(name, self.server.sets[name]) for name in page], 200, headers)

    def _viewer(self, what: str, name: str) -> None:
        one = self.server.sets.get(name, {})
        rows, place = one.get("first_rows"), {"dataset": name, "config": "default", "split": one.get("split", "train")}
        if rows is None:
            code = one.get("viewer_error", "ExternalUnauthenticatedError")
            self._json({"error": "no"}, one.get("viewer_status", 401), {"X-Error-Code": code})
        elif what == "splits":
            self._json({"splits": [place], "pending": [], "failed": []})
        elif what == "size":
            size = {"num_rows": one.get("rows", len(rows)), "estimated_num_rows": one.get("estimated"), **place}
            told = {"config": {"num_bytes_original_files": one.get("bytes", 1000)}, "splits": [size]}
            self._json({"size": told, "partial": one.get("partial", False), "pending": [], "failed": []})
        else:
            names = sorted({key for row in rows for key in row})
            features = [
                {"feature_idx": place, "name": name, "type": {"dtype": "string", "_type": "Value"}}
                for place, name in enumerate(names)
            ]
            cut = one.get("cut_rows", 0)
            told_rows = [
                {"row_idx": place, "row": row, "truncated_cells": [names[0]] if place < cut else []}
                for place, row in enumerate(rows)
            ]
            self._json({**place, "features": features, "rows": told_rows, "truncated": False})

    def _json(self, value: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self._send(status, json.dumps(value).encode(), headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _info(name: str, one: dict[str, Any]) -> dict[str, Any]:
    card = {"license": one.get("licence"), "language": one.get("languages")}
    return {
        "_id": "x", "id": name, "author": name.partition("/")[0], "sha": "0" * 40, "gated": one.get("gated", False),
        "private": one.get("private", False), "disabled": False, "downloads": one.get("downloads", 10), "likes": 1,
        "lastModified": one.get("modified", "2026-06-01T10:00:00.000Z"), "tags": one.get("tags", []),
        "cardData": {key: value for key, value in card.items() if value} | one.get("card", {}),
    }  # fmt: skip


def alpaca(word: str, count: int = 6) -> list[dict[str, str]]:
    """First rows of an Alpaca set."""
    return [{"instruction": f"{word}: write function {n}", "input": "", "output": "x"} for n in range(count)]
