"""A state folder with an engine, and what commands can be asked about, each made when it is first named."""

import asyncio
import json
import sys
import threading
import time
from contextlib import closing, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from threadpoolctl import threadpool_limits

from console.command_line.root import alula
from engine.client import Client
from engine.reference.checkpoint import shipped_target
from engine.reference.server import serve_reference
from engine.reference.settings import ServerSettings
from state.alerts import open_alerts, raise_alert
from state.bench import read_benches
from state.database import open_database
from state.folder import state_folder
from tests.data.made import write_jsonl, write_plan
from tests.jobs.conftest import LIMIT_S, wait_until

PLAN = 'name = "t"\n[[source]]\nname = "a"\npath = "prompts.jsonl"\n'


class LivedIn:
    """Gives `{name}` in a case's words its meaning."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = sys.executable
        self.target = str(shipped_target())
        self.client = Client(state_folder())
        self.client.ensure_engine()
        self._ended = threading.Event()
        self._serving: threading.Thread | None = None

    def __getitem__(self, name: str) -> object:
        return getattr(self, name)

    def run(self, command: str, words: str = "") -> Result:
        """`alula COMMAND --json WORDS`, in this process."""
        before, rest = command.split(), words.format_map(self).split()
        return CliRunner().invoke(alula, [*before, "--json", *rest])

    def answer(self, command: str, words: str = "") -> Any:
        """What it prints."""
        return json.loads(self.run(command, words).stdout)

    @cached_property
    def prompts(self) -> Path:
        return write_jsonl(self.folder / "prompts.jsonl", [{"id": f"p{n}", "prompt": f"def f{n}():"} for n in range(3)])

    @cached_property
    def conversations(self) -> Path:
        said = [{"role": "user", "content": "def f():"}, {"role": "assistant", "content": "return 1"}]
        return write_jsonl(self.folder / "conversations.jsonl", [{"id": "c", "conversations": said}])

    @cached_property
    def many(self) -> Path:
        return write_jsonl(self.folder / "many.jsonl", [{"prompt": f"def g{n}(): pass"} for n in range(300)])

    @cached_property
    def plan(self) -> Path:
        assert self.prompts
        return write_plan(self.folder, PLAN)

    @cached_property
    def campaign(self) -> Path:
        """One whose first step, a server, is never ready."""
        path = self.folder / "campaign.toml"
        path.write_text(
            f'name = "lived"\n[target]\nmodel = "{self.target}"\ncommand = ["sh", "-c", "sleep 60"]\n'
            f'[data]\nprompts = ["{self.prompts}"]\n[bench]\nprompts = "{self.prompts}"\n'
        )
        return path

    @cached_property
    def launch(self) -> Path:
        path = self.folder / "launch.sh"
        path.write_text(f"python -m sglang.launch_server --model-path {self.target} --port 30000\n")
        return path

    @cached_property
    def alert(self) -> int:
        with closing(open_database(self.client.folder.database_path)) as database:
            raise_alert(
                database, rule="r", subject="s", severity="warning", title="t", cause="c", remedy="m", now=time.time()
            )
            return next(alert.id for alert in open_alerts(database) if alert.rule == "r")

    @cached_property
    def job(self) -> int:
        given = self.client.ask("jobs.launch", {"argv": ["sh", "-c", "echo Decode batch; exit 3"]}, timeout_s=LIMIT_S)
        wait_until(lambda: (Path(given["run_folder"]) / "exit.json").exists(), "the job to end")
        wait_until(lambda: self.answer("jobs show", str(given["job_id"]))["job"]["ended_at"], "its end to be known")
        return int(given["job_id"])

    @cached_property
    def server(self) -> str:
        """The reference server, in a thread of this process."""
        url: list[str] = []

        async def serve() -> None:
            async with serve_reference(ServerSettings(model_path=shipped_target(), port=0)) as found:
                url.append(found)
                await asyncio.to_thread(self._ended.wait)

        def work() -> None:
            with threadpool_limits(1, user_api="blas"):
                asyncio.run(serve())

        self._serving = threading.Thread(target=work)
        self._serving.start()
        wait_until(lambda: url, "the server to listen")
        return url[0]

    @cached_property
    def load(self) -> str:
        return f"--prompts {self.prompts} --warmup 0 --max-tokens 8"

    @cached_property
    def run_name(self) -> str:
        """A regeneration that has ended; one sample has failed, for it is longer than the model's context."""
        long = write_jsonl(self.folder / "long.jsonl", [{"id": "long", "prompt": "word " * 20_000}])
        words = f"{{prompts}} {long}" + " --server {server} --name lived --max-tokens 8"
        assert self.run("regen start", words).exit_code == 0
        wait_until(lambda: self.answer("regen status", "lived")["run"]["state"] == "done", "the run to end")
        return "lived"

    @cached_property
    def paused_run(self) -> str:
        """The second run, once its worker has stopped."""
        wait_until(lambda: self.answer("regen status", "second")["run"]["state"] == "paused", "the run to pause")
        wait_until(lambda: all(job["ended_at"] for job in self.answer("jobs list")), "its worker to end")
        return "second"

    @cached_property
    def sweep(self) -> Path:
        """A baseline and a draft at several steps, nothing measured yet."""
        path = self.folder / "sweep.toml"
        path.write_text(
            f'name = "sweep"\nprompts = "{self.prompts}"\n[server]\ncommand = ["serve", "--port", "{{port}}"]\n'
            '[[point]]\nname = "baseline"\n[[grid]]\nname = "eagle3"\ndraft = {own = "draft"}\nnum_steps = [1, 3]\n'
        )
        return path

    @cached_property
    def bench(self) -> str:
        with closing(open_database(self.client.folder.database_path)) as database:
            return read_benches(database)[-1].name

    def close(self) -> None:
        for job in self.answer("jobs list"):
            if job["ended_at"] is None:
                self.run("jobs stop", str(job["id"]))
        with suppress(Exception):
            self.client.ask("engine.stop", {}, timeout_s=LIMIT_S)
        self._ended.set()
        if self._serving is not None:
            self._serving.join(LIMIT_S)
