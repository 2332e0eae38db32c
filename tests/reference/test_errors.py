"""What cannot be served is refused with status 400 in SGLang's own words and shapes, and nothing else is disturbed."""

from typing import Any

import pytest

from tests.reference.conftest import Serve, chat

GENERATE = [
    ({}, "Either text or input_ids should be provided."),
    ({"text": "a", "input_ids": [1]}, "Either text or input_ids should be provided."),
    ({"text": 5}, "Expected `str | array | null`, got `int` - at `$.text`"),
    ({"text": ""}, "The input is empty."),
    ({"input_ids": [1, 2048]}, "outside the vocabulary, 0 to 2047"),
    ({"input_ids": [1, "2"]}, "input_ids must be a list of integers"),
    ({"input_ids": [5] * 2048}, "The input (2048 tokens) is longer than the model's context length (2048 tokens)."),
    (
        {"input_ids": [5] * 2000, "sampling_params": {"max_new_tokens": 100}},
        "You requested a total of 2100 tokens: 2000 tokens from the input messages and 100 tokens for the completion.",
    ),
    ({"text": "a", "sampling_params": {"temperature": -1}}, "temperature must be a non-negative finite number, got -1"),
    ({"text": "a", "sampling_params": {"top_p": 0}}, "top_p must be in (0, 1], got 0"),
    ({"text": "a", "sampling_params": {"top_k": 0}}, "top_k must be -1 (disable) or at least 1, got 0."),
    ({"text": "a", "sampling_params": {"max_new_tokens": "many"}}, "$.sampling_params"),
    ({"text": "a", "sampling_params": {"regex": "a+"}}, "unknown field `regex`"),
    ({"text": "a", "sampling_params": {"repetition_penalty": 1.2}}, "repetition_penalty is not offered"),
    ({"text": "a", "sampling_params": {"stop": [""]}}, "stop must not hold an empty string."),
    ({"text": ["a", "b"], "sampling_params": [{}]}, "one entry for each prompt"),
    ({"text": "a", "return_hidden_states": True}, "Please set `--enable-return-hidden-states`."),
]

CHAT = [
    ({"messages": []}, "Messages cannot be empty.", "messages"),
    ({"messages": "hello"}, "Expected `array`, got `str` - at `$.messages`", None),
    ({}, "missing required field `messages`", None),
    ({"messages": [{"content": "x"}]}, "messages[0].role must be a string.", "messages"),
    ({"messages": [{"role": "user", "content": 3}]}, "messages[0].content must be a string", "messages"),
    (
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
        "messages[0].content has a part that is no text.",
        "messages",
    ),
    ({"messages": [{"role": "user", "content": "x"}], "max_tokens": 5000}, "maximum context length of 2048", None),
    ({"messages": [{"role": "user", "content": "x " * 3000}]}, "is longer than the model's context length", None),
    ({"messages": [{"role": "user", "content": "x"}], "tools": [{}]}, "tools", None),
    ({"messages": [{"role": "user", "content": "x"}], "n": 0}, "n must be at least 1, got 0.", "n"),
]


async def test_generate_refuses_what_it_cannot_serve(serve: Serve) -> None:
    async with serve() as session:
        for body, words in GENERATE:
            async with session.post("/generate", json=body) as response:
                content: Any = await response.json()
                assert response.status == 400, body
                assert words in content["error"]["message"], body


async def test_one_bad_prompt_refuses_the_whole_batch(serve: Serve) -> None:
    async with serve() as session:
        async with session.post("/generate", json={"input_ids": [[5], [5000]]}) as response:
            assert response.status == 400
        async with session.get("/metrics") as response:
            running = [line for line in (await response.text()).splitlines() if line.startswith("sglang:num_r")]
    assert [line.split()[-1] for line in running] == ["0.0"] * len(running)


async def test_chat_refuses_in_openais_shape(serve: Serve) -> None:
    async with serve() as session:
        for body, words, field in CHAT:
            async with session.post("/v1/chat/completions", json=body) as response:
                content: Any = await response.json()
                assert (response.status, content["code"], content["object"]) == (400, 400, "error"), body
                assert words in content["message"], body
                assert content["param"] == field, body


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"messages": NaN}'])
async def test_what_is_no_json_is_refused(serve: Serve, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    async with serve() as session:
        for path in ("/generate", "/v1/chat/completions", "/v1/completions"):
            async with session.post(path, data=body, headers=headers) as response:
                assert response.status == 400, path
        answer: Any = await chat(session, "still there?", max_tokens=2)
    assert answer["usage"]["completion_tokens"] == 2


async def test_unknown_places_and_wrong_methods_answer_in_json(serve: Serve) -> None:
    async with serve() as session:
        async with session.get("/nowhere") as response:
            assert (response.status, await response.json()) == (404, {"detail": "Not Found"})
        async with session.get("/generate") as response:
            assert (response.status, await response.json()) == (405, {"detail": "Method Not Allowed"})


async def test_an_api_key_guards_all_but_health_and_metrics(serve: Serve) -> None:
    async with serve(api_key="secret") as session:
        for path, status in (("/health", 200), ("/metrics", 200), ("/v1/models", 401), ("/server_info", 401)):
            async with session.get(path) as response:
                assert response.status == status, path
        async with session.get("/server_info", headers={"Authorization": "Bearer secret"}) as response:
            assert response.status == 200
            assert "secret" not in await response.text()
