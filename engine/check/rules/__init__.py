# ruff: noqa: F401 - importing a module registers its rules
"""The rules, one small function each. `docs/rules.md` is made from them."""

import engine.check.rules.algorithm
import engine.check.rules.backends
import engine.check.rules.benchmarks
import engine.check.rules.capture
import engine.check.rules.command
import engine.check.rules.draft_config
import engine.check.rules.inputs
import engine.check.rules.live
import engine.check.rules.log_lines
import engine.check.rules.pairing
import engine.check.rules.precision
import engine.check.rules.sampling
import engine.check.rules.serving
import engine.check.rules.tensors
import engine.check.rules.training
import engine.check.rules.tree
import engine.check.rules.vllm
import engine.check.rules.vocabulary
import engine.check.rules.widths
from engine.check.rules.registry import RULES, Rule, findings

__all__ = ["RULES", "Rule", "findings"]
