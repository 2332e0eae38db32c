"""The flow of widths from the target's layers to the draft's head, and the joint at which it breaks."""

from collections.abc import Mapping
from typing import Any

import msgspec

from engine.check.flags.release import version_key
from engine.check.records import Deployment, Model, UnresolvedValue
from engine.check.report.result import Checked

EAGLE_FAMILY = {"EAGLE", "EAGLE3", "NEXTN"}
MAX_AUX_DEFAULT = 3


class Flow(msgspec.Struct, frozen=True, kw_only=True):
    """Widths in elements; `None` where nothing on this machine tells them."""

    algorithm: str | None = None
    target_layers: int | None = None
    target_hidden: int | None = None
    captured: tuple[int, ...] | None = None
    """Layers whose output is handed over; `None` for the final states."""
    capture_known: bool = False
    handed_width: int | None = None
    fc_in: int | None = None
    fc_out: int | None = None
    draft_hidden: int | None = None
    head_rows: int | None = None
    draft_vocabulary: int | None = None
    target_vocabulary: int | None = None
    broken: tuple[str, ...] = ()
    """Joints that an error finding names: `capture`, `fc`, `draft`, `head`, `vocabulary`."""


JOINTS: dict[str, str] = {
    "eagle-flag-on-eagle3-draft": "fc",
    "fc-bypassed": "fc",
    "aux-width-mismatch": "fc",
    "capture-layer-count-mismatch": "capture",
    "capture-layer-out-of-range": "capture",
    "capture-layer-duplicate": "capture",
    "capture-ids-order": "capture",
    "capture-layers-differ-from-training": "capture",
    "aux-ids-in-wrong-place": "capture",
    "eagle3-target-unsupported": "capture",
    "fc-output-mismatch": "draft",
    "target-hidden-size-mismatch": "fc",
    "draft-hidden-size-mismatch": "draft",
    "draft-head-mismatch": "head",
    "tied-draft-head": "head",
    "draft-vocab-map-missing": "vocabulary",
    "vocab-map-invalid": "vocabulary",
    "vocab-size-mismatch": "vocabulary",
}
"""Which joint of the diagram a rule speaks of."""


def flow_of(one: Checked) -> Flow:
    """The widths of one deployment as its files and flags give them."""
    deployment = one.deployment
    algorithm = _algorithm(deployment)
    target, draft = _text_config(deployment.target), _text_config(deployment.draft)
    layers, hidden = _integer(target, "num_hidden_layers"), _integer(target, "hidden_size")
    captured, known = _captured(deployment, algorithm, layers)
    shape = _shape(deployment.draft, "fc.weight")
    count = len(captured) if captured else 1
    head = _shape(deployment.draft, "lm_head.weight")
    return Flow(
        algorithm=algorithm,
        target_layers=layers,
        target_hidden=hidden,
        captured=captured,
        capture_known=known,
        handed_width=hidden * count if hidden is not None and known else None,
        fc_in=shape[1] if len(shape) == 2 else None,
        fc_out=shape[0] if len(shape) == 2 else None,
        draft_hidden=_integer(draft, "hidden_size"),
        head_rows=head[0] if head else None,
        draft_vocabulary=_integer(draft, "draft_vocab_size") or _integer(draft, "vocab_size"),
        target_vocabulary=_integer(target, "vocab_size"),
        broken=tuple(dict.fromkeys(JOINTS[f.rule] for f in one.findings if f.severity == "error" and f.rule in JOINTS)),
    )


def _algorithm(deployment: Deployment) -> str | None:
    try:
        name = deployment.arguments.get("speculative_algorithm") if deployment.arguments is not None else None
    except UnresolvedValue:
        return None
    return name.upper() if isinstance(name, str) else None


def _text_config(model: Model | None) -> Mapping[str, Any]:
    config = model.config if model is not None and model.config is not None else {}
    nested = config.get("text_config")
    return {**config, **nested} if isinstance(nested, Mapping) else config


def _integer(config: Mapping[str, Any], name: str) -> int | None:
    value = config.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _shape(model: Model | None, suffix: str) -> tuple[int, ...]:
    tensors = model.tensors if model is not None and model.tensors is not None else {}
    return next((t.shape for name, t in tensors.items() if name == suffix or name.endswith(f".{suffix}")), ())


def _captured(deployment: Deployment, algorithm: str | None, layers: int | None) -> tuple[tuple[int, ...] | None, bool]:
    """Indices of layers before which states are taken, and whether that is known."""
    if algorithm in ("EAGLE", "NEXTN"):
        return None, True
    if algorithm != "EAGLE3" or deployment.draft is None or deployment.draft.config is None or layers is None:
        return None, False
    settings = deployment.draft.config.get("eagle_config")
    settings = settings if isinstance(settings, Mapping) else {}
    if settings.get("use_aux_hidden_state") is False:
        return None, True
    ids = settings.get("eagle_aux_hidden_state_layer_ids")
    if not isinstance(ids, list) or not all(isinstance(i, int) for i in ids) or not ids:
        return (2, layers // 2, layers - 3), True
    return tuple(sorted(set(_shifted(ids, deployment, layers)))), True


def _shifted(ids: list[int], deployment: Deployment, layers: int) -> list[int]:
    """States are taken before layer i, so most classes add one (sglang 0.5.23, models/deepseek_v2.py, gpt_oss.py)."""
    assert deployment.target is not None
    names = " ".join(str(name) for name in (deployment.target.config or {}).get("architectures") or ())
    release = version_key(deployment.arguments.release) if deployment.arguments is not None else ()
    deepseek = any(part in names for part in ("Deepseek", "Kimi", "GlmMoeDsa", "MistralLarge3"))
    if deepseek and ids[0] != 1 and release >= version_key("0.5.13"):
        return ids
    if "GptOss" in names and max(ids) == layers and release >= version_key("0.5.20"):
        return ids
    return [i + 1 for i in ids]
