"""The story's table on a real GPU, by one command: baseline, EAGLE, EAGLE3 with several step counts, graphs on and off.

python -m tests.benchmarks.bench_real_gpu OUT_FOLDER [--repeats N] [--concurrency 1,8] [--steps 1,3,5] [--pair FOLDER]

Needs SGLang 0.5.17 in this interpreter and an NVIDIA GPU; each server takes half a minute or so to start. It serves the
reference pair that comes with Alula, or one that `python -m engine.reference.training` made: nothing is downloaded.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from engine.demo.prompts import standard_library_prompts, write_prompts
from engine.reference.checkpoint import shipped_draft, shipped_target

SWEEP = """
name = "{name}"
prompts = "{prompts}"
concurrency = [{concurrency}]
repeats = {repeats}
warmup = 4
[sampling]
max_tokens = 128

[server]
command = [
  "{python}", "-m", "sglang.launch_server", "--model-path", "{target}", "--host", "127.0.0.1", "--port", "{{port}}",
  "--attention-backend", "triton", "--sampling-backend", "pytorch", "--grammar-backend", "none",
  "--mem-fraction-static", "0.15", "--max-running-requests", "16", "--cuda-graph-max-bs-decode", "16",
  "--disable-radix-cache", "--enable-metrics",
]
ready_timeout_s = 180

[[point]]
name = "baseline"

[[point]]
name = "eagle-s3"
launch_despite_errors = true
arguments = [
  "--speculative-algorithm", "EAGLE", "--speculative-draft-model-path", "{draft}", "--speculative-num-steps", "3",
  "--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4",
]

[[grid]]
name = "eagle3"
draft = {{own = "{draft}"}}
num_steps = [{steps}]
"""
NO_GRAPHS = """
[[grid]]
name = "eagle3"
draft = {{own = "{draft}"}}
num_steps = [3]
cuda_graphs = [false]
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--repeats", default=1, type=int)
    parser.add_argument("--concurrency", default="1, 8")
    parser.add_argument("--prompts", default=24, type=int)
    parser.add_argument("--steps", default="1, 2, 3, 5")
    parser.add_argument("--no-graphs", action="store_true", help="one more point without CUDA graphs")
    parser.add_argument("--pair", type=Path, help="folder with target/ and draft/")
    given = parser.parse_args()
    out = given.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    home = Path(os.environ.setdefault("ALULA_HOME", "/tmp/alula-bench-real"))
    write_prompts(out / "prompts.jsonl", given.prompts)
    assert len(list(standard_library_prompts(given.prompts))) == given.prompts
    file = out / f"{out.name}.toml"
    file.write_text(sweep_text(given, out))
    ended = alula("bench", "sweep", str(file), "--wait", stdout=out / "table.txt")
    print((out / "table.txt").read_text())
    alula("bench", "show", out.name, "--json", stdout=out / "comparison.json")
    alula("bench", "export", out.name, "--output", str(out / "report.html"))
    keep(home / "runs", out / "runs.tar.gz")
    alula("engine", "stop")
    return ended


def sweep_text(given: argparse.Namespace, out: Path) -> str:
    """The sweep, of the shipped pair or another one; it is called as its folder is."""
    target, draft = (given.pair / "target", given.pair / "draft") if given.pair else (shipped_target(), shipped_draft())
    return (SWEEP + (NO_GRAPHS if given.no_graphs else "")).format(
        name=out.name, prompts=out / "prompts.jsonl", concurrency=given.concurrency, repeats=given.repeats,
        python=sys.executable, target=target.absolute(), draft=draft.absolute(), steps=given.steps,
    )  # fmt: skip


def alula(*words: str, stdout: Path | None = None) -> int:
    """Run a command of Alula; its messages go on to the terminal."""
    with (stdout or Path(os.devnull)).open("wb") as stream:
        return subprocess.run([sys.executable, "-m", "console", *words], stdout=stream, check=False).returncode


def keep(runs: Path, archive: Path) -> None:
    """All run folders: figures of the bench, logs of the servers."""
    with tarfile.open(archive, "w:gz") as stream:
        for folder in sorted(runs.iterdir()):
            stream.add(folder, folder.name)
    shutil.chown(archive, os.getuid(), os.getgid())


if __name__ == "__main__":
    sys.exit(main())
