"""Over /generate in tokens: what is stored and trained on is what the target emitted, through every template's ways."""

import hashlib
import json
import shutil
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

import engine.reference
from engine.regen.export import export_run
from engine.regen.records import Message, Plan, TokenTurn
from engine.regen.selection import ExportOptions
from engine.regen.store import Store
from engine.regen.tokens.packing import packed, unpacked
from engine.regen.tokens.parquet import read_rows
from engine.regen.tokens.rows import Unfit, check_turns, spans_of, turns_of
from engine.regen.tokens.tokenizer import FastTokenizer, TargetTokenizer, load_tokenizer
from engine.regen.tokens.turns import message_from, next_prompt, sequences
from engine.regen.verify import verify_run
from tests.regen.conftest import ScriptedServer, make_run
from tests.regen.test_faults import short_waits, work

__all__ = ["short_waits"]
REFERENCE_TARGET = Path(engine.reference.__file__).parent / "checkpoint" / "target"
DROPS_REASONING = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}"
    "{% if loop.last and m.reasoning_content %}{{ '<think>' + m.reasoning_content + '</think>' }}{% endif %}"
    "{{ m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}


@pytest.fixture(scope="module")
def tokenizer() -> FastTokenizer:
    return FastTokenizer(REFERENCE_TARGET)


def other_template(tmp_path: Path, source: str) -> TargetTokenizer:
    folder = tmp_path / "tokenizer"
    folder.mkdir()
    shutil.copy(REFERENCE_TARGET / "tokenizer.json", folder)
    config = json.loads((REFERENCE_TARGET / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**config, "chat_template": source}))
    return load_tokenizer(folder)


class TokenServer(ScriptedServer):
    """Answers /generate with words that follow from the prompt, at times with a lie."""

    lies: dict[str, dict[str, Any]]

    def __init__(self, tokenizer: TargetTokenizer) -> None:
        super().__init__()
        self.tokenizer, self.lies = tokenizer, {}
        self.prompts: list[list[int]] = []
        self.emitted: list[list[int]] = []

    async def generate(self, request: web.Request) -> web.Response:
        body = await request.json()
        prompt = body["input_ids"]
        text = self.tokenizer.decode(prompt)
        end = next(iter(self.tokenizer.end_ids))
        output = [*self.tokenizer.encode("\nIt is " + hashlib.sha256(text.encode()).hexdigest()[:4]), end]
        output = output[-body["sampling_params"]["max_new_tokens"] :]
        self.prompts.append(prompt)
        self.emitted.append(output)
        meta = {
            "id": body["rid"], "finish_reason": {"type": "stop"}, "prompt_tokens": len(prompt),
            "completion_tokens": len(output),
        }  # fmt: skip
        lie = next((self.lies.pop(word) for word in list(self.lies) if word in text), {})
        if "id" in lie:
            lie = {"id": body["rid"].rpartition("-")[0] + lie["id"]}
        return web.json_response({"text": "", "output_ids": output, "meta_info": {**meta, **lie}})

    async def parse(self, request: web.Request) -> web.Response:
        body = await request.json()
        calls = [{"name": "weather", "parameters": '{"city": "Oslo"}', "tool_index": 0}]
        return web.json_response({"normal_text": "", "calls": calls if body["tool_call_parser"] else []})


@pytest.fixture
async def token_server(tokenizer: FastTokenizer) -> AsyncIterator[TokenServer]:
    server = TokenServer(tokenizer)
    app = web.Application()
    app.router.add_get("/v1/models", server.models)
    app.router.add_get("/server_info", server.information)
    app.router.add_post("/generate", server.generate)
    app.router.add_post("/parse_function_call", server.parse)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield server
    await runner.cleanup()


def token_run(tmp_path: Path, server: TokenServer, records: list[dict[str, Any]]) -> tuple[Path, Plan]:
    (tmp_path / "in.jsonl").write_text("\n".join(json.dumps(record) for record in records))
    folder, plan = make_run(tmp_path, server.url, ["unused"])
    shutil.rmtree(folder)
    plan = msgspec.structs.replace(plan, inputs=(str(tmp_path / "in.jsonl"),), tokenizer=str(REFERENCE_TARGET))
    from engine.regen.plan import take_in_inputs, write_plan

    write_plan(folder, plan)
    store = Store(folder)
    take_in_inputs(plan, store)
    store.close()
    return folder, plan


def read_lines(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(file).read_text().splitlines()]


def remove(file: str) -> None:
    Path(file).unlink()


