"""Deployments and findings for tests of the reports."""

from pathlib import Path

from engine.check.flags.reading import read_arguments
from engine.check.flags.release import choose_release
from engine.check.records import Deployment, Evidence, Finding, Fix, Launch, Model, Tensor
from engine.check.report.result import Checked
from engine.check.sources.reading import find_servers, read_source

COMMAND = (
    "python3 -m sglang.launch_server --model-path /models/target --port 30000 --speculative-algorithm EAGLE "
    "--speculative-draft-model-path /models/draft --speculative-num-steps 3 --speculative-eagle-topk 1 "
    "--speculative-num-draft-tokens 4 --disable-cuda-graph\n"
)
TARGET = Model(
    role="target",
    reference="/models/target",
    folder=None,
    config={
        "architectures": ["KimiK25ForConditionalGeneration"],
        "text_config": {"hidden_size": 7168, "num_hidden_layers": 61, "vocab_size": 163840},
    },
)
DRAFT = Model(
    role="draft",
    reference="/models/draft",
    folder=None,
    config={
        "architectures": ["LlamaForCausalLMEagle3"],
        "hidden_size": 7168,
        "vocab_size": 163840,
        "draft_vocab_size": 32000,
    },
    tensors={
        "fc.weight": Tensor("fc.weight", "BF16", (7168, 21504), "model.safetensors"),
        "lm_head.weight": Tensor("lm_head.weight", "BF16", (32000, 7168), "model.safetensors"),
    },
)


def launch_in(script: str, path: Path | None = None) -> Launch:
    if path is not None:
        path.write_text(script)
        return read_source(str(path)).launches[0]
    return find_servers(script, "launch.sh", None).launches[0]


def checked(launch: Launch, *findings: Finding, target: Model | None = TARGET, draft: Model | None = DRAFT) -> Checked:
    arguments = read_arguments(launch, choose_release("0.5.23"))
    return Checked(Deployment(launch=launch, arguments=arguments, target=target, draft=draft), findings)


def incident(launch: Launch) -> Finding:
    """The finding of the incident, with the place of its flag."""
    flag = read_arguments(launch, choose_release("0.5.23")).flags["speculative_algorithm"]
    return Finding(
        rule="eagle-flag-on-eagle3-draft",
        severity="error",
        title="EAGLE flag with an EAGLE-3 draft: fc is skipped",
        message="The target hands over final states 7168 wide in place of 21504, so fc is skipped without a word.",
        evidence=(Evidence(what="--speculative-algorithm", expected="EAGLE3", found="EAGLE", place=flag.place),),
        fix=Fix(text="Use --speculative-algorithm EAGLE3.", set_flags={"--speculative-algorithm": "EAGLE3"}),
        source="sglang 0.5.23, speculative/spec_info.py",
    )


def advice(set_flags: dict[str, str | None], *drop_flags: str, environment: dict[str, str] | None = None) -> Finding:
    fix = Fix(text="Change it.", set_flags=set_flags, drop_flags=drop_flags, set_environment=environment or {})
    return Finding(rule="advice", severity="warning", title="Advice", message="So.", fix=fix)
