"""Figures in a line of a log: a pure function, for SGLang servers, SpecForge training and tqdm progress bars.

Formats: sglang 0.4.6 to 0.5.23, `report_decode_stats` and `report_prefill_stats` (managers/scheduler.py, from 0.4.9
scheduler_metrics_mixin.py, from 0.5.16 scheduler_components/metrics_reporter.py); SpecForge a6b6b02,
training/assembly.py `_logger`, and the scripts/train_eagle3.py before it; tqdm 4, std.py `format_meter`.
"""

import ast
import math
import re
import time
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

import msgspec

Axis = Literal["time", "step", "line"]
"""What the figures are drawn along: UTC seconds, training steps or items done, or nothing better than their order."""


class Figures(msgspec.Struct, frozen=True):
    """What one line says."""

    source: str
    """`decode`, `prefill`, `train`, `eval`, the description of a progress bar, or `pattern`."""
    values: dict[str, float]
    along: Axis = "line"
    at: float = 0.0
    """The place on that axis."""


_SGLANG = re.compile(r"(Decode|Prefill) batch(?: \[\d+\])?[.,] (#.+)")
_STAMP = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(\.\d+)?([^\]]*)\]")
_RANK = re.compile(r"\bDP\d+\b")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_DECODE_NAMES = {
    "gen throughput (token/s)": "tokens_per_s", "accept len": "accept_length", "accept rate": "accept_rate",
    "#running-req": "running", "#queue-req": "queued", "token usage": "token_usage", "full token usage": "token_usage",
}  # fmt: skip
_PREFILL_NAMES = {
    "input throughput (token/s)": "input_tokens_per_s", "#new-token": "new_tokens", "#cached-token": "cached_tokens",
    "#running-req": "running", "#queue-req": "queued", "token usage": "token_usage", "full token usage": "token_usage",
}  # fmt: skip
_STEP = re.compile(r"step (\d+): (\{.*\})\s*$")
_NOT_FINITE = re.compile(r"(?<=[:\[ ])-?(?:nan|inf)(?=[,\]}])")
_TRAIN_NAMES = {"acc": "accuracy", "learning_rate": "lr", "avg_loss": "loss", "avg_acc": "accuracy"}
_POSITION = re.compile(r"Eval - Step (\d+) \[[^\]]*\], position (\d+), +(Acc|pLoss): (\S+)")
_BAR = re.compile(
    r"(?:(?P<name>[^:|%\n]{1,80}): +)? *(?P<percent>\d{1,3})%\|.*?\| *(?P<done>\d+(?:\.\d+)?)(?P<scale>[kMGT]?)"
    r"/(?P<total>\d+(?:\.\d+)?)[kMGT]?\w* *\[(?P<times>[\d:]+<[\d:?]+), *(?P<rate>[\d.?]+)(?P<rate_scale>[kMGT]?) *"
    r"(?P<unit>[^\s,\]]+)(?P<more>[^\]]*)\]"
)
_POSTFIX = re.compile(r"([A-Za-z_][\w./-]*)=(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?=[,\s\]]|$)")
_SCALES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def metrics_of(line: str, patterns: Iterable[re.Pattern[str]] = ()) -> Figures | None:
    """The figures of a line, or `None`. A named group of one of the `patterns` is a figure too, `step` its place; of
    `done` and `total` a percentage is made.

    The accept rate stands as it was printed: up to sglang 0.5.10 it is accept length over draft tokens, from 0.5.11
    the share of draft tokens that were accepted.
    """
    if " batch" in line and (found := _SGLANG.search(line)):
        return _of_server(line, found)
    if "step " in line and (found := _STEP.search(line)):
        return _of_step(found)
    if "Eval - Step " in line and (found := _POSITION.search(line)):
        return _of_position(found)
    if "%|" in line and (found := _BAR.search(line)):
        return _of_bar(found)
    return next((own for pattern in patterns if (own := _of_pattern(pattern, line))), None)


def _of_server(line: str, found: re.Match[str]) -> Figures | None:
    decode = found[1] == "Decode"
    names = _DECODE_NAMES if decode else _PREFILL_NAMES
    pairs = (part.strip().rpartition(": ") for part in found[2].split(","))
    values = {names[name]: float(value) for name, _, value in pairs if name in names and _NUMBER.fullmatch(value)}
    stamp = _STAMP.search(line)
    rank = _RANK.search(stamp[3]) if stamp else None
    source = f"{'decode' if decode else 'prefill'}{' ' + rank[0] if rank else ''}"
    at = _seconds(stamp[1]) if stamp else None
    if at is None:
        return Figures(source, values) if values else None
    return Figures(source, values, "time", at + float((stamp and stamp[2]) or 0)) if values else None


@lru_cache(64)
def _seconds(text: str) -> float | None:
    """SGLang prints local time, as Alula's processes have it."""
    try:
        return time.mktime(time.strptime(text, "%Y-%m-%d %H:%M:%S"))
    except (ValueError, OverflowError):
        return None


def _of_step(found: re.Match[str]) -> Figures | None:
    try:
        given = ast.literal_eval(_NOT_FINITE.sub("None", found[2]))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    values: dict[str, float] = {}
    for name, value in given.items():
        plain = str(name).rpartition("/")[2]
        plain = _TRAIN_NAMES.get(plain, plain)
        several = value if isinstance(value, list) else None
        named = {f"{plain}_{place}": each for place, each in enumerate(several)} if several else {plain: value}
        values |= {_plain_name(key): each for key, one in named.items() if (each := _finite(one)) is not None}
    evaluated = any(str(name).startswith("eval/") for name in given)
    return Figures("eval" if evaluated else "train", values, "step", float(found[1])) if values else None


def _plain_name(name: str) -> str:
    return re.sub(r"^(?:acc|per_position_acc)_(?=\d+$)", "accuracy_", name)


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _of_position(found: re.Match[str]) -> Figures | None:
    """SpecForge's older scripts print a line for each position, while training too."""
    try:
        value = float(found[4])
    except ValueError:
        return None
    name = "accuracy" if found[3] == "Acc" else "ploss"
    return Figures("train", {f"{name}_{found[2]}": value}, "step", float(found[1])) if math.isfinite(value) else None


def _of_bar(found: re.Match[str]) -> Figures:
    values = {"percent": float(found["percent"])}
    rate = found["rate"]
    if rate.strip(".?"):
        speed, unit = float(rate) * _SCALES[found["rate_scale"]], found["unit"]
        seconds_each = unit.startswith("s/")
        values["per_s"] = 1 / speed if seconds_each and speed else speed
    values |= {name: float(value) for name, value in _POSTFIX.findall(found["more"])}
    name = (found["name"] or "").rpartition("]")[2].strip() or "progress"
    return Figures(name, values, "step", float(found["done"]) * _SCALES[found["scale"]])


def _of_pattern(pattern: re.Pattern[str], line: str) -> Figures | None:
    found = pattern.search(line)
    values = {}
    for name, text in found.groupdict().items() if found else ():
        try:
            values[name] = float((text or "").replace(",", ""))
        except ValueError:
            continue
    values = {name: value for name, value in values.items() if math.isfinite(value)}
    step = values.pop("step", None)
    if values.keys() >= {"done", "total"}:
        step, total = values.pop("done"), values.pop("total")
        values |= {"percent": step / total * 100} if total else {}
    if not values:
        return None
    return Figures("pattern", values) if step is None else Figures("pattern", values, "step", step)
