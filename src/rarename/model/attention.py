"""Multi-head self-attention with relative positions (Shaw et al. 2018).

    score(i, j) = q_i · (k_j + a_K[clip(j - i)]) / √K
    output(i)   = Σ_j softmax_j(score(i, j)) · (v_j + a_V[clip(j - i)])

`clip` limits the offset j - i to ±max_distance, so a_K and a_V hold few vectors, for each head or shared by all. We
compute q_i · a_K once per offset and `gather` it for every pair (i, j). For the values we sum the attention weights per
offset with `scatter_add` and multiply once. No tensor of shape (L, L, K) is materialized.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rarename.model.causal_kernel import causal_attention
from rarename.model.exported_attention import exported_attention
from rarename.model.kv_cache import KVCache


class Attention(nn.Module):
    """Attention of every node to every other, or, if causal, to itself and the nodes before it; without positions."""

    def __init__(self, d_model: int, num_heads: int, dropout: float, causal: bool = False) -> None:
        super().__init__()
        self.num_heads, self.dropout, self.causal = num_heads, dropout, causal
        self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, hidden_states: Tensor, attention_mask: Tensor, kv_cache: KVCache | None = None) -> Tensor:
        """Map hidden states (B, L, D) to (B, L, D); `attention_mask` (B, S) is False for padding, which comes last."""
        q, k, v = self._qkv(hidden_states)
        if kv_cache is not None:
            k, v = kv_cache.update(k, v)  # (B, H, S, K) each
        attended = self.attend(q, k, v, attention_mask)
        return self.out_proj(attended.transpose(1, 2).reshape(hidden_states.shape))  # type: ignore[no-any-return]

    def attend(self, q: Tensor, k: Tensor, v: Tensor, attention_mask: Tensor) -> Tensor:
        """Attend from scaled queries (B, H, L, K) to keys and values (B, H, S, K): (B, H, L, K)."""
        is_visible = self._is_visible(q, k, attention_mask)
        return F.scaled_dot_product_attention(q, k, v, is_visible, self.dropout * self.training, scale=1.0)

    def log_weights(self, hidden_states: Tensor, attention_mask: Tensor, kv_cache: KVCache | None = None) -> Tensor:
        """The logarithm of the attention weights, averaged over the heads: (B, L, S). A cache has all keys already."""
        q, k, _ = self._qkv(hidden_states)
        k = k if kv_cache is None or kv_cache.keys is None else kv_cache.keys
        scores = self._scores(q, k)
        scores = scores.masked_fill(~self._is_visible(q, k, attention_mask), torch.finfo(scores.dtype).min / 4)
        return scores.log_softmax(dim=-1).logsumexp(dim=1) - math.log(self.num_heads)

    def _qkv(self, hidden_states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Scaled queries, keys and values, (B, H, L, K) each."""
        qkv = self.qkv_proj(hidden_states).view(*hidden_states.shape[:2], 3, self.num_heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        return q / math.sqrt(q.shape[-1]), k, v

    def _scores(self, q: Tensor, k: Tensor) -> Tensor:
        return q @ k.transpose(-2, -1)

    def _is_visible(self, q: Tensor, k: Tensor, attention_mask: Tensor) -> Tensor:
        """Mask of the keys that each query may see, (B, 1, L or 1, S)."""
        is_visible = attention_mask[:, None, None]
        if not self.causal:
            return is_visible
        keys = torch.arange(k.shape[2], device=k.device)
        return is_visible & (keys <= keys[k.shape[2] - q.shape[2] :, None])


class RelativeAttention(Attention):
    """Attention with relative positions."""

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        max_distance: int,
        dropout: float,
        causal: bool = False,
        shared_offsets: bool = False,
    ) -> None:
        super().__init__(d_model, num_heads, dropout, causal)
        self.max_distance = max_distance
        num_offsets = max_distance + 1 if causal else 2 * max_distance + 1
        shape = 1 if shared_offsets else num_heads, num_offsets, d_model // num_heads
        self.rel_keys = nn.Parameter(torch.empty(shape))  # a_K, (H or 1, O, K)
        self.rel_values = nn.Parameter(torch.empty(shape))  # a_V, (H or 1, O, K)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, attention_mask: Tensor) -> Tensor:
        if torch.compiler.is_exporting():
            return exported_attention(q, k, v, self.rel_keys, self.rel_values, attention_mask, self.causal)
        if self.causal:
            # The kernel ignores the mask: a causal model attends to no padding after the nodes.
            return causal_attention(q, k, v, self.rel_keys, self.rel_values, self.dropout * self.training)
        return self.plain_attention(q, k, v, attention_mask)

    def _scores(self, q: Tensor, k: Tensor) -> Tensor:
        offsets, _ = self._offsets(q.shape[2], k.shape[2], q.device)
        per_offset = q @ self.rel_keys.transpose(-2, -1)
        return super()._scores(q, k) + per_offset.gather(-1, offsets.expand(*q.shape[:2], -1, -1))

    def plain_attention(self, q: Tensor, k: Tensor, v: Tensor, attention_mask: Tensor) -> Tensor:
        """Attend from queries (B, H, L, K) to keys and values (B, H, S, K): (B, H, L, K)."""
        offsets, is_visible = self._offsets(q.shape[2], k.shape[2], q.device)  # (L, S); (L, S) or (1, 1)
        offsets = offsets.expand(*q.shape[:2], -1, -1)
        is_masked = ~(attention_mask[:, None, None] & is_visible)  # (B, 1, L or 1, S)
        # A finite minimum, not -inf: a row that is all padding would become NaN.
        bias = torch.zeros_like(is_masked, dtype=q.dtype).masked_fill(is_masked, torch.finfo(q.dtype).min / 4)
        bias = (q @ self.rel_keys.transpose(-2, -1)).gather(-1, offsets) + bias  # (B, H, L, S)
        scores = torch.baddbmm(bias.flatten(0, 1), q.flatten(0, 1), k.flatten(0, 1).transpose(-2, -1)).view_as(bias)
        weights = F.dropout(scores.softmax(dim=-1), self.dropout, self.training)
        per_offset = weights.new_zeros(*weights.shape[:-1], self.rel_values.shape[1])  # (B, H, L, O)
        per_offset = per_offset.scatter_add_(-1, offsets, weights) @ self.rel_values
        return torch.baddbmm(per_offset.flatten(0, 1), weights.flatten(0, 1), v.flatten(0, 1)).view_as(q)

    def _offsets(self, num_queries: int, num_keys: int, device: torch.device) -> tuple[Tensor, Tensor]:
        """For each query and key: the index of their clipped offset j - i, and whether the query may see the key."""
        keys = torch.arange(num_keys, device=device)
        offsets = keys - keys[num_keys - num_queries :, None]
        is_visible = offsets <= 0 if self.causal else torch.ones(1, 1, dtype=torch.bool, device=device)
        clipped = offsets.clamp(-self.max_distance, 0 if self.causal else self.max_distance)
        return clipped + self.max_distance, is_visible
