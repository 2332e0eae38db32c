"""Whether the states that arrive fit the draft."""

from collections.abc import Iterator

from engine.check.facts.deployment import Facts
from engine.check.facts.target import integer
from engine.check.records import Fix
from engine.check.rules.registry import Detail, rule


@rule(
    "fc-bypassed",
    "error",
    "The draft's fc is skipped silently",
    explanation="fc runs only where the width of the incoming states differs from that of the embeddings. Where they are equal "
    "the trained projection is skipped without a word, and the draft works on states that it has never seen.",
    source="sglang 0.5.23, models/llama_eagle3.py forward; the same test since 0.4.6",
)
def fc_bypassed(facts: Facts) -> Iterator[Detail]:
    """Equal widths, though there is an fc."""
    draft, handed = facts.draft, facts.handed_width
    if handed is None or not draft.is_eagle3 or not draft.has_fc or draft.hidden_size is None:
        return
    if draft.wants_final_states:
        return
    embedding = facts.target.hidden_size if draft.shares_embeddings else draft.hidden_size
    if handed == embedding:
        wanted = f"; it was trained for {draft.fc_in}" if draft.fc_in else ""
        yield Detail(
            f"The states arrive {handed} wide, as wide as the embeddings{wanted}: fc is skipped, and nothing is logged.",
            (
                facts.config_key("target", "hidden_size"),
                facts.tensor("fc.weight") if draft.fc is not None else facts.config_key("draft", "hidden_size"),
                facts.flag("speculative_algorithm", "EAGLE3"),
            ),
            Fix(text="use EAGLE3", set_flags={"--speculative-algorithm": "EAGLE3"})
            if facts.algorithm == "EAGLE"
            else None,
        )


@rule(
    "aux-width-mismatch",
    "error",
    "The captured states do not fit fc",
    explanation="The number of captured layers times the target's hidden size must be the input width of fc. The first request "
    "fails with «mat1 and mat2 shapes cannot be multiplied».",
    source="sglang 0.5.23, models/llama_eagle3.py",
)
def aux_width_mismatch(facts: Facts) -> Iterator[Detail]:
    """Widths by tensor, else by config."""
    draft, handed = facts.draft, facts.handed_width
    if facts.algorithm == "DFLASH":
        yield from _block_widths(facts)
    if facts.algorithm != "EAGLE3" or handed is None or draft.fc_in is None or not draft.is_eagle3:
        return
    if facts.captures_final_states or handed == draft.fc_in or handed == draft.hidden_size:
        return
    yield Detail(
        f"The target hands over {handed} ({len(set(facts.captured or ()))} layers of {facts.target.hidden_size}); fc takes "
        f"{draft.fc_in}. The first request fails.",
        (
            facts.config_key("target", "hidden_size"),
            facts.tensor("fc.weight", f"{draft.hidden_size} x {handed}") if draft.fc is not None
            else facts.config_key("draft", "target_hidden_size"),
        ),
        Fix(text="use a draft that was trained for this target"),
    )  # fmt: skip


@rule(
    "fc-output-mismatch",
    "error",
    "fc's output is not as wide as the draft",
    explanation="fc maps the captured states to the draft's own hidden size.",
    source="sglang 0.5.23, models/llama_eagle3.py",
)
def fc_output_mismatch(facts: Facts) -> Iterator[Detail]:
    """Rows of the tensor against the config."""
    fc, hidden = facts.draft.fc, facts.draft.hidden_size
    if fc is not None and hidden is not None and len(fc.shape) == 2 and fc.shape[0] != hidden and facts.draft.is_eagle3:
        yield Detail(
            f"fc gives {fc.shape[0]}, the draft's hidden size is {hidden}: the start fails.",
            (facts.tensor("fc.weight", f"{hidden} x {fc.shape[1]}"), facts.config_key("draft", "hidden_size")),
            Fix(text="config and weights belong to different drafts: get both again"),
        )


@rule(
    "target-hidden-size-mismatch",
    "error",
    "The draft was made for a target of another width",
    explanation="target_hidden_size in the draft's config is the width of one layer of the target that it was trained on.",
    source="sglang 0.5.23, models/llama_eagle3.py",
)
def target_hidden_size_mismatch(facts: Facts) -> Iterator[Detail]:
    """The key is there and differs."""
    stated = integer(facts.draft.config.get("target_hidden_size"))
    if stated is None or facts.target.hidden_size is None or not facts.draft.is_eagle3:
        return
    if stated != facts.target.hidden_size:
        yield Detail(
            f"It was made for layers {stated} wide; this target's are {facts.target.hidden_size}.",
            (
                facts.config_key("draft", "target_hidden_size", facts.target.hidden_size),
                facts.config_key("target", "hidden_size"),
            ),
            Fix(text="use a draft that was trained for this target"),
        )


@rule(
    "draft-hidden-size-mismatch",
    "error",
    "The draft shares the target's embeddings, but not their width",
    explanation="Without target_hidden_size the draft takes the target's embedding table. It must then be as wide as the target.",
    source="sglang 0.5.23, models/llama.py set_embed; eagle_worker_v2.py",
)
def draft_hidden_size_mismatch(facts: Facts) -> Iterator[Detail]:
    """No target_hidden_size, other widths."""
    draft, target = facts.draft, facts.target
    stated = draft.config.get("target_hidden_size")
    if facts.algorithm not in ("EAGLE", "EAGLE3", "DFLASH") or draft.family in (
        None,
        "causal",
        "gemma4_assistant",
        "dspark",
    ):
        return
    if stated is None and draft.hidden_size and target.hidden_size and draft.hidden_size != target.hidden_size:
        yield Detail(
            f"The draft is {draft.hidden_size} wide, the target {target.hidden_size}: the shared embeddings do not fit.",
            (
                facts.config_key("draft", "hidden_size", target.hidden_size),
                facts.config_key("draft", "target_hidden_size", target.hidden_size),
                facts.config_key("target", "hidden_size"),
            ),
            Fix(text="use a draft for this target; a narrower draft needs target_hidden_size and its own embed_tokens"),
        )


def _block_widths(facts: Facts) -> Iterator[Detail]:
    """DFlash: fc takes as many states as layers are named, each as wide as the draft (models/dflash.py load_weights)."""
    draft = facts.draft
    count = len(draft.block_ids or ()) or integer(draft.config.get("num_hidden_layers"))
    if draft.family != "dflash" or draft.fc is None or len(draft.fc.shape) != 2 or not count or not draft.hidden_size:
        return
    if draft.fc.shape[1] != count * draft.hidden_size:
        yield Detail(
            f"The config names {count} layers of {draft.hidden_size}, so {count * draft.hidden_size}; fc takes "
            f"{draft.fc.shape[1]}. The start fails.",
            (
                facts.tensor("fc.weight", f"{draft.hidden_size} x {count * draft.hidden_size}"),
                facts.config_key("draft", "dflash_config.target_layer_ids"),
            ),
            Fix(text="config and weights belong to different drafts: get both again"),
        )
