"""The algorithm's name, and whether it fits the draft's family."""

from collections.abc import Iterator
from difflib import get_close_matches

from engine.check.facts.deployment import ALGORITHMS, Facts
from engine.check.records import Fix
from engine.check.rules.registry import Detail, rule

NEEDS_OTHER_DRAFT = {
    "DFLASH": "dflash", "DSPARK": "dspark", "FROZEN_KV_MTP": "gemma4_assistant",
}  # fmt: skip
FAMILY_WORDS = {
    "eagle3_llama": "an EAGLE-3 draft", "eagle3_mla": "an EAGLE-3 draft (MLA)", "eagle3_foreign": "an EAGLE-3 draft",
    "eagle3_as_llama": "an EAGLE-3 draft", "eagle": "an EAGLE-1/2 draft", "mtp": "an MTP head", "dflash": "a DFlash draft",
    "dspark": "a DSpark draft", "gemma4_assistant": "a Gemma 4 assistant", "causal": "an ordinary language model",
}  # fmt: skip
FAMILY_ALGORITHM = {"dflash": "DFLASH", "dspark": "DSPARK", "gemma4_assistant": "FROZEN_KV_MTP", "causal": "STANDALONE"}


@rule(
    "eagle-flag-on-eagle3-draft",
    "error",
    "EAGLE flag with an EAGLE-3 draft: nothing it drafts is accepted",
    explanation="The algorithm is EAGLE or NEXTN and the draft was trained for EAGLE-3. Nothing fails and nothing is "
    "logged: the target hands over its final states in place of three captured layers, the draft's fc is skipped, its "
    "trained head is replaced by the target's, and d2t is ignored. Accept length stays at 1.0 and every step costs more "
    "than without speculation.",
    source="sglang 0.5.23, speculative/spec_info.py is_eagle3; eagle_worker_v2.py init_lm_head; sglang pull 21272; all releases",
)
def eagle_flag_on_eagle3_draft(facts: Facts) -> Iterator[Detail]:
    """EAGLE or NEXTN where EAGLE3 is meant."""
    if facts.algorithm != "EAGLE" or not facts.draft.is_eagle3:
        return
    hidden, fc_in = facts.target.hidden_size, facts.draft.fc_in
    widths = f" ({hidden} wide in place of {fc_in})" if hidden and fc_in and hidden != fc_in else ""
    yield Detail(
        f"{facts.named_algorithm} does not turn on what an EAGLE-3 draft needs. Four losses at once, none logged: the "
        f"target hands over its final states{widths}, the draft skips fc, its trained head is replaced by the target's, "
        "and its vocabulary map d2t is ignored. Accept length stays at 1.0: slower than no speculation.",
        (
            facts.flag("speculative_algorithm", "EAGLE3"),
            facts.config_key("draft", "architectures"),
            *([facts.tensor("fc.weight")] if facts.draft.fc is not None else []),
        ),
        Fix(text="use EAGLE3", set_flags={"--speculative-algorithm": "EAGLE3"}),
    )


@rule(
    "eagle3-flag-on-eagle-draft",
    "error",
    "EAGLE3 flag with a draft that is not an EAGLE-3 one",
    explanation="EAGLE3 needs a draft with d2t and an fc over captured layers. An EAGLE-1/2 or MTP head has neither: the "
    "start or the first request fails.",
    source="sglang 0.5.23, speculative/eagle_worker_v2.py; models/llama_eagle.py",
)
def eagle3_flag_on_eagle_draft(facts: Facts) -> Iterator[Detail]:
    """EAGLE3 with EAGLE-1/2 or MTP weights."""
    if facts.algorithm == "EAGLE3" and facts.draft.family in ("eagle", "mtp") and not facts.draft.has_eagle3_tensors:
        yield Detail(
            f"The draft is {FAMILY_WORDS[facts.draft.family]}. Under EAGLE3 it has no vocabulary map and its input does "
            "not fit the captured layers: the start or the first request fails.",
            (facts.flag("speculative_algorithm", "EAGLE"), facts.config_key("draft", "architectures")),
            Fix(text="use EAGLE with this draft", set_flags={"--speculative-algorithm": "EAGLE"}),
        )


@rule(
    "algorithm-family-mismatch",
    "error",
    "This algorithm cannot work with a draft of this family",
    explanation="DFLASH, DSPARK, STANDALONE, FROZEN_KV_MTP, NGRAM and UNO each take one kind of draft, or none.",
    source="sglang 0.5.23, arg_groups/speculative_hook.py",
)
def algorithm_family_mismatch(facts: Facts) -> Iterator[Detail]:
    """Any other pair that cannot work."""
    family, algorithm = facts.draft.family, facts.algorithm
    evidence = (facts.flag("speculative_algorithm"), facts.config_key("draft", "architectures"))
    if algorithm == "UNO" and facts.draft_path is not None:
        yield Detail(
            "UNO refuses a draft path; it needs --uno-lora-path.", (facts.flag("speculative_draft_model_path"),)
        )
    if family is None or algorithm is None or algorithm in ("NGRAM", "UNO"):
        return
    words = FAMILY_WORDS[family]
    needed = NEEDS_OTHER_DRAFT.get(algorithm)
    if algorithm == "DSPARK" and facts.draft_path == facts.get("model_path"):
        return  # a DSpark head inside the target's checkpoint
    if needed is not None and family != needed:
        yield Detail(f"{algorithm} needs {FAMILY_WORDS[needed]}; this is {words}.", evidence, _suggest(facts))
    elif algorithm == "STANDALONE" and family != "causal":
        yield Detail(f"STANDALONE needs an ordinary language model; this is {words}.", evidence, _suggest(facts))
    elif algorithm in ("EAGLE", "EAGLE3") and family in ("dflash", "dspark", "gemma4_assistant"):
        yield Detail(f"{facts.named_algorithm} cannot use {words}.", evidence, _suggest(facts))
    elif algorithm in ("EAGLE", "EAGLE3") and family == "causal" and _is_separate_model(facts):
        yield Detail(
            f"{facts.named_algorithm} needs a draft head that takes the target's states; this is {words}.",
            evidence,
            _suggest(facts),
        )


