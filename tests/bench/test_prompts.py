"""Which prompts a benchmark asks: the same ones each time, and a reason where there is none."""

import json
from pathlib import Path

import pytest

from engine.bench.prompts import read_chat_template, read_prompts
from engine.bench.records import BenchError, PromptSet
from tests.data.made import write_jsonl


def test_a_file_keeps_its_order_and_names_repeated_ids_apart(tmp_path: Path) -> None:
    rows = [{"id": "a", "prompt": "one"}, {"nothing": 1}, {"id": "a", "prompt": "two"}, {"id": "b", "prompt": "three"}]
    path = write_jsonl(tmp_path / "prompts.jsonl", rows)
    found = read_prompts(PromptSet(path=str(path), limit=3))
    assert [(one.id, one.turns) for one in found] == [("a", ("one",)), ("a (2)", ("two",)), ("b", ("three",))]
    assert read_prompts(PromptSet(path=str(path), limit=1)) == found[:1]


def test_the_same_seed_shuffles_in_the_same_way(tmp_path: Path) -> None:
    path = str(write_jsonl(tmp_path / "prompts.jsonl", [{"id": str(n), "prompt": "x"} for n in range(50)]))
    first, again, other = (read_prompts(PromptSet(path=path, shuffle=True, limit=9, seed=seed)) for seed in (1, 1, 2))
    assert first == again != other and len(first) == 9


def test_random_prompts_have_the_lengths_that_are_asked_for() -> None:
    wanted = PromptSet(kind="random", input_words=(5, 8), count=40, seed=3)
    found = read_prompts(wanted)
    assert {len(one.turns[0].split()) for one in found} == {5, 6, 7, 8} and found == read_prompts(wanted)


@pytest.mark.parametrize(
    ("text", "words"),
    [(None, "cannot read"), ("", "it is empty"), ('{"nothing": 1}\n', "line 1"), ("no JSON\n", "line 1")],
)
def test_a_file_without_prompts_says_why(text: str | None, words: str, tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    if text is not None:
        path.write_text(text)
    with pytest.raises(BenchError, match=words):
        read_prompts(PromptSet(path=str(path)))


@pytest.mark.parametrize("change", [{"input_words": (9, 5)}, {"input_words": (0, 5)}, {"count": 0}])
def test_random_prompts_of_no_length_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(BenchError, match="random prompts of"):
        read_prompts(PromptSet(kind="random", **change))  # type: ignore[arg-type]


TEMPLATE = "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }} {% endfor %}A:"
REFUSES = "{{ raise_exception('only one turn') }}"


@pytest.mark.parametrize("form", ["text", "named", "file"])
def test_a_model_renders_a_conversation_by_its_own_template(form: str, tmp_path: Path) -> None:
    given = {"text": TEMPLATE, "named": [{"name": "tool", "template": "-"}, {"name": "default", "template": TEMPLATE}]}
    config = {"chat_template": given.get(form), "bos_token": {"content": "<s>"}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    if form == "file":
        (tmp_path / "chat_template.jinja").write_text(TEMPLATE)
    template = read_chat_template(str(tmp_path))
    assert template is not None
    assert template.render([{"role": "user", "content": "hello"}]) == "<s>user: hello A:"


@pytest.mark.parametrize("config", [None, "no JSON", "[]", '{"chat_template": [{"name": "tool", "template": "-"}]}'])
def test_a_model_without_a_template_has_none(config: str | None, tmp_path: Path) -> None:
    if config is not None:
        (tmp_path / "tokenizer_config.json").write_text(config)
    assert read_chat_template(str(tmp_path)) is None and read_chat_template(None) is None


def test_a_template_that_refuses_a_prompt_says_so(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": REFUSES}))
    template = read_chat_template(str(tmp_path))
    assert template is not None
    with pytest.raises(BenchError, match="refuses a prompt"):
        template.render([{"role": "user", "content": "hello"}])
