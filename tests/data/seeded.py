"""A state database with searches and preparations, as scouts and workers write it."""

import sqlite3
from pathlib import Path

from state.data import add_preparation, add_search, write_scout
from state.records.data import DataPreparation, DataSearch, DataSet, DataShare, FunnelStep, ScoutProgress

NOW = 1_790_000_000.0
SETS = (
    DataSet(
        id="open-r1/codeforces", domain="competitive programming", split="train", rows=9556, licence="cc-by-4.0",
        access="open", score=0.83, why="code problems with examples", mapping={"prompt": "title+description"},
        sources={"rows": "hub: /size"}, found_by=("competitive-programming",), downloads=12000,
    ),
    DataSet(
        id="a/gated[bold red]", domain="general chat", rows=200000, licence="other", access="terms", score=0.6,
        remark="\x1b]0;owned\x07Its terms must be accepted.",
    ),
    DataSet(id="zai-org/humaneval-x", domain="code translation", rows=820, benchmark=True, kept=False, score=0.1),
)  # fmt: skip
FUNNEL = (
    FunnelStep("rows", 1_000_000),
    FunnelStep("read", 999_900, {"broken_json": 100}),
    FunnelStep("with a prompt", 999_000, {"null_prompt": 600, "empty_prompt": 300}),
    FunnelStep("benchmarks", 998_836, {"benchmark_overlap": 164}),
    FunnelStep("exact duplicates", 972_000, {"exact_duplicate": 26_836}),
    FunnelStep("near-duplicates", 885_000, {"near_duplicate": 87_000}),
    FunnelStep("mix", 88_088, {"over_quota": 796_912}),
)
SHARES = (DataShare("codeforces", "code", 60_000, 9_200, 9_200), DataShare("chat", "chat", 28_088, 800_000, 78_888))


def add_work(database: sqlite3.Connection, folder: Path) -> None:
    """A search that is done, one at work, a preparation that is done."""
    done = DataSearch(
        name="campaign", run_folder=str(folder / "search"), created_at=NOW - 7200, ended_at=NOW - 7000, state="done",
        message="3 sets seen", sets=SETS,
    )  # fmt: skip
    add_search(database, done)
    work = DataSearch(name="more", run_folder=str(folder / "more"), created_at=NOW - 60)
    number = add_search(database, work)
    for index, scout in enumerate(("mathematics", "general-chat", "tool-use")):
        state = ("done", "asking", "waiting")[index]
        write_scout(
            database,
            ScoutProgress(
                search_id=number, scout=scout, round="broad", state=state, asked=20 - 10 * index, to_ask=20,  # type: ignore[arg-type]
                found=40 - 20 * index, kept=3 - index, message="asks for reasoning traces", updated_at=NOW - 1,
            ),
        )  # fmt: skip
    add_preparation(
        database,
        DataPreparation(
            name="campaign", run_folder=str(folder / "out/work"), plan_path=str(folder / "plan.toml"),
            output_folder=str(folder / "out"), created_at=NOW - 3600, ended_at=NOW - 3000, state="done",
            message="88088 records", stage="done", rows_read=1_000_000, updated_at=NOW - 3000, funnel=FUNNEL,
            shares=SHARES, manifest={"records": 88_088, "languages": {"en": 80_000, "zh": 8_088}},
        ),
    )  # fmt: skip
