"""Draft configs: dimensions that follow from the target, capture layers that SGLang takes as meant, no finding."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from console.command_line.train import train
from engine.check.facts.deployment import Facts
from engine.check.models import read_model
from engine.check.records import Deployment
from engine.train.draft_config import CannotDraft, draft_config

QWEN3_8B = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 4096, "num_hidden_layers": 36,
    "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 12288,
    "vocab_size": 151936, "max_position_embeddings": 40960, "rope_theta": 1000000.0, "rms_norm_eps": 1e-6,
    "torch_dtype": "bfloat16", "eos_token_id": 151645,
}  # fmt: skip
KIMI_K25 = {
    "architectures": ["KimiK25ForConditionalGeneration"], "model_type": "kimi_k25", "torch_dtype": "bfloat16",
    "text_config": {
        "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "hidden_size": 7168,
        "num_hidden_layers": 61, "num_attention_heads": 64, "num_key_value_heads": 64, "intermediate_size": 18432,
        "vocab_size": 163840, "max_position_embeddings": 262144, "kv_lora_rank": 512, "q_lora_rank": 1536,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "rope_theta": 50000.0, "rms_norm_eps": 1e-5,
    },
}  # fmt: skip


def make_target(folder: Path, config: dict[str, Any]) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize(("config", "outputs"), [(QWEN3_8B, [1, 17, 32]), (KIMI_K25, [1, 29, 57])])
@pytest.mark.parametrize("release", ["0.5.12", "0.5.23"])
def test_states_the_layers_whose_outputs_are_handed_over(
    tmp_path: Path, config: dict[str, Any], outputs: list[int], release: str
) -> None:
    target = make_target(tmp_path / "target", config)
    made = draft_config(read_model(str(target), "target"), "llama", None, release)
    draft = make_target(tmp_path / "draft", made)
    facts = Facts(
        Deployment(
            launch=None,
            arguments=None,
            target=read_model(str(target), "target"),
            draft=read_model(str(draft), "draft"),
        )
    )
    ids = facts.draft.nested_ids
    assert ids is not None
    assert [layer - 1 for layer in facts.target.capture_for(ids, release)] == outputs


@pytest.mark.parametrize(("config", "form"), [(QWEN3_8B, "llama"), (KIMI_K25, "llama"), (KIMI_K25, "mla")])
def test_the_checker_finds_no_error_in_what_it_writes(tmp_path: Path, config: dict[str, Any], form: str) -> None:
    target = make_target(tmp_path / "target", config)
    words = ["config", "--target", str(target), "--form", form, "--output", str(tmp_path / "draft")]
    result = CliRunner().invoke(train, words)
    assert result.exit_code == 0, result.output
    written = json.loads((tmp_path / "draft" / "config.json").read_text())
    assert written["hidden_size"] == (4096 if config is QWEN3_8B else 7168)
    assert written["draft_vocab_size"] == 32000


def test_never_overwrites(tmp_path: Path) -> None:
    target = make_target(tmp_path / "target", QWEN3_8B)
    words = ["config", "--target", str(target), "--output", str(target)]
    result = CliRunner().invoke(train, words)
    assert result.exit_code == 2 and "exists already" in result.output
    assert json.loads((target / "config.json").read_text()) == QWEN3_8B


@pytest.mark.parametrize(
    ("config", "form", "message"),
    [
        ({**QWEN3_8B, "architectures": ["MixtralForCausalLM"]}, "llama", "hands out no layers"),
        ({**QWEN3_8B, "num_hidden_layers": 4}, "llama", "4 layers"),
        ({key: value for key, value in QWEN3_8B.items() if key != "hidden_size"}, "llama", "no hidden_size"),
        (QWEN3_8B, "mla", "no MLA"),
    ],
)
def test_refuses_with_a_reason(tmp_path: Path, config: dict[str, Any], form: Any, message: str) -> None:
    target = make_target(tmp_path / "target", config)
    with pytest.raises(CannotDraft) as refused:
        draft_config(read_model(str(target), "target"), form, None, "0.5.23")
    assert message in f"{refused.value} {refused.value.remedy}"
