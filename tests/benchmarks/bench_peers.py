"""Medians of our load generator beside those of sglang.bench_serving and guidellm, on one server in one run.

The server's pace is known, so ours is held against the truth as well. Set PEER_SGLANG and PEER_GUIDELLM to commands
that run them, for example `PEER_SGLANG="python -m sglang.bench_serving"` and `PEER_GUIDELLM=guidellm` (0.8); PEER_URL
names another server, such as a real one.
"""

import json
import multiprocessing
import os
import shlex
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from engine.reference.checkpoint import shipped_target
from tests.benchmarks.paced_server import GAP_S, TOKENS, TTFT_S, serve_paced
from tests.benchmarks.results import Result

AT_ONCE, REQUESTS, LIMIT_S = 4, 40, 240.0
Figures = Mapping[str, float]


def run(report: Callable[[str], None]) -> Iterator[Result]:
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve_paced, args=(theirs,), daemon=True)
    server.start()
    try:
        yield from _compared(os.environ.get("PEER_URL") or ours.recv(), report)
    finally:
        server.kill()
        server.join()


def _compared(url: str, report: Callable[[str], None]) -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _write_prompts(folder)
        own = _alula(url, folder)
        yield from _results("Alula", own, own)
        for name, variable, measure in (
            ("sglang.bench_serving", "PEER_SGLANG", _sglang), ("guidellm", "PEER_GUIDELLM", _guidellm)
        ):  # fmt: skip
            command = shlex.split(os.environ.get(variable, ""))
            if not command:
                report(f"{name}: left out; set {variable} to a command that runs it")
                continue
            try:
                yield from _results(name, measure(command, url, folder), own)
            except (subprocess.SubprocessError, OSError, LookupError, ValueError) as error:
                report(f"{name}: {type(error).__name__}: {error} {str(getattr(error, 'stderr', ''))[-2000:]}")


def _results(name: str, found: Figures, own: Figures) -> Iterator[Result]:
    yield Result(name, "TTFT, median", found["ttft_ms"], "ms")
    yield Result(name, "tokens a second in all", found["tokens_per_s"], "/s")
    if not os.environ.get("PEER_URL"):
        off = abs(found["ttft_ms"] / TTFT_S / 1000 - 1) * 100
        yield Result(name, "TTFT off the server's own", off, "%", 2.0 if found is own else None)
        pace = AT_ONCE * TOKENS / (TTFT_S + (TOKENS - 1) * GAP_S)
        off = abs(found["tokens_per_s"] / pace - 1) * 100
        yield Result(name, "tokens/s off the server's", off, "%", 2.0 if found is own else None)
    if found is not own:
        for figure in ("ttft_ms", "tokens_per_s"):
            yield Result(f"Alula beside {name}", figure, abs(own[figure] / found[figure] - 1) * 100, "%", 2.0)


def _write_prompts(folder: Path) -> None:
    """The same prompts in the form of each program."""
    texts = [f"Say something about the number {number}. " * 4 for number in range(REQUESTS)]
    rows = [{"id": f"p{number}", "messages": [{"role": "user", "content": text}]} for number, text in enumerate(texts)]
    (folder / "prompts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    custom = [{"conversations": [{"content": text}, {"content": "word " * TOKENS}]} for text in texts]
    (folder / "custom.jsonl").write_text("\n".join(map(json.dumps, custom)))
    (folder / "guidellm.jsonl").write_text("\n".join(json.dumps({"prompt": text}) for text in texts))


def _alula(url: str, folder: Path) -> Figures:
    from engine.bench.cells import cell_name, read_end, read_records
    from engine.bench.plans import fresh_folder
    from engine.bench.records import Load, Plan, Point, PromptSet, Sampling
    from engine.bench.worker import work

    os.environ["ALULA_HOME"] = str(folder / "home")
    load = Load(concurrency=AT_ONCE, warmup=2)
    plan = Plan(
        name="peers", points=(Point(name="paced", url=url),), loads=(load,), api="chat",
        prompts=PromptSet(path=str(folder / "prompts.jsonl")), sampling=Sampling(max_tokens=TOKENS),
    )  # fmt: skip
    run_folder = fresh_folder(folder, plan)
    work(run_folder)
    name = cell_name("paced", load, 0)
    records, end = list(read_records(run_folder, name)), read_end(run_folder, name)
    assert end is not None and not any(record.failure for record in records), records[:1]
    ttft = statistics.median(record.ttft_s or 0.0 for record in records)
    tokens = sum(record.completion_tokens or 0 for record in records)
    return {"ttft_ms": ttft * 1000, "tokens_per_s": tokens / end.wall_s}


def _sglang(command: list[str], url: str, folder: Path) -> Figures:
    out = folder / "sglang.jsonl"
    words = [
        *command, "--backend", "sglang-oai-chat", "--base-url", url, "--dataset-name", "custom", "--dataset-path",
        str(folder / "custom.jsonl"), "--num-prompts", str(REQUESTS), "--max-concurrency", str(AT_ONCE),
        "--sharegpt-output-len", str(TOKENS), "--model", str(shipped_target()), "--tokenizer", str(shipped_target()),
        "--output-file", str(out), "--disable-tqdm", "--warmup-requests", "2",
    ]  # fmt: skip
    _call(words)
    found = json.loads(out.read_text().splitlines()[-1])
    return {"ttft_ms": float(found["median_ttft_ms"]), "tokens_per_s": float(found["output_throughput"])}


def _guidellm(command: list[str], url: str, folder: Path) -> Figures:
    out = folder / "guidellm.json"
    words = [
        *command, "run", "--backend", f"kind=openai_http,target={url},model=paced",
        "--profile", f"kind=concurrent,streams={AT_ONCE}", "--constraint", f"kind=max_requests,count={REQUESTS}",
        "--data", f"kind=json_file,path={folder / 'guidellm.jsonl'}",
        "--tokenizer", f"kind=huggingface_auto,model={shipped_target()}",
        "--output", f"kind=json,path={out}", "--disable-console",
    ]  # fmt: skip
    _call(words)
    found: dict[str, Any] = json.loads(out.read_text())["benchmarks"][0]["metrics"]
    return {
        "ttft_ms": float(found["time_to_first_token_ms"]["successful"]["median"]),
        "tokens_per_s": float(found["output_tokens_per_second"]["successful"]["mean"]),
    }


def _call(words: list[str]) -> None:
    subprocess.run(words, check=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL, capture_output=True, text=True)
