"""Answers that part from the baseline's are judged by the target's own likelihoods, asked of the server that is up."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from engine.bench.cells import cell_name, cell_path
from engine.bench.equality import Equality, examine, read_equality
from engine.bench.plans import write_plan
from engine.bench.records import PromptSet, Provenance, Sampling
from tests.bench.scripted import asker, serving
from tests.bench.test_comparison import LOAD, cell, plan
from tests.data.made import write_jsonl

ASKED: list[str] = []


def likelihoods(*rows: tuple[float, str]) -> web.Response:
    found = [[likelihood, 0, text] for likelihood, text in rows]
    return web.json_response({"meta_info": {"output_top_logprobs": [found]}})


async def examined(folder: Path, response: Any, temperature: float = 0.0) -> Equality | None:
    """The comparison of a point in which one answer of forty is another one."""
    prompts = write_jsonl(folder / "prompts.jsonl", [{"id": f"p{n}", "prompt": f"question {n}"} for n in range(40)])
    whole = msgspec.structs.replace(
        plan("baseline", "eagle3", sampling=Sampling(temperature=temperature)), prompts=PromptSet(path=str(prompts))
    )
    write_plan(folder, whole)
    cell(folder, "baseline", 90.0)
    cell(folder, "eagle3", 90.0)
    path = cell_path(folder, cell_name("eagle3", LOAD, 0), "jsonl")
    path.write_text(path.read_text().replace("answer 7", "answer seven"))

    async def handler(request: web.Request) -> web.Response:
        ASKED.append((await request.json())["text"])
        made: web.Response = response()
        return made

    async with serving(handler) as url:
        await examine(folder, whole, whole.points[1], asker(url), Provenance(url=url))
    return read_equality(folder, "eagle3")


@pytest.mark.parametrize(
    ("rows", "verdict"), [([(-0.70, "7"), (-0.71, "s")], "tie"), ([(-0.01, "7"), (-9.0, "seven")], "fault")]
)
async def test_the_target_says_whether_it_was_a_tie(rows: list[Any], verdict: str, tmp_path: Path) -> None:
    ASKED.clear()
    found = await examined(tmp_path, lambda: likelihoods(*rows))
    assert found is not None and (found.compared, found.equal, found.note) == (40, 39, "")
    assert [one.verdict for one in found.divergences] == [verdict]
    assert ASKED == ["question 7answer "], "the likelihoods are asked where the answers part"


@pytest.mark.parametrize("response", [lambda: web.Response(status=400), lambda: web.json_response({"text": "x"})])
async def test_a_server_that_tells_no_likelihoods_leaves_it_open(response: Any, tmp_path: Path) -> None:
    found = await examined(tmp_path, response)
    assert found is not None and found.note.startswith("no margins: ")
    assert [one.verdict for one in found.divergences] == ["unknown"]


async def test_drawn_answers_are_not_compared(tmp_path: Path) -> None:
    assert await examined(tmp_path, lambda: web.Response(status=500), temperature=0.8) is None
