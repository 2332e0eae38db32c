"""What the server says of itself has the names that a real SGLang uses."""

import logging
import re
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.reference.conftest import PROMPTS, Serve, chat, post

# As answered by SGLang 0.5.17 on an H200, with the fields that 0.5.23 renamed.
REAL_META_INFO = """
    id finish_reason prompt_tokens weight_version num_retractions queue_time reasoning_tokens completion_tokens
    cached_tokens cached_tokens_details dp_rank e2e_latency spec_accept_rate spec_accept_length
    spec_num_correct_drafts spec_num_proposed_drafts spec_verify_ct spec_correct_drafts_histogram
    decode_throughput first_token_latency
"""
REAL_METRICS = """
    max_total_num_tokens page_size context_len num_running_reqs num_queue_reqs gen_throughput cache_hit_rate token_usage
    num_used_tokens spec_accept_length spec_accept_rate spec_num_steps spec_num_draft_tokens utilization is_cuda_graph
    num_retracted_reqs time_to_first_token_seconds e2e_request_latency_seconds inter_token_latency_seconds
    queue_time_seconds prompt_tokens generation_tokens spec_verify_calls num_requests num_aborted_requests
"""
DECODE_LINE = re.compile(
    r"Decode batch, #running-req: \d+, #token: \d+, token usage: \d\.\d\d, "
    r"(accept len: (?P<length>\d+\.\d\d), accept rate: (?P<rate>\d\.\d\d), )?"
    r"cpu graph: False, gen throughput \(token/s\): \d+\.\d\d, #queue-req: \d+"
)


async def test_request_and_server_figures_have_sglangs_names(serve: Serve) -> None:
    async with serve("EAGLE3") as session:
        body = {"text": PROMPTS[1], "sampling_params": {"max_new_tokens": 30, "ignore_eos": True}}
        answer: Any = await post(session, "/generate", body)
        async with session.get("/metrics") as response:
            families = {family.name: family for family in text_string_to_metric_families(await response.text())}
    assert set(answer["meta_info"]) == set(REAL_META_INFO.split())
    assert set(families) == {f"sglang:{name}" for name in REAL_METRICS.split()}
    labels = families["sglang:spec_accept_length"].samples[0].labels
    assert set(labels) == {"engine_type", "model_name", "moe_ep_rank", "pp_rank", "tp_rank"}
    generated = families["sglang:generation_tokens"].samples[0]
    assert (generated.value, generated.labels["is_streaming"]) == (30, "false")
    assert families["sglang:spec_verify_calls"].samples[0].value == answer["meta_info"]["spec_verify_ct"]


async def test_server_info_reports_resolved_flags_and_one_rank(serve: Serve) -> None:
    flags = {"speculative_num_steps": 4, "speculative_eagle_topk": 1, "speculative_num_draft_tokens": 24}
    async with serve("nextn", **flags) as session:
        await chat(session, PROMPTS[0])
        async with session.get("/server_info") as response:
            info = await response.json()
        async with session.get("/get_server_info") as response:
            assert (await response.json()).keys() == info.keys()
    assert info["version"].startswith("alula-reference ")
    assert info["speculative_algorithm"] == "EAGLE", "NEXTN shows as EAGLE"
    assert info["speculative_num_steps"] == 4
    assert info["speculative_num_draft_tokens"] == 5, "adjusted to the chain's length"
    assert info["port"] != 0
    assert info["internal_states"][0]["avg_spec_accept_length"] >= 1.0


async def test_without_speculation_nothing_is_said_of_it(serve: Serve) -> None:
    async with serve() as session:
        body = {"text": "x", "sampling_params": {"max_new_tokens": 3, "ignore_eos": True}}
        answer: Any = await post(session, "/generate", body)
        async with session.get("/server_info") as response:
            info = await response.json()
    assert not [name for name in answer["meta_info"] if name.startswith("spec_")]
    assert info["speculative_algorithm"] is None
    assert "avg_spec_accept_length" not in info["internal_states"][0]


async def test_model_info_and_models_name_the_model(serve: Serve) -> None:
    async with serve(served_model_name="small", context_length=512) as session:
        for path in ("/model_info", "/get_model_info"):
            async with session.get(path) as response:
                model = await response.json()
        async with session.get("/v1/models") as response:
            card = (await response.json())["data"][0]
    assert model["architectures"] == ["LlamaForCausalLM"]
    assert model["model_type"] == "llama"
    assert model["is_generation"] is True
    assert (card["id"], card["max_model_len"]) == ("small", 512)


@pytest.mark.parametrize("path", ["/health", "/health_generate"])
async def test_health_generates_a_token_that_no_figure_counts(serve: Serve, path: str) -> None:
    async with serve() as session:
        async with session.get(path) as response:
            assert response.status == 200
        async with session.get("/metrics") as response:
            assert "sglang:num_requests_total{" not in await response.text()


async def test_flushing_starts_the_lifetime_average_anew(serve: Serve) -> None:
    async with serve("EAGLE3") as session:
        await chat(session, PROMPTS[0])
        async with session.post("/flush_cache") as response:
            assert (response.status, (await response.text())[:13]) == (200, "Cache flushed")
        async with session.get("/server_info") as response:
            assert "avg_spec_accept_length" not in (await response.json())["internal_states"][0]


@pytest.mark.parametrize("algorithm", [None, "EAGLE3"])
async def test_log_lines_have_sglangs_shape(
    serve: Serve, algorithm: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="alula.reference")
    async with serve(algorithm, decode_log_interval=5) as session:
        body = {"text": "x", "sampling_params": {"max_new_tokens": 60, "ignore_eos": True}}
        await post(session, "/generate", body)
    lines = [record.getMessage() for record in caplog.records]
    found = [match for line in lines if (match := DECODE_LINE.fullmatch(line))]
    assert found
    assert all((match["length"] is None) == (algorithm is None) for match in found)
    for match in found:
        if match["length"] is not None:
            assert float(match["rate"]) == pytest.approx((float(match["length"]) - 1) / 5, abs=0.011)
    assert any(line.startswith("Prefill batch, #new-seq: 1, #new-token: 1, ") for line in lines)
    assert any(re.fullmatch(r'INFO:     127\.0\.0\.1:\d+ - "POST /generate HTTP/1\.1" 200 OK', line) for line in lines)
