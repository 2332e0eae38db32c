"""What records of public data sets look like, and what becomes of them."""

from typing import Any

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from engine.data.records import Mapping, Message, Unusable
from engine.data.shapes.convert import to_native, to_prompt
from engine.data.shapes.recognise import given, recognise

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello"},
]
TOOLS = [
    {"role": "user", "content": "Weather?"},
    {"role": "assistant", "content": None, "tool_calls": [{"name": "weather"}]},
    {"role": "tool", "content": "sunny"},
    {"role": "assistant", "content": "Sunny."},
    {"role": "user", "content": "And tomorrow?"},
]
CASES: list[tuple[str, dict[str, Any], list[tuple[str, str]]]] = [
    ("OpenAI messages", {"messages": CHAT}, [("system", "Be brief."), ("user", "Hi")]),
    ("OpenAI messages", {"messages_json": '[{"role": "user", "content": "Hi"}]'}, [("user", "Hi")]),
    (
        "ShareGPT",
        {
            "id": "a",
            "conversations": [
                {"from": "human", "value": "A"},
                {"from": "gpt", "value": "B"},
                {"from": "human", "value": "C"},
            ],
        },
        [("user", "A"), ("assistant", "B"), ("user", "C")],
    ),
    ("turns", {"question_id": 81, "turns": ["One", "Two"]}, [("user", "One"), ("user", "Two")]),
    ("Alpaca", {"instruction": "Sum", "input": "1 2", "output": "3"}, [("user", "Sum\n\n1 2")]),
    ("Alpaca", {"instruction": "Sum", "input": "", "output": "3"}, [("user", "Sum")]),
    ("prompt and response", {"question": "2+2?", "answer": "4"}, [("user", "2+2?")]),
    (
        "prompt and response",
        {"comment": "Adds.", "code": "def f(): ..."},
        [("user", "Write the function that this comment describes:\n\nAdds.")],
    ),
    ("instruction with tests", {"prompt": "Write f", "verification_info": "{}"}, [("user", "Write f")]),
    (
        "code problem",
        {
            "title": "T",
            "description": "D",
            "input_format": "n",
            "examples": [{"input": "1", "output": "2"}],
            "note": None,
        },
        [("user", "D\n\nTitle:\nT\n\nInput format:\nn\n\nExamples:\nInput:\n1\nOutput:\n2")],
    ),
    ("issue and patch", {"instance_id": "x", "problem_statement": "It fails", "patch": "diff"}, [("user", "It fails")]),
    ("preference pairs", {"prompt": "Q", "chosen": "a", "rejected": "b"}, [("user", "Q")]),
    ("preference pairs", {"chosen": CHAT, "rejected": CHAT}, [("system", "Be brief."), ("user", "Hi")]),
    (
        "preference pairs",
        {"chosen": "\n\nHuman: Q\n\nAssistant: A", "rejected": "\n\nHuman: Q\n\nAssistant: B"},
        [("user", "Q")],
    ),
    ("tool-call trajectory", {"messages": TOOLS}, [("user", "Weather?")]),
    ("plain text", {"text": "Once upon a time"}, [("user", "Once upon a time")]),
]


@pytest.mark.parametrize(("shape", "row", "messages"), CASES)
def test_a_shape_is_known_and_becomes_messages(
    shape: str, row: dict[str, Any], messages: list[tuple[str, str]]
) -> None:
    guess = recognise([row])
    assert guess.shape == shape
    assert guess.sure
    assert to_prompt(row, guess.mapping).messages == tuple(Message(role, text) for role, text in messages)  # type: ignore[arg-type]


def test_the_record_keeps_its_id_language_and_licence() -> None:
    row = {"task_id": 7, "prompt": "Write f", "test": "", "programming_language": "go", "license": ["mit"]}
    prompt = to_prompt(row, recognise([row]).mapping)
    assert (prompt.id, prompt.language, prompt.licence) == ("7", "go", "mit")


