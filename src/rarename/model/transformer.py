"""The Transformer over a depth-first AST traversal: type and value ids of each node in, hidden states out."""

import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rarename.config import ModelConfig
from rarename.model.attention import Attention, RelativeAttention
from rarename.model.init import init_weights
from rarename.model.kv_cache import KVCache

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": partial(F.gelu, approximate="tanh")}


class Layer(nn.Module):
    """Attention, then a feed-forward network, each with a residual connection and a norm."""

    def __init__(self, config: ModelConfig, causal: bool) -> None:
        super().__init__()
        size, dropout = (config.d_model, config.num_heads), config.dropout
        self.attention = (
            RelativeAttention(*size, config.max_relative_distance, dropout, causal, config.shared_offsets)
            if config.attention == "relative"
            else Attention(*size, dropout, causal)
        )
        self.attn_norm = nn.LayerNorm(config.d_model)
        self.ffn_norm = nn.LayerNorm(config.d_model)
        self.up_proj = nn.Linear(config.d_model, config.d_ff)
        self.down_proj = nn.Linear(config.d_ff, config.d_model)
        self.config = config

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor,
        kv_cache: KVCache | None = None,
        nodes: Tensor | None = None,
    ) -> Tensor:
        """(B, L, D) to (B, L, D), or to (B, N, D) with `nodes` (B, N)."""
        config, is_pre = self.config, self.config.norm == "pre"
        attn_in = self.attn_norm(hidden_states) if is_pre else hidden_states
        attn_out = self.attention(attn_in, attention_mask, kv_cache, nodes)
        if nodes is not None:
            hidden_states = hidden_states.gather(1, nodes[..., None].expand(-1, -1, hidden_states.shape[2]))
        hidden_states = hidden_states + F.dropout(attn_out, config.dropout, self.training)
        hidden_states = hidden_states if is_pre else self.attn_norm(hidden_states)
        activated = ACTIVATIONS[config.activation](self.up_proj(self.ffn_norm(hidden_states)))
        if config.ffn_dropout:
            activated = F.dropout(activated, config.dropout, self.training)
        return hidden_states + F.dropout(self.down_proj(activated), config.dropout, self.training)

    def log_weights(self, hidden_states: Tensor, attention_mask: Tensor, kv_cache: KVCache | None = None) -> Tensor:
        """The logarithm of the attention weights of `forward`, averaged over the heads: (B, L, S)."""
        attn_in = self.attn_norm(hidden_states) if self.config.norm == "pre" else hidden_states
        return self.attention.log_weights(attn_in, attention_mask, kv_cache)


class Transformer(nn.Module):
    """Sums the embeddings of types and values, then applies the layers."""

    def __init__(
        self, config: ModelConfig, num_types: int, num_values: int, causal: bool = False, max_length: int = 500
    ) -> None:
        super().__init__()
        self.config, self.causal = config, causal
        self.types = nn.Embedding(num_types, config.d_model)
        self.values = nn.Embedding(num_values, config.d_model)
        self.layers = nn.ModuleList(Layer(config, causal) for _ in range(config.num_layers))
        # With positions; in longer snippets the nodes at the end share the last one.
        self.positions = nn.Embedding(max_length, config.d_model) if config.attention == "absolute" else None
        self.final_norm = nn.LayerNorm(config.d_model) if config.norm == "pre" else nn.Identity()
        init_weights(self, config, causal)

    def forward(
        self,
        types: Tensor,
        values: Tensor,
        attention_mask: Tensor,
        extra_embeddings: Tensor | None = None,
        kv_caches: list[KVCache] | None = None,
        log_weights: list[Tensor] | None = None,
        nodes: Tensor | None = None,
    ) -> Tensor:
        """Map type ids (B, L), value ids (B, L) and optional further embeddings (B, L, D) to hidden states (B, L, D).

        With caches, one per layer, the nodes follow those that the caches hold. The log attention weights of the last
        layer (B, L, S) are appended to `log_weights`. With `nodes` (B, N), the last layer computes only these.
        """
        hidden_states = self.embed(types, values)
        if self.positions is not None:
            keys = None if kv_caches is None else kv_caches[0].keys
            start = 0 if keys is None else keys.shape[2]
            positions = torch.arange(start, start + types.shape[1], device=types.device)
            hidden_states = hidden_states + self.positions(positions.clamp(max=self.positions.num_embeddings - 1))
        if extra_embeddings is not None:
            hidden_states = hidden_states + extra_embeddings
        hidden_states = F.dropout(hidden_states, self.config.dropout, self.training)
        for index, layer in enumerate(self.layers):
            layer_in, kv_cache = hidden_states, None if kv_caches is None else kv_caches[index]
            is_last = index == len(self.layers) - 1
            hidden_states = layer(layer_in, attention_mask, kv_cache, nodes if is_last else None)
        if log_weights is not None:
            assert isinstance(layer, Layer)
            log_weights.append(layer.log_weights(layer_in, attention_mask, kv_cache))
        return self.final_norm(hidden_states)  # type: ignore[no-any-return]

    def embed(self, types: Tensor, values: Tensor) -> Tensor:
        """Map ids (B, L) to the input of the first layer, (B, L, D)."""
        embedded: Tensor = self.types(types) + self.values(values)
        return math.sqrt(self.config.d_model) * embedded if self.config.scale_embeddings else embedded

    def new_kv_caches(self) -> list[KVCache]:
        """Make empty caches, one per layer."""
        if not self.causal:
            raise ValueError("only a causal model can cache keys and values: elsewhere a new node changes all others")
        return [KVCache() for _ in self.layers]

    def num_parameters(self) -> int:
        """Count parameters without the embeddings, as the paper does."""
        embeddings = (self.types, self.values, self.positions)
        num_embeddings = sum(each.weight.numel() for each in embeddings if each is not None)
        return sum(parameter.numel() for parameter in self.parameters()) - num_embeddings
