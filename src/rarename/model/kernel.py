"""Relative attention in blocks of queries, with its own gradient.

It takes about half the time of a `gather` and a `scatter` over all pairs, and less for long inputs. The score of an
offset is added along a diagonal of the block, which is a strided view, and attention weights are summed per offset in
the same way; each is the gradient of the other. All pairs that are far apart share one of two numbers. A causal block
sees the keys up to its own end, so few of the pairs above the diagonal are computed. Autograd would copy all keys for
every slice, hence the explicit backward pass.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

BLOCK_SIZE = 128


class Block(NamedTuple):
    """Some queries, and the keys they see, padded on both sides so that all near offsets exist."""

    queries: slice
    num_seen: int  # keys
    left: int  # padding
    right: int
    own: int  # the column of the first query's own key

    def pad(self, keys: Tensor) -> Tensor:
        """The keys or values (B, H, S, K) of the block."""
        seen = keys[:, :, : self.num_seen]
        return F.pad(seen, (0, 0, self.left, self.right)) if self.left or self.right else seen

    def unpad(self, keys: Tensor) -> Tensor:
        return keys[:, :, self.left : self.left + self.num_seen]


def relative_attention(
    q: Tensor, k: Tensor, v: Tensor, rel_keys: Tensor, rel_values: Tensor, mask: Tensor | None, dropout: float
) -> Tensor:
    """Attend from scaled queries (B, H, L, K) to keys and values (B, H, S, K).

    `rel_…` (H or 1, O, K) end at offset 0 in causal attention, which needs no mask (B, S): padding comes last.
    """
    rel_keys, rel_values = (each.to(q.dtype).expand(q.shape[1], -1, -1) for each in (rel_keys, rel_values))
    attended: Tensor = RelativeAttentionFn.apply(q, k, v, rel_keys, rel_values, mask, dropout)  # type: ignore[no-untyped-call]
    return attended


class RelativeAttentionFn(torch.autograd.Function):
    """The forward and backward pass over the blocks; causal without a mask."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        rel_keys: Tensor,
        rel_values: Tensor,
        mask: Tensor | None,
        dropout: float,
    ) -> Tensor:
        with torch.autocast(q.device.type, enabled=False):
            q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
            attended = torch.empty_like(q)
            saved = []
            min_logit = torch.finfo(q.dtype).min / 4  # finite: a row that is all padding would become NaN
            is_causal = mask is None
            masked = None if mask is None or bool(mask.all()) else ~mask[:, None, None]
            for block in _blocks(q.shape[2], k.shape[2], rel_keys.shape[1], is_causal):
                q_block = q[:, :, block.queries]
                scores = _add_per_offset(q_block, block.pad(k), q_block @ rel_keys.transpose(-2, -1), block, is_causal)
                if is_causal:
                    scores[..., block.own :] += min_logit * _above_diagonal(q_block)
                scores[..., : block.left] = min_logit
                scores[..., block.left + block.num_seen :] = min_logit
                if masked is not None:
                    scores[..., block.left : block.left + block.num_seen].masked_fill_(masked, min_logit)
                weights = scores.softmax(dim=-1)
                dropped = F.dropout(weights, dropout) if dropout else weights
                total = dropped.sum(dim=-1) if dropout else 1
                per_offset = _sum_per_offset(dropped, rel_keys.shape[1], total, block, is_causal)
                attended[:, :, block.queries] = dropped @ block.pad(v) + per_offset @ rel_values
                saved += [weights, dropped, per_offset]
            ctx.save_for_backward(q, k, v, rel_keys, rel_values, *saved)
            ctx.dropout, ctx.is_causal = dropout, is_causal
            return attended

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, rel_keys, rel_values, *saved = ctx.saved_tensors
        grad, num_offsets = gradients[0].contiguous(), rel_keys.shape[1]
        grad_q, grad_k, grad_v = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
        grad_rel_keys, grad_rel_values = torch.zeros_like(rel_keys), torch.zeros_like(rel_values)
        for index, block in enumerate(_blocks(q.shape[2], k.shape[2], num_offsets, ctx.is_causal)):
            weights, dropped, per_offset = saved[3 * index : 3 * index + 3]
            q_block, grad_block = q[:, :, block.queries], grad[:, :, block.queries]
            grad_weights = _add_per_offset(
                grad_block, block.pad(v), grad_block @ rel_values.transpose(-2, -1), block, ctx.is_causal
            )
            if ctx.dropout:  # dropped weights are zero, kept ones were scaled up
                grad_weights *= (dropped != 0).to(dropped.dtype) / (1 - ctx.dropout)
            grad_scores = torch.ops.aten._softmax_backward_data(grad_weights, weights, -1, weights.dtype)
            grad_per_offset = _sum_per_offset(grad_scores, num_offsets, 0, block, ctx.is_causal)  # they sum to zero
            grad_q[:, :, block.queries] = grad_scores @ block.pad(k) + grad_per_offset @ rel_keys
            grad_k[:, :, : block.num_seen] += block.unpad(grad_scores.transpose(-2, -1) @ q_block)
            grad_v[:, :, : block.num_seen] += block.unpad(dropped.transpose(-2, -1) @ grad_block)
            grad_rel_keys += (grad_per_offset.transpose(-2, -1) @ q_block).sum(dim=0)
            grad_rel_values += (per_offset.transpose(-2, -1) @ grad_block).sum(dim=0)
        return grad_q, grad_k, grad_v, grad_rel_keys, grad_rel_values, None, None


