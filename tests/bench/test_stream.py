"""Answers are read the same in whatever pieces they arrive, and rubbish never passes for an answer."""

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.bench.asking import record_of, token_gaps
from engine.bench.records import Failed
from engine.bench.stream import AnswerReader, EventSplitter
from tests.bench.scripted import native


def pieces(body: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(body), *(cut % (len(body) + 1) for cut in cuts)})
    return [body[start:end] for start, end in pairwise(places)]


@given(
    st.lists(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1), max_size=6),
    st.lists(st.integers(0, 10_000), max_size=20),
    st.sampled_from(["\n", "\r\n"]),
)
def test_events_are_the_same_in_any_pieces(texts: list[str], cuts: list[int], ending: str) -> None:
    body = "".join(f"data: {text}{ending}{ending}" for text in texts).encode()
    splitter = EventSplitter()
    found = [event for piece in pieces(body, cuts) for event in splitter.feed(piece)]
    assert found == [text.encode().strip() for text in texts]


@given(st.lists(st.integers(1, 3), min_size=1, max_size=12), st.lists(st.integers(0, 10_000), max_size=30))
def test_a_streamed_answer_in_any_pieces(steps: list[int], cuts: list[int]) -> None:
    counts = [sum(steps[: place + 1]) for place in range(len(steps))]
    events = [native(count, count == counts[-1], spec_verify_ct=len(steps)) for count in counts]
    body = b"".join(b"data: " + msgspec.json.encode(event) + b"\n\n" for event in events) + b"data: [DONE]\n\n"
    reader = AnswerReader(native=True, stream=True, most_tokens=64)
    reader.status(200)
    for number, piece in enumerate(pieces(body, cuts)):
        reader.feed(float(number), piece)
    record = record_of("p", reader.end(), 0.0, 0.0, 0.0)
    assert (record.completion_tokens, record.verifications, record.finish_reason) == (counts[-1], len(steps), "length")
    assert record.text == "x" * counts[-1]
    assert sum(count for _, count in token_gaps(reader.reading)) == counts[-1] - reader.reading.arrivals[0][1]


@given(st.binary(max_size=400), st.booleans(), st.booleans())
def test_rubbish_is_a_failure_and_nothing_else(body: bytes, is_native: bool, stream: bool) -> None:
    reader = AnswerReader(native=is_native, stream=stream, most_tokens=64)
    reader.status(200)
    with pytest.raises(Failed):
        reader.feed(0.0, body if not stream else b"data: " + body + b"\n\n")
        reader.end()


def test_usage_of_an_openai_server_replaces_the_count_of_pieces() -> None:
    """Three pieces held six tokens: the count is the server's, and the times stay."""
    reader = AnswerReader(native=False, stream=True, most_tokens=64)
    reader.status(200)
    for at, text in enumerate(("a", "b", "c")):
        event = {"choices": [{"delta": {"content": text}, "finish_reason": "stop" if text == "c" else None}]}
        reader.feed(float(at), b"data: " + msgspec.json.encode(event) + b"\n\n")
    usage = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 6}}
    reader.feed(9.0, b"data: " + msgspec.json.encode(usage) + b"\n\ndata: [DONE]\n\n")
    reading = reader.end()
    assert (reading.tokens, reading.text, reading.prompt_tokens, reading.counted_by_server) == (6, "abc", 5, True)
    assert reading.arrivals == [(0.0, 2), (1.0, 4), (2.0, 6)]


def test_pieces_stand_for_tokens_where_the_server_counts_none() -> None:
    reader = AnswerReader(native=False, stream=True, most_tokens=64)
    reader.status(200)
    reader.feed(0.0, b'data: {"choices": [{"text": "a"}]}\n\ndata: {"choices": [{"text": "b"}]}\n\n')
    assert reader.end().tokens == 2
    assert not reader.reading.counted_by_server


def test_a_whole_answer_of_a_chat_server() -> None:
    reader = AnswerReader(native=False, stream=False, most_tokens=64)
    reader.status(200)
    choice = {"message": {"content": "hello"}, "finish_reason": "stop"}
    reader.feed(1.0, msgspec.json.encode({"choices": [choice], "usage": {"completion_tokens": 4}}))
    assert (reader.end().text, reader.reading.tokens) == ("hello", 4)