async def test_what_is_trained_on_is_what_was_emitted(tmp_path: Path, token_server: TokenServer) -> None:
    folder, plan = token_run(tmp_path, token_server, [{"id": "a", "turns": ["one", "two", "three"]}])
    await work(folder, plan)
    manifest = export_run(folder, plan, tmp_path / "train.parquet")
    (row,) = read_rows(Path(manifest.file))
    trained = [token for token, mask in zip(row.input_ids, row.loss_mask, strict=True) if mask]
    assert trained == [token for one in token_server.emitted for token in one]
    assert row.input_ids[: len(token_server.prompts[-1])] == token_server.prompts[-1]
    assert manifest.files["train"].loss_tokens == len(trained)
    assert verify_run(folder, Path(manifest.file)).problems == ()


@pytest.mark.parametrize(
    "lie",
    [{"id": "-999"}, {"completion_tokens": 9000}, {"prompt_tokens": 1}],
    ids=["another request", "length", "another prompt"],
)
async def test_a_server_that_lies_is_asked_again(
    lie: dict[str, Any], tmp_path: Path, token_server: TokenServer
) -> None:
    folder, plan = token_run(tmp_path, token_server, [{"id": "a", "prompt": "question"}])
    token_server.lies["question"] = lie
    run = await work(folder, plan)
    assert (run.progress.done, run.progress.failed_count) == (1, 0)
    assert len(token_server.prompts) == 2


async def test_a_tool_call_ends_a_conversation_and_is_kept(tmp_path: Path, token_server: TokenServer) -> None:
    token_server.info = {"tool_call_parser": "hermes"}
    folder, plan = token_run(tmp_path, token_server, [{"id": "a", "turns": ["one", "two"], "tools": [TOOL]}])
    await work(folder, plan)
    manifest = export_run(folder, plan)
    (row,) = read_lines(manifest.file)
    assert [message["role"] for message in row["conversations"]] == ["user", "assistant"]
    assert row["conversations"][1]["tool_calls"][0]["function"]["name"] == "weather"
    assert row["tools"] == [TOOL]
    assert row["finish_reasons"] == ["tool_calls"]
    assert verify_run(folder, Path(manifest.file)).problems == ()


