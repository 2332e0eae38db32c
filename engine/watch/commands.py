"""What consoles may ask about servers."""

from typing import Any
from urllib.parse import urlsplit

from engine.commands import Handler, Request
from engine.context import Refusal
from state.records.servers import Server
from state.servers import add_server, read_servers, remove_server


def server_handlers() -> dict[str, Handler]:
    """Command kinds to handlers."""
    return {"servers.add": add, "servers.remove": remove}


def add(request: Request) -> dict[str, Any]:
    """Watch a server by URL."""
    url = normal_url(str(request.arguments.get("url", "")))
    server = Server(
        url=url, found_by="url", seen_at=request.now, health="starting", health_message="added; not asked yet"
    )
    return {"url": url, "added": add_server(request.database, server)}


def remove(request: Request) -> dict[str, Any]:
    """Forget a server and its history."""
    url = normal_url(str(request.arguments.get("url", "")))
    known = {server.url: server for server in read_servers(request.database)}
    if url not in known:
        raise Refusal(f"{url} is not watched.", "`alula servers` lists the servers that are.")
    if known[url].found_by != "url" and known[url].health == "up":
        raise Refusal(f"{url} runs on this host and would be found again.", "Stop the server instead.")
    return {"url": url, "removed": remove_server(request.database, url)}


def normal_url(text: str) -> str:
    """`http://host:port` from what somebody typed; `host:port` will do, and a path such as `/v1` is dropped.

    Raises:
        Refusal: It is no address of an HTTP server.
    """
    try:
        parts = urlsplit(text.strip() if "://" in text else f"http://{text.strip()}")
        port, host = parts.port, parts.hostname
    except ValueError:
        port, host = None, None
    if not host or parts.scheme not in ("http", "https") or any(character.isspace() for character in text.strip()):
        raise Refusal(f"{text!r} is no server's address.", "Give it like http://127.0.0.1:30000.")
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}" + (f":{port}" if port else "")
