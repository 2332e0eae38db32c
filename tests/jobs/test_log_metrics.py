"""Figures in logs: lines as each release prints them, and series that stay small."""

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.jobs.log_metrics import Figures, metrics_of
from engine.jobs.log_series import MOST_POINTS, MOST_SERIES, LogMetrics, LogMetricsReader
from engine.reference import log_lines

USUAL = "#running-req: 4, #token: 812, token usage: 0.05"
DECODE = {
    "0.4.6": f"Decode batch. {USUAL}, accept len: 2.10, gen throughput (token/s): 82.30, #queue-req: 3",
    "0.5.2": f"Decode batch. {USUAL}, accept len: 2.10, cuda graph: True, gen throughput (token/s): 82.30, "
    "#queue-req: 3, ",
    "0.5.3": f"Decode batch. {USUAL}, accept len: 2.10, accept rate: 0.42, cuda graph: True, "
    "gen throughput (token/s): 82.30, #queue-req: 3, ",
    "0.5.5": f"Decode batch [40], {USUAL}, accept len: 2.10, accept rate: 0.42, cuda graph: True, "
    "gen throughput (token/s): 82.30, #queue-req: 3, ",
    "0.5.23": "Decode batch, #running-req: 4, #full token: 812, full token usage: 0.05, #swa token: 9, "
    "swa token usage: 0.90, accept len: 2.10, accept rate: 0.42, cap len: 3.00, pre-allocated usage: 0.00, "
    "#prealloc-req: 8, cuda graph: True, gen throughput (token/s): 82.30, #queue-req: 3, "
    "est. decode TFLOPS/s (per GPU): 1.00",
}


@pytest.mark.parametrize("release", DECODE)
def test_decode_lines_of_each_release(release: str) -> None:
    found = metrics_of(f"[2026-12-01 10:00:00 TP0] {DECODE[release]}")
    assert found is not None and (found.source, found.along) == ("decode", "time")
    assert time.localtime(found.at)[:6] == (2026, 12, 1, 10, 0, 0)
    values = dict(found.values)
    assert values.pop("accept_rate", 0.42) == 0.42
    expected = {"tokens_per_s": 82.3, "accept_length": 2.1, "running": 4, "queued": 3, "token_usage": 0.05}
    assert values == expected


def test_ranks_and_prefill() -> None:
    line = (
        "[2026-12-01 10:00:00.250 DP1 TP0] Prefill batch, #new-seq: 1, #new-token: 128, #cached-token: 64, "
        "token usage: 0.01, #running-req: 0, #queue-req: 2, cuda graph: False, input throughput (token/s): 900.50"
    )
    found = metrics_of(line)
    assert found is not None and found.source == "prefill DP1" and found.at % 1 == 0.25
    assert found.values["input_tokens_per_s"] == 900.5 and found.values["cached_tokens"] == 64


def test_lines_of_our_own_server() -> None:
    found = metrics_of(
        log_lines.decode_line(running=1, tokens=5, usage=0.1, accept=(1.5, 0.2), tokens_per_s=10.0, queued=0)
    )
    assert found is not None and found.values["accept_length"] == 1.5


TRAINING = {
    "step 50: {'loss': 3.2, 'acc': 0.4, 'acc_0': 0.5, 'ploss_0': nan, 'lr': 1e-05}": (
        "train", 50, {"loss": 3.2, "accuracy": 0.4, "accuracy_0": 0.5, "lr": 1e-05},
    ),
    "step 7: {'train/loss': 3.0, 'train/perf/data_wait_time_s': -inf, 'train/lr': 0.1}": (
        "train", 7, {"loss": 3.0, "lr": 0.1},
    ),
    "step 9: {'eval/avg_loss': 2.0, 'eval/per_position_acc': [0.5, 0.25], 'eval/simulated_acc_len': 0.6}": (
        "eval", 9, {"loss": 2.0, "accuracy_0": 0.5, "accuracy_1": 0.25, "simulated_acc_len": 0.6},
    ),
    "Eval - Step 10 [11/10], position 2,  Acc: 0.33": ("train", 10, {"accuracy_2": 0.33}),
    "Eval - Step 10 [11/10], position 2, pLoss: 1.25": ("train", 10, {"ploss_2": 1.25}),
    "Training Epoch 0:  12%|█▏        | 123/1000 [00:10<01:10, 12.30it/s, loss=1.23, acc=4.5e-01]": (
        "Training Epoch 0", 123, {"percent": 12, "per_s": 12.3, "loss": 1.23, "acc": 0.45},
    ),
    "  0%|          | 0/1000 [00:00<?, ?it/s]": ("progress", 0, {"percent": 0}),
    " 67%|######7   | 1.20k/1.80kB [00:10<00:05, 2.00s/B]": ("progress", 1200, {"percent": 67, "per_s": 0.5}),
}  # fmt: skip


