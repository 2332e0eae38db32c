"""Server processes, from command lines and from real ones."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from engine.watch.server_discovery import Discovery, address, look_at, recognise
from tests.watch.test_servers import eventually


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("python -m sglang.launch_server --model-path x", ("sglang", 30000)),
        ("/opt/venv/bin/python3 -m sglang.launch_server --port 1", ("sglang", 30000)),
        ("python /usr/lib/python3/site-packages/sglang/launch_server.py", ("sglang", 30000)),
        ("/opt/venv/bin/python /opt/venv/bin/sglang serve --model-path x", ("sglang", 30000)),
        ("vllm serve Qwen/Qwen3-8B", ("vllm", 8000)),
        ("python -m vllm.entrypoints.openai.api_server --model x", ("vllm", 8000)),
        ("python -m console reference serve --port 1", ("alula-reference", 30000)),
        ("vim sglang.launch_server.txt", None),
        ("python train.py --server sglang", None),
        ("bash", None),
    ],
)
def test_servers_are_told_from_other_programs(command: str, expected: tuple[str, int] | None) -> None:
    assert recognise(command.split()) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--port 30010", ("127.0.0.1", 30010)),
        ("--port=30010 --host=0.0.0.0", ("127.0.0.1", 30010)),
        ("--host 10.1.2.3", ("10.1.2.3", None)),
        ("--host :: --port 1", ("127.0.0.1", 1)),
        ("--host fe80::1 --port 1", ("[fe80::1]", 1)),
        ("--port notaport", ("127.0.0.1", None)),
        ("--port 99999", ("127.0.0.1", None)),
        ("--host $(reboot)", ("127.0.0.1", None)),
        ("--port", ("127.0.0.1", None)),
    ],
)
def test_where_a_command_line_listens(arguments: str, expected: tuple[str, int | None]) -> None:
    assert address(arguments.split()) == expected


async def test_a_process_that_chose_its_own_port_is_found_by_its_socket(tmp_path: Path) -> None:
    package = tmp_path / "sglang"
    package.mkdir()
    (package / "launch_server.py").write_text(
        "import socket, sys\nserver = socket.create_server(('127.0.0.1', 0))\n"
        "print(server.getsockname()[1], flush=True)\nsys.stdin.read()\n"
    )
    script = str(package / "launch_server.py")
    process = await asyncio.create_subprocess_exec(
        sys.executable, script, "--port", "0", stdin=PIPE, stdout=PIPE, env={"ALULA_JOB_ID": "5"}
    )
    try:
        assert process.stdout is not None
        port = (await process.stdout.readline()).decode().strip()
        discovery = Discovery()
        found = await eventually(lambda: [server for server in discovery.scan() if server.pid == process.pid])
        assert (found[0].url, found[0].job_id) == (f"http://127.0.0.1:{port}", 5)
    finally:
        process.kill()
        await process.wait()
    await eventually(lambda: all(server.pid != process.pid for server in discovery.scan()))
    assert look_at(process.pid) is None
