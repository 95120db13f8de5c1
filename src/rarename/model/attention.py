"""Relative attention (Shaw et al. 2018): what a node sees of another depends on how far away it is.

    score(i, j)  = q_i · (k_j + a_K[clip(j - i)]) / √K
    output(i)    = Σ_j p_ij (v_j + a_V[clip(j - i)])

Written down like this the embeddings a_K and a_V would be laid out for each pair of nodes, which takes L² K numbers for
each head. There are only 2 R + 1 of them, so we multiply first and lay out afterwards: `spread` lays a number
for each offset out over the pairs, `collect` adds the pairs of each offset up. Each is the gradient of the other.

A causal model looks to the left only, so R + 1 offsets will do. It takes its queries block by block, each with the keys
up to its own end: of the pairs that lie to the right, which count for nothing, few are computed. One more node behind
those whose keys and values are kept is a block of one.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

BLOCK = 128
"""Queries that a causal model takes together."""


@dataclass
class Memory:
    """Keys and values of the nodes that a layer of a causal model has read; reading on adds to them."""

    keys: Tensor | None = None  # (B, H, L, K)
    values: Tensor | None = None  # (B, H, L, K)

    def add(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values so far."""
        if self.keys is not None and self.values is not None:
            keys, values = torch.cat([self.keys, keys], dim=2), torch.cat([self.values, values], dim=2)
        self.keys, self.values = keys, values
        return keys, values

    def crop(self, length: int) -> None:
        """Forget all nodes but the first ones."""
        if self.keys is not None and self.values is not None:
            self.keys, self.values = self.keys[:, :, :length], self.values[:, :, :length]


