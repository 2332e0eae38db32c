"""Vocabularies, their map, heads, tokenizers."""

from collections.abc import Iterator

from engine.check.facts.deployment import Facts
from engine.check.models.tokenizers import VOCABULARY_DIGITS
from engine.check.records import Evidence, Fix, Severity
from engine.check.rules.registry import Detail, rule

PADDING = 1024
"""Vocabularies are padded to multiples of at most this; a larger difference is another vocabulary."""


@rule(
    "vocab-size-mismatch",
    "error",
    "Draft and target have different vocabularies",
    explanation="The draft's vocab_size is that of the target it was trained for. Another one means another tokenizer, or an "
    "embedding table that does not fit.",
    source="sglang 0.5.23, models/llama_eagle3.py; the embedding table is shared",
)
def vocab_size_mismatch(facts: Facts) -> Iterator[Detail]:
    """Beyond padding."""
    draft, target = facts.draft.vocab_size, facts.target.vocab_size
    if facts.algorithm not in ("EAGLE", "EAGLE3", "STANDALONE") or draft is None or target is None or draft == target:
        return
    padding = abs(draft - target) < PADDING and max(draft, target) % 64 == 0 and facts.algorithm != "STANDALONE"
    if not padding:
        yield Detail(
            f"The draft knows {draft:,} tokens, the target {target:,}.",
            (facts.config_key("draft", "vocab_size", target), facts.config_key("target", "vocab_size")),
            Fix(text="use a draft that was trained for this target"),
        )


@rule(
    "draft-vocab-map-missing",
    "error",
    "The draft's smaller vocabulary has no map to the target's",
    explanation="With draft_vocab_size below vocab_size the checkpoint needs d2t. Without it draft token i is taken for target "
    "token i: almost nothing is accepted, silently (0.4.6: a crash).",
    source="sglang 0.5.23, models/llama_eagle3.py load_weights; Automodel pull 2447",
)
def draft_vocab_map_missing(facts: Facts) -> Iterator[Detail]:
    """No d2t in readable weights."""
    draft = facts.draft
    if draft.tensors is None or not draft.is_eagle3 or facts.algorithm not in ("EAGLE", "EAGLE3"):
        return
    size, whole = draft.draft_vocab_size, draft.vocab_size
    if size is not None and whole is not None and size < whole and not any("d2t" in name for name in draft.tensors):
        yield Detail(
            f"The head knows {size:,} of {whole:,} tokens, and no tensor d2t says which.",
            (facts.config_key("draft", "draft_vocab_size"), facts.tensor("d2t")),
            Fix(text="export the draft again with its vocabulary map"),
        )


@rule(
    "vocab-map-invalid",
    "error",
    "The vocabulary map is damaged",
    explanation="d2t holds offsets: target id = draft id + d2t[draft id]. Its length must be draft_vocab_size, its targets must "
    "lie in the target's vocabulary and differ from each other. t2d, which SGLang does not read, must agree.",
    source="sglang 0.5.23, models/llama_eagle3.py load_weights; EAGLE issue 222",
)
def vocab_map_invalid(facts: Facts) -> Iterator[Detail]:
    """Length, range, one to one."""
    model, draft = facts.deployment.draft, facts.draft
    if model is None or not draft.is_eagle3:
        return
    evidence = (facts.tensor("d2t", draft.draft_vocab_size), facts.config_key("draft", "draft_vocab_size"))
    fix = Fix(text="export the draft again with the map that it was trained with")
    shape = draft.tensors["d2t"].shape if draft.tensors and "d2t" in draft.tensors else None
    if shape is not None and draft.draft_vocab_size is not None and shape != (draft.draft_vocab_size,):
        yield Detail(f"d2t has the shape {list(shape)}, draft_vocab_size is {draft.draft_vocab_size}.", evidence, fix)
        return
    t2d = draft.tensors.get("t2d") if draft.tensors else None
    if t2d is not None and draft.vocab_size is not None and t2d.shape != (draft.vocab_size,):
        yield Detail(
            f"t2d has the shape {list(t2d.shape)}, the vocabulary {draft.vocab_size} tokens.",
            (facts.tensor("t2d", draft.vocab_size),),
            fix,
        )
    whole = draft.vocab_size
    if whole is not None and draft.draft_vocab_size is not None and draft.draft_vocab_size > whole:
        yield Detail(f"The head knows {draft.draft_vocab_size:,} tokens, the vocabulary has {whole:,}.", evidence, fix)
    offsets = model.integers.get("d2t")
    if offsets is None:
        return
    targets = [index + offset for index, offset in enumerate(offsets)]
    limit = facts.target.vocab_size or draft.vocab_size
    outside = next(((i, one) for i, one in enumerate(targets) if one < 0 or (limit is not None and one >= limit)), None)
    if outside is not None:
        yield Detail(
            f"d2t maps draft token {outside[0]} to {outside[1]}, outside the vocabulary of {limit}.", evidence, fix
        )
    elif len(set(targets)) < len(targets):
        count = len(targets) - len(set(targets))
        yield Detail(f"d2t maps {count} draft tokens to target tokens that others map to as well.", evidence, fix)
    elif not any(offsets) and draft.vocab_size and len(offsets) < draft.vocab_size:
        message = (
            "d2t is zero throughout: the head stands for the first tokens of the vocabulary. Few drafts are trained so."
        )
        yield Detail(message, evidence, fix, "warning")


