"""From Prometheus text to figures, by the text of a real SGLang 0.5.17 and by vLLM's names."""

import json
import math

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from engine.watch.histograms import Window, difference, quantile
from engine.watch.metrics_text import read_points
from engine.watch.outliers import server_outliers
from engine.watch.server_identity import sglang_identity, vllm_identity
from engine.watch.server_metrics import Reader, accept_rate
from state.records.servers import Server, ServerSample
from tests.watch.http_servers import RECORDED

INFO = json.loads((RECORDED / "sglang_0.5.17_eagle.server_info.json").read_text())
NAMES = [
    "sglang:num_running_reqs", "sglang:gen_throughput", "sglang:spec_accept_length", "sglang:token_usage",
    "sglang:generation_tokens_total", "sglang:spec_verify_calls_total", "sglang:spec_num_draft_tokens",
    "sglang:time_to_first_token_seconds_bucket", "vllm:spec_decode_num_accepted_tokens_total",
]  # fmt: skip
EAGLE = (RECORDED / "sglang_0.5.17_eagle.metrics.txt").read_bytes()


def ranks(*rows: tuple[float, float, float]) -> bytes:
    """Two tensor-parallel ranks for each data-parallel one, as with --enable-metrics-for-all-schedulers."""
    lines = []
    for rank, (speed, length, running) in enumerate(rows):
        for tp in (0, 1):
            labels = f'{{dp_rank="{rank}",model_name="m",tp_rank="{tp}"}}'
            lines += [f"sglang:gen_throughput{labels} {speed}", f"sglang:spec_accept_length{labels} {length}",
                      f"sglang:num_running_reqs{labels} {running}", f"sglang:num_queue_reqs{labels} 1"]  # fmt: skip
    return "\n".join(lines).encode()


def test_the_fast_reader_agrees_with_the_prometheus_client() -> None:
    fast = {(p.name, tuple(sorted(p.labels.items()))): p.value for p in read_points(EAGLE, (b"sglang:",))}
    slow = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(EAGLE.decode())
        for sample in family.samples
    }
    assert fast == slow and len(fast) > 50


def test_percentiles_come_from_what_was_counted_since_the_first_look() -> None:
    reader = Reader()
    reader.read("u", EAGLE, 0, 0)
    more = EAGLE.replace(
        b'le="0.2",model_name="/models/tiny/target"} 17.0', b'le="0.2",model_name="/models/tiny/target"} 27.0'
    )
    for bound in (b"0.4", b"0.6", b"0.8", b"1.0", b"2.0"):
        more = more.replace(b'le="%s",model_name="/models/tiny/target"} 18.0' % bound,
                            b'le="%s",model_name="/models/tiny/target"} 28.0' % bound)  # fmt: skip
    for bound in (
        b"4.0",
        b"6.0",
        b"8.0",
        b"10.0",
        b"20.0",
        b"40.0",
        b"60.0",
        b"80.0",
        b"100.0",
        b"200.0",
        b"400.0",
        b"+Inf",
    ):
        more = more.replace(b'is_streaming="false",le="%s",model_name="/models/tiny/target"} 19.0' % bound,
                            b'is_streaming="false",le="%s",model_name="/models/tiny/target"} 29.0' % bound)  # fmt: skip
    sample, _ = reader.read("u", more, 1, 1)
    assert sample.ttft_p50_s is not None and 0.1 < sample.ttft_p50_s < 0.2
    assert sample.itl_p50_s is None


def test_data_parallel_ranks_are_added_and_tensor_parallel_ones_are_not() -> None:
    sample, rows = Reader().read("u", ranks((400, 2.5, 8), (410, 2.4, 9), (100, 2.6, 8), (390, 1.0, 7)), 0, 0)
    assert (sample.tokens_per_s, sample.running_requests, sample.queued_requests) == (1300, 32, 4)
    assert [row.outlier is not None for row in rows] == [False, False, True, True]
    assert "100 tok/s" in (rows[2].outlier or "") and "accept length 1.00" in (rows[3].outlier or "")


