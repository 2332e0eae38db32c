"""Public targets with public drafts, as they are served: no error is found in any."""

from pathlib import Path

import pytest

from engine.check.rules import findings
from tests.check.pairs import Config, deployment, dflash_tensors, eagle3_tensors, mla_tensors, model
from tests.check.public_targets import FP8, MLA, TARGETS, Shape, draft_config, target_config

TREE = "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
SERVE = "python3 -m sglang.launch_server --model-path {target} --speculative-algorithm"
WITH_DRAFT = "--speculative-draft-model-path {draft}"
EAGLE3 = f"{SERVE} EAGLE3 {WITH_DRAFT} {TREE}"


RELEASES = ("0.5.9", "0.5.10", "0.5.11", "0.5.12", "0.5.13", "0.5.16", "0.5.20", "0.5.22", "0.5.23", None)
FORMS = ("ids", "no ids", "shared head", "no weights", "whole vocabulary")


def errors(command: str, root: Path, release: str | None) -> list[tuple[str, str]]:
    found = findings(deployment(command, root, release))
    return [(one.rule, one.message) for one in found if one.severity == "error"]


def allowed(shape: Shape, release: str | None) -> bool:
    def key(text: str) -> tuple[int, ...]:
        return tuple(int(part) for part in text.split("."))

    return release is None or key(release) >= key(shape.since)


PAIRS = [
    (name, form, RELEASES[(index * len(FORMS) + number) % len(RELEASES)])
    for index, name in enumerate(TARGETS)
    for number, form in enumerate(FORMS)
]


