"""The shapes of the target and its draft, once, for training and for the files it writes."""

from dataclasses import dataclass

END_OF_TEXT, TURN_START, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
SPECIAL_TOKENS = (END_OF_TEXT, TURN_START, TURN_END)
END_OF_TEXT_ID, TURN_START_ID, TURN_END_ID = range(3)


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

    @property
    def captured_layers(self) -> tuple[int, int, int]:
        """Layers whose input the draft gets: SGLang's own default for this depth."""
        return 2, self.layers // 2, self.layers - 3