class RelativeAttention(nn.Module):
    """Attention with several heads over relative positions, to both sides or to the left only."""

    def __init__(self, width: int, heads: int, distance: int, dropout: float, is_causal: bool) -> None:
        super().__init__()
        self.heads, self.distance, self.dropout, self.is_causal = heads, distance, dropout, is_causal
        self.queries_keys_values = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        offsets = distance + 1 if is_causal else 2 * distance + 1
        self.offset_keys = nn.Parameter(torch.empty(heads, offsets, width // heads))  # (H, O, K)
        self.offset_values = nn.Parameter(torch.empty(heads, offsets, width // heads))  # (H, O, K)

    def forward(self, states: Tensor, is_node: Tensor, memory: Memory | None = None) -> Tensor:
        """States (B, L, D) to states (B, L, D); only nodes (B, L), not padding, are looked at.

        With a memory, the states follow those that it remembers. A causal model needs no care for padding, which
        stands behind all nodes.
        """
        batch, length, width = states.shape
        split = self.queries_keys_values(states).view(batch, length, 3, self.heads, width // self.heads)
        queries, keys, values = split.permute(2, 0, 3, 1, 4)  # (B, H, L, K) each
        queries = queries / math.sqrt(width // self.heads)
        if memory is not None:
            keys, values = memory.add(keys, values)
        mixed = self._look_left(queries, keys, values) if self.is_causal else self._look(queries, keys, values, is_node)
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width))  # type: ignore[no-any-return]

    def _look(self, queries: Tensor, keys: Tensor, values: Tensor, is_node: Tensor) -> Tensor:
        scores = queries @ keys.transpose(-2, -1)  # (B, H, L, L)
        scores = scores + spread(queries @ self.offset_keys.transpose(-2, -1), self.distance)
        # Not minus infinity: a snippet that is all padding would become NaN.
        mask = torch.zeros_like(is_node, dtype=scores.dtype).masked_fill(~is_node, _lowest(scores))
        scores = scores + mask[:, None, None, :]
        weights = F.dropout(scores.softmax(dim=-1), self.dropout, self.training)
        return weights @ values + collect(weights, self.distance) @ self.offset_values  # (B, H, L, K)

    def _look_left(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """The queries belong to the last of the keys."""
        of_offsets = self.offset_keys.to(queries.dtype), self.offset_values.to(queries.dtype)
        dropout = self.dropout if self.training else 0.0
        mixed: Tensor = _LookLeft.apply(queries, keys, values, *of_offsets, dropout)  # type: ignore[no-untyped-call]
        return mixed


def _lowest(scores: Tensor) -> float:
    return torch.finfo(scores.dtype).min / 4


class _LookLeft(torch.autograd.Function):
    """Attention to the left, block by block, with its own gradient: slices would make autograd copy all of the keys.

    Queries, keys and values are (B, H, L, K), embeddings of offsets (H, R + 1, K), the last one of offset 0.
    """

    @staticmethod
    def forward(
        context: Any, queries: Tensor, keys: Tensor, values: Tensor, of_keys: Tensor, of_values: Tensor, dropout: float
    ) -> Tensor:
        with torch.autocast(queries.device.type, enabled=False):
            queries, keys, values = queries.contiguous(), keys.contiguous(), values.contiguous()
            mixed = torch.empty_like(queries)
            kept = []
            for block, seen, missing in _blocks(queries.shape[2], keys.shape[2], of_keys.shape[1] - 1):
                query = queries[:, :, block]
                scores = _products(query, _padded(keys[:, :, :seen], missing), query @ of_keys.transpose(-2, -1))
                scores[..., -query.shape[2] :] += _right_mask(query)
                scores[..., :missing] = _lowest(scores)
                weights = scores.softmax(dim=-1)
                dropped = F.dropout(weights, dropout) if dropout else weights
                of_offset = _by_offset(dropped, of_keys.shape[1], dropped.sum(dim=-1) if dropout else 1)
                mixed[:, :, block] = dropped @ _padded(values[:, :, :seen], missing) + of_offset @ of_values
                kept += [weights, dropped, of_offset]
            context.save_for_backward(queries, keys, values, of_keys, of_values, *kept)
            context.dropout = dropout
            return mixed

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        queries, keys, values, of_keys, of_values, *kept = context.saved_tensors
        gradient = gradients[0].contiguous()
        for_queries, for_keys, for_values = torch.empty_like(queries), torch.zeros_like(keys), torch.zeros_like(values)
        for_of_keys, for_of_values = torch.zeros_like(of_keys), torch.zeros_like(of_values)
        for number, (block, seen, missing) in enumerate(_blocks(queries.shape[2], keys.shape[2], of_keys.shape[1] - 1)):
            weights, dropped, weights_of_offset = kept[3 * number : 3 * number + 3]
            query, above = queries[:, :, block], gradient[:, :, block]
            for_weights = _products(above, _padded(values[:, :, :seen], missing), above @ of_values.transpose(-2, -1))
            if context.dropout:  # what was dropped is zero, what was kept has grown
                for_weights *= (dropped != 0) / (1 - context.dropout)
            for_scores = torch.ops.aten._softmax_backward_data(for_weights, weights, -1, weights.dtype)
            of_offset = _by_offset(for_scores, of_keys.shape[1], 0)  # the gradient of a softmax adds up to nothing
            for_queries[:, :, block] = for_scores @ _padded(keys[:, :, :seen], missing) + of_offset @ of_keys
            for_keys[:, :, :seen] += (for_scores.transpose(-2, -1) @ query)[:, :, missing:]
            for_values[:, :, :seen] += (dropped.transpose(-2, -1) @ above)[:, :, missing:]
            for_of_keys += (of_offset.transpose(-2, -1) @ query).sum(dim=0)
            for_of_values += (weights_of_offset.transpose(-2, -1) @ above).sum(dim=0)
        return for_queries, for_keys, for_values, for_of_keys, for_of_values, None


def _blocks(queries: int, keys: int, distance: int) -> Iterator[tuple[slice, int, int]]:
    """The queries of each block, how many keys it sees, and how many more it would need for all near offsets."""
    before = keys - queries
    for start in range(0, queries, BLOCK):
        stop = min(start + BLOCK, queries)
        yield slice(start, stop), before + stop, max(0, distance - before - start)


def _padded(keys: Tensor, missing: int) -> Tensor:
    return F.pad(keys, (0, 0, missing, 0)) if missing else keys


def _right_mask(query: Tensor) -> Tensor:
    """The lowest score for what lies to the right, (Q, Q)."""
    length = query.shape[2]
    return torch.full((length, length), _lowest(query), dtype=query.dtype, device=query.device).triu(1)


def _products(queries: Tensor, keys: Tensor, of_offset: Tensor) -> Tensor:
    """queries · keys, (B, H, Q, L), plus a number for each offset, (B, H, Q, R + 1), of which the first is for all
    that is farther away too."""
    far = of_offset[..., :1]
    shape = (*queries.shape[:3], keys.shape[2])
    products = torch.baddbmm(
        far.flatten(0, 1).expand(-1, -1, shape[3]), queries.flatten(0, 1), keys.flatten(0, 1).transpose(-2, -1)
    ).view(shape)
    _near(products, of_offset.shape[-1])[:] += of_offset - far
    return products


def _by_offset(of_pair: Tensor, offsets: int, total: Tensor | int) -> Tensor:
    """Add the numbers of the pairs up by their offset, (B, H, Q, R + 1).

    To the right of a query they must be zero; all of a query's together are the total.
    """
    sums = _near(of_pair, offsets).clone()
    sums[..., 0] += total - sums.sum(dim=-1)
    return sums


def _near(of_pair: Tensor, offsets: int) -> Tensor:
    """The pairs of each query with itself and those directly before it, a view: (B, H, Q, L) to (B, H, Q, R + 1)."""
    batch, heads, queries, length = of_pair.shape
    steps = (heads * queries * length, queries * length, length + 1, 1)
    first = of_pair.storage_offset() + length - queries - offsets + 1
    return of_pair.as_strided((batch, heads, queries, offsets), steps, storage_offset=first)


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
