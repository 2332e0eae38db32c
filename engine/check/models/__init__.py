"""Reads models as their files describe them: configs, tokenizers, safetensors headers. No weights, no remote code."""

from engine.check.models.reading import read_model

__all__ = ["read_model"]
