"""Gradients that compute again what they would have to keep: of attention, its weights."""

from .attention import KEPT, recompute_attention

__all__ = ["KEPT", "recompute_attention"]