def _blocks(num_queries: int, num_keys: int, num_offsets: int, is_causal: bool) -> Iterator[Block]:
    num_cached = num_keys - num_queries
    max_distance = num_offsets - 1 if is_causal else num_offsets // 2
    for start in range(0, num_queries, BLOCK_SIZE):
        stop = min(start + BLOCK_SIZE, num_queries)
        left = max(0, max_distance - num_cached - start)
        num_seen = num_cached + stop if is_causal else num_keys
        right = 0 if is_causal else max(0, num_cached + stop + max_distance - num_keys)
        yield Block(slice(start, stop), num_seen, left, right, num_cached + start + left)


def _above_diagonal(q_block: Tensor) -> Tensor:
    size = q_block.shape[2]
    return torch.ones(size, size, dtype=q_block.dtype, device=q_block.device).triu(1)


def _add_per_offset(q: Tensor, k: Tensor, per_offset: Tensor, block: Block, is_causal: bool) -> Tensor:
    """q · k (B, H, L, S) plus a number per offset (B, H, L, O); the outer offsets include all farther ones."""
    before, after, own = per_offset[..., :1], per_offset[..., -1:], block.own
    products = torch.baddbmm(
        before.flatten(0, 1).expand(-1, -1, k.shape[2]), q.flatten(0, 1), k.flatten(0, 1).transpose(-2, -1)
    ).view(*q.shape[:3], k.shape[2])
    near = per_offset - before
    if not is_causal:
        difference, size = after - before, q.shape[2]
        products[..., own : own + size] += difference * _above_diagonal(q)
        products[..., own + size :] += difference
        near[..., near.shape[-1] // 2 + 1 :] -= difference
    _near_diagonals(products, near.shape[-1], block, is_causal)[:] += near
    return products


def _sum_per_offset(pairs: Tensor, num_offsets: int, total: Tensor | int, block: Block, is_causal: bool) -> Tensor:
    """Sum numbers per pair (B, H, L, S) by offset (B, H, L, O); `total` is the sum of each query's row."""
    sums = _near_diagonals(pairs, num_offsets, block, is_causal).clone()
    if not is_causal:
        own, size, middle = block.own, pairs.shape[2], num_offsets // 2 + 1
        after = (pairs[..., own : own + size] * _above_diagonal(pairs)).sum(dim=-1)
        after += pairs[..., own + size :].sum(dim=-1)
        total = total - after
        sums[..., -1] += after - sums[..., middle:].sum(dim=-1)
        sums[..., 0] += total - sums[..., :middle].sum(dim=-1)
    else:
        sums[..., 0] += total - sums.sum(dim=-1)
    return sums


def _near_diagonals(pairs: Tensor, num_offsets: int, block: Block, is_causal: bool) -> Tensor:
    """View the pairs of each query with its nearest keys: (B, H, L, S) to (B, H, L, O)."""
    batch, heads, num_queries, num_keys = pairs.shape
    strides = (heads * num_queries * num_keys, num_queries * num_keys, num_keys + 1, 1)
    first = block.own - (num_offsets - 1 if is_causal else num_offsets // 2)
    return pairs.as_strided((batch, heads, num_queries, num_offsets), strides, pairs.storage_offset() + first)
