"""Relative attention (Shaw et al. 2018): what a node sees of another depends on how far away it is.

    score(i, j)  = q_i · (k_j + a_K[clip(j - i)]) / √K
    output(i)    = Σ_j p_ij (v_j + a_V[clip(j - i)])

Written down like this the embeddings a_K and a_V would be laid out for each pair of nodes, which takes L² K numbers for
each head. There are only 2 R + 1 of them, so we multiply first and lay out afterwards: `spread` lays a number
for each offset out over the pairs, `collect` adds the pairs of each offset up. Each is the gradient of the other.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class RelativeAttention(nn.Module):
    """Attention with several heads over relative positions, to both sides or to the left only."""

    def __init__(self, width: int, heads: int, distance: int, dropout: float, is_causal: bool) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"a width of {width} cannot be divided among {heads} heads")
        self.heads, self.distance, self.dropout, self.is_causal = heads, distance, dropout, is_causal
        self.queries_keys_values = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        offsets = 2 * distance + 1
        self.offset_keys = nn.Parameter(torch.empty(heads, offsets, width // heads))  # (H, O, K)
        self.offset_values = nn.Parameter(torch.empty(heads, offsets, width // heads))  # (H, O, K)

    def forward(self, states: Tensor, is_node: Tensor) -> Tensor:
        """States (B, L, D) to states (B, L, D); only nodes (B, L), not padding, are looked at."""
        batch, length, width = states.shape
        split = self.queries_keys_values(states).view(batch, length, 3, self.heads, width // self.heads)
        queries, keys, values = split.permute(2, 0, 3, 1, 4)  # (B, H, L, K) each
        queries = queries / math.sqrt(width // self.heads)
        scores = queries @ keys.transpose(-2, -1)  # (B, H, L, L)
        scores = scores + spread(queries @ self.offset_keys.transpose(-2, -1), self.distance)
        scores = scores + self._mask(is_node, scores.dtype)
        weights = F.dropout(scores.softmax(dim=-1), self.dropout, self.training)
        mixed = weights @ values + collect(weights, self.distance) @ self.offset_values  # (B, H, L, K)
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width))  # type: ignore[no-any-return]

    def _mask(self, is_node: Tensor, dtype: torch.dtype) -> Tensor:
        """0 where a node may look, very little elsewhere: (B, 1, 1 or L, L)."""
        # Not minus infinity: a snippet that is all padding would become NaN.
        lowest = torch.finfo(dtype).min / 4
        mask = torch.zeros_like(is_node, dtype=dtype).masked_fill(~is_node, lowest)[:, None, None, :]
        if self.is_causal:
            length = is_node.shape[1]
            mask = mask + torch.full((length, length), lowest, dtype=dtype, device=is_node.device).triu(1)
        return mask


def spread(of_offset: Tensor, distance: int) -> Tensor:
    """Lay a number for each offset, (B, H, L, O), out over the pairs of nodes, (B, H, L, L)."""
    return _Spread.apply(of_offset, distance)  # type: ignore[no-any-return, no-untyped-call]


def collect(of_pair: Tensor, distance: int) -> Tensor:
    """Add the numbers of the pairs, (B, H, L, L), up by their offset, (B, H, L, O)."""
    return _Collect.apply(of_pair, distance)  # type: ignore[no-any-return, no-untyped-call]


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, of_offset: Tensor, distance: int) -> Tensor:
        context.distance = distance
        return _spread(of_offset, distance)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return _collect(gradients[0], context.distance), None


class _Collect(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, of_pair: Tensor, distance: int) -> Tensor:
        context.distance = distance
        return _collect(of_pair, distance)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return _spread(gradients[0], context.distance), None


def _spread(of_offset: Tensor, distance: int) -> Tensor:
    """Write each row with its ends repeated, 2 L - 1 numbers; row i of the result is that, begun i later."""
    batch, heads, length, _ = of_offset.shape
    far = max(0, length - 1 - distance)
    first = max(0, distance - length + 1)
    near = of_offset[..., first : of_offset.shape[-1] - first]
    left, right = of_offset[..., :1], of_offset[..., -1:]
    rows = torch.cat([left.expand(-1, -1, -1, far), near, right.expand(-1, -1, -1, far)], dim=-1)
    steps = (heads * length * rows.shape[-1], length * rows.shape[-1], rows.shape[-1] - 1, 1)
    return rows.as_strided((batch, heads, length, length), steps, storage_offset=length - 1)


def _collect(of_pair: Tensor, distance: int) -> Tensor:
    """The offsets within the distance are diagonals; what lies beyond is a triangle on each side."""
    batch, heads, length, _ = of_pair.shape
    padded = F.pad(of_pair, (distance, distance))
    row = padded.shape[-1]
    steps = (heads * length * row, length * row, row + 1, 1)
    sums = padded.as_strided((batch, heads, length, 2 * distance + 1), steps).clone()
    if length > distance + 1:
        sums[..., 0] += of_pair.tril(-distance - 1).sum(dim=-1)
        sums[..., -1] += of_pair.triu(distance + 1).sum(dim=-1)
    return sums
