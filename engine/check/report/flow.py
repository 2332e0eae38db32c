"""The flow of widths from the target's layers to the draft's head, and the joint at which it breaks."""

from typing import Any

import msgspec

from engine.check.facts.deployment import Facts
from engine.check.records import Tensor, UnresolvedValue
from engine.check.report.result import Checked


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
    facts = Facts(one.deployment)
    target, draft = facts.target, facts.draft
    broken = [JOINTS[f.rule] for f in one.findings if f.severity == "error" and f.rule in JOINTS]
    return Flow(
        target_layers=target.layers,
        target_hidden=target.hidden_size,
        fc_in=draft.fc_in,
        fc_out=_rows(draft.fc),
        draft_hidden=draft.hidden_size,
        head_rows=_rows((draft.tensors or {}).get("lm_head.weight")),
        draft_vocabulary=draft.draft_vocab_size or draft.vocab_size,
        target_vocabulary=target.vocab_size,
        broken=tuple(dict.fromkeys(broken)),
        **_handed(facts),
    )


def _handed(facts: Facts) -> dict[str, Any]:
    """What the algorithm hands to the draft; nothing where it hangs on a variable that nobody set."""
    try:
        captured = facts.captured
        final = facts.algorithm in ("EAGLE", "EAGLE3") and facts.captures_final_states
        return {
            "algorithm": facts.algorithm,
            "captured": tuple(captured) if captured is not None else None,
            "capture_known": captured is not None or final,
            "handed_width": facts.handed_width,
        }
    except UnresolvedValue:
        return {}


def _rows(tensor: Tensor | None) -> int | None:
    return tensor.shape[0] if tensor is not None and tensor.shape else None
