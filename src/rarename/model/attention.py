"""Multi-head self-attention with relative positions (Shaw et al. 2018).

    score(i, j) = q_i · (k_j + a_K[clip(j - i)]) / √K
    output(i)   = Σ_j softmax_j(score(i, j)) · (v_j + a_V[clip(j - i)])

`clip` limits the offset j - i to ±max_distance, so a_K and a_V hold few vectors, for each head or shared by all. No
tensor of shape (L, L, K) is materialized: q_i · a_K is computed once per offset, and the attention weights are summed
per offset before they are multiplied by a_V.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rarename.model.exported_attention import exported_attention
from rarename.model.kernel import relative_attention
from rarename.model.kv_cache import KVCache


class Attention(nn.Module):
    """Attention of every node to every other, or, if causal, to itself and the nodes before it; without positions."""

    def __init__(self, d_model: int, num_heads: int, dropout: float, causal: bool = False) -> None:
        super().__init__()
        self.num_heads, self.dropout, self.causal = num_heads, dropout, causal
        self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor,
        kv_cache: KVCache | None = None,
        nodes: Tensor | None = None,
    ) -> Tensor:
        """Map hidden states (B, L, D) to (B, L, D); `attention_mask` (B, S) is False for padding, which comes last.

        With `nodes` (B, N), only these attend, and the result is (B, N, D).
        """
        q, k, v = self._qkv(hidden_states)
        if kv_cache is not None:
            k, v = kv_cache.update(k, v)  # (B, H, S, K) each
        if nodes is not None:
            q = q.gather(2, nodes[:, None, :, None].expand(-1, q.shape[1], -1, q.shape[3]))
        attended = self.attend(q, k, v, attention_mask, nodes)
        return self.out_proj(attended.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]

    def attend(self, q: Tensor, k: Tensor, v: Tensor, attention_mask: Tensor, nodes: Tensor | None) -> Tensor:
        """Attend from scaled queries (B, H, L, K), of all nodes or some, to keys and values (B, H, S, K)."""
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

    def attend(self, q: Tensor, k: Tensor, v: Tensor, attention_mask: Tensor, nodes: Tensor | None) -> Tensor:
        if torch.compiler.is_exporting() or nodes is not None:
            return exported_attention(q, k, v, self.rel_keys, self.rel_values, attention_mask, self.causal, nodes)
        mask = None if self.causal else attention_mask
        return relative_attention(q, k, v, self.rel_keys, self.rel_values, mask, self.dropout * self.training)

    def _scores(self, q: Tensor, k: Tensor) -> Tensor:
        keys = torch.arange(k.shape[2], device=q.device)
        offsets = (keys - keys[k.shape[2] - q.shape[2] :, None]).clamp(-self.max_distance, self.max_distance)
        if self.causal:
            offsets = offsets.clamp(max=0)
        index = (offsets + self.max_distance).expand(*q.shape[:2], -1, -1)
        return super()._scores(q, k) + (q @ self.rel_keys.transpose(-2, -1)).gather(-1, index)
