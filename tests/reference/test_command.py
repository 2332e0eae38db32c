"""`alula reference` as an operator runs it."""

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

ALULA = [sys.executable, "-m", "console", "reference"]
EAGLE3_DRAFT = ["--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path"]


@contextlib.contextmanager
def _server(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [*ALULA, "serve", "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            found = re.fullmatch(r"listening on (http://127\.0\.0\.1:\d+)\n", line)
            assert found, line
            yield process, found[1]
        finally:
            process.kill()


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*ALULA, *arguments], capture_output=True, text=True, timeout=60, check=False)


def test_serves_until_sigterm_and_ends_running_requests() -> None:
    with _server(*EAGLE3_DRAFT, _paths()["draft"]) as (process, url):
        body = {"text": "x", "stream": True, "sampling_params": {"max_new_tokens": 1900, "ignore_eos": True}}
        request = urllib.request.Request(
            f"{url}/generate", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        answer = urllib.request.urlopen(request, timeout=60)
        answer.readline()
        reader = threading.Thread(target=answer.read)
        reader.start()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        reader.join(30)
        assert not reader.is_alive()
        assert process.stderr is not None
        log = process.stderr.read()
    assert "A stand-in for development, demos and tests; it is not SGLang" in log
    assert "The server is fired up and ready to roll!" in log


def test_a_port_in_use_is_said_and_ends_with_2() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = _run("serve", "--port", str(taken.getsockname()[1]))
    assert done.returncode == 2
    assert "is in use by another process. Give another --port" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model-path", "/nowhere"], "/nowhere/config.json cannot be read"),
        (["--speculative-algorithm", "EAGLE3"], "needs a draft"),
        (["--speculative-algorithm", "NGRAM"], "is not offered by the reference server"),
        (["--speculative-algorithm", "EAGLE4"], "EAGLE4 is unknown"),
        ([*EAGLE3_DRAFT, "{target}"], "not LlamaForCausalLMEagle3"),
        (
            [*EAGLE3_DRAFT, "{draft}", "--speculative-num-steps", "3", "--speculative-eagle-topk", "4"],
            "drafts chains",
        ),
        (["--context-length", "9000"], "--context-length 9000 is outside"),
    ],
)
def test_what_cannot_be_served_is_said_and_ends_with_2(arguments: list[str], words: str) -> None:
    done = _run("serve", "--port", "0", *(argument.format(**_paths()) for argument in arguments))
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_paths_are_folders_of_models() -> None:
    for folder in _paths().values():
        assert (Path(folder) / "config.json").is_file()
    assert _run("paths", "--draft").stdout.strip() == _paths()["draft"]


def _paths() -> dict[str, str]:
    paths: dict[str, str] = json.loads(_run("paths", "--json").stdout)
    return paths
