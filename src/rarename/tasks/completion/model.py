"""The model of code completion: a causal Transformer that tells the next type and the next value.

Both are told from the state of the node before, with the embeddings of the input as weights of the output. A large
vocabulary makes the softmax over values dear, and only some nodes have a value: an answer holds states, and whoever
asks says for which nodes, in portions.

With a pointer, a value may also be copied from a place before (paper, section 4.1):

    p(a) = g · p_model(a) [a is in the vocabulary] + (1 - g) · Σ_j p_copy(j) [the value at j is a],
    g    = sigmoid(w_h · state + w_x · input + b)
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rarename.model import Memory, ModelConfig, Transformer
from rarename.tasks.completion.collate import Batch


class Pointer(nn.Module):
    """Where to copy from, and whether to."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.queries_keys = nn.Linear(width, 2 * width)
        self.of_state = nn.Linear(width, 1)
        self.of_input = nn.Linear(width, 1, bias=False)
        for linear in (self.queries_keys, self.of_state, self.of_input):
            nn.init.xavier_uniform_(linear.weight)
        nn.init.zeros_(self.queries_keys.bias)
        nn.init.zeros_(self.of_state.bias)

    def forward(self, states: Tensor, inputs: Tensor, has_value: Tensor) -> tuple[Tensor, Tensor]:
        """Log probabilities of the places to copy from, (B, L, L), and the logit of generating, (B, L)."""
        queries, keys = self.queries_keys(states).chunk(2, dim=-1)
        logits = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])  # (B, L, L)
        length = logits.shape[-1]
        can_copy = has_value[:, None, :] & torch.ones(length, length, dtype=torch.bool, device=logits.device).tril()
        lowest = torch.finfo(logits.dtype).min / 4
        copies = logits.masked_fill(~can_copy, lowest).log_softmax(dim=-1).masked_fill(~can_copy, lowest)
        generates = (self.of_state(states) + self.of_input(inputs))[..., 0]
        # Where there is nothing to copy, all is generated.
        return copies, generates.masked_fill(~can_copy.any(dim=-1), -lowest)


@dataclass(frozen=True)
class Answer:
    """What the model says after each node; weights of the output go with it."""

    states: Tensor  # (B, L, D)
    model: "CompletionModel"
    copies: Tensor | None = None  # (B, L, L)
    generates: Tensor | None = None  # (B, L)

    def type_logits(self, rows: Tensor, places: Tensor) -> Tensor:
        """For the types of the nodes at `places`: (N, types)."""
        return self.model.type_logits(self.states[rows, places - 1])

    def value_logits(self, rows: Tensor, places: Tensor) -> Tensor:
        """For the values of the nodes at `places`, as generated: (N, V)."""
        return self.model.value_logits(self.states[rows, places - 1])

    def choice_log_probabilities(self, rows: Tensor, places: Tensor, batch: Batch) -> Tensor:
        """Over the extended vocabulary: the ids, and behind them the places of the snippet, (N, V + L)."""
        generated = self.value_logits(rows, places).log_softmax(dim=-1)
        generated = F.pad(generated, (0, batch.types.shape[1]), value=torch.finfo(generated.dtype).min / 4)
        if self.copies is None or self.generates is None:
            return generated
        copied = torch.zeros_like(generated)
        copied.scatter_add_(1, batch.choices[rows], self.copies[rows, places - 1].exp())
        gate = self.generates[rows, places - 1][:, None]
        # The logarithm of nothing is minus infinity, which logaddexp takes well.
        return torch.logaddexp(F.logsigmoid(gate) + generated, F.logsigmoid(-gate) + copied.log())


class CompletionModel(nn.Module):
    """A causal Transformer with tied heads, and a pointer if wished."""

    def __init__(self, config: ModelConfig, num_types: int, num_values: int, has_pointer: bool = False) -> None:
        super().__init__()
        self.transformer = Transformer(config, num_types, num_values)
        self.type_bias = nn.Parameter(torch.zeros(num_types))
        self.value_bias = nn.Parameter(torch.zeros(num_values))
        self.pointer = Pointer(config.width) if has_pointer else None

    def forward(self, batch: Batch) -> Answer:
        """Read the snippets."""
        states = self.transformer(batch.types, batch.values, batch.is_node)
        if self.pointer is None:
            return Answer(states, self)
        inputs = self.transformer.embed(batch.types, batch.values)
        return Answer(states, self, *self.pointer(states, inputs, batch.has_value))

    def read(self, types: Tensor, values: Tensor, memory: list[Memory]) -> Tensor:
        """Read on, behind what the memory has read: states (B, L, D)."""
        states: Tensor = self.transformer(types, values, torch.ones_like(types, dtype=torch.bool), memory=memory)
        return states

    def type_logits(self, states: Tensor) -> Tensor:
        """(…, D) to (…, types)."""
        return F.linear(states, self.transformer.types.weight, self.type_bias)

    def value_logits(self, states: Tensor) -> Tensor:
        """(…, D) to (…, V)."""
        return F.linear(states, self.transformer.values.weight, self.value_bias)
