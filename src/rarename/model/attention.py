"""Relative attention (Shaw et al. 2018): what a node sees of another depends on how far away it is.

    score(i, j)  = q_i · (k_j + a_K[clip(j - i)]) / √K
    output(i)    = Σ_j p_ij (v_j + a_V[clip(j - i)])

Written down like this the embeddings a_K and a_V would be laid out for each pair of nodes, which takes L² K numbers for
each head. There are only 2 R + 1 of them, so we multiply first and lay out afterwards: `_products` adds a number for
each offset to the pairs, along diagonals, and `_by_offset` adds the pairs of each offset up. Each is the gradient of
the other, so both kinds of attention bring their own gradient. Keys are padded: every query has R of them on a side.

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
        of_offsets = self.offset_keys.to(queries.dtype), self.offset_values.to(queries.dtype)
        dropout = self.dropout if self.training else 0.0
        if self.is_causal:
            mixed = _LookLeft.apply(queries, keys, values, *of_offsets, dropout)  # type: ignore[no-untyped-call]
        else:
            mixed = _Look.apply(queries, keys, values, *of_offsets, is_node, dropout)  # type: ignore[no-untyped-call]
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width))  # type: ignore[no-any-return]


def _lowest(scores: Tensor) -> float:
    return torch.finfo(scores.dtype).min / 4


class _Look(torch.autograd.Function):
    """Attention to both sides, with its own gradient.

    Queries, keys and values are (B, H, L, K), embeddings of offsets (H, 2 R + 1, K), and what is a node is (B, L).
    """

    @staticmethod
    def forward(
        context: Any,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        of_keys: Tensor,
        of_values: Tensor,
        is_node: Tensor,
        dropout: float,
    ) -> Tensor:
        distance = of_keys.shape[1] // 2
        with torch.autocast(queries.device.type, enabled=False):
            queries, right = queries.contiguous(), _is_right(queries)
            keys, values = (F.pad(each, (0, 0, distance, distance)) for each in (keys, values))
            scores = _products(queries, keys, queries @ of_keys.transpose(-2, -1), right)
            # Not minus infinity: a snippet that is all padding would become NaN.
            is_seen = F.pad(is_node, (distance, distance))[:, None, None]
            scores += torch.zeros_like(is_seen, dtype=scores.dtype).masked_fill(~is_seen, _lowest(scores))
            weights = scores.softmax(dim=-1)
            dropped = F.dropout(weights, dropout) if dropout else weights
            of_offset = _by_offset(dropped, of_keys.shape[1], dropped.sum(dim=-1) if dropout else 1, right)
            context.save_for_backward(queries, keys, values, of_keys, of_values, right, weights, dropped, of_offset)
            context.dropout = dropout
            return dropped @ values + of_offset @ of_values

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        queries, keys, values, of_keys, of_values, right, weights, dropped, weights_of_offset = context.saved_tensors
        above, distance = gradients[0].contiguous(), of_keys.shape[1] // 2
        nodes = slice(distance, distance + queries.shape[2])
        for_weights = _products(above, values, above @ of_values.transpose(-2, -1), right)
        if context.dropout:  # what was dropped is zero, what was kept has grown
            for_weights *= (dropped != 0) / (1 - context.dropout)
        for_scores = torch.ops.aten._softmax_backward_data(for_weights, weights, -1, weights.dtype)
        of_offset = _by_offset(for_scores, of_keys.shape[1], 0, right)  # the gradient of a softmax adds up to nothing
        for_queries = for_scores @ keys + of_offset @ of_keys
        for_keys = for_scores[..., nodes].transpose(-2, -1) @ queries
        for_values = dropped[..., nodes].transpose(-2, -1) @ above
        for_of_keys = (of_offset.transpose(-2, -1) @ queries).sum(dim=0)
        for_of_values = (weights_of_offset.transpose(-2, -1) @ above).sum(dim=0)
        return for_queries, for_keys, for_values, for_of_keys, for_of_values, None, None


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
                scores[..., -query.shape[2] :] += _lowest(scores) * _is_right(query)
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


def _is_right(query: Tensor) -> Tensor:
    """One for what lies to the right, (Q, Q)."""
    return torch.ones(query.shape[2], query.shape[2], dtype=query.dtype, device=query.device).triu(1)


def _products(queries: Tensor, keys: Tensor, of_offset: Tensor, right: Tensor | None = None) -> Tensor:
    """queries · keys, (B, H, Q, L), plus a number for each offset, (B, H, Q, O).

    The first is for all that is farther away too; if there are offsets to the `right`, so is the last one there.
    """
    far = of_offset[..., :1]
    shape = (*queries.shape[:3], keys.shape[2])
    products = torch.baddbmm(
        far.flatten(0, 1).expand(-1, -1, shape[3]), queries.flatten(0, 1), keys.flatten(0, 1).transpose(-2, -1)
    ).view(shape)
    _near(products, of_offset.shape[-1])[:] += of_offset - far
    if right is not None:
        products[..., -len(right) :].addcmul_(right, of_offset[..., -1:] - far)
    return products


def _by_offset(of_pair: Tensor, offsets: int, total: Tensor | int, right: Tensor | None = None) -> Tensor:
    """Add the numbers of the pairs up by their offset, (B, H, Q, O).

    All of a query's together are the total. If there are no offsets to the `right`, they must be zero there.
    """
    sums = _near(of_pair, offsets).clone()
    if right is not None:
        sums[..., -1] += (of_pair[..., -len(right) :] * right).sum(dim=-1)
    sums[..., 0] += total - sums.sum(dim=-1)
    return sums


def _near(of_pair: Tensor, offsets: int) -> Tensor:
    """The pairs of each query with those within the distance of it, a view: (B, H, Q, L) to (B, H, Q, O)."""
    batch, heads, queries, length = of_pair.shape
    steps = (heads * queries * length, queries * length, length + 1, 1)
    first = of_pair.storage_offset() + length - queries - offsets + 1
    return of_pair.as_strided((batch, heads, queries, offsets), steps, storage_offset=first)
