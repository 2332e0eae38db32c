"""The search of the hub: the real huggingface_hub client against a local server."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine.data.discovery.answers import Answers, Unanswered
from engine.data.discovery.gate import Gate, HubGone, gated
from engine.data.discovery.hub import Hub
from engine.data.discovery.scouts import Scout
from engine.data.discovery.search import Outcome, Search, SearchRequest
from engine.data.discovery.table import read_table
from engine.data.plan.reading import read_plan
from state.data import add_search, find_search, read_scouts
from state.database import open_database
from state.records.data import DataSearch, DataSet
from tests.data.hub_server import HubServer, alpaca, hub_server
from tests.limits import LIMIT_S

CODE = Scout(
    name="code", domain="code", searches=("code instruct",), filters=(("code",),), words=("code", "instruct"),
    known=("big/code-instruct", "AmazonScience/SWE-PolyBench"), wanted=2,
)  # fmt: skip
MATH = Scout(name="math", domain="mathematics", searches=("math",), words=("math", "algebra"), wanted=2)


def some_sets() -> dict[str, dict[str, Any]]:
    return {
        "big/code-instruct": {
            "downloads": 90_000, "licence": "apache-2.0", "languages": ["en"], "first_rows": alpaca("code"),
            "rows": 110_000, "tags": ["code", "language:en", "format:parquet"],
        },
        "mirror/code-instruct-sharegpt": {
            "downloads": 300, "rows": 110_000,
            "first_rows": [
                {"conversations": [{"from": "human", "value": row["instruction"]}, {"from": "gpt", "value": "x"}]}
                for row in alpaca("code")
            ],
        },
        "terms/code-instruct-two": {
            "gated": "auto", "licence": "mit", "downloads": 5_000, "first_rows": alpaca("other"), "rows": 20_000,
            "partial": True, "tags": ["code"],
        },
        "asks/code-instruct-three": {"gated": "manual", "downloads": 50, "tags": ["code"]},
        "mine/code-instruct-four": {"private": True},
        "AmazonScience/SWE-PolyBench": {
            "downloads": 900, "first_rows": [{"problem_statement": "It fails", "patch": "-"}], "split": "test",
        },
        "m/math-algebra": {"licence": "cc-by-nc-4.0", "downloads": 70, "first_rows": alpaca("sum"), "rows": 900},
        "m/math-pictures": {"downloads": 60, "first_rows": [{"image": "…", "width": 3}]},
        "m/math-long": {"downloads": 50, "first_rows": alpaca("cut"), "cut_rows": 6},
        "m/math-script": {"downloads": 40, "viewer_status": 501, "viewer_error": "DatasetWithScriptNotSupportedError"},
    }  # fmt: skip


@pytest.fixture(name="hub")
def running_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    with hub_server(some_sets()) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("ALULA_DATASET_VIEWER", server.url)
        monkeypatch.setenv("HF_TOKEN", "hf_test")
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        yield server


def searched(folder: Path, *scouts: Scout, **settings: Any) -> Outcome:
    request = SearchRequest(
        name="s", scouts=scouts or (CODE, MATH), **{"per_second": 500.0, "timeout_s": 2.0, **settings}
    )  # fmt: skip
    path = folder / "alula.sqlite"
    with closing(open_database(path)) as database:
        number = add_search(database, DataSearch(name="s", run_folder=str(folder / "s"), created_at=time.time()))
    return Search(request, number, folder / "s", path, lambda _: None).run()


def by_id(outcome: Outcome) -> dict[str, DataSet]:
    return {one.id: one for one in outcome.sets}


def test_what_fits_is_kept_and_the_rest_is_told_why(hub: HubServer, tmp_path: Path) -> None:
    outcome = searched(tmp_path)
    sets = by_id(outcome)
    assert outcome.state == "done"
    assert [one.id for one in outcome.sets if one.kept] == [
        "big/code-instruct", "terms/code-instruct-two", "m/math-algebra",
    ]  # fmt: skip
    code = sets["big/code-instruct"]
    assert (code.rows, code.licence, code.access, code.format) == (110_000, "apache-2.0", "open", "parquet")
    assert code.mapping["prompt"] == "instruction+input"
    assert code.sources["rows"] == "viewer"
    assert "benchmark" in sets["AmazonScience/SWE-PolyBench"].remark
    assert "first rows" in sets["m/math-pictures"].remark
    assert "could not be seen" in sets["m/math-script"].remark
    assert sets["m/math-algebra"].score < code.score


def test_gated_sets_say_what_must_be_accepted(hub: HubServer, tmp_path: Path) -> None:
    sets = by_id(searched(tmp_path))
    assert sets["terms/code-instruct-two"].access == "terms"
    assert sets["asks/code-instruct-three"].access == "request"
    assert "at least" in sets["terms/code-instruct-two"].why
    assert "accept its terms" in (tmp_path / "s" / "table.md").read_text()
    assert "mine/code-instruct-four" not in sets


def test_a_mirror_in_another_shape_is_merged(hub: HubServer, tmp_path: Path) -> None:
    sets = by_id(searched(tmp_path))
    assert "mirror/code-instruct-sharegpt" not in sets
    assert sets["big/code-instruct"].copies == ("mirror/code-instruct-sharegpt",)


def test_the_files_are_a_table_and_a_plan_that_can_be_read(hub: HubServer, tmp_path: Path) -> None:
    outcome = searched(tmp_path)
    assert read_table(tmp_path / "s" / "table.json") == outcome.sets
    plan = read_plan(tmp_path / "s" / "plan.toml")
    assert [one.hub for one in plan.source] == ["big/code-instruct", "terms/code-instruct-two", "m/math-algebra"]


def test_a_second_search_asks_nothing_and_finds_the_same(hub: HubServer, tmp_path: Path) -> None:
    first = searched(tmp_path)
    asked = len(hub.asked)
    again = searched(tmp_path)
    assert len(hub.asked) == asked
    assert again.sets == first.sets
    searched(tmp_path, fresh_s=0.0)
    assert len(hub.asked) > asked


def test_without_a_network_it_goes_by_what_is_kept(hub: HubServer, tmp_path: Path) -> None:
    nothing = searched(tmp_path / "new", offline=True) if (tmp_path / "new").mkdir() is None else None
    assert nothing is not None
    assert nothing.state == "failed"
    assert "catalogue" in nothing.message
    assert "nuprl/MultiPL-E" in by_id(nothing)
    first = searched(tmp_path)
    hub.shutdown()
    hub.server_close()
    assert searched(tmp_path, offline=True).sets == first.sets
    stale = searched(tmp_path, fresh_s=0.0, timeout_s=0.2)
    assert stale.sets == first.sets


def test_faults_are_tried_again(hub: HubServer, tmp_path: Path) -> None:
    hub.faults = {
        "/api/datasets": [(429, {"Retry-After": "0"}), 503, "cut"],
        "/splits": [500, 0.6],
        "/first-rows": ["cut"],
    }
    outcome = searched(tmp_path, timeout_s=0.5)
    assert outcome.refused == 1
    assert outcome.unanswered == 0
    assert len([one for one in outcome.sets if one.kept]) == 3


def test_answers_that_cannot_be_read_are_counted_and_passed_over(hub: HubServer, tmp_path: Path) -> None:
    hub.faults = {"/splits": ["broken", "shape"], "/api/datasets?search=math": ["broken"]}
    outcome = searched(tmp_path)
    assert outcome.state == "done"
    assert outcome.unanswered == 3
    assert "cannot be read" in outcome.message
    assert any(one.kept for one in outcome.sets)
    # What failed is not kept as an answer: the next search asks it again.
    assert searched(tmp_path).unanswered == 0


def test_a_refusal_holds_all_scouts_back(hub: HubServer) -> None:
    pauses: list[float] = []
    gate = Gate(500, told=pauses.append)
    hub.faults = {"/api/datasets/big": [(429, {"Retry-After": "1"})]}
    with gated(gate), closing(open_database(Path(os.environ["HF_HOME"]).parent / "a.sqlite")) as database:
        answers = Answers(database, fresh_s=1e9, offline=False)
        assert Hub(answers).info("big/code-instruct") is not None
        assert Hub(answers).info("none/such") is None
    assert pauses == [1.0]
    assert hub.at[1] - hub.at[0] >= 1.0


def test_a_hub_that_is_gone_ends_the_asking(hub: HubServer, tmp_path: Path) -> None:
    hub.shutdown()
    hub.server_close()
    outcome = searched(tmp_path, timeout_s=0.2)
    assert outcome.state == "failed"
    assert "did not answer" in outcome.message or "cannot be asked" in outcome.message
    with closing(open_database(tmp_path / "alula.sqlite")) as database:
        assert {one.state for one in read_scouts(database, 1)} == {"failed"}


def test_a_stopped_search_asks_no_more(hub: HubServer) -> None:
    gate = Gate(0.5)
    gate.wait()
    gate._stopped.set()
    with pytest.raises(HubGone):
        gate.wait()


def test_questions_are_bounded_and_progress_is_told(hub: HubServer, tmp_path: Path) -> None:
    outcome = searched(tmp_path, most_questions=4)
    assert outcome.asked <= 8
    with closing(open_database(tmp_path / "alula.sqlite")) as database:
        found = {one.scout: one for one in read_scouts(database, 1)}
        assert find_search(database, "s").sets == outcome.sets  # type: ignore[union-attr]
    assert found["code"].asked == found["code"].to_ask == 4
    assert found["code"].state == "done"


def test_an_answer_of_an_older_form_is_refused(tmp_path: Path) -> None:
    with closing(open_database(tmp_path / "a.sqlite")) as database:
        answers = Answers(database, fresh_s=1e9, offline=True)
        with pytest.raises(Unanswered):
            answers.get("list of nothing", lambda: 1)


def run(*arguments: str, home: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "console", "data", "search", *arguments]
    return subprocess.Popen(
        command, env={**os.environ, "ALULA_HOME": str(home)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_search_goes_on_where_it_was(hub: HubServer, tmp_path: Path, how: signal.Signals) -> None:
    own = tmp_path / "own.toml"
    own.write_bytes(b"".join(_toml(scout) for scout in (CODE, MATH)))
    words = ("code", "math", "--scouts", str(own), "--name", "c", "--json", "--timeout", "5")
    process = run(*words, "--rate", "8", home=tmp_path / "state")
    deadline = time.monotonic() + LIMIT_S
    while len(hub.asked) < 6:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(how)
    process.communicate(timeout=LIMIT_S)
    assert process.returncode == (-9 if how == signal.SIGKILL else 4)
    before = len(hub.asked)
    again = run(*words, "--rate", "100", home=tmp_path / "state")
    text, said = again.communicate(timeout=LIMIT_S)
    assert again.returncode == 0, said
    outcome = msgspec.json.decode(text)
    assert outcome["kept_answers"] > 0
    assert next(one["id"] for one in outcome["sets"] if one.get("kept", True)) == "big/code-instruct"
    with closing(open_database(tmp_path / "state" / "alula.sqlite")) as database:
        assert find_search(database, "c").id == 1  # type: ignore[union-attr]
    third = run(*words, "--offline", home=tmp_path / "state")
    assert msgspec.json.decode(third.communicate(timeout=LIMIT_S)[0])["sets"] == outcome["sets"]
    assert len(hub.asked) > before


def _toml(scout: Scout) -> bytes:
    import tomli_w

    return tomli_w.dumps({"scout": [msgspec.to_builtins(scout)]}).encode()
