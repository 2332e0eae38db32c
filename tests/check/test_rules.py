# ruff: noqa: E501 - a table
"""Each rule finds its fault, and is silent on a near miss. All inputs are read by the real readers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from engine.check.records import Benchmark, DecodeLine, Deployment, Finding, LiveServer, Place
from engine.check.rules import RULES, findings
from tests.check.pairs import Config, Tensors, deployment, eagle3_tensors, model

STEPS, TOP_K, TOKENS = "--speculative-num-steps", "--speculative-eagle-topk", "--speculative-num-draft-tokens"
TREE = f"{STEPS} 3 {TOP_K} 1 {TOKENS} 4"
SERVE = "python3 -m sglang.launch_server --model-path {target}"
DRAFT = "--speculative-draft-model-path {draft}"
SOUND = f"{SERVE} --speculative-algorithm EAGLE3 {DRAFT} {TREE} --max-running-requests 16"
EAGLE = SOUND.replace("EAGLE3", "EAGLE")
VLLM = 'vllm serve {target} --speculative-config \'{"model": "{draft}", "num_speculative_tokens": 3%s}\''
GONE = "gone"
"""In the place of a value: the key or tensor is taken out."""

TARGET: Config = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 512, "num_hidden_layers": 32,
    "vocab_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 8, "max_position_embeddings": 4096,
    "torch_dtype": "bfloat16", "rope_theta": 10000.0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
IDS = "eagle_aux_hidden_state_layer_ids"
PLACED: Config = {"eagle_config": {IDS: [1, 15, 28]}}
DRAFT_CONFIG: Config = {
    **TARGET, "architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1, "intermediate_size": 1024,
    "draft_vocab_size": 256, "tie_word_embeddings": False, **PLACED,
}  # fmt: skip
PLAIN: Config = {"architectures": ["LlamaForCausalLM"], "eagle_config": GONE, "draft_vocab_size": GONE}
EAGLE_1: Config = {**PLAIN, "architectures": ["LlamaForCausalLMEagle"]}
MLA: Config = {"architectures": ["Eagle3DeepseekV2ForCausalLM"], "q_lora_rank": 64}
DEEPSEEK: Config = {"architectures": ["DeepseekV3ForCausalLM"]}
NONE: Tensors = {}
VOCABULARY = '{"model": {"vocab": {"a": 0, "%s": 1}}}'


def one_tensor(name: str) -> str:
    """A safetensors file of one tensor, its length below 128 so that it is text as well."""
    header = json.dumps({name: {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}, separators=(",", ":"))
    return chr(len(header)) + "\0" * 7 + header + "ab"


class Setup(NamedTuple):
    """What differs from a sound deployment."""

    command: str = SOUND
    release: str | None = "0.5.23"
    target: Mapping[str, Any] = {}
    draft: Mapping[str, Any] = {}
    tensors: Tensors | None = None
    changed: Mapping[str, Any] = {}
    files: Mapping[str, str] = {}
    live: Mapping[str, Any] | None = None
    more: Mapping[str, Any] = {}
    """Other fields of the deployment, or of the live server."""


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in {**base, **changes}.items() if not isinstance(value, str) or value != GONE}


def found(setup: Setup, root: Path) -> list[Finding]:
    return list(findings(read_setup(setup, root)))


def read_setup(setup: Setup, root: Path) -> Deployment:
    """The deployment as the real readers read it from files."""
    draft = merged(DRAFT_CONFIG, setup.draft)
    tensors = setup.tensors if setup.tensors is not None else eagle3_tensors(DRAFT_CONFIG, 1536)
    model(root / "target", merged(TARGET, setup.target))
    model(root / "draft", draft, merged(tensors, setup.changed))
    for name, text in setup.files.items():
        (root / name).write_text(text)
    live = None
    if setup.live is not None:
        fields = {
            name: setup.more[name]
            for name in ("verifications", "hidden_width", "problem", "metrics", "decoded")
            if name in setup.more
        }
        live = LiveServer(url="http://127.0.0.1:1", server_info=dict(setup.live), **fields)
    read = deployment(setup.command.replace("{root}", str(root)), root, setup.release, live=live)
    others = {
        name: setup.more[name] for name in ("training", "break_even_accept_length", "benchmarks") if name in setup.more
    }
    return msgspec.structs.replace(read, **others)


def running(**more: Any) -> dict[str, Any]:
    return {
        "speculative_algorithm": "EAGLE3", "speculative_num_steps": 3, "speculative_eagle_topk": 1,
        "speculative_num_draft_tokens": 4, "internal_states": [{"avg_spec_accept_length": 2.5}], **more,
    }  # fmt: skip


def states(length: float) -> dict[str, Any]:
    return running(internal_states=[{"avg_spec_accept_length": length}])


def recipe(**fields: Any) -> dict[str, Any]:
    return {"training": fields}


def benchmark(tool: str, result: Mapping[str, Any] = {}, **options: str | None) -> dict[str, Any]:
    return {"benchmarks": (Benchmark(tool=tool, place=Place("bench.sh", 1), options=options, result=result),)}


def window(lengths: int | float, ranks: float) -> dict[str, Any]:
    return {"accept_length": lengths, "server_info": {"internal_states": [{"avg_spec_accept_length": ranks}]}}


def decoded(*parts: tuple[float, int, int]) -> dict[str, Any]:
    """Lines of a log: accept length, requests in the batch, how often."""
    return {"decoded": tuple(DecodeLine(length, None, batch) for length, batch, count in parts for _ in range(count))}


REAL_TEXT: dict[str, Any] = {"dataset_name": "sharegpt", "disable_ignore_eos": None, "apply_chat_template": None}
S = Setup
# fmt: off
CASES: dict[str, tuple[Setup, Setup]] = {
    "eagle-flag-on-eagle3-draft": (S(EAGLE.replace("EAGLE", "NEXTN")), S(EAGLE, draft=EAGLE_1, tensors={"fc.weight": ("BF16", (512, 1024))})),
    "eagle3-flag-on-eagle-draft": (S(draft=EAGLE_1, tensors={"fc.weight": ("BF16", (512, 1024))}), S(draft=EAGLE_1)),
    "algorithm-family-mismatch": (S(SOUND.replace("EAGLE3", "DFLASH")), S(SOUND.replace("EAGLE3", "DFLASH"), draft={**PLAIN, "architectures": ["DFlashDraftModel"]}, tensors=NONE)),
    "unknown-algorithm": (S(SOUND.replace("EAGLE3", "DSPARK"), "0.5.15"), S(SOUND.replace("EAGLE3", "DSPARK"), "0.5.16")),
    "algorithm-case": (S(SOUND.replace("EAGLE3", "eagle3")), S()),
    "algorithm-missing": (S(f"{SERVE} {DRAFT}"), S(SERVE)),
    "topk-backend-unsupported": (S(SOUND.replace(f"{TOP_K} 1", f"{TOP_K} 2") + " --page-size 16 --attention-backend fa4"), S(SOUND.replace(f"{TOP_K} 1", f"{TOP_K} 2") + " --page-size 16 --attention-backend fa3")),
    "draft-backend-unsupported": (S(SOUND + " --attention-backend torch_native"), S(SOUND + " --attention-backend triton")),
    "parallelism-unsupported": (S(SOUND + " --pp-size 2"), S(f"SGLANG_ENABLE_PP_SPEC=1 {EAGLE} --pp-size 2")),
    "capture-layer-out-of-range": (S(draft={"eagle_config": {IDS: [1, 15, 31]}}), S(draft={"eagle_config": {IDS: [-1, 15, 30]}})),
    "capture-layer-duplicate": (S(draft={"eagle_config": {IDS: [1, 15, 15]}}), S(draft={"eagle_config": {IDS: [1, 15, 16]}})),
    "capture-ids-order": (S(draft={"eagle_config": {IDS: [15, 1, 28]}}), S(draft={"eagle_config": {IDS: [15, 1, 28], "use_aux_hidden_state": False}})),
    "capture-layer-count-mismatch": (S(draft={"eagle_config": {IDS: [1, 9, 15, 28]}}), S(draft={"num_aux_hidden_states": 3})),
    "capture-layers-differ-from-training": (S(files={"draft/training.json": '{"aux_hidden_state_layer_ids": [1, 15, 29]}'}), S(files={"draft/training.json": '{"aux_hidden_state_layer_ids": [1, 15, 28]}'})),
    "capture-offset-by-release": (S(release="0.5.12", target=DEEPSEEK, draft={"eagle_config": {IDS: [2, 16, 29]}}), S(release="0.5.13", target=DEEPSEEK, draft={"eagle_config": {IDS: [2, 16, 29]}})),
    "aux-ids-in-wrong-place": (S(draft={"eagle_config": GONE, IDS: [2, 16, 29]}), S(draft={IDS: [2, 16, 29]})),
    "default-capture-shadow": (S(draft={"eagle_config": {IDS: "1,15,28"}}), S(draft={"eagle_config": GONE})),
    "capture-layers-default": (S(draft={"eagle_config": GONE}), S()),
    "flag-unknown": (S(SOUND + " --cuda-graph-max-bs 8"), S(SOUND + " --cuda-graph-max-bs 8", "0.5.16")),
    "flag-value-invalid": (S(SOUND + " --tp-size two"), S(SOUND + " --tp-size 2")),
    "flag-repeated": (S(f"{SOUND} {STEPS} 5"), S(f"{SOUND} {STEPS} 3")),
    "config-yaml-not-read": (S(SOUND + " --config=serve.yaml"), S(SOUND + " --config {root}/serve.yaml", files={"serve.yaml": "port: 30000\n"})),
    "token-map-ignored": (S(SOUND + " --speculative-token-map map.pt"), S(EAGLE + " --speculative-token-map map.pt")),
    "flag-ignored": (S(SOUND + " --speculative-ngram-max-bfs-breadth 4"), S(f"{SERVE} --speculative-algorithm NGRAM --speculative-ngram-max-bfs-breadth 4")),
    "target-hidden-size-null": (S(draft={"target_hidden_size": None}), S(draft={"target_hidden_size": None, **MLA})),
    "draft-vocab-size-absent": (S(draft={"draft_vocab_size": GONE}), S(draft={"draft_vocab_size": None})),
    "draft-architecture-unknown": (S(draft={"architectures": ["Eagle3LlamaForCausalLM"]}), S()),
    "num-layers-unsupported": (S(release="0.5.11", draft={"num_hidden_layers": 2}), S(release="0.5.12", draft={"num_hidden_layers": 2})),
    "mla-draft-quantised": (S(draft=MLA, changed={"layers.0.self_attn.kv_b_proj.weight": ("U8", (8, 8))}), S(draft=MLA, changed={"layers.0.self_attn.kv_b_proj.weight": ("BF16", (8, 8))})),
    "eagle31-on-old-release": (S(release="0.5.11", draft={"fc_norm": True}), S(release="0.5.12", draft={"fc_norm": True})),
    "norm-before-residual-unread": (S(draft={"norm_before_residual": True}), S(draft={"norm_before_residual": False})),
    "norm-output-mismatch": (S(draft={"norm_output": True}), S(draft={"norm_output": False})),
    "draft-target-name-differs": (S(target={"_name_or_path": "meta-llama/Llama-3.1-8B"}, files={"draft/training.json": '{"target_model": "meta-llama/Llama-3.3-70B"}'}), S(target={"_name_or_path": "meta-llama/Llama-3.1-8B"}, files={"draft/training.json": '{"target_model": "meta-llama/Llama-3.1-8B"}'})),
    "config-unreadable": (S(files={"target/config.json": "{"}), S()),
    "config-value-implausible": (S(draft={"num_hidden_layers": 10**9}), S(draft={"num_hidden_layers": 126})),
    "weights-not-safetensors": (S(tensors=NONE, files={"draft/pytorch_model.bin": "x"}), S(files={"draft/pytorch_model.bin": "x"})),
    "input-missing": (S(tensors=NONE), S()),
    "live-unreachable": (S(live={}, more={"problem": "no answer"}), S(live=running())),
    "live-flag-differs": (S(live=running(speculative_num_steps=5)), S(live=running())),
    "live-speculation-off": (S(live=running(speculative_algorithm=None)), S(live=running())),
    "live-accept-length-drop": (S(live=running(), more=decoded((2.9, 8, 40), (2.0, 8, 14))), S(live=running(), more=decoded((2.9, 1, 40), (2.0, 32, 14)))),
    "accept-rate-scale": (S(f"{SERVE} {TOKENS} 4", None, live=running(), more={"decoded": (DecodeLine(2.0, 0.5, 1),)}), S(live=running(), more={"decoded": (DecodeLine(2.0, 0.5, 1),)})),
    "live-accept-window": (S(more=benchmark("bench_serving", window(2.5, 2.5))), S(more=benchmark("bench_serving", window(2.5, 2.7)))),
    "bench-tool-hardcodes-algorithm": (S(more=benchmark("bench_speculative")), S(more=benchmark("bench_speculative", speculative_algorithm="EAGLE3"))),
    "bench-unrepresentative": (S(more=benchmark("bench_serving", dataset_name="random")), S(more=benchmark("bench_serving", **REAL_TEXT))),
    "live-model-differs": (S(live=running(model_path="/models/other")), S(live=running(model_path="/data/target"))),
    "live-accept-length-one": (S(live=states(1.01), more={"verifications": 200}), S(live=states(1.01), more={"verifications": 199})),
    "live-accept-length-low": (S(live=states(1.5), more={"break_even_accept_length": 1.6}), S(live=states(1.7), more={"break_even_accept_length": 1.6})),
    "live-hidden-width": (S(live=running(), more={"hidden_width": 1024}), S(live=running(), more={"hidden_width": 1536})),
    "draft-path-missing": (S(f"{SERVE} --speculative-algorithm EAGLE {TREE}"), S(f"{SERVE} --speculative-algorithm EAGLE {TREE}", target=DEEPSEEK)),
    "draft-path-redundant": (S(EAGLE, target=DEEPSEEK, draft={"architectures": ["DeepseekV3ForCausalLMNextN"]}, tensors=NONE), S(target=DEEPSEEK)),
    "mtp-layers-missing": (S(EAGLE.replace("{draft}", "{target}"), target={**DEEPSEEK, "num_nextn_predict_layers": 1}, files={"target/model.safetensors": one_tensor("model.layers.0.mlp.gate_proj.weight")}), S(EAGLE.replace("{draft}", "{target}"), target={**DEEPSEEK, "num_nextn_predict_layers": 1}, files={"target/model.safetensors": one_tensor("model.layers.32.eh_proj.weight")})),
    "dspark-markov-rank-missing": (S(SOUND.replace("EAGLE3", "DSPARK"), draft={"architectures": ["DSparkDraftModel"]}, tensors=NONE), S(SOUND.replace("EAGLE3", "DSPARK"), draft={"architectures": ["DSparkDraftModel"], "markov_rank": 256}, tensors=NONE)),
    "draft-path-not-found": (S(SOUND.replace("{draft}", "{root}/nowhere")), S()),
    "draft-is-target": (S(SOUND.replace("{draft}", "{target}")), S()),
    "eagle3-target-unsupported": (S(release="0.5.9", target={"architectures": ["KimiK25ForConditionalGeneration"]}), S(release="0.5.10", target={"architectures": ["KimiK25ForConditionalGeneration"]})),
    "draft-context-short": (S(target={"max_position_embeddings": 4097}), S(SOUND + " --context-length 4096", target={"max_position_embeddings": 4097})),
    "dtype-mismatch": (S(draft={"torch_dtype": "float32"}), S(SOUND + " --dtype bfloat16", draft={"torch_dtype": "float32"})),
    "draft-quantization-inherited": (S(SOUND + " --quantization fp8"), S(SOUND + " --quantization fp8 --speculative-draft-model-quantization unquant")),
    "rope-mismatch": (S(draft={"rope_theta": 500000.0}), S(draft={"rope_theta": GONE, "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})),
    "draft-heads-not-divisible": (S(SOUND + " --tp-size 16"), S(SOUND + " --tp-size 16 --dp-size 2 --enable-dp-attention", "0.5.16")),
    "target-rotated-quant": (S(target={"quantization_config": {"quant_method": "quarot"}}), S(target={"quantization_config": {"quant_method": "fp8"}})),
    "lossy-acceptance": (S(SOUND + " --speculative-accept-threshold-single 0.9"), S(SOUND + " --speculative-accept-threshold-single 1.0")),
    "simulated-acceptance": (S(f"SGLANG_SIMULATE_ACC_LEN=3 {SOUND}"), S(f"SGLANG_SIMULATE_ACC_LEN=0 {SOUND}")),
    "rejection-sampling-conflict": (S(SOUND + " --speculative-use-rejection-sampling"), S(SOUND + " --speculative-use-rejection-sampling", draft={"draft_vocab_size": None})),
    "dummy-draft-weights": (S(SOUND + " --load-format dummy"), S(SOUND + " --load-format dummy --speculative-draft-load-format auto")),
    "cuda-graph-disabled": (S(SOUND + " --disable-cuda-graph", "0.5.16"), S(f"{SERVE} --disable-cuda-graph", "0.5.16")),
    "cuda-graph-batch-below-load": (S(SOUND + " --cuda-graph-max-bs 8", "0.5.16"), S(SOUND + " --cuda-graph-max-bs 16", "0.5.16")),
    "running-requests-capped": (S(SOUND.replace(" --max-running-requests 16", "")), S()),
    "overlap-disabled": (S(release="0.5.10"), S(release="0.5.13")),
    "spec-v2-variable-ignored": (S(f"SGLANG_ENABLE_SPEC_V2=1 {SOUND}", "0.5.14"), S(f"SGLANG_ENABLE_SPEC_V2=1 {SOUND}", "0.5.9")),
    "memory-fraction-high": (S(SOUND + " --mem-fraction-static 0.9"), S(SOUND + " --mem-fraction-static 0.88")),
    "tensor-missing": (S(changed={"norm.weight": GONE}), S(draft={"draft_vocab_size": None}, changed={"lm_head.weight": GONE, "d2t": GONE})),
    "tensor-unused": (S(changed={"midlayer.extra.weight": ("BF16", (8, 8))}), S(changed={"embed_tokens.weight": ("BF16", (1024, 512))})),
    "tensor-shape-mismatch": (S(changed={"midlayer.self_attn.q_proj.weight": ("BF16", (512, 512))}), S(draft={"head_dim": 64})),
    "train-width-mismatch": (S(more=recipe(model={"aux_hidden_state_layer_ids": [1, 2]})), S(more=recipe(model={"aux_hidden_state_layer_ids": [1, 2, 3]}))),
    "train-target-differs": (S(more=recipe(model={"target_model_path": "a/other"})), S(more=recipe(model={"target_model_path": "a/target"}))),
    "train-vocab-map-differs": (S(more=recipe(draft_vocab_size=128)), S(more=recipe(draft_vocab_size=256))),
    "train-template-mismatch": (S(more=recipe(data={"chat_template": "qwen"})), S(more=recipe(data={"chat_template": "llama3"}))),
    "train-length-truncates": (S(more=recipe(share_longer_than_max_length=0.2)), S(more=recipe(share_longer_than_max_length=0.1))),
    "train-data-not-regenerated": (S(more=recipe(answers_model="gpt-4")), S(more=recipe(answers_model="a/target"))),
    "partial-tree-params": (S(SOUND.replace(f"{STEPS} 3", "")), S(SOUND.replace(f"{STEPS} 3", "") + " --speculative-adaptive")),
    "draft-tokens-adjusted": (S(SOUND.replace(f"{TOKENS} 4", f"{TOKENS} 5")), S(SOUND.replace(f"{TOKENS} 4", ""))),
    "draft-tokens-exceed-tree": (S(f"{EAGLE} {STEPS} 2 {TOP_K} 2 {TOKENS} 8"), S(f"{EAGLE} {STEPS} 2 {TOP_K} 2 {TOKENS} 7")),
    "tree-value-impossible": (S(f"{SOUND} {STEPS} 0"), S(f"{SOUND} {STEPS} 1 {TOKENS} 2")),
    "adaptive-switched-off": (S(f"{SOUND} --speculative-adaptive {TOP_K} 2"), S(SOUND + " --speculative-adaptive")),
    "vllm-method-by-path": (S(VLLM % ""), S(VLLM % ', \"method\": \"eagle3\"')),
    "vllm-widths-differ": (S(VLLM % "", target={"vocab_size": 2048}), S(VLLM % "")),
    "engine-offset": (S(draft={"eagle_config": {IDS: [2, 16, 29]}}), S(target=DEEPSEEK, draft={"eagle_config": {IDS: [2, 16, 29]}})),
    "vocab-size-mismatch": (S(target={"vocab_size": 4096}), S(target={"vocab_size": 1088})),
    "draft-vocab-map-missing": (S(changed={"d2t": GONE}), S(draft={"draft_vocab_size": 1024}, changed={"d2t": GONE, "lm_head.weight": ("BF16", (1024, 512))})),
    "vocab-map-invalid": (S(changed={"d2t": ("I64", (256,), (1, *([0] * 255)))}), S(changed={"d2t": ("I64", (256,), (0, *([1] * 255)))})),
    "draft-head-mismatch": (S(changed={"lm_head.weight": ("BF16", (512, 512))}), S(draft={"draft_vocab_size": None}, changed={"lm_head.weight": ("BF16", (512, 512))})),
    "tied-draft-head": (S(draft={"tie_word_embeddings": True}), S(draft={"tie_word_embeddings": False})),
    "tokenizer-mismatch": (S(files={"target/tokenizer.json": VOCABULARY % "b", "draft/tokenizer.json": VOCABULARY % "c"}), S(files={"target/tokenizer.json": VOCABULARY % "b", "draft/tokenizer.json": VOCABULARY % "b"})),
    "special-token-mismatch": (S(draft={"eos_token_id": 3}), S(draft={"eos_token_id": [2, 3]})),
    "fc-bypassed": (S(EAGLE), S(draft={"eagle_config": {"use_aux_hidden_state": False}})),
    "aux-width-mismatch": (S(changed={"fc.weight": ("BF16", (512, 2048))}), S()),
    "fc-output-mismatch": (S(changed={"fc.weight": ("BF16", (256, 1536))}), S()),
    "target-hidden-size-mismatch": (S(draft={"target_hidden_size": 1024}), S(draft={"target_hidden_size": 512})),
    "draft-hidden-size-mismatch": (S(target={"hidden_size": 1024}), S(target={"hidden_size": 1024}, draft={"target_hidden_size": 1024})),
}
# fmt: on


@pytest.mark.parametrize("rule", sorted(CASES))
def test_a_rule_finds_its_fault(rule: str, tmp_path: Path) -> None:
    ours = [one for one in found(CASES[rule][0], tmp_path) if one.rule == rule]
    assert ours
    assert all(one.message and one.evidence and one.source for one in ours)


@pytest.mark.parametrize("rule", sorted(CASES))
def test_a_rule_is_silent_on_a_near_miss(rule: str, tmp_path: Path) -> None:
    assert rule not in {one.rule for one in found(CASES[rule][1], tmp_path)}


# fmt: off
SEVERITIES = [
    ("overlap-disabled", "info", S(release="0.5.3")),
    ("overlap-disabled", "warning", S(SOUND + " --disable-overlap-schedule")),
    ("overlap-disabled", "info", S(f"{SOUND} {TOP_K} 2 {TOKENS} 5", "0.5.12")),
    ("spec-v2-variable-ignored", "info", S(f"SGLANG_ENABLE_SPEC_V2=0 {SOUND}", "0.5.23")),
    ("spec-v2-variable-ignored", "error", S(f"SGLANG_ENABLE_SPEC_V2=1 {SOUND} {TOP_K} 2 {TOKENS} 5", "0.5.9")),
    ("algorithm-case", "warning", S(SOUND.replace("EAGLE3", "eagle3"), "0.5.11")),
    ("flag-value-invalid", "error", S(SOUND.replace("EAGLE3", "eagle3"), "0.5.11")),
    ("draft-context-short", "error", S(target={"max_position_embeddings": 8192})),
    ("draft-context-short", "warning", S(f"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 {SOUND}", target={"max_position_embeddings": 8192})),
    ("draft-quantization-inherited", "error", S(SOUND + " --quantization awq")),
    ("draft-quantization-inherited", "warning", S(SOUND + " --quantization fp8")),
    ("draft-path-redundant", "info", S(EAGLE.replace("{draft}", "{target}"), target=DEEPSEEK)),
    ("draft-path-missing", "error", S(f"{SERVE} --speculative-algorithm EAGLE {TREE}", target={**DEEPSEEK, "num_nextn_predict_layers": 0})),
    ("tokenizer-mismatch", "error", S(f"{SERVE} --speculative-algorithm STANDALONE {DRAFT} {TREE}", draft=PLAIN, tensors=NONE, files={"target/tokenizer.json": VOCABULARY % "b", "draft/tokenizer.json": VOCABULARY % "c"})),
    ("vocab-map-invalid", "warning", S(changed={"d2t": ("I64", (256,), (0,) * 256)})),
    ("vocab-map-invalid", "error", S(changed={"d2t": ("I64", (256,), (*([0] * 255), 9999))})),
    ("vocab-map-invalid", "error", S(changed={"d2t": ("I64", (255,))})),
    ("capture-layers-default", "info", S(draft={"eagle_config": {}})),
    ("default-capture-shadow", "warning", S(draft={"eagle_config": {"use_aux_hidden_state": True}})),
    ("aux-width-mismatch", "error", S(draft={"eagle_config": {IDS: []}})),
    ("capture-layer-out-of-range", "error", S(release="0.5.16", target={"architectures": ["GptOssForCausalLM"]}, draft={"eagle_config": {IDS: [2, 16, 32]}})),
    ("capture-offset-by-release", "warning", S(release=None, target=DEEPSEEK, draft={"eagle_config": {IDS: [2, 16, 29]}})),
    ("capture-layer-count-mismatch", "error", S(release="0.5.11", draft={"eagle_config": {IDS: [1, 28]}}, changed={"fc.weight": ("BF16", (512, 1024))})),
    ("tied-draft-head", "error", S(draft={**MLA, "tie_word_embeddings": True})),
    ("fc-bypassed", "error", S(draft={"eagle_config": {IDS: [28]}}, changed={"fc.weight": ("BF16", (512, 512))})),
    ("tensor-missing", "error", S(target={"hidden_size": 1024}, draft={"target_hidden_size": 1024}, changed={"fc.weight": ("BF16", (512, 3072))})),
    ("tensor-missing", "error", S(draft={**MLA, "draft_vocab_size": 1024}, changed={"lm_head.weight": GONE, "d2t": GONE})),
    ("draft-architecture-unknown", "error", S(draft={"architectures": ["LlamaForCausalLM"]})),
    ("parallelism-unsupported", "error", S(EAGLE + " --pp-size 2", "0.5.20")),
    ("parallelism-unsupported", "error", S(f"{SERVE} --speculative-algorithm NGRAM --dp-size 2 --tp-size 2 --enable-dp-attention", "0.5.16")),
    ("topk-backend-unsupported", "error", S(f"{SERVE} --speculative-algorithm NGRAM --page-size 16 --attention-backend triton")),
    ("topk-backend-unsupported", "error", S(f"{SOUND} {TOP_K} 2 {TOKENS} 5 --page-size 16 --attention-backend fa3", "0.5.5")),
    ("topk-backend-unsupported", "warning", S(f"{SOUND} {TOP_K} 2 {TOKENS} 5 --page-size 16 --attention-backend fa3", "0.4.6")),
    ("partial-tree-params", "error", S(f"{SERVE} --speculative-algorithm DFLASH {DRAFT} {TOKENS} 8 --speculative-dflash-block-size 16")),
    ("partial-tree-params", "error", S(f"{SERVE} --speculative-algorithm EAGLE3 {DRAFT} {STEPS} 3")),
    ("rejection-sampling-conflict", "error", S(SOUND + " --speculative-use-block-verification")),
    ("mla-draft-quantised", "error", S(SOUND + " --quantization fp8", draft=MLA)),
    ("draft-target-name-differs", "warning", S(target={"_name_or_path": "a/Llama-3.3-70B"}, files={"draft/README.md": "---\ntags: [x]\nbase_model: a/Llama-3.1-8B\n---\n"})),
    ("live-speculation-off", "error", S(live=running(internal_states=[{}]), more={"metrics": "sglang:generation_tokens_total 5000.0\n"})),
    ("live-model-differs", "error", S(SOUND + " --speculative-draft-model-revision v2", live=running(speculative_draft_model_revision="main"))),
    ("draft-path-missing", "error", S(f"{SERVE} --speculative-algorithm DSPARK", target=DEEPSEEK)),
    ("eagle3-target-unsupported", "error", S(target={"architectures": ["MixtralForCausalLM"]})),
]
SILENT = [
    ("draft-path-missing", S(f"{SERVE} --speculative-algorithm DSPARK", target={"dspark_block_size": 8})),
    ("target-hidden-size-mismatch", S(draft={"target_hidden_size": True})),
    ("live-speculation-off", S(live=running(internal_states=[{}]), more={"metrics": "sglang:generation_tokens_total 5000.0\n", "verifications": 9})),
    ("live-speculation-off", S(live=running(internal_states=[{}]), more={"metrics": "sglang:generation_tokens_total 900.0\n"})),
    ("live-model-differs", S(live=running(speculative_draft_model_revision="main"))),
    ("mla-draft-quantised", S(SOUND + " --quantization modelopt_fp4", draft=MLA)),
    ("draft-target-name-differs", S(target={"_name_or_path": "a/Llama-3.3-70B"}, files={"draft/README.md": "---\nbase_model:\n- a/Llama-3.3-70B\n---\n"})),
    ("draft-target-name-differs", S(target={"_name_or_path": "a/Llama-3.3-70B"}, files={"draft/README.md": "---\ntags: [x]\n---\nbase_model: a/Llama-3.1-8B\n"})),
    ("parallelism-unsupported", S(EAGLE + " --pp-size 2 --disaggregation-mode prefill", "0.5.21")),
    ("parallelism-unsupported", S(f"{SERVE} --speculative-algorithm NGRAM --enable-dp-attention", "0.5.16")),
    ("topk-backend-unsupported", S(f"{SOUND} {TOP_K} 2 {TOKENS} 5 --page-size 16 --attention-backend fa3", "0.5.6")),
    ("tokenizer-mismatch", S(files={"target/tokenizer.json": VOCABULARY % "b"})),
    ("capture-layer-out-of-range", S(release="0.5.20", target={"architectures": ["GptOssForCausalLM"]}, draft={"eagle_config": {IDS: [2, 16, 32]}})),
    ("eagle-flag-on-eagle3-draft", S(EAGLE.replace("{draft}", "{target}"), target=DEEPSEEK)),
    ("draft-target-name-differs", S(target={"_name_or_path": "nvidia/Llama-3.3-70B-FP8"}, files={"draft/training.json": '{"target_model": "meta-llama/Llama-3.3-70B"}'})),
    ("draft-target-name-differs", S(files={"draft/training.json": '{"target_model": "meta-llama/Llama-3.3-70B"}'})),
    ("live-model-differs", S(live=running(model_path="/cache/models--org--target/snapshots/0123456789"))),
    ("live-accept-length-one", S(live=running(internal_states=[{}]))),
]
# fmt: on


@pytest.mark.parametrize(("rule", "severity", "setup"), SEVERITIES)
def test_severity_depends_on_what_happens(rule: str, severity: str, setup: Setup, tmp_path: Path) -> None:
    assert severity in {one.severity for one in found(setup, tmp_path) if one.rule == rule}


@pytest.mark.parametrize(("rule", "setup"), SILENT)
def test_guards(rule: str, setup: Setup, tmp_path: Path) -> None:
    assert rule not in {one.rule for one in found(setup, tmp_path)}


def test_every_rule_has_its_cases() -> None:
    assert set(CASES) == set(RULES)


def test_a_sound_deployment_has_no_finding_but_hints(tmp_path: Path) -> None:
    assert [one.rule for one in found(Setup(), tmp_path) if one.severity != "info"] == []
