"""Causal relative attention in blocks of queries, with its own gradient.

It equals `RelativeAttention.plain_attention` and takes about half the time. A block of queries sees the keys up to its
own end, so few of the pairs above the diagonal are computed. The score of an offset is added along a diagonal of the
block, which is a strided view, and attention weights are summed per offset in the same way; each is the gradient of the
other. Autograd would copy all keys for every slice, hence the explicit backward pass.
"""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

BLOCK_SIZE = 128


def causal_attention(q: Tensor, k: Tensor, v: Tensor, rel_keys: Tensor, rel_values: Tensor, dropout: float) -> Tensor:
    """Attend from scaled queries (B, H, L, K) to keys and values (B, H, S, K); `rel_…` (H or 1, O, K) end at 0."""
    rel_keys, rel_values = (each.to(q.dtype).expand(q.shape[1], -1, -1) for each in (rel_keys, rel_values))
    attended: Tensor = CausalAttentionFn.apply(q, k, v, rel_keys, rel_values, dropout)  # type: ignore[no-untyped-call]
    return attended


class CausalAttentionFn(torch.autograd.Function):
    """The forward and backward pass over the blocks."""

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, rel_keys: Tensor, rel_values: Tensor, dropout: float
    ) -> Tensor:
        with torch.autocast(q.device.type, enabled=False):
            q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
            attended = torch.empty_like(q)
            saved = []
            min_logit = torch.finfo(q.dtype).min / 4
            for block, num_seen, padding in _blocks(q.shape[2], k.shape[2], rel_keys.shape[1] - 1):
                q_block = q[:, :, block]
                scores = _add_per_offset(
                    q_block, _pad_left(k[:, :, :num_seen], padding), q_block @ rel_keys.transpose(-2, -1)
                )
                scores[..., -q_block.shape[2] :] += min_logit * _above_diagonal(q_block)
                scores[..., :padding] = min_logit
                weights = scores.softmax(dim=-1)
                dropped = F.dropout(weights, dropout) if dropout else weights
                per_offset = _sum_per_offset(dropped, rel_keys.shape[1], dropped.sum(dim=-1) if dropout else 1)
                attended[:, :, block] = dropped @ _pad_left(v[:, :, :num_seen], padding) + per_offset @ rel_values
                saved += [weights, dropped, per_offset]
            ctx.save_for_backward(q, k, v, rel_keys, rel_values, *saved)
            ctx.dropout = dropout
            return attended

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, rel_keys, rel_values, *saved = ctx.saved_tensors
        grad = gradients[0].contiguous()
        grad_q, grad_k, grad_v = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
        grad_rel_keys, grad_rel_values = torch.zeros_like(rel_keys), torch.zeros_like(rel_values)
        for index, (block, num_seen, padding) in enumerate(_blocks(q.shape[2], k.shape[2], rel_keys.shape[1] - 1)):
            weights, dropped, per_offset = saved[3 * index : 3 * index + 3]
            q_block, grad_block = q[:, :, block], grad[:, :, block]
            grad_weights = _add_per_offset(
                grad_block, _pad_left(v[:, :, :num_seen], padding), grad_block @ rel_values.transpose(-2, -1)
            )
            if ctx.dropout:  # dropped weights are zero, kept ones were scaled up
                grad_weights *= (dropped != 0).to(dropped.dtype) / (1 - ctx.dropout)
            grad_scores = torch.ops.aten._softmax_backward_data(grad_weights, weights, -1, weights.dtype)
            grad_per_offset = _sum_per_offset(grad_scores, rel_keys.shape[1], 0)  # softmax gradients sum to zero
            grad_q[:, :, block] = grad_scores @ _pad_left(k[:, :, :num_seen], padding) + grad_per_offset @ rel_keys
            grad_k[:, :, :num_seen] += (grad_scores.transpose(-2, -1) @ q_block)[:, :, padding:]
            grad_v[:, :, :num_seen] += (dropped.transpose(-2, -1) @ grad_block)[:, :, padding:]
            grad_rel_keys += (grad_per_offset.transpose(-2, -1) @ q_block).sum(dim=0)
            grad_rel_values += (per_offset.transpose(-2, -1) @ grad_block).sum(dim=0)
        return grad_q, grad_k, grad_v, grad_rel_keys, grad_rel_values, None


def _blocks(num_queries: int, num_keys: int, max_distance: int) -> Iterator[tuple[slice, int, int]]:
    """The queries of each block, the number of keys it sees, and the left padding that gives it all near offsets."""
    num_cached = num_keys - num_queries
    for start in range(0, num_queries, BLOCK_SIZE):
        stop = min(start + BLOCK_SIZE, num_queries)
        yield slice(start, stop), num_cached + stop, max(0, max_distance - num_cached - start)


def _pad_left(keys: Tensor, padding: int) -> Tensor:
    return F.pad(keys, (0, 0, padding, 0)) if padding else keys


def _above_diagonal(q_block: Tensor) -> Tensor:
    size = q_block.shape[2]
    return torch.ones(size, size, dtype=q_block.dtype, device=q_block.device).triu(1)


def _add_per_offset(q: Tensor, k: Tensor, per_offset: Tensor) -> Tensor:
    """q · k (B, H, L, S) plus a number per offset (B, H, L, O); the first offset includes all farther ones."""
    farthest = per_offset[..., :1]
    products = torch.baddbmm(
        farthest.flatten(0, 1).expand(-1, -1, k.shape[2]), q.flatten(0, 1), k.flatten(0, 1).transpose(-2, -1)
    ).view(*q.shape[:3], k.shape[2])
    _near_diagonals(products, per_offset.shape[-1])[:] += per_offset - farthest
    return products


def _sum_per_offset(pairs: Tensor, num_offsets: int, total: Tensor | int) -> Tensor:
    """Sum numbers per pair (B, H, L, S) by offset (B, H, L, O); `total` is the sum of each query's row."""
    sums = _near_diagonals(pairs, num_offsets).clone()
    sums[..., 0] += total - sums.sum(dim=-1)
    return sums


def _near_diagonals(pairs: Tensor, num_offsets: int) -> Tensor:
    """View the pairs of each query with its nearest keys: (B, H, L, S) to (B, H, L, O)."""
    batch, heads, num_queries, num_keys = pairs.shape
    strides = (heads * num_queries * num_keys, num_queries * num_keys, num_keys + 1, 1)
    first = pairs.storage_offset() + num_keys - num_queries - num_offsets + 1
    return pairs.as_strided((batch, heads, num_queries, num_offsets), strides, storage_offset=first)
