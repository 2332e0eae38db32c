"""What a client sees: whole and streamed answers, stops, batches, seeds, continuous batching."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from engine.reference.checkpoint import shipped_target
from engine.reference.vocabulary import TextStream, Vocabulary
from tests.limits import LIMIT_S
from tests.reference.conftest import PROMPTS, Serve, chat, post


async def _events(session: aiohttp.ClientSession, path: str, body: object) -> list[Any]:
    async with session.post(path, json=body) as response:
        assert response.status == 200
        assert response.content_type == "text/event-stream"
        text = (await response.read()).decode()
    lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


async def test_a_chat_ends_by_itself_with_the_models_end_token(serve: Serve) -> None:
    async with serve() as session:
        answer: Any = await chat(session, PROMPTS[0], max_tokens=200, model="any")
    choice = answer["choices"][0]
    assert choice["finish_reason"] == "stop"
    assert choice["matched_stop"] == 2
    assert "return" in choice["message"]["content"]
    assert answer["usage"]["total_tokens"] == answer["usage"]["prompt_tokens"] + answer["usage"]["completion_tokens"]
    assert answer["model"] == "any"


@pytest.mark.parametrize("algorithm", [None, "EAGLE3"])
async def test_streamed_pieces_join_to_the_whole_answer(serve: Serve, algorithm: str | None) -> None:
    async with serve(algorithm) as session:
        whole: Any = await chat(session, PROMPTS[3])
        body = {"messages": [{"role": "user", "content": PROMPTS[3]}], "temperature": 0, "max_tokens": 64}
        events = await _events(
            session, "/v1/chat/completions", body | {"stream": True, "stream_options": {"include_usage": True}}
        )
    pieces = [event["choices"][0] for event in events[:-1]]
    assert pieces[0]["delta"]["role"] == "assistant"
    assert "".join(piece["delta"]["content"] for piece in pieces) == whole["choices"][0]["message"]["content"]
    assert pieces[-1]["finish_reason"] == whole["choices"][0]["finish_reason"]
    assert events[-1]["usage"] == whole["usage"]


async def test_generate_streams_cumulative_text_and_ids(serve: Serve) -> None:
    body = {"text": PROMPTS[1], "sampling_params": {"temperature": 0, "max_new_tokens": 20, "ignore_eos": True}}
    async with serve() as session:
        whole: Any = await post(session, "/generate", body)
        events = await _events(session, "/generate", body | {"stream": True})
    assert events[-1]["text"] == whole["text"]
    assert events[-1]["output_ids"] == whole["output_ids"]
    assert events[-1]["meta_info"]["finish_reason"] == {"type": "length", "length": 20}
    assert [len(event["output_ids"]) for event in events] == sorted(len(event["output_ids"]) for event in events)


async def test_a_stop_string_ends_the_answer_and_is_cut_off(serve: Serve) -> None:
    async with serve() as session:
        whole: Any = await chat(session, PROMPTS[1])
        text = whole["choices"][0]["message"]["content"]
        stop = text[10:14]
        stopped: Any = await chat(session, PROMPTS[1], stop=[stop])
        body = {"messages": [{"role": "user", "content": PROMPTS[1]}], "temperature": 0, "max_tokens": 64}
        events = await _events(session, "/v1/chat/completions", body | {"stop": stop, "stream": True})
    expected = text[: text.index(stop)]
    assert stopped["choices"][0]["message"]["content"] == expected
    assert stopped["choices"][0]["matched_stop"] == stop
    assert "".join(event["choices"][0]["delta"]["content"] for event in events) == expected


async def test_a_batch_is_answered_in_order_and_ids_equal_text(serve: Serve) -> None:
    sampling = {"temperature": 0, "max_new_tokens": 12, "ignore_eos": True}
    vocabulary = Vocabulary(shipped_target())
    async with serve() as session:
        texts: Any = await post(session, "/generate", {"text": PROMPTS, "sampling_params": sampling})
        ids = [vocabulary.encode(prompt) for prompt in PROMPTS]
        tokens: Any = await post(session, "/generate", {"input_ids": ids, "sampling_params": sampling})
    assert [answer["output_ids"] for answer in texts] == [answer["output_ids"] for answer in tokens]
    assert [answer["meta_info"]["prompt_tokens"] for answer in texts] == [len(row) for row in ids]


async def test_a_seed_gives_the_same_answer_whoever_else_is_served(serve: Serve) -> None:
    sampling = {"temperature": 1.0, "max_new_tokens": 24, "sampling_seed": 5, "ignore_eos": True}
    other = {"temperature": 1.0, "max_new_tokens": 24, "ignore_eos": True}
    async with serve() as session:
        alone: Any = await post(session, "/generate", {"text": PROMPTS[0], "sampling_params": sampling})
        crowd: Any = await asyncio.gather(
            post(session, "/generate", {"text": PROMPTS[0], "sampling_params": sampling}),
            *(post(session, "/generate", {"text": text, "sampling_params": other}) for text in PROMPTS),
        )
    assert crowd[0]["output_ids"] == alone["output_ids"]


@pytest.mark.parametrize("algorithm", [None, "EAGLE3"])
async def test_forty_requests_at_once_are_answered_as_each_alone(serve: Serve, algorithm: str | None) -> None:
    """Lengths differ, so requests join and leave the batch at every step; 32 run, 8 wait."""
    limits = [3 + 5 * (number % 9) for number in range(40)]
    async with serve(algorithm, max_running_requests=32) as session:

        async def ask(number: int) -> Any:
            answer: Any = await chat(session, PROMPTS[number % len(PROMPTS)], max_tokens=limits[number])
            return answer["choices"][0]["message"]["content"], answer["choices"][0]["finish_reason"]

        together = await asyncio.gather(*(ask(number) for number in range(40)))
        alone = [await ask(number) for number in range(40)]
    assert together == alone


@pytest.mark.parametrize("streamed", [True, False])
async def test_a_client_that_leaves_frees_its_place(serve: Serve, streamed: bool) -> None:
    async with serve(max_running_requests=1) as session:
        sampling = {"max_new_tokens": 1900, "ignore_eos": True}
        endless = {"text": PROMPTS[1], "sampling_params": sampling, "stream": streamed}
        leaving = asyncio.create_task(_read(session, endless))
        async with asyncio.timeout(LIMIT_S):
            while not _running(await _metrics(session)):
                pass
        leaving.cancel()
        answer: Any = await asyncio.wait_for(chat(session, PROMPTS[0], max_tokens=4), LIMIT_S)
        text = await _metrics(session)
    assert answer["usage"]["completion_tokens"] == 4
    assert "sglang:num_aborted_requests_total{" in text


async def _read(session: aiohttp.ClientSession, body: object) -> None:
    async with session.post("/generate", json=body) as response:
        await response.read()


async def _metrics(session: aiohttp.ClientSession) -> str:
    async with session.get("/metrics") as response:
        return await response.text()


def _running(metrics: str) -> bool:
    return any(line.startswith("sglang:num_running_reqs{") and line.endswith(" 1.0") for line in metrics.splitlines())


async def test_completions_answer_each_prompt_and_copy(serve: Serve) -> None:
    async with serve() as session:
        body = {"prompt": ["import os", "class A:"], "n": 2, "max_tokens": 5, "seed": 1}
        answer: Any = await post(session, "/v1/completions", body)
        again: Any = await post(session, "/v1/completions", body)
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2, 3]
    assert answer["choices"] == again["choices"]
    assert answer["usage"]["completion_tokens"] == 20


async def test_streams_of_several_answers_are_told_apart(serve: Serve) -> None:
    body = {"prompt": ["import os", "class A:"], "max_tokens": 9, "temperature": 0, "ignore_eos": True}
    texts = {"text": body["prompt"], "sampling_params": {"max_new_tokens": 9, "temperature": 0, "ignore_eos": True}}
    async with serve("EAGLE3") as session:
        whole: Any = await post(session, "/v1/completions", body)
        pieces = await _events(session, "/v1/completions", body | {"stream": True})
        cumulative = await _events(session, "/generate", texts | {"stream": True})
    expected = [choice["text"] for choice in whole["choices"]]
    joined = ["", ""]
    for choice in (event["choices"][0] for event in pieces):
        joined[choice["index"]] += choice["text"]
    assert joined == expected
    assert [[event["text"] for event in cumulative if event["index"] == place][-1] for place in (0, 1)] == expected


@pytest.mark.parametrize(("algorithm", "width"), [(None, 192), ("EAGLE", 192), ("EAGLE3", 576)])
async def test_hidden_states_are_as_wide_as_what_the_draft_gets(
    serve: Serve, algorithm: str | None, width: int
) -> None:
    body = {"input_ids": [5, 6, 7], "sampling_params": {"temperature": 0, "max_new_tokens": 4, "ignore_eos": True}}
    async with serve(algorithm, enable_return_hidden_states=True) as session:
        answer: Any = await post(session, "/generate", body | {"return_hidden_states": True})
    prompt, *rows = answer["meta_info"]["hidden_states"]
    assert [len(row) for row in prompt] == [width] * 3
    assert [len(row) for row in rows] == [width] * 3


def test_text_is_held_back_until_it_can_no_longer_change() -> None:
    vocabulary = Vocabulary(shipped_target())
    text = "naïve → 漢字 done STOP never"
    stream = TextStream(vocabulary, ["STOP"])
    pieces = [stream.fresh([token]) for token in vocabulary.encode(text)]
    assert not any("�" in piece or "S" in piece for piece in pieces)
    assert "".join(pieces) + stream.rest("STOP") == text[: text.index("STOP")]
