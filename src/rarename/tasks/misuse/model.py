"""The model of variable misuse: a Transformer with a head that points at nodes."""

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from rarename.model import ModelConfig, Transformer
from rarename.tasks.misuse.collate import NUM_USAGES, Batch


class Answer(Protocol):
    """What the model says, as logits."""

    location: Tensor  # (B, 1 + L), the first of them for no bug

    def repair(self, rows: Tensor, places: Tensor, batch: Batch) -> Tensor:
        """If example `rows[n]` is wrong at `places[n]`: where the right name stands, (N, L)."""


@dataclass(frozen=True)
class PointerAnswer:
    """Two pointers over the nodes, each by itself."""

    location: Tensor  # (B, 1 + L)
    repairs: Tensor  # (B, L)

    def repair(self, rows: Tensor, places: Tensor, batch: Batch) -> Tensor:
        return self.repairs[rows]


@dataclass(frozen=True)
class PairAnswer:
    """A pointer to the location, and from each location one to its repair."""

    location: Tensor  # (B, 1 + L)
    queries: Tensor  # (B, L, D)
    keys: Tensor  # (B, L, D)

    def repair(self, rows: Tensor, places: Tensor, batch: Batch) -> Tensor:
        queries = self.queries[rows, places] / math.sqrt(self.queries.shape[-1])
        logits = torch.einsum("nd,nld->nl", queries, self.keys[rows])
        names = batch.names[rows]
        is_other = names != names.gather(1, places[:, None])
        return logits.masked_fill(~(batch.is_variable[rows] & is_other), lowest(logits))


class Pointers(nn.Module):
    """The paper's: where it is wrong, and where the right name stands."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.pointers = nn.Linear(width, 2)
        self.no_bug = nn.Parameter(torch.zeros(1))

    def forward(self, states: Tensor, batch: Batch) -> PointerAnswer:
        """Point, from the states (B, L, D)."""
        location, repair = self.pointers(states).unbind(dim=-1)  # (B, L) each
        repair = repair.masked_fill(~batch.is_variable, lowest(repair))
        return PointerAnswer(_or_no_bug(location, self.no_bug, batch), repair)


class Pairs(nn.Module):
    """Where it is wrong, and then what belongs there: the repair is asked of the location itself."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.location = nn.Linear(width, 1)
        self.queries_keys = nn.Linear(width, 2 * width)
        self.no_bug = nn.Parameter(torch.zeros(1))

    def forward(self, states: Tensor, batch: Batch) -> PairAnswer:
        """Point, from the states (B, L, D)."""
        queries, keys = self.queries_keys(states).chunk(2, dim=-1)
        return PairAnswer(_or_no_bug(self.location(states)[..., 0], self.no_bug, batch), queries, keys)


HEADS: dict[str, type[Pointers] | type[Pairs]] = {"pointers": Pointers, "pairs": Pairs}


class MisuseModel(nn.Module):
    """A Transformer, and a head that points. It may be told uses and parts of names; the paper's does not."""

    def __init__(
        self,
        config: ModelConfig,
        num_types: int,
        num_values: int,
        head: str = "pointers",
        counts_uses: bool = False,
        num_parts: int = 0,
    ) -> None:
        super().__init__()
        self.transformer = Transformer(config, num_types, num_values)
        self.head = HEADS[head](config.width)
        self.usages = nn.Embedding(NUM_USAGES, config.width) if counts_uses else None
        self.parts = nn.EmbeddingBag(num_parts + 1, config.width, mode="sum", padding_idx=0) if num_parts else None
        for embedding in (self.usages, self.parts):
            if embedding is not None:
                nn.init.normal_(embedding.weight, std=config.width**-0.5)
        if self.parts is not None:
            nn.init.zeros_(self.parts.weight[0].detach())  # no part adds nothing

    def forward(self, batch: Batch) -> Answer:
        """Point at the location and at the repair."""
        more = None
        if self.usages is not None:
            more = self.usages(batch.usages)
        if self.parts is not None and batch.parts is not None:
            of_parts = self.parts(batch.parts.flatten(0, 1)).view(*batch.types.shape, -1)
            more = of_parts if more is None else more + of_parts
        states = self.transformer(batch.types, batch.values, batch.is_node, more)
        answer: Answer = self.head(states, batch)
        return answer


def _or_no_bug(location: Tensor, no_bug: Tensor, batch: Batch) -> Tensor:
    """The logits of the candidates, with that of no bug before them: (B, 1 + L)."""
    location = location.masked_fill(~(batch.is_node & batch.is_candidate), lowest(location))
    return torch.cat([no_bug.expand(len(batch), 1), location], dim=1)


def lowest(logits: Tensor) -> float:
    """The logit of what cannot be. Not minus infinity, of which gradients become NaN."""
    return torch.finfo(logits.dtype).min / 4
