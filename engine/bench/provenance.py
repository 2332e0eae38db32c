"""On what is measured: the server's own words, the checker's findings, hashes of checkpoints, GPUs and driver."""

import asyncio
import hashlib
import os
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from engine.bench.prompts import ChatTemplate, read_chat_template
from engine.bench.records import Api, BenchError, Failed, Plan, Point, Provenance
from engine.bench.wire import Connections, address_of
from engine.check.live import ask_server
from engine.check.records import Finding, LiveServer
from state.database import open_database
from state.errors import StateError
from state.folder import state_folder
from state.gpus import read_gpus, read_status
from state.version import VERSION

CHECK_LIMIT_S = 60.0
PAGE_LIMIT_S = 20.0
SIMULATED = "simulated-acceptance"
NOT_KEPT = frozenset({"api_key", "admin_api_key", "internal_states", "ssl_keyfile_password"})


class _Page:
    """A sink that keeps a small answer whole."""

    def __init__(self) -> None:
        self.code = 0
        self.body = bytearray()

    def status(self, code: int) -> None:
        """Keep it."""
        self.code = code

    def feed(self, at: float, data: bytes) -> None:
        """Keep it."""
        self.body += data


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A server made ready for asking."""

    provenance: Provenance
    template: ChatTemplate | None
    incremental: bool


async def page(connections: Connections, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
    """Status and body of one small page.

    Raises:
        Failed: No answer.
    """
    kept = _Page()
    await connections.ask(method, path, body, kept, PAGE_LIMIT_S, PAGE_LIMIT_S)
    return kept.code, bytes(kept.body)


async def inspect(plan: Plan, point: Point, url: str, pid: int | None) -> Subject:
    """Ask a server what it is, and the checker what it thinks of it.

    Raises:
        BenchError: Nobody answers there.
    """
    live = await ask_server(url)
    model = await served_model(url, _key(plan))
    framework = _framework(live)
    information = live.server_info or {}
    template = None if plan.raw else await asyncio.to_thread(read_chat_template, information.get("model_path"))
    api = _api(plan, framework, template)
    findings = await check(url, pid) if framework in ("sglang", "alula-reference") else ()
    gpus, driver = await asyncio.to_thread(_gpus)
    errors = tuple(sorted({finding.rule for finding in findings if finding.severity == "error"}))
    provenance = Provenance(
        url=url,
        framework=framework,
        version=_text(information.get("version")),
        model=model,
        api=api,
        templated=api == "chat" or template is not None,
        server_info={key: value for key, value in information.items() if key not in NOT_KEPT},
        command=point.command,
        checkpoints=await asyncio.to_thread(_checkpoints, information),
        gpus=gpus,
        driver=driver,
        alula=VERSION,
        errors=errors,
        warnings=tuple(sorted({finding.rule for finding in findings if finding.severity == "warning"})),
        void=_void(errors),
    )
    incremental = bool(information.get("incremental_streaming_output") or information.get("stream_output"))
    return Subject(provenance=provenance, template=template if api != "chat" else None, incremental=incremental)


async def served_model(url: str, key: str) -> str:
    """The model that `/v1/models` names first.

    Raises:
        BenchError: Nobody answers there, or not as an inference server does.
    """
    connections = Connections(address_of(url), key)
    try:
        code, body = await page(connections, "GET", "/v1/models")
        if code != 200:
            raise BenchError(f"{url}/v1/models answers with status {code}", "give the URL of an SGLang or vLLM server")
        return str(msgspec.json.decode(body)["data"][0]["id"])
    except Failed as error:
        raise BenchError(f"{url} does not answer: {error}", "start the server, or give its URL") from error
    except (msgspec.DecodeError, LookupError, TypeError, RecursionError) as error:
        raise BenchError(f"{url}/v1/models is not what SGLang or vLLM answers", "give the right URL") from error
    finally:
        connections.close()


async def check(url: str, pid: int | None) -> tuple[Finding, ...]:
    """Findings on a running server, by a process of its own: it reads what the load generator need not carry."""
    words = [sys.executable, "-m", "engine.watch.check_once", url, *([str(pid)] if pid is not None else [])]
    process = await asyncio.create_subprocess_exec(
        *words, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(CHECK_LIMIT_S):
            output, _ = await process.communicate()
        return msgspec.json.decode(output, type=tuple[Finding, ...])
    except (TimeoutError, msgspec.DecodeError, RecursionError):
        return ()
    finally:
        if process.returncode is None:
            process.kill()


def check_command(command: Sequence[str]) -> tuple[Finding, ...]:
    """What the checker says of a command before it is started; nothing where it is no server that it knows."""
    from engine.check.collect import Collection

    collection = Collection()
    collection.add_command(command)
    return tuple(finding for one in collection.outcome().checked for finding in one.findings)


def api_key(plan: Plan) -> str:
    """The server's key, from the environment variable that the plan names.

    Raises:
        BenchError: It is not set.
    """
    if plan.api_key_variable and plan.api_key_variable not in os.environ:
        raise BenchError(f"the variable {plan.api_key_variable} is not set", "export it before the engine is started")
    return _key(plan)


def _key(plan: Plan) -> str:
    return os.environ.get(plan.api_key_variable, "") if plan.api_key_variable else ""


def _framework(live: LiveServer) -> str | None:
    version = (live.server_info or {}).get("version")
    if not isinstance(version, str):
        return None
    return "alula-reference" if version.startswith("alula-reference") else "sglang"


def _api(plan: Plan, framework: str | None, template: ChatTemplate | None) -> Api:
    if plan.api != "auto":
        return plan.api
    if framework is None:
        return "completions" if plan.raw else "chat"
    return "generate" if plan.raw or template is not None else "chat"


def _void(errors: Sequence[str]) -> str:
    if SIMULATED in errors:
        return "acceptance is simulated"
    return f"the checker finds {', '.join(errors)}" if errors else ""


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _gpus() -> tuple[tuple[str, ...], str | None]:
    try:
        with closing(open_database(state_folder().database_path)) as database:
            status = read_status(database)
            names = tuple(f"{gpu.index} {gpu.name}" for gpu in read_gpus(database) if gpu.lost_at is None)
            return names, status.driver_version if status else None
    except (sqlite3.Error, StateError, OSError):
        return (), None


def _checkpoints(information: Mapping[str, Any]) -> dict[str, str]:
    paths = (information.get("model_path"), information.get("speculative_draft_model_path"))
    return {path: digest for path in paths if isinstance(path, str) and (digest := checkpoint_digest(Path(path)))}


def checkpoint_digest(folder: Path) -> str | None:
    """SHA-256 over the configuration, and names, sizes and headers of weight files; `None` where they do not lie here.

    Headers hold names, shapes and places of all tensors; the terabytes behind them are not read.
    """
    if not folder.is_dir():
        return None
    digest = hashlib.sha256()
    try:
        for path in sorted([*folder.glob("*.json"), *folder.glob("*.safetensors")]):
            digest.update(f"{path.name}:{path.stat().st_size}:".encode())
            with path.open("rb") as stream:
                digest.update(stream.read(1 << 20))
    except OSError:
        return None
    return digest.hexdigest()