def test_servers_of_one_model_are_held_against_each_other() -> None:
    lengths = {"a": 2.6, "b": 2.5, "c": 1.0, "d": 2.7}
    servers = [Server(url=url, found_by="url", seen_at=0, health="up", model="m" if url != "d" else "n",
                      speculative_algorithm="EAGLE3") for url in lengths]  # fmt: skip
    samples = {url: ServerSample(url=url, taken_at=0, tokens_per_s=500, running_requests=2, accept_length=length)
               for url, length in lengths.items()}  # fmt: skip
    assert server_outliers(servers, samples) == {"c": "accept length 1.00 where the others have 2.50"}


def test_one_rank_is_no_table_of_ranks() -> None:
    assert Reader().read("u", ranks((400, 2.5, 8)), 0, 0)[1] == ()


def test_an_idle_servers_last_throughput_is_not_its_present_one() -> None:
    assert Reader().read("u", ranks((400, 2.5, 0)), 0, 0)[0].tokens_per_s == 0


def test_vllms_names() -> None:
    def page(drafts: int, accepted: int, generated: int, hits: int) -> bytes:
        return f"""vllm:num_requests_running{{engine="0",model_name="m"}} 3.0
vllm:num_requests_waiting{{engine="0",model_name="m"}} 2.0
vllm:kv_cache_usage_perc{{engine="0",model_name="m"}} 0.25
vllm:generation_tokens_total{{engine="0",model_name="m"}} {generated}
vllm:spec_decode_num_drafts_total{{engine="0",model_name="m"}} {drafts}
vllm:spec_decode_num_accepted_tokens_total{{engine="0",model_name="m"}} {accepted}
vllm:prefix_cache_queries_total{{engine="0",model_name="m"}} {hits * 4}
vllm:prefix_cache_hits_total{{engine="0",model_name="m"}} {hits}
vllm:time_to_first_token_seconds_bucket{{engine="0",le="0.1",model_name="m"}} {generated}
vllm:time_to_first_token_seconds_bucket{{engine="0",le="+Inf",model_name="m"}} {generated}""".encode()

    reader = Reader()
    reader.read("u", page(100, 150, 1000, 10), 0, 0)
    sample, _ = reader.read("u", page(200, 310, 1500, 20), 2, 2)
    assert (sample.running_requests, sample.queued_requests, sample.token_usage) == (3, 2, 0.25)
    assert (sample.accept_length, sample.tokens_per_s, sample.cache_hit_rate) == (2.6, 250, 0.25)
    assert sample.ttft_p95_s is not None and sample.ttft_p95_s <= 0.1
    rejected, _ = reader.read("u", page(300, 310, 1600, 20), 3, 3)
    assert rejected.accept_length == 1.8, "the mean of the last half minute"
    much_later, _ = reader.read("u", page(400, 310, 1700, 20), 40, 40)
    assert much_later.accept_length == 1.0


def test_a_restart_shows_in_totals_that_fell() -> None:
    reader = Reader()
    reader.read("u", EAGLE, 0, 0)
    sample, _ = reader.read("u", EAGLE.replace(b"} 2112.0", b"} 5.0"), 1, 1)
    assert reader.restarted and sample.accept_length == 1.0
    reader.read("u", EAGLE.replace(b"} 2112.0", b"} 9.0"), 2, 2)
    assert not reader.restarted


def test_accept_rate_by_one_rule() -> None:
    assert (accept_rate(1.0, 4), accept_rate(4.0, 4), accept_rate(2.5, 4)) == (0.0, 1.0, 0.5)
    assert accept_rate(None, 4) is None and accept_rate(2.0, 1) is None and accept_rate(2.0, None) is None


