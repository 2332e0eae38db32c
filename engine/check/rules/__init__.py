"""The rules, one small function each. `docs/rules.md` is made from them."""

from engine.check.rules import (  # noqa: F401 - importing a module registers its rules
    algorithm,
    backends,
    capture,
    command,
    draft_config,
    inputs,
    live,
    pairing,
    precision,
    sampling,
    serving,
    tensors,
    training,
    tree,
    vllm,
    vocabulary,
    widths,
)
from engine.check.rules.registry import RULES, Rule, findings

__all__ = ["RULES", "Rule", "findings"]
