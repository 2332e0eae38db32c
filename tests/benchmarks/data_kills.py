"""A preparation killed again and again at random times: do all that come to their end hold the same bytes?

`DATA_KILLS` kills (40) of a preparation of 8,000 records in small shards, each process group killed as a whole.
"""

import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.benchmarks import data_corpus
from tests.benchmarks.data_prepare import SEED, TOKENIZER, Watched, bytes_of, command_for
from tests.benchmarks.results import Result

RECORDS = 8_000
PLAN = """\
name = "kills"
[target]
tokenizer = "{tokenizer}"
[output]
shard_rows = 500
[[source]]
name = "corpus"
path = "corpus.jsonl"
"""


def run(report: Callable[[str], None]) -> Iterator[Result]:
    """Kills, ends, and ends with other bytes."""
    source, kills, ends, differing = random.Random(SEED), 0, 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plan = folder / "plan.toml"
        plan.write_text(PLAN.format(tokenizer=TOKENIZER))
        data_corpus.write(folder / "corpus.jsonl", RECORDS, SEED)
        whole = Watched(command_for(plan, folder / "whole", 1), folder)
        whole.end()
        wanted = bytes_of(folder / "whole")
        output = folder / "killed"
        while kills < int(os.environ.get("DATA_KILLS", "40")) or ends == 0:
            last = kills >= int(os.environ.get("DATA_KILLS", "40"))
            again = Watched(command_for(plan, output, 1), folder)
            if not again.end(None if last else source.uniform(0.1, 0.7) * whole.wall_s):
                kills += 1
                continue
            ends += 1
            differing += bytes_of(output) != wanted
            report(f"{kills} kills, {ends} ends, {differing} with other bytes")
            shutil.rmtree(output)
    yield Result("prepare, 8,000 records", "kills", kills, "")
    yield Result("prepare, 8,000 records", "ends", ends, "")
    yield Result("prepare, 8,000 records", "ends with other bytes", differing, "", 0)
