"""Initial weights, with optional warm starts that give small models useful heads from the first step.

The paper uses none of the warm starts; the presets for a few cores use them for every strategy alike.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from rarename.config import ModelConfig
from rarename.model.attention import Attention, RelativeAttention


def init_weights(transformer: nn.Module, config: ModelConfig, causal: bool) -> None:
    """Draw all weights from torch's generator, then apply the warm starts of the config."""
    for module in transformer.modules():
        if config.init != "scaled":
            _init_as_published(module, config.init)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=config.d_model**-0.5)
        elif isinstance(module, RelativeAttention):
            nn.init.normal_(module.rel_keys, std=0.02)
            nn.init.normal_(module.rel_values, std=0.02)
    with torch.no_grad():
        attentions = [module for module in transformer.modules() if isinstance(module, Attention)]
        for attention in attentions:
            queries, keys, values = attention.qkv_proj.weight.chunk(3)
            if config.init_tied_qk:
                keys.copy_(queries)
            if config.init_neighbour_heads and causal:
                nn.init.orthogonal_(values)
            if config.init_copy_values:
                attention.out_proj.weight.copy_(values.T)
        relative = [each for each in attentions if isinstance(each, RelativeAttention)]
        if config.init_neighbour_heads and causal:
            init_neighbour_head(relative[0], head=0, offset=-1)
            init_induction_head(relative[0], relative[1])
        elif config.init_neighbour_heads:
            for head, offset in zip(range(config.num_heads), (-1, 1), strict=False):
                init_neighbour_head(relative[0], head, offset)


def _init_as_published(module: nn.Module, init: str) -> None:
    """The authors leave torch's weights in misuse, and draw all matrices by Xavier in completion."""
    if init == "xavier" and isinstance(module, nn.Linear | nn.Embedding):
        nn.init.xavier_uniform_(module.weight)
    elif isinstance(module, RelativeAttention):
        for offsets in (*module.rel_keys, *module.rel_values):  # an embedding of each offset
            (nn.init.xavier_uniform_ if init == "xavier" else nn.init.normal_)(offsets.detach())


def init_neighbour_head(attention: RelativeAttention, head: int, offset: int) -> None:
    """Make a head attend to the node at an offset, whatever that node is."""
    d_head = attention.rel_keys.shape[-1]
    rows = slice(head * d_head, (head + 1) * d_head)
    queries, keys, _ = attention.qkv_proj.weight.chunk(3)
    queries[rows] *= 0.3  # so that the content of a node hardly matters
    keys[rows] *= 0.3
    direction = F.normalize(torch.randn(d_head), dim=0) * math.sqrt(8 * math.sqrt(d_head))  # a score of 8
    attention.qkv_proj.bias[rows] = direction
    attention.rel_keys[head, attention.max_distance + offset] = direction


def init_induction_head(first: RelativeAttention, second: RelativeAttention) -> None:
    """Make head 0 of two layers an induction head (Olsson et al. 2022); the first attends to the previous node.

    The first head writes that node into a separate subspace. The head of the second layer queries this subspace with
    the current node, and so attends to the nodes that followed earlier nodes like it.
    """
    d_head = first.rel_keys.shape[-1]
    subspace = nn.init.orthogonal_(torch.empty(d_head, first.out_proj.out_features))
    first.out_proj.weight[:, :d_head] = subspace.T
    queries, keys, _ = second.qkv_proj.weight.chunk(3)
    queries[:d_head] = first.qkv_proj.weight.chunk(3)[2][:d_head]
    keys[:d_head] = subspace