@rule(
    "unknown-algorithm",
    "error",
    "No such speculative algorithm",
    explanation="The name is none that this release has, and no alias. The server refuses to start. A plugin may register "
    "names of its own, which this check cannot see.",
    source="sglang 0.5.23, speculative/spec_info.py from_string",
)
def unknown_algorithm(facts: Facts) -> Iterator[Detail]:
    """A misspelt name, or one of a later release."""
    name = facts.named_algorithm
    if name is None:
        return
    first = ALGORITHMS.get(name.upper())
    if first is not None and facts.since(first):
        return
    evidence = (facts.flag("speculative_algorithm"),)
    if first is not None:
        yield Detail(
            f"{name} came with SGLang {first}; this is {facts.release}.", evidence, Fix(text=f"upgrade to {first}")
        )
        return
    near = get_close_matches(name.upper(), ALGORITHMS, n=1, cutoff=0.5)
    plugin = " (unless a plugin registers it)" if facts.since("0.5.12") else ""
    fix = Fix(text=f"use {near[0]}", set_flags={"--speculative-algorithm": near[0]}) if near else None
    yield Detail(f"{name!r} names no speculative algorithm{plugin}; the server refuses to start.", evidence, fix)


@rule(
    "algorithm-case",
    "warning",
    "The algorithm's name is in lower case",
    explanation="From 0.5.12 on the name is upper-cased; older releases refuse anything but capitals.",
    source="sglang 0.5.12, arg_groups/speculative_hook.py; choices of the argument before",
)
def algorithm_case(facts: Facts) -> Iterator[Detail]:
    """Right only in releases that upper-case it."""
    name = facts.named_algorithm
    if name is None or name.upper() == name or name.upper() not in ALGORITHMS:
        return
    old = not facts.since("0.5.12")
    message = "SGLang refuses it up to 0.5.11" + (f": this is {facts.release}." if old else "; later releases take it.")
    yield Detail(
        f"{name!r} is not in capitals. {message}",
        (facts.flag("speculative_algorithm", name.upper()),),
        Fix(text="write it in capitals", set_flags={"--speculative-algorithm": name.upper()}),
    )


@rule(
    "algorithm-missing",
    "error",
    "Speculative flags, but no algorithm: speculation is off",
    explanation="Without --speculative-algorithm every other speculative flag is read and used for nothing. The server "
    "starts, and says nothing.",
    source="sglang 0.5.23, arg_groups/speculative_hook.py; all releases",
)
def algorithm_missing(facts: Facts) -> Iterator[Detail]:
    """A draft or tree given, no algorithm."""
    if facts.arguments is None or facts.get("speculative_algorithm") not in (None, "", "NONE", "None", "none"):
        return
    given = [flag for flag in facts.speculative_flags() if flag.value not in (None, False)]
    if not given or facts.deployment.launch is None:
        return
    proposed = FAMILY_ALGORITHM.get(facts.draft.family or "", "EAGLE3" if facts.draft.is_eagle3 else "EAGLE")
    names = ", ".join(flag.spelled or flag.name for flag in given)
    fix = (
        Fix(text=f"add --speculative-algorithm {proposed}", set_flags={"--speculative-algorithm": proposed})
        if facts.draft.family is not None
        else Fix(text="name the algorithm with --speculative-algorithm")
    )
    yield Detail(
        f"{names} given, but no --speculative-algorithm: the server runs without speculation, and says nothing.",
        tuple(facts.flag(flag.name) for flag in given),
        fix,
    )


def _is_separate_model(facts: Facts) -> bool:
    """Whether an ordinary class is no MTP checkpoint that SGLang renames."""
    from engine.check.facts.classes import BUNDLED_MTP, RENAMED_MTP

    draft = facts.draft.architecture
    return draft not in BUNDLED_MTP | RENAMED_MTP and facts.draft_path != facts.get("model_path")


def _suggest(facts: Facts) -> Fix | None:
    family = facts.draft.family
    if family is None:
        return None
    name = FAMILY_ALGORITHM.get(family, "EAGLE3" if facts.draft.is_eagle3 else "EAGLE")
    return Fix(text=f"use {name} with this draft", set_flags={"--speculative-algorithm": name})
