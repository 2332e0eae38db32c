"""A real HTTP server on loopback that answers from a table of routes."""

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Answer = Any
"""A JSON value, text, or a function that writes to the handler itself."""


@contextmanager
def serving(routes: dict[str, Answer]) -> Iterator[tuple[str, list[str]]]:
    """Serve `routes` (path to answer); gives the address and the list of paths that were asked."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            answer = routes.get(self.path)
            if answer is None:
                self.send_error(404)
            elif callable(answer):
                answer(self)
            else:
                self.reply(answer.encode() if isinstance(answer, str) else json.dumps(answer).encode())

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def reply(self, body: bytes, status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()


def endless(handler: Any) -> None:
    """A body that never ends, in small pieces."""
    handler.send_response(200)
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b"x" * 65536)
    except OSError:
        return


def redirect(to: str) -> Callable[[Any], None]:
    """Send the client elsewhere."""

    def answer(handler: Any) -> None:
        handler.send_response(302)
        handler.send_header("Location", to)
        handler.end_headers()

    return answer


def status(code: int) -> Callable[[Any], None]:
    """Answer with a bare status."""
    return lambda handler: handler.send_error(code)
