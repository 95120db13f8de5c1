"""The model of code completion: a causal Transformer that predicts type and value of the next node.

The embeddings of the input are also the weights of the output. A large vocabulary makes the softmax over values
expensive, and only some nodes have a value. The output therefore holds hidden states, and logits are computed for
chosen nodes, in chunks.

With a pointer, a value may also be copied from an earlier node (paper, section 4.1):

    p(a) = g · p_model(a) [a is in the vocabulary] + (1 - g) · Σ_j p_copy(j) [the value at j is a],
    g    = sigmoid(w_h · hidden + w_x · input + b)
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rarename.config import ModelConfig
from rarename.model.kv_cache import KVCache
from rarename.model.transformer import Transformer
from rarename.tasks.completion.collate import CompletionBatch
from rarename.tasks.task import min_logit


class CopyPointer(nn.Module):
    """Where to copy from, and whether to generate instead."""

    def __init__(self, d_model: int, has_own_attention: bool = True) -> None:
        super().__init__()
        self.qk_proj = nn.Linear(d_model, 2 * d_model) if has_own_attention else None
        self.gate_hidden = nn.Linear(d_model, 1)
        self.gate_input = nn.Linear(d_model, 1, bias=False)
        for linear in (self.qk_proj, self.gate_hidden, self.gate_input):
            if linear is not None:
                nn.init.xavier_uniform_(linear.weight)
        if self.qk_proj is not None:
            nn.init.zeros_(self.qk_proj.bias)
        nn.init.zeros_(self.gate_hidden.bias)

    def logits(self, hidden_states: Tensor, keys: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Of its own attention, from all nodes to themselves and to earlier ones with these keys (B, S, D).

        Returns (B, L, S) and the keys of all nodes.
        """
        assert self.qk_proj is not None
        q, k = self.qk_proj(hidden_states).chunk(2, dim=-1)
        k = k if keys is None else torch.cat([keys, k], dim=1)
        return q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), k

    def forward(self, logits: Tensor, can_copy: Tensor, hidden_states: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Log probabilities of the nodes to copy from, (B, L, S), and the logit of generating, (B, L).

        `can_copy` (B, L, S) masks the nodes that have a value and are visible.
        """
        masked = min_logit(logits)
        copy_log_probs = logits.masked_fill(~can_copy, masked).log_softmax(dim=-1).masked_fill(~can_copy, masked)
        gate_logit = (self.gate_hidden(hidden_states) + self.gate_input(inputs))[..., 0]
        # Without anything to copy, the value is generated.
        return copy_log_probs, gate_logit.masked_fill(~can_copy.any(dim=-1), -masked)


@dataclass(frozen=True)
class CompletionOutput:
    """Hidden states of all nodes, with the model that turns them into logits."""

    hidden_states: Tensor  # (B, L, D)
    model: "CompletionModel"
    copy_log_probs: Tensor | None = None  # (B, L, L)
    gate_logit: Tensor | None = None  # (B, L)

    def type_logits(self, rows: Tensor, nodes: Tensor) -> Tensor:
        """For the types of nodes: (N, T)."""
        return self.model.type_logits(self.hidden_states[rows, nodes - 1])

    def value_logits(self, rows: Tensor, nodes: Tensor) -> Tensor:
        """For the generated values of nodes: (N, V)."""
        return self.model.value_logits(self.hidden_states[rows, nodes - 1])

    def extended_log_probs(self, rows: Tensor, nodes: Tensor, batch: CompletionBatch) -> Tensor:
        """Over the extended vocabulary, the value ids followed by the nodes of the window: (N, V + L)."""
        log_probs = self.value_logits(rows, nodes).log_softmax(dim=-1)
        log_probs = F.pad(log_probs, (0, batch.types.shape[1]), value=min_logit(log_probs))
        if self.copy_log_probs is None or self.gate_logit is None:
            return log_probs
        copy_probs = torch.zeros_like(log_probs)
        copy_probs.scatter_add_(1, batch.extended_ids[rows], self.copy_log_probs[rows, nodes - 1].exp())
        gate = self.gate_logit[rows, nodes - 1][:, None]
        # log(0) is minus infinity, which logaddexp handles.
        return torch.logaddexp(F.logsigmoid(gate) + log_probs, F.logsigmoid(-gate) + copy_probs.log())


@dataclass
class CompletionCache:
    """What a model keeps of the nodes that it has read: keys and values per layer, and the keys of the pointer."""

    layers: list[KVCache]
    pointer_keys: Tensor | None = None  # (B, S, D)

    def crop(self, length: int) -> None:
        """Keep only the first nodes."""
        for layer in self.layers:
            layer.crop(length)
        if self.pointer_keys is not None:
            self.pointer_keys = self.pointer_keys[:, :length]


class CompletionModel(nn.Module):
    """A causal Transformer with tied output weights, and an optional copy pointer."""

    def __init__(
        self,
        config: ModelConfig,
        num_types: int,
        num_values: int,
        copy_pointer: bool = False,
        pointer_attention: str = "own",
        max_length: int = 500,
    ) -> None:
        super().__init__()
        self.transformer = Transformer(config, num_types, num_values, causal=True, max_length=max_length)
        self.type_bias = nn.Parameter(torch.zeros(num_types))
        self.value_bias = nn.Parameter(torch.zeros(num_values))
        self.pointer = CopyPointer(config.d_model, pointer_attention == "own") if copy_pointer else None

    def forward(self, types: Tensor, values: Tensor, attention_mask: Tensor, has_value: Tensor) -> CompletionOutput:
        """Read whole windows; the arguments are `CompletionBatch.inputs()`."""
        if self.pointer is None:
            return CompletionOutput(self.transformer(types, values, attention_mask), self)
        log_weights: list[Tensor] | None = [] if self.pointer.qk_proj is None else None
        hidden_states = self.transformer(types, values, attention_mask, log_weights=log_weights)
        logits = log_weights[0] if log_weights else self.pointer.logits(hidden_states)[0]
        can_copy = has_value[:, None, :] & torch.ones_like(logits[0], dtype=torch.bool).tril()
        inputs = self.transformer.embed(types, values)
        return CompletionOutput(hidden_states, self, *self.pointer(logits, can_copy, hidden_states, inputs))

    def new_cache(self) -> CompletionCache:
        return CompletionCache(self.transformer.new_kv_caches())

    def predict_next(
        self, types: Tensor, values: Tensor, has_value: Tensor, cache: CompletionCache
    ) -> dict[str, Tensor]:
        """Read further nodes (B, L), and predict the node after the last one.

        `has_value` (B, S) covers all nodes that were read. Returns type logits after each new node (B, L, T) and value
        logits after the last (B, V); with a pointer also `copy_log_probs` (B, S) and `gate_logit` (B,).
        """
        log_weights: list[Tensor] | None = [] if self.pointer is not None and self.pointer.qk_proj is None else None
        mask = torch.ones_like(has_value)
        hidden_states = self.transformer(types, values, mask, kv_caches=cache.layers, log_weights=log_weights)
        last = hidden_states[:, -1:]
        outputs = {"type_logits": self.type_logits(hidden_states), "value_logits": self.value_logits(last)[:, 0]}
        if self.pointer is not None:
            if log_weights:
                logits = log_weights[0]
            else:
                logits, cache.pointer_keys = self.pointer.logits(hidden_states, cache.pointer_keys)
            inputs = self.transformer.embed(types[:, -1:], values[:, -1:])
            copy_log_probs, gate_logit = self.pointer(logits[:, -1:], has_value[:, None], last, inputs)
            outputs |= {"copy_log_probs": copy_log_probs[:, 0], "gate_logit": gate_logit[:, 0]}
        return outputs

    def type_logits(self, hidden_states: Tensor) -> Tensor:
        """(…, D) to (…, T)."""
        return F.linear(hidden_states, self.transformer.types.weight, self.type_bias)

    def value_logits(self, hidden_states: Tensor) -> Tensor:
        """(…, D) to (…, V)."""
        return F.linear(hidden_states, self.transformer.values.weight, self.value_bias)
