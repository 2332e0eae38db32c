"""Who a server is: what must stay the same while one data set is made, and what only its operator may change."""

from typing import Any

import msgspec

ANSWERS_DEPEND_ON = (
    "model_path", "served_model_name", "revision", "tokenizer_path", "weight_version", "dtype", "quantization",
    "kv_cache_dtype", "chat_template", "reasoning_parser", "tool_call_parser", "sampling_defaults",
    "speculative_accept_threshold_single", "speculative_accept_threshold_acc",
)  # fmt: skip
"""Flags of sglang 0.5.23 (server_args.py) that decide what is answered. Batch sizes, ports and parallelism do not."""

LOSSLESS = ("speculative_accept_threshold_single", "speculative_accept_threshold_acc")
"""Below 1.0 a draft's token may stand where the target would have drawn another (sglang 0.5.23, server_args.py)."""
_UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)


class Identity(msgspec.Struct, frozen=True):
    """What a server said of itself."""

    model: str
    framework: str = ""
    """sglang, vllm, or what the server calls itself; empty where it does not say."""
    version: str | None = None
    flags: dict[str, Any] = {}
    """Those of `ANSWERS_DEPEND_ON` that it told."""

    def lossy(self) -> dict[str, float]:
        """Thresholds that let tokens stand which the target would not have drawn."""
        return {
            name: float(value)
            for name in LOSSLESS
            if isinstance(value := self.flags.get(name), (int, float)) and value < 1.0
        }


class _Models(msgspec.Struct):
    data: list[dict[str, Any]]


def identity_from(models: bytes, server_info: bytes, model_info: bytes) -> Identity | None:
    """From the answers of /v1/models, /server_info and /model_info; `None` where the first names no model."""
    try:
        first = msgspec.json.decode(models, type=_Models).data[0]
        model = str(first["id"])
    except (*_UNREADABLE, IndexError, KeyError):
        return None
    told = {**_object(model_info), **_object(server_info)}
    version = told.get("version")
    return Identity(
        model=model,
        framework=str(first.get("owned_by", ""))[:60],
        version=str(version)[:60] if version is not None else None,
        flags={name: told[name] for name in ANSWERS_DEPEND_ON if told.get(name) is not None},
    )


def differences(before: Identity, now: Identity) -> list[str]:
    """What changed that answers depend on, in words. A flag that only one of both tells is not compared."""
    found = []
    if now.model != before.model:
        found.append(f"the model is {now.model}, not {before.model}")
    if before.version and now.version and now.version != before.version:
        found.append(f"the version is {now.version}, not {before.version}")
    for name in ANSWERS_DEPEND_ON:
        old, new = before.flags.get(name), now.flags.get(name)
        if old is not None and new is not None and old != new:
            found.append(f"{name} is {_short(new)}, not {_short(old)}")
    return found


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(body)
    except _UNREADABLE:
        return {}
    return found if isinstance(found, dict) else {}


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
