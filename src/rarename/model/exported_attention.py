"""Relative attention in the form that ONNX Runtime computes fastest, in inference.

ONNX Runtime is slow at `gather` and `scatter` of every pair. Most pairs are far apart, and all of these share one of
two vectors, for nodes before and after. So every pair gets the number of the far ones first, and only the few near
pairs of each node are corrected by their index.
"""

import torch
from torch import Tensor


def exported_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    rel_keys: Tensor,
    rel_values: Tensor,
    attention_mask: Tensor,
    causal: bool,
    nodes: Tensor | None = None,
) -> Tensor:
    """Attend from scaled queries (B, H, L, K) to keys and values (B, H, S, K); `rel_…` are (H or 1, O, K).

    The queries are those of the last nodes, or of `nodes` (B, L).
    """
    num_queries, num_keys, num_offsets = q.shape[2], k.shape[2], rel_keys.shape[1]
    max_distance = num_offsets - 1 if causal else num_offsets // 2
    keys = torch.arange(num_keys)
    queries = keys[num_keys - num_queries :, None] if nodes is None else nodes[:, None, :, None]
    steps = torch.arange(1 - max_distance, 1 if causal else max_distance)  # (N,), the offsets that are not far
    exists = (queries + steps >= 0) & (queries + steps < num_keys)
    near = (queries + steps).clamp(0, num_keys - 1).expand(*q.shape[:2], -1, -1)  # (B, H, L, N)
    is_before = (keys <= queries).to(q.dtype)  # (L, S) or (B, 1, L, S), 1 or 0

    # A softmax does not change if the scores of a node are all shifted: so the far ones on one side get nothing.
    per_offset = q @ rel_keys.transpose(-2, -1)  # (B, H, L, O)
    per_offset = per_offset - (per_offset[..., :1] if causal else per_offset[..., -1:])
    before, exact = per_offset[..., :1], per_offset[..., 1 : len(steps) + 1]
    is_visible = attention_mask[:, None, None].to(q.dtype) * (is_before if causal else 1)
    # A finite minimum, not -inf: a row that is all padding would become NaN.
    bias = (is_visible - 1) * (-torch.finfo(q.dtype).min / 4) + is_before * before  # (B, H, L, S)
    bias = bias.scatter_add(-1, near, (exact - before * (steps <= 0)) * exists)
    scores = torch.baddbmm(bias.flatten(0, 1), q.flatten(0, 1), k.flatten(0, 1).transpose(-2, -1))
    weights = scores.softmax(dim=-1)  # (B · H, L, S)

    near_sums = weights.view_as(bias).gather(-1, near) * exists  # (B, H, L, N)
    sums = [1 - near_sums.sum(dim=-1, keepdim=True), near_sums]  # of the weights, per offset
    if not causal:
        far_before = (weights.view_as(bias) * is_before).sum(dim=-1, keepdim=True)
        far_before = far_before - near_sums[..., :max_distance].sum(dim=-1, keepdim=True)
        sums = [far_before, near_sums, sums[0] - far_before]
    attended = torch.cat(sums, dim=-1) @ rel_values
    return torch.baddbmm(attended.flatten(0, 1), weights, v.flatten(0, 1)).view_as(q)
