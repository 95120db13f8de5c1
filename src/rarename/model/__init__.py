"""Ids to states to logits. This part knows tensors, and nothing of code.

The letters that comments use for the sizes of axes:

    B  snippets in a batch      D  width of a state       H  heads
    L  nodes in a snippet       K  width of a head        R  largest distance that attention tells apart
    V  values                   O  offsets, 2 R + 1       Q  queries of a block
"""

from rarename.model.attention import Memory
from rarename.model.transformer import ModelConfig, Transformer

__all__ = ["Memory", "ModelConfig", "Transformer"]