@rule(
    "draft-head-mismatch",
    "error",
    "The head has another number of rows than the draft's vocabulary",
    explanation="lm_head must have draft_vocab_size rows: the start ends in an assertion.",
    source="sglang 0.5.23, models/llama_eagle3.py",
)
def draft_head_mismatch(facts: Facts) -> Iterator[Detail]:
    """Rows against the config."""
    draft = facts.draft
    head = (draft.tensors or {}).get("lm_head.weight")
    if head is None or not draft.is_eagle3 or draft.draft_vocab_size is None or len(head.shape) != 2:
        return
    if draft.config.get("tie_word_embeddings") or draft.config.get("draft_vocab_size") is None:
        return
    if head.shape[0] != draft.draft_vocab_size:
        yield Detail(
            f"lm_head has {head.shape[0]} rows, draft_vocab_size is {draft.draft_vocab_size}: the start fails.",
            (
                facts.tensor("lm_head.weight", f"{draft.draft_vocab_size} x {draft.hidden_size}"),
                facts.config_key("draft", "draft_vocab_size"),
            ),
            Fix(text="config and weights belong to different drafts: get both again"),
        )


@rule(
    "tied-draft-head",
    "error",
    "A tied head discards the draft's trained one",
    explanation="With tie_word_embeddings true the head is the embedding table, which is the target's: the trained lm_head is "
    "thrown away, and its first rows are then mapped by d2t.",
    source="sglang 0.5.23, models/llama_eagle3.py; sfllm pull 32",
)
def tied_draft_head(facts: Facts) -> Iterator[Detail]:
    """Tied, though there is a head of its own or a smaller vocabulary."""
    draft = facts.draft
    if facts.algorithm != "EAGLE3" or not draft.is_eagle3:
        return
    if draft.config.get("tie_word_embeddings") is not True:
        return
    smaller = bool(draft.draft_vocab_size and draft.vocab_size and draft.draft_vocab_size < draft.vocab_size)
    if smaller or "lm_head.weight" in (draft.tensors or {}):
        yield Detail(
            "tie_word_embeddings is true: the draft's trained head is not used, and what it drafts is garbage.",
            (facts.config_key("draft", "tie_word_embeddings", "false"), facts.tensor("lm_head.weight")),
            Fix(text="set tie_word_embeddings to false in the draft's config"),
        )


@rule(
    "tokenizer-mismatch",
    "error",
    "Draft and target cut text differently",
    explanation="STANDALONE hands over text token by token: the vocabularies must be the same, checked from 0.5.15 on, silently "
    "wrong before. Other drafts use the target's tokenizer; one that ships another was trained for another target.",
    source="sglang pull 23838; sglang issue 24051",
)
def tokenizer_mismatch(facts: Facts) -> Iterator[Detail]:
    """Both ship a tokenizer and these differ."""
    target, draft = facts.deployment.target, facts.deployment.draft
    if target is None or draft is None or facts.algorithm in (None, "NGRAM", "UNO"):
        return
    one, other = target.tokenizer_fingerprint, draft.tokenizer_fingerprint
    if (
        one is None
        or other is None
        or one == other
        or (one.split(":")[0] != other.split(":")[0] and ":" in one + other)
    ):
        return
    same_vocabulary = one[:VOCABULARY_DIGITS] == other[:VOCABULARY_DIGITS]
    severity: Severity | None = None if facts.algorithm == "STANDALONE" and not same_vocabulary else "warning"
    yield Detail(
        f"Their tokenizers differ in {'merges or normalisation' if same_vocabulary else 'vocabulary or added tokens'}.",
        (
            Evidence(what=f"{target.folder}: tokenizer", found=one[:16]),
            Evidence(what=f"{draft.folder}: tokenizer", found=other[:16]),
        ),
        Fix(text="use a draft that was trained for this target"),
        severity,
    )


@rule(
    "special-token-mismatch",
    "warning",
    "Begin, end or padding tokens differ",
    explanation="A draft that ends its text at another token was trained with another chat template or target; another padding "
    "token has no effect on serving, and is a sign of the same.",
    source="config.json and generation_config.json of both",
)
def special_token_mismatch(facts: Facts) -> Iterator[Detail]:
    """Both name one, and these have nothing in common; a multimodal target may name it beside its `text_config`."""
    if facts.algorithm not in ("EAGLE3", "STANDALONE") or not facts.target.config or not facts.draft.config:
        return
    whole = facts.deployment.target
    beside = ((whole.config or {}), (whole.generation_config or {})) if whole is not None else ()
    for key in ("bos_token_id", "eos_token_id", "pad_token_id"):
        draft, target = _ids(facts.draft.config.get(key)), _ids(facts.target.config.get(key))
        target = target.union(*(_ids(one.get(key)) for one in beside))
        if draft and target and not draft & target:
            yield Detail(
                f"{key}: the draft says {sorted(draft)}, the target {sorted(target)}.",
                (facts.config_key("draft", key, sorted(target)), facts.config_key("target", key)),
                Fix(text="make sure that the draft was trained for this target and template"),
            )


def _ids(value: object) -> set[int]:
    values = value if isinstance(value, list) else [value]
    return {one for one in values if isinstance(one, int) and not isinstance(one, bool)}