def test_a_set_of_ids_is_refused_and_says_so() -> None:
    guess = recognise([{"blob_id": "9f2c", "src_encoding": "UTF-8"}])
    assert guess.shape is None
    assert "no source of prompts" in guess.why[0]


def test_an_unknown_column_is_offered_and_not_taken_for_sure() -> None:
    guess = recognise([{"weird": "a long question about something", "n": 1}])
    assert guess.shape is None
    assert not guess.sure
    assert guess.mapping.prompt == "weird"


def test_the_shape_of_most_rows_counts() -> None:
    rows = [{"messages": CHAT}] * 9 + [{"text": "stray"}]
    guess = recognise(rows)
    assert (guess.shape, guess.matched) == ("OpenAI messages", 9)
    assert any("1 rows look like plain text" in reason for reason in guess.why)


def test_the_operator_maps_columns_and_templates() -> None:
    row = {"title": "Two Sum", "summary": "Find two numbers.", "meta": {"hint": "hash"}}
    guess = given(Mapping(prompt="Solve this:\n\n{title}: {summary} ({meta.hint})"), [row])
    assert to_prompt(row, guess.mapping).messages[0].content == "Solve this:\n\nTwo Sum: Find two numbers. (hash)"


@pytest.mark.parametrize(
    ("row", "mapping", "reason"),
    [
        ({"prompt": None}, Mapping(prompt="prompt"), "null_prompt"),
        ({"prompt": " \n"}, Mapping(prompt="prompt"), "empty_prompt"),
        ({"prompt": 5}, Mapping(prompt="prompt"), "not_text"),
        ({"prompt": "x" * 4_000_001}, Mapping(prompt="prompt"), "huge_row"),
        ({"prompt": "\ud800"}, Mapping(prompt="prompt"), "bad_encoding"),
        ({"m": [{"role": "assistant", "content": "x"}]}, Mapping(messages="m"), "null_prompt"),
        ({"m": [{"role": "user", "content": None}]}, Mapping(messages="m"), "null_prompt"),
        ({"m": [{"role": "wizard", "content": "x"}]}, Mapping(messages="m"), "role_order"),
        ({"m": [{"role": "user", "content": "x"}, *CHAT]}, Mapping(messages="m"), "role_order"),
        ({"m": "not a list"}, Mapping(messages="m"), "not_text"),
    ],
)
def test_a_record_without_a_prompt_says_why(row: dict[str, Any], mapping: Mapping, reason: str) -> None:
    with pytest.raises(Unusable) as caught:
        to_prompt(row, mapping)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    "row",
    [
        {"input_ids": [1, 2], "loss_mask": [1]},
        {"input_ids": [1, 2], "loss_mask": [0, 0]},
        {"input_ids": [1, 2], "loss_mask": [0, 7]},
        {"input_ids": "12", "loss_mask": [1]},
        {"input_ids": [], "loss_mask": []},
        {"input_ids": [True], "loss_mask": [1]},
    ],
)
def test_damaged_records_in_tokens_are_refused(row: dict[str, Any]) -> None:
    with pytest.raises(Unusable) as caught:
        to_native(row, Mapping())
    assert caught.value.reason == "bad_native"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "content", "from", "value"]), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = st.sampled_from(
    ["messages", "conversations", "prompt", "text", "chosen", "rejected", "turns", "input_ids", "loss_mask",
     "description", "examples", "instruction", "input", "output", "comment", "code", "problem_statement", "patch",
     "zebra"]
)  # fmt: skip


@for_all(st.dictionaries(NAMES, VALUES, max_size=5))
def test_any_record_gives_a_prompt_or_a_reason(row: dict[str, Any]) -> None:
    guess = recognise([row])
    try:
        prompt = to_prompt(row, guess.mapping)
    except Unusable as error:
        assert str(error)
    else:
        assert prompt.messages[-1].role == "user"
