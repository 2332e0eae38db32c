"""The shapes of a target and its draft, once, for training and for the files it writes."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.reference.training.settings import CannotTrain

END_OF_TEXT, TURN_START, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
SPECIAL_TOKENS = (END_OF_TEXT, TURN_START, TURN_END)
END_OF_TEXT_ID, TURN_START_ID, TURN_END_ID = range(3)
FEWEST_LAYERS = 7
"""Below this 2, n//2 and n-3 are not three layers in rising order."""


@dataclass(frozen=True)
class Shape:
    """Dimensions of the pair. The defaults are what ships: 2.9 M and 0.8 M parameters, 7.5 MB as float16."""

    vocabulary: int = 2048
    draft_vocabulary: int = 1024
    hidden: int = 192
    layers: int = 8
    heads: int = 3
    key_value_heads: int = 1
    head_width: int = 64
    """64, since SGLang's rotary kernels take 64 to 512."""
    intermediate: int = 384
    draft_intermediate: int = 512
    context: int = 2048
    rope_theta: float = 10000.0
    norm_epsilon: float = 1e-5
    tied: bool = True
    """The head is the embedding table."""

    @property
    def captured_layers(self) -> tuple[int, int, int]:
        """Layers whose input the draft gets: SGLang's own default for this depth."""
        return 2, self.layers // 2, self.layers - 3

    @property
    def parameters(self) -> int:
        """Of the target, norms left out."""
        attention = 2 * self.hidden * self.head_width * (self.heads + self.key_value_heads)
        head = self.vocabulary * self.hidden * (1 if self.tied else 2)
        return self.layers * (attention + 3 * self.hidden * self.intermediate) + head


SIZES = {
    "small": Shape(),
    "large": Shape(
        vocabulary=4096,
        draft_vocabulary=2048,
        hidden=512,
        layers=12,
        heads=8,
        key_value_heads=2,
        intermediate=1408,
        draft_intermediate=1408,
    ),
}
"""What ships, and one of 35 M parameters that takes a GPU some minutes."""


def shape_of(config: Mapping[str, Any], draft_vocabulary: int | None) -> Shape:
    """The shape of a target by its config.json. Raises `CannotTrain` where the class is not a plain Llama."""
    if list(config.get("architectures") or []) != ["LlamaForCausalLM"]:
        raise CannotTrain(
            f"the target's class is {config.get('architectures')}", "give a LlamaForCausalLM, or SpecForge"
        )
    for key in ("rope_scaling", "attention_bias", "mlp_bias"):
        if config.get(key):
            raise CannotTrain(
                f"the target's config sets {key}", "the reference trainer takes plain Llamas: use SpecForge"
            )
    try:
        hidden, heads = int(config["hidden_size"]), int(config["num_attention_heads"])
        shape = Shape(
            vocabulary=int(config["vocab_size"]),
            hidden=hidden,
            layers=int(config["num_hidden_layers"]),
            heads=heads,
            key_value_heads=int(config.get("num_key_value_heads") or heads),
            head_width=int(config.get("head_dim") or hidden // heads),
            intermediate=int(config["intermediate_size"]),
            context=int(config["max_position_embeddings"]),
            rope_theta=float((config.get("rope_parameters") or config).get("rope_theta", 10_000.0)),
            norm_epsilon=float(config.get("rms_norm_eps", 1e-6)),
            tied=bool(config.get("tie_word_embeddings", False)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CannotTrain(f"the target's config lacks a dimension: {error}", "give a whole config.json") from error
    if shape.layers < FEWEST_LAYERS:
        raise CannotTrain(f"the target has {shape.layers} layers", f"EAGLE-3 needs at least {FEWEST_LAYERS}")
    wanted = draft_vocabulary or max(1, shape.vocabulary // 2)
    if not 1 <= wanted <= shape.vocabulary:
        raise CannotTrain(f"a draft vocabulary of {wanted}", f"give 1 to {shape.vocabulary}, the target's own")
    # A third more than the target's: the draft's one layer has less to lean on.
    wide = -(-shape.intermediate * 4 // 3 // 64) * 64
    return dataclasses.replace(shape, draft_vocabulary=wanted, draft_intermediate=wide)