@pytest.mark.parametrize("line", TRAINING)
def test_training_and_progress_lines(line: str) -> None:
    source, step, values = TRAINING[line]
    assert metrics_of(line) == Figures(source, values, "step", step)


@pytest.mark.parametrize(
    "line",
    ["", "step 5: {'loss': __import__('os')}", "step 5: {", "Decode batch, nothing", "50%|", "Decode batch. #token: x"],
)
def test_lines_without_figures(line: str) -> None:
    assert metrics_of(line) is None


@given(st.text(max_size=300), st.sampled_from([*DECODE.values(), *TRAINING]), st.integers(0, 200))
def test_no_text_is_too_odd(odd: str, line: str, cut: int) -> None:
    for text in (odd, line[:cut] + odd + line[cut:]):
        metrics_of(text)


def test_patterns_of_a_recipe() -> None:
    patterns = [re.compile(r"it (?P<step>\d+) reward (?P<reward>[\d.,]+)")]
    assert metrics_of("it 12 reward 1,000.5", patterns) == Figures("pattern", {"reward": 1000.5}, "step", 12)
    metrics = LogMetrics(patterns)
    metrics.push(b"it 1 reward 2\nother\nit 2 reward 3\n")
    assert metrics.series()[0].points == ((1, 2), (2, 3))


@given(st.lists(st.integers(0, 2000), max_size=6))
def test_pieces_may_be_cut_anywhere(cuts: list[int]) -> None:
    log = (
        "noise\r\n" + "".join(f"step {n}: {{'loss': {n}.5}}\n 1%|x| {n}/9 [00:01<00:01, 2.0it/s]\r" for n in range(30))
    ).encode()
    ends = sorted(min(cut, len(log)) for cut in cuts)
    metrics = LogMetrics()
    for start, end in zip([0, *ends], [*ends, len(log)], strict=True):
        metrics.push(log[start:end])
    loss = next(series for series in metrics.series() if series.name == "loss")
    assert loss.points == tuple((n, n + 0.5) for n in range(30))


def test_series_stay_small_and_keep_their_extremes() -> None:
    metrics = LogMetrics()
    count = 20 * MOST_POINTS + 7
    metrics.push("".join(f"step {n}: {{'loss': {float(n)}}}\n" for n in range(count)).encode())
    (loss,) = metrics.series()
    assert len(loss.points) <= MOST_POINTS + 1
    assert (loss.count, loss.last, loss.least, loss.greatest) == (count, count - 1, 0, count - 1)
    assert [at for at, _ in loss.points] == sorted(at for at, _ in loss.points)
    metrics.push("".join(f"step 1: {{'name{n}': 1.0}}\n" for n in range(3 * MOST_SERIES)).encode())
    assert len(metrics.series()) == MOST_SERIES


def test_binary_and_endless_lines_cost_no_memory() -> None:
    metrics = LogMetrics()
    for _ in range(64):
        metrics.push(b"\x00\xff%|" * 65536)
    assert metrics.series() == []
    metrics.push(b"\nstep 1: {'loss': 1.0}\n")
    assert metrics.series()[0].last == 1.0


def test_a_log_and_its_older_pieces_are_read_once(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    (tmp_path / "log.1.txt").write_text("step 1: {'loss': 1.0}\n")
    log.write_text("step 2: {'loss': 2.0}\nstep 3: {'lo")
    reader = LogMetricsReader(log)
    assert not reader.read()
    with log.open("a") as file:
        file.write("ss': 3.0}\n")
    reader.read()
    (tmp_path / "log.1.txt").write_bytes(log.read_bytes() + b"step 4: {'loss': 4.0}\n")
    log.write_text("step 5: {'loss': 5.0}\n")
    reader.read()
    assert [value for _, value in reader.series()[0].points] == [1, 2, 3, 4, 5]
    assert json.dumps(reader.series()[0].count) == "5"


def test_of_a_bar_that_is_drawn_again_and_again_the_last_drawing_counts() -> None:
    bars = "".join(f"\r {done // 1000}%|#  | {done}/100000 [00:10<00:10, 9.9it/s]" for done in range(100_000))
    metrics = LogMetrics()
    metrics.push(f"{bars}\nstep 7: {{'loss': 2.5}}\n".encode())
    found = {series.name: series for series in metrics.series()}
    assert found["percent"].points[-1][0] == 99_999 and found["percent"].count < 2000
    assert found["loss"].points == ((7.0, 2.5),)