async def test_native_samples_are_joined_and_both_sides_are_proved(tmp_path: Path, token_server: TokenServer) -> None:
    prompts = [{"id": f"p{number}", "prompt": f"question {number}"} for number in range(40)]
    folder, plan = token_run(tmp_path, token_server, prompts)
    await work(folder, plan)
    native = tmp_path / "native.jsonl"
    tokenizer = token_server.tokenizer
    text = tokenizer.render([Message("user", "q"), Message("assistant", "said")], None, answer_follows=False)
    native.write_text(
        "\n".join(
            json.dumps(record)
            for record in (
                {"id": "c", "conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "said"}]},
                {"id": "t", "text": text},
                {"id": "i", "input_ids": [5, 6, 7], "loss_mask": [0, 1, 1]},
                {"id": "bad", "input_ids": [5, 6, 7], "loss_mask": [0, 1]},
                {"id": "far", "input_ids": [5, 10**6], "loss_mask": [0, 1]},
            )
        )
    )
    options = ExportOptions(held_out=0.3, native=(str(native),))
    manifest = export_run(folder, plan, tmp_path / "train.parquet", options)
    sides = {side: list(read_rows(Path(one.file))) for side, one in manifest.files.items()}
    rows = {row.id: row for side in sides.values() for row in side}
    assert len(rows) == 43 and manifest.native == 3 and 5 <= len(sides["held_out"]) <= 24
    assert manifest.left_out == {"native samples rejected": 2, "vocabulary": 1}
    said = [token for token, mask in zip(rows["native/t"].input_ids, rows["native/t"].loss_mask, strict=True) if mask]
    assert "said" in tokenizer.decode(said) and "q" not in tokenizer.decode(said)
    assert rows["native/c"].input_ids[: len(rows["native/t"].input_ids) - 1] == rows["native/t"].input_ids[:-1]
    assert verify_run(folder, Path(manifest.file)).problems == ()
    remove(manifest.files["held_out"].file)
    verdict = verify_run(folder, Path(manifest.file))
    assert len(verdict.problems) == 1 and "held-out.parquet is missing" in verdict.problems[0]
    assert verdict.rows == len(sides["train"])


async def test_a_changed_mask_does_not_pass(tmp_path: Path, token_server: TokenServer) -> None:
    import pyarrow.parquet as pq

    folder, plan = token_run(tmp_path, token_server, [{"id": "a", "prompt": "x"}, {"id": "b", "prompt": "y"}])
    await work(folder, plan)
    file = Path(export_run(folder, plan, tmp_path / "train.parquet").file)
    table = pq.read_table(file)
    rows = table.to_pylist()
    rows[1]["loss_mask"][0] = 1
    pq.write_table(type(table).from_pylist(rows, schema=table.schema), file)
    problems = verify_run(folder, file).problems
    assert any("loss_mask of 'b'" in problem for problem in problems)
    assert any("SHA-256" in problem for problem in problems)
    for problems in map(partial(problems_of_harmed, folder, file), HARMS):
        assert any("is damaged" in problem for problem in problems)


HARMS: list[Callable[[bytes], bytes]] = [
    lambda whole: b"",
    lambda whole: whole[:-9],
    lambda whole: b"PAR1 rubbish PAR1",
    lambda whole: b"PAR1" + b"\xff" * 60 + whole[64:],
]


def problems_of_harmed(folder: Path, file: Path, harm: Callable[[bytes], bytes]) -> tuple[str, ...]:
    whole = file.read_bytes()
    file.write_bytes(harm(whole))
    problems = verify_run(folder, file).problems
    file.write_bytes(whole)
    return problems


def test_a_template_that_drops_reasoning_gives_each_answer_its_own_row(tmp_path: Path) -> None:
    tokenizer = other_template(tmp_path, DROPS_REASONING)
    talk = [
        Message("user", "1"),
        Message("assistant", "a", "hm"),
        Message("user", "2"),
        Message("assistant", "b", "so"),
    ]
    turns = turns_of(talk, None, [False, True], tokenizer)
    check_turns(turns, [talk[1], talk[3]], tokenizer)
    first, second = sequences(turns)
    assert "hm" in tokenizer.decode(first.input_ids) and "hm" not in tokenizer.decode(second.input_ids)
    ends = [one.input_ids[-1] in tokenizer.end_ids for one in (first, second)]
    assert ends == [True, False]  # the second was cut at the limit: no token ended it


def test_words_that_the_template_changes_are_not_trained_on(tmp_path: Path) -> None:
    tokenizer = other_template(tmp_path, DROPS_REASONING.replace("m.content +", "m.content | upper +"))
    talk = [Message("user", "x"), Message("assistant", "small")]
    with pytest.raises(Unfit, match="small"):
        check_turns(turns_of(talk, None, [False], tokenizer), [talk[1]], tokenizer)


def test_the_next_prompt_keeps_emitted_tokens(tokenizer: FastTokenizer) -> None:
    """Emitted letter by letter: decoded and encoded again they would be other tokens."""
    prompt = next_prompt(tokenizer, [Message("user", "hi")], None, [])
    end = next(iter(tokenizer.end_ids))
    letters = [token for letter in "\nhello there" for token in tokenizer.encode(letter)]
    talk = [Message("user", "hi"), Message("assistant", "\nhello there"), Message("user", "more")]
    found = next_prompt(tokenizer, talk, None, [TokenTurn(prompt, [*letters, end])])
    assert found[: len(prompt) + len(letters) + 1] == [*prompt, *letters, end]
    assert tokenizer.decode(found) == tokenizer.render(talk, None, answer_follows=True)
    assert found != tokenizer.encode(tokenizer.render(talk, None, answer_follows=True))


@pytest.mark.parametrize(
    ("text", "prompt", "content", "reasoning"),
    [
        ("plain", "", "plain", None),
        ("<think>\nhm\n</think>\n\nso", "", "so", "hm"),
        ("hm</think>so", "assistant\n<think>\n", "so", "hm"),
        ("hm, and cut", "assistant\n<think>\n", "", "hm, and cut"),
        ("◁think▷hm◁/think▷so", "", "so", "hm"),
    ],
)
def test_reasoning_is_told_from_words(text: str, prompt: str, content: str, reasoning: str | None) -> None:
    assert message_from(text, prompt) == Message("assistant", content, reasoning)


def test_tokens_are_packed_without_loss() -> None:
    turns = (TokenTurn([1, 2], [3]), TokenTurn([1, 2, 3, 4], [5, 6]), TokenTurn([9], []))
    assert unpacked(packed(turns)) == turns
    with pytest.raises(ValueError, match="damaged"):
        unpacked(packed(turns)[:-3])


def test_spans_are_runs_of_ones() -> None:
    assert spans_of([0, 1, 1, 0, 1]) == ((1, 3), (4, 5))
    assert spans_of([]) == ()


@pytest.mark.train
def test_templates_render_as_transformers_renders_them(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is missing: not compared with it")
    ours = other_template(tmp_path, DROPS_REASONING)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "tokenizer")
    talk = [Message("system", "s"), Message("user", "ü"), Message("assistant", "a", "hm")]
    plain = msgspec.to_builtins(talk)
    assert ours.render(talk, None, answer_follows=False) == theirs.apply_chat_template(plain, tokenize=False)
    text = ours.render(talk, None, answer_follows=True)
    assert ours.encode(text) == theirs.encode(text, add_special_tokens=False)
    assert ours.decode(ours.encode(text)) == theirs.decode(ours.encode(text))
