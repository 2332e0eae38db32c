"""What decides which draft tokens are accepted."""

from collections.abc import Iterator

from engine.check.facts.deployment import Facts
from engine.check.records import Evidence, Fix
from engine.check.rules.registry import Detail, rule

THRESHOLDS = ("speculative_accept_threshold_single", "speculative_accept_threshold_acc")
SIMULATE = "SGLANG_SIMULATE_ACC_LEN"


@rule(
    "lossy-acceptance",
    "warning",
    "Accept thresholds below 1: the output is no longer the target's",
    explanation="With a threshold below 1.0 tokens are accepted that the target would not have chosen. Faster, but not "
    "lossless: never use such answers as training data, and do not compare such a speed with the baseline's.",
    source="sglang 0.5.23, arg_groups/fields/spec.py; /set_internal_state",
)
def lossy_acceptance(facts: Facts) -> Iterator[Detail]:
    """By flag, or on the live server."""
    if facts.algorithm is None:
        return
    for name in THRESHOLDS:
        value = facts.get(name, 1.0)
        if isinstance(value, int | float) and value < 1.0:
            spelled = "--" + name.replace("_", "-")
            yield Detail(
                f"{spelled} is {value}: answers differ from the target's own.",
                (facts.flag(name, "1.0"),),
                Fix(text="leave it at 1.0 for regeneration and for comparisons", set_flags={spelled: "1.0"}),
            )
    live = facts.deployment.live
    for name in THRESHOLDS:
        value = (live.server_info or {}).get(name) if live is not None else None
        if isinstance(value, int | float) and value < 1.0 and facts.get(name, 1.0) == 1.0:
            yield Detail(
                f"The running server accepts with {name} {value}.", (Evidence(what=f"/server_info: {name}", expected="1.0", found=str(value)),)
            )  # fmt: skip


@rule(
    "simulated-acceptance",
    "error",
    "Simulated acceptance: accept length and speed are made up",
    explanation="SGLANG_SIMULATE_ACC_LEN above 0 makes the server pretend an accept length. It is a testing aid: text, "
    "accept length and speed mean nothing.",
    source="sglang 0.5.23, speculative/spec_utils.py",
)
def simulated_acceptance(facts: Facts) -> Iterator[Detail]:
    """A testing variable that was left on."""
    value = facts.environment(SIMULATE)
    try:
        on = value is not None and float(value) > 0
    except ValueError:
        on = False
    if on and facts.named_algorithm is not None:
        yield Detail(
            f"{SIMULATE}={value}: the accept length is invented.",
            (Evidence(what=SIMULATE, expected="not set", found=value),),
            Fix(text="unset it", drop_environment=(SIMULATE,)),
        )


@rule(
    "rejection-sampling-conflict",
    "error",
    "Rejection sampling is refused with these settings",
    explanation="--speculative-use-rejection-sampling (and block verification, which implies it) needs EAGLE or EAGLE3, "
    "top-k 1, thresholds of 1.0, and a draft whose vocabulary is the target's.",
    source="sglang 0.5.23, arg_groups/speculative_hook.py; from 0.5.14",
)
def rejection_sampling_conflict(facts: Facts) -> Iterator[Detail]:
    """Any of its conditions is broken."""
    name = next(
        (n for n in ("speculative_use_rejection_sampling", "speculative_use_block_verification") if facts.get(n)), None
    )
    if name is None or facts.algorithm is None:
        return
    if facts.algorithm not in ("EAGLE", "EAGLE3"):
        if name == "speculative_use_rejection_sampling" or facts.algorithm not in ("DFLASH", "DSPARK"):
            yield Detail(
                f"{facts.named_algorithm} knows neither rejection sampling nor block verification.",
                (facts.flag(name), facts.flag("speculative_algorithm")),
            )
        return
    broken = [facts.flag("speculative_eagle_topk", "1")] if (facts.top_k or 1) != 1 else []
    broken += [facts.flag(one, "1.0") for one in THRESHOLDS if (facts.get(one, 1.0) or 1.0) != 1.0]
    draft_vocab = facts.draft.draft_vocab_size
    if draft_vocab is not None and facts.draft.vocab_size is not None and draft_vocab != facts.draft.vocab_size:
        broken.append(facts.config_key("draft", "draft_vocab_size", facts.draft.vocab_size))
    if broken:
        spelled = "--" + name.replace("_", "-")
        yield Detail(
            "The server refuses it: it needs top-k 1, thresholds of 1.0 and a draft with the target's whole vocabulary.",
            (facts.flag(name), *broken),
            Fix(text="leave it away", drop_flags=(spelled,)),
        )


@rule(
    "dummy-draft-weights",
    "error",
    "The draft's weights are random",
    explanation="The load format dummy fills all weights with random numbers: accept length stays at 1.0.",
    source="sglang 0.5.23, arg_groups/fields/spec.py",
)
def dummy_draft_weights(facts: Facts) -> Iterator[Detail]:
    """By the draft's own load format, or by the general one."""
    if facts.algorithm in (None, "NGRAM"):
        return
    own = facts.get("speculative_draft_load_format")
    name = "speculative_draft_load_format" if own is not None else "load_format"
    if (own if own is not None else facts.get("load_format")) == "dummy":
        yield Detail(
            "The draft is loaded with random weights; nothing it drafts is accepted.",
            (facts.flag(name, "auto"),),
            Fix(text="load the real weights", drop_flags=("--" + name.replace("_", "-"),)),
        )
