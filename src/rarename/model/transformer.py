"""The Transformer over a traversal: type and value of each node in, a state for each node out."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rarename.errors import check_least
from rarename.model.attention import Memory, RelativeAttention


@dataclass(frozen=True)
class ModelConfig:
    """The size and shape of a Transformer; the defaults are those of the paper for variable misuse."""

    width: int = 512
    """Of a node's state."""
    layers: int = 6
    heads: int = 8
    inner_width: int = 2048
    """Of the feed-forward part of a layer."""
    distance: int = 8
    """Nodes farther apart look alike to relative attention."""
    dropout: float = 0.2
    """On embeddings, on attention and on what each part of a layer adds."""
    is_causal: bool = False
    """Whether a node sees only what stands before it."""
    is_matching: bool = False
    """Begin with equal maps to queries and keys, so that nodes of the same value look at each other at once."""
    is_copying: bool = False
    """Begin with attention that hands on what it looks at as it is, so that values seen before are likely at once."""
    sees_neighbours: bool = False
    """Begin with heads of the first layer that look at the node before and, unless the model is causal, at the one
    behind. A causal model also begins with an induction head (Olsson et al. 2022) in the second layer: it looks at
    what stood behind the like of a node before, and the maps to values are orthogonal, so that copies are exact."""
    is_scaled: bool = False
    """Multiply embeddings by √width where they are read (Vaswani et al. 2017): what a node is then outweighs what
    the first layers add to it, and later layers can still tell which value it was."""

    def __post_init__(self) -> None:
        check_least(self, width=1, layers=1, heads=1, inner_width=1, distance=1, dropout=0)
        if self.dropout >= 1:
            raise ValueError(f"dropout is {self.dropout}; it must be below 1")
        if self.width % self.heads:
            raise ValueError(f"a width of {self.width} cannot be divided among {self.heads} heads")
        if self.sees_neighbours and self.is_causal and self.layers < 2:
            raise ValueError(
                "sees_neighbours needs two layers; take more of them, or set model.sees_neighbours to false"
            )


class Layer(nn.Module):
    """Attention, then a feed-forward part, each added to what was there (normalized before: more stable)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention = RelativeAttention(
            config.width, config.heads, config.distance, config.dropout, config.is_causal
        )
        self.before_attention = nn.LayerNorm(config.width)
        self.before_feed_forward = nn.LayerNorm(config.width)
        self.widen = nn.Linear(config.width, config.inner_width)
        self.narrow = nn.Linear(config.inner_width, config.width)
        self.dropout = config.dropout

    def forward(self, states: Tensor, is_node: Tensor, memory: Memory | None = None) -> Tensor:
        """(B, L, D) to (B, L, D)."""
        seen = self.attention(self.before_attention(states), is_node, memory)
        states = states + F.dropout(seen, self.dropout, self.training)
        thought = self.narrow(F.relu(self.widen(self.before_feed_forward(states))))
        return states + F.dropout(thought, self.dropout, self.training)


class Transformer(nn.Module):
    """Embeds types and values, adds them up, and lets the nodes look at each other."""

    def __init__(self, config: ModelConfig, num_types: int, num_values: int) -> None:
        super().__init__()
        self.config = config
        self.types = nn.Embedding(num_types, config.width)
        self.values = nn.Embedding(num_values, config.width)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.last = nn.LayerNorm(config.width)
        self._initialize()

    def _initialize(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=self.config.width**-0.5)
            elif isinstance(module, RelativeAttention):
                nn.init.normal_(module.offset_keys, std=0.02)
                nn.init.normal_(module.offset_values, std=0.02)
        with torch.no_grad():
            attentions = [module for module in self.modules() if isinstance(module, RelativeAttention)]
            for attention in attentions:
                queries, keys, values = attention.queries_keys_values.weight.chunk(3)
                if self.config.is_matching:
                    keys.copy_(queries)
                if self.config.sees_neighbours and self.config.is_causal:
                    nn.init.orthogonal_(values)
                if self.config.is_copying:
                    attention.output.weight.copy_(values.T)
            if self.config.sees_neighbours and self.config.is_causal:
                _look_at(attentions[0], head=0, offset=-1)
                _look_behind(attentions[0], attentions[1])
            elif self.config.sees_neighbours:
                for head, offset in zip(range(self.config.heads), (-1, 1), strict=False):
                    _look_at(attentions[0], head, offset)

    def forward(
        self,
        types: Tensor,
        values: Tensor,
        is_node: Tensor,
        more: Tensor | None = None,
        memory: list[Memory] | None = None,
    ) -> Tensor:
        """Type ids (B, L), value ids (B, L), and what `more` is known of each node (B, L, D), to states (B, L, D).

        With a memory, which `new_memory` makes, the nodes follow those that were read with it before.
        """
        states = self.embed(types, values)
        if more is not None:
            states = states + more
        states = F.dropout(states, self.config.dropout, self.training)
        for number, layer in enumerate(self.layers):
            states = layer(states, is_node, None if memory is None else memory[number])
        return self.last(states)  # type: ignore[no-any-return]

    def embed(self, types: Tensor, values: Tensor) -> Tensor:
        """Ids (B, L) to what the first layer reads, (B, L, D)."""
        embedded = self.types(types) + self.values(values)
        return math.sqrt(self.config.width) * embedded if self.config.is_scaled else embedded  # type: ignore[no-any-return]

    def new_memory(self) -> list[Memory]:
        """An empty memory of a causal model: what is read with it is not computed again."""
        if not self.config.is_causal:
            raise ValueError("a model that looks to both sides has nothing to keep: a new node changes all others")
        return [Memory() for _ in self.layers]

    def num_parameters(self) -> int:
        """Without the embeddings, as the paper counts."""
        embeddings = self.types.weight.numel() + self.values.weight.numel()
        return sum(parameter.numel() for parameter in self.parameters()) - embeddings


def _look_at(attention: RelativeAttention, head: int, offset: int) -> None:
    """Let a head begin by looking at the node at an offset, whatever that node is."""
    size = attention.offset_keys.shape[-1]
    rows = slice(head * size, (head + 1) * size)
    queries, keys, _ = attention.queries_keys_values.weight.chunk(3)
    queries[rows] *= 0.3  # what a node is hardly matters
    keys[rows] *= 0.3
    direction = F.normalize(torch.randn(size), dim=0) * math.sqrt(8 * math.sqrt(size))  # a score of 8
    attention.queries_keys_values.bias[rows] = direction
    attention.offset_keys[head, attention.distance + offset] = direction


def _look_behind(first: RelativeAttention, second: RelativeAttention) -> None:
    """Make an induction head of the first heads of two layers, the first of which looks at the node before.

    It hands that node on in dimensions of its own, so that it can be told from the node itself. The head of the
    second layer asks in these dimensions for what stands at its own node.
    """
    size = first.offset_keys.shape[-1]
    handed_on = nn.init.orthogonal_(torch.empty(size, first.output.out_features))
    first.output.weight[:, :size] = handed_on.T
    queries, keys, _ = second.queries_keys_values.weight.chunk(3)
    queries[:size] = first.queries_keys_values.weight.chunk(3)[2][:size]
    keys[:size] = handed_on