def test_buckets() -> None:
    assert quantile({0.1: 5, 0.2: 10, math.inf: 10}, 0.5) == 0.1
    assert quantile({0.1: 0, 0.2: 10, math.inf: 10}, 0.5) == 0.15000000000000002
    assert quantile({0.1: 0, math.inf: 10}, 0.5) == 0.1
    assert quantile({0.1: 0, math.inf: 0}, 0.5) is None and quantile({}, 0.5) is None
    assert difference({0.1: 3}, {0.1: 4}) is None


def test_a_window_forgets_what_is_older_than_it() -> None:
    window = Window()
    window.add(0, {math.inf: 0})
    assert window.add(10, {math.inf: 100}) == {math.inf: 100}
    assert window.add(35, {math.inf: 101}) == {math.inf: 101}
    assert window.add(45, {math.inf: 102}) == {math.inf: 2}
    assert window.add(46, {math.inf: 3}) == {math.inf: 0}


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20), st.floats(0, 1))
def test_a_quantile_lies_within_the_bounds(counts: list[int], share: float) -> None:
    total, buckets = 0, {}
    for index, count in enumerate(counts):
        total += count
        buckets[float(index + 1)] = float(total)
    value = quantile(buckets, share)
    assert value is None if total == 0 else 0 <= value <= len(counts)


VALUES = st.one_of(st.floats(), st.integers(), st.sampled_from(["NaN", "+Inf", "1e400", "", "x"]))
LABELS = st.dictionaries(st.sampled_from(["le", "dp_rank", "engine", "x"]), st.text(max_size=8), max_size=3)


@given(st.lists(st.tuples(st.sampled_from(NAMES), LABELS, VALUES), max_size=30))
def test_absurd_values_and_labels_make_no_absurd_sample(series: list[tuple[str, dict[str, str], object]]) -> None:
    lines = [
        f"{name}{{{','.join(f'{k}={json.dumps(v)}' for k, v in labels.items())}}} {value}"
        for name, labels, value in series
    ]
    body = "\n".join(lines).encode(errors="replace")
    reader = Reader()
    for poll in range(2):
        sample, ranks = reader.read("u", body, poll, poll)
        for record in (sample, *ranks):
            for field in record.__struct_fields__:
                value = getattr(record, field)
                assert not isinstance(value, float) or math.isfinite(value)
                assert not isinstance(value, int) or abs(value) < 2**63


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=10)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
)


@given(st.dictionaries(st.sampled_from(list(INFO)), JSON), JSON)
def test_no_answer_upsets_the_reader_of_identities(info: dict[str, object], states: object) -> None:
    identity = sglang_identity(info | {"internal_states": states})
    assert identity.framework in ("sglang", "alula-reference")
    vllm_identity({"version": states}, {"data": states})


@given(st.binary(max_size=2000))
def test_no_bytes_upset_the_reader(noise: bytes) -> None:
    body = b"sglang:gen_throughput" + noise + b"\nsglang:num_running_reqs{} 1\nsglang:spec_" + noise + b" 1"
    sample, _ = Reader().read("u", body, 0, 0)
    assert sample.running_requests in (1, None)


def test_a_server_that_went_idle_keeps_its_accept_length_whatever_the_gauge_says() -> None:
    """Real SGLang 0.5.17 on an H200: lifetime mean 1.82, and a gauge that holds 1.0 from the last interval."""

    def page(verified: int, generated: int, requests: int) -> bytes:
        return f"""sglang:spec_accept_length{{model_name="m"}} 1.0
sglang:num_running_reqs{{model_name="m"}} 0.0
sglang:spec_verify_calls_total{{model_name="m"}} {verified}
sglang:generation_tokens_total{{model_name="m"}} {generated}
sglang:num_requests_total{{model_name="m"}} {requests}""".encode()

    reader = Reader()
    first, _ = reader.read("u", page(1000, 1850, 30), 0, 0)
    assert first.accept_length == 1.82
    for second in range(1, 60):
        later, _ = reader.read("u", page(1000, 1850, 30), second, second)
    assert later.accept_length == 1.82