@pytest.mark.parametrize(("name", "form", "release"), [pair for pair in PAIRS if allowed(TARGETS[pair[0]], pair[2])])
def test_an_eagle3_draft_fits_its_target(name: str, form: str, release: str | None, tmp_path: Path) -> None:
    shape = TARGETS[name]
    config = draft_config(shape)
    if form != "no ids":
        ids = [1, shape.layers // 2 - 1, shape.layers - 4]
        config["eagle_config"] = {"eagle_aux_hidden_state_layer_ids": ids, "use_aux_hidden_state": True}
    if form == "shared head":
        config["draft_vocab_size"] = None
    if form == "whole vocabulary":
        config["draft_vocab_size"] = shape.vocab
    tensors = eagle3_tensors(config, 3 * shape.hidden, embeddings=form == "ids")
    model(tmp_path / "target", target_config(shape))
    model(tmp_path / "draft", config, None if form == "no weights" else tensors)
    assert errors(EAGLE3 + " --tp-size 8", tmp_path, release) == []


def test_there_are_more_than_sixty_of_them() -> None:
    assert len([pair for pair in PAIRS if allowed(TARGETS[pair[0]], pair[2])]) > 60


@pytest.mark.parametrize("release", ["0.5.9", "0.5.13", "0.5.23", None])
@pytest.mark.parametrize("name", ["gpt-oss-20b", "gpt-oss-120b"])
def test_gpt_oss_drafts_as_specforge_ships_them(name: str, release: str | None, tmp_path: Path) -> None:
    shape = TARGETS[name]
    ids = [1, shape.layers // 2 - 1, shape.layers - 3]
    config = draft_config(
        shape, eagle_config={"eagle_aux_hidden_state_layer_ids": ids}, num_attention_heads=64, head_dim=64
    )
    model(tmp_path / "target", target_config(shape))
    model(tmp_path / "draft", config, eagle3_tensors(config, 3 * shape.hidden))
    assert errors(EAGLE3, tmp_path, release) == []


@pytest.mark.parametrize("name", ["Llama-3.3-70B"])
def test_a_narrower_draft_with_its_own_embeddings(name: str, tmp_path: Path) -> None:
    shape = TARGETS[name]
    config = draft_config(shape, hidden_size=6144, target_hidden_size=8192, intermediate_size=16384)
    model(tmp_path / "target", target_config(shape))
    model(tmp_path / "draft", config, eagle3_tensors(config, 3 * 8192, embeddings=True))
    assert errors(EAGLE3, tmp_path, "0.5.23") == []


@pytest.mark.parametrize("release", ["0.5.12", "0.5.16", "0.5.23"])
@pytest.mark.parametrize("vocabulary", [None, 163840, "absent"])
def test_the_mla_draft_of_kimi(release: str, vocabulary: int | str | None, tmp_path: Path) -> None:
    shape = TARGETS["Kimi-K2.5"]
    config = draft_config(
        shape, **MLA, architectures=["Eagle3DeepseekV2ForCausalLM"], model_type="deepseek_v3", target_hidden_size=None
    )
    config["draft_vocab_size"] = vocabulary
    if vocabulary == "absent":
        del config["draft_vocab_size"]
    tensors = mla_tensors(config, 21504, head=vocabulary if isinstance(vocabulary, int) else None)
    model(tmp_path / "target", target_config(shape))
    model(tmp_path / "draft", config, tensors)
    assert errors(EAGLE3 + " --tp-size 8 --quantization modelopt_fp4", tmp_path, release) == []


BUNDLED = ["DeepSeek-V3", "DeepSeek-V3.2", "GLM-4.5-Air", "GLM-4.6", "GLM-4.7-Flash", "GLM-5"]


@pytest.mark.parametrize("release", ["0.5.9", "0.5.16", "0.5.23", None])
@pytest.mark.parametrize("name", BUNDLED)
@pytest.mark.parametrize("algorithm", ["EAGLE", "NEXTN"])
@pytest.mark.parametrize("path", ["", "--speculative-draft-model-path {target}"])
def test_bundled_mtp(name: str, algorithm: str, release: str | None, path: str, tmp_path: Path) -> None:
    model(tmp_path / "target", target_config(TARGETS[name]))
    command = f"sglang serve --model-path {{target}} --speculative-algorithm {algorithm} {path} {TREE}"
    assert errors(command, tmp_path, release) == []


@pytest.mark.parametrize("path", ["", "--speculative-draft-model-path {target}"])
@pytest.mark.parametrize(
    "architecture",
    ["Qwen3NextForCausalLM", "MiMoForCausalLM", "Qwen3_5MoeForConditionalGeneration", "Step3p5ForCausalLM"],
)
def test_mtp_by_the_renamed_class(architecture: str, path: str, tmp_path: Path) -> None:
    shape = TARGETS["Qwen3-Next-80B"]._replace(architecture=architecture, nested="Conditional" in architecture)
    model(tmp_path / "target", target_config(shape))
    command = f"sglang serve --model-path {{target}} --speculative-algorithm NEXTN {path} {TREE}"
    assert errors(command, tmp_path, None) == []


@pytest.mark.parametrize("architecture", ["DeepseekV3ForCausalLMNextN", "Glm4MoeForCausalLMNextN"])
def test_an_exported_mtp_head(architecture: str, tmp_path: Path) -> None:
    shape = TARGETS["DeepSeek-V3"]
    model(tmp_path / "target", target_config(shape))
    model(tmp_path / "draft", target_config(shape, architectures=[architecture], num_hidden_layers=1))
    assert errors(EAGLE3.replace("EAGLE3", "EAGLE"), tmp_path, "0.5.23") == []


@pytest.mark.parametrize(
    ("architecture", "name"),
    [
        ("LlamaForCausalLMEagle", "Llama-3.1-8B"),
        ("Qwen2ForCausalLMEagle", "Qwen2.5-7B"),
        ("MistralForCausalLMEagle", "Mistral-7B"),
    ],
)
@pytest.mark.parametrize(
    "tree", [TREE, "", "--speculative-num-steps 5 --speculative-eagle-topk 8 --speculative-num-draft-tokens 64"]
)
def test_eagle_1_and_2(architecture: str, name: str, tree: str, tmp_path: Path) -> None:
    shape = TARGETS[name]
    config = draft_config(
        shape, architectures=[architecture], num_attention_heads=shape.heads, num_key_value_heads=shape.kv_heads
    )
    del config["draft_vocab_size"]
    model(tmp_path / "target", target_config(shape))
    model(tmp_path / "draft", config, {"fc.weight": ("BF16", (shape.hidden, 2 * shape.hidden))})
    command = f"{SERVE} EAGLE {WITH_DRAFT} {tree}"
    assert errors(command, tmp_path, "0.5.23") == []


def test_a_small_model_of_the_same_family(tmp_path: Path) -> None:
    model(tmp_path / "target", target_config(TARGETS["Qwen3-32B"]))
    model(tmp_path / "draft", target_config(TARGETS["Qwen3-4B"]))
    assert errors(EAGLE3.replace("EAGLE3", "STANDALONE"), tmp_path, "0.5.23") == []


@pytest.mark.parametrize("more", ["", "--speculative-num-draft-tokens 8 --speculative-ngram-max-bfs-breadth 4"])
def test_ngram(more: str, tmp_path: Path) -> None:
    model(tmp_path / "target", target_config(TARGETS["Qwen3-8B"]))
    assert (
        errors(f"sglang serve --model-path {{target}} --speculative-algorithm NGRAM {more}", tmp_path, "0.5.23") == []
    )


@pytest.mark.parametrize("architecture", ["DFlashDraftModel", "DFlash2DraftModel"])
@pytest.mark.parametrize("name", ["Qwen3-8B", "Qwen3-Coder-480B-FP8"])
def test_dflash(architecture: str, name: str, tmp_path: Path) -> None:
    shape = TARGETS[name]
    block = {"target_layer_ids": [1, 9, 17, 25, 33], "mask_token_id": 151669, "block_size": 16}
    config = draft_config(
        shape, architectures=[architecture], model_type="qwen3", num_hidden_layers=5, dflash_config=block
    )
    del config["draft_vocab_size"]
    model(tmp_path / "target", target_config(shape))
    model(tmp_path / "draft", config, dflash_tensors(config, 5))
    command = f"{SERVE} DFLASH {WITH_DRAFT} --speculative-num-draft-tokens 16"
    assert errors(command, tmp_path, "0.5.23") == []


def test_a_gemma_4_assistant(tmp_path: Path) -> None:
    shape = TARGETS["gemma-3-27b"]._replace(architecture="Gemma4ForConditionalGeneration", kind="gemma4")
    model(tmp_path / "target", target_config(shape))
    model(
        tmp_path / "draft",
        {
            "architectures": ["Gemma4AssistantForCausalLM"],
            "model_type": "gemma4_assistant",
            "hidden_size": 1024,
            "num_hidden_layers": 4,
            "vocab_size": 262208,
        },
    )
    assert errors(EAGLE3.replace("EAGLE3", "NEXTN"), tmp_path, "0.5.23") == []


@pytest.mark.parametrize("quantised", [FP8, {"quantization_config": {"quant_method": "compressed-tensors"}}, {}])
def test_a_quantised_target_with_a_plain_draft(quantised: Config, tmp_path: Path) -> None:
    shape = TARGETS["Llama-3.1-8B"]
    config = draft_config(shape, num_aux_hidden_states=3, fc_norm=False, norm_output=False)
    model(tmp_path / "target", target_config(shape, **quantised))
    model(tmp_path / "draft", config, eagle3_tensors(config, 3 * shape.hidden))
    assert errors(EAGLE3 + " --dtype bfloat16 --mem-fraction-static 0.8 --tp 2", tmp_path, "0.5.23") == []


@pytest.mark.parametrize("prefix", ["", "model."])
@pytest.mark.parametrize("layer", ["midlayer.", "layers.0."])
def test_every_spelling_of_tensor_names(prefix: str, layer: str, tmp_path: Path) -> None:
    shape = TARGETS["Qwen3-8B"]
    config = draft_config(shape)
    tensors = {
        (name if name in ("lm_head.weight", "d2t", "t2d") else prefix + name.replace("midlayer.", layer)): value
        for name, value in eagle3_tensors(config, 3 * shape.hidden).items()
    }
    model(tmp_path / "target", target_config(shape))
    model(tmp_path / "draft", config, tensors)
    assert errors(EAGLE3, tmp_path, "0.5.23") == []


def test_captured_states_without_speculation(tmp_path: Path) -> None:
    model(tmp_path / "target", target_config(TARGETS["Qwen3-8B"]))
    command = "sglang serve --model-path {target} --speculative-algorithm EAGLE3 --enable-return-aux-hidden-states"
    assert errors(command, tmp_path, "0.5.23") == []
