"""Loss and scores of code completion (paper, section 4.1; Kim et al. 2021).

What counts, rule by rule:

                                  loss of the value     rank of the value
    no value, padding             -                     does not count
    UNK                           -                     none: scores 0, and counts
    first occurrence of VARn      -                     none: scores 0, and counts
    anything else                 cross entropy         scores 1 / rank up to 10, then 0

With a pointer, a value that the vocabulary lacks but a place before has is no UNK: it can be copied.
The first node of a file, and nodes that are only context in their window, are no targets at all.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from rarename.syntax import Role
from rarename.syntax.traversal import IDENTIFIER_ROLES
from rarename.tasks.completion.collate import Batch
from rarename.tasks.completion.model import Answer
from rarename.tasks.task import Loss

WORST_RANK = 10
"""Later ranks score nothing: nobody reads on."""

KINDS: dict[str, frozenset[Role]] = {
    "names": IDENTIFIER_ROLES,
    "reads": frozenset({Role.READ}),
    "attributes": frozenset({Role.ATTRIBUTE}),
    "parameters": frozenset({Role.PARAMETER}),
    "writes": frozenset({Role.WRITE}),
    "strings": frozenset({Role.STRING}),
    "numbers": frozenset({Role.NUMBER}),
    "others": frozenset(Role) - IDENTIFIER_ROLES - {Role.NONE, Role.STRING, Role.NUMBER},
}
"""Groups of values that are told apart. `names` are all that somebody chose, the next four and others."""

RARITIES = ("frequent, again", "rare, again", "frequent, first", "rare, first")
"""Groups of values by whether the vocabulary lacks them, and whether the window has them before. A rare value at its
first place scores 0 whatever the model."""

PORTION = 1 << 24
"""Logits that are held at once."""


def loss(answer: Answer, batch: Batch) -> Loss:
    """Cross entropy of the types and of the values."""
    rows, places = batch.is_target.nonzero(as_tuple=True)
    of_types = F.cross_entropy(answer.type_logits(rows, places), batch.types[rows, places], reduction="sum")
    num_types = len(rows)
    rows, places = (batch.is_target & batch.has_value & can_be_told(answer, batch)).nonzero(as_tuple=True)
    of_values = -_value_log_probabilities(answer, rows, places, batch).sum()
    counts = torch.tensor([num_types, len(rows)], device=of_types.device)
    return Loss(torch.stack([of_types, of_values]), counts)


def can_be_told(answer: Answer, batch: Batch) -> Tensor:
    """The values that the model can answer at all, (B, L)."""
    if answer.copies is None:
        return batch.is_known
    return batch.is_known | _stands_before(batch)


def _stands_before(batch: Batch) -> Tensor:
    return batch.first < torch.arange(batch.first.shape[1], device=batch.first.device)


def _value_log_probabilities(answer: Answer, rows: Tensor, places: Tensor, batch: Batch) -> Tensor:
    """Of the values that stand there, (N,); they must be such that can be told."""
    is_known, ids = batch.is_known[rows, places], batch.values[rows, places]
    states = answer.states[rows, places - 1]
    portions = list(_portions(len(rows), len(answer.model.value_bias)))

    def generated(states: Tensor, ids: Tensor) -> Tensor:
        return -F.cross_entropy(answer.model.value_logits(states), ids, reduction="none")

    if len(portions) <= 1:
        result = generated(states, ids)
    else:  # going back, logits are computed again, so that only one portion of them is held at a time
        parts = [checkpoint(generated, states[part], ids[part], use_reentrant=False) for part in portions]
        result = torch.cat(parts)
    if answer.copies is None or answer.generates is None:
        return result
    lowest = torch.finfo(result.dtype).min / 4
    is_same = batch.choices[rows] == batch.choices[rows, places][:, None]  # (N, L)
    copied = answer.copies[rows, places - 1].masked_fill(~is_same, lowest).logsumexp(dim=-1)
    gate = answer.generates[rows, places - 1]
    result = (F.logsigmoid(gate) + result).masked_fill(~is_known, lowest)
    return torch.logaddexp(result, F.logsigmoid(-gate) + copied)


def _portions(number: int, width: int) -> Iterator[slice]:
    step = max(1, PORTION // width)
    for start in range(0, number, step):
        yield slice(start, start + step)


def ranks(scores: Tensor, targets: Tensor) -> Tensor:
    """The rank of each target, (N,), among the scores of its row, (N, V), from 1; of equals the first is first.

    >>> ranks(torch.tensor([[0.1, 0.7, 0.2], [0.4, 0.4, 0.2]]), torch.tensor([2, 1])).tolist()
    [2, 2]
    """
    own = scores.gather(1, targets[:, None])
    is_first = torch.arange(scores.shape[1], device=scores.device) < targets[:, None]
    result: Tensor = 1 + ((scores > own) | ((scores == own) & is_first)).sum(dim=1)
    return result


def value_ranks(answer: Answer, rows: Tensor, places: Tensor, batch: Batch) -> Tensor:
    """The rank of each of these values, (N,); 0 for what cannot be told."""
    result = torch.zeros_like(rows)
    told = can_be_told(answer, batch)[rows, places].nonzero()[:, 0]
    for portion in _portions(len(told), len(answer.model.value_bias)):
        part = told[portion]
        chosen = (rows[part], places[part])
        if answer.copies is None:
            scores, targets = answer.value_logits(*chosen), batch.values[chosen]
        else:
            scores, targets = answer.choice_log_probabilities(*chosen, batch), batch.choices[chosen]
        result[part] = ranks(scores, targets)
    return result


@dataclass
class Counts:
    """The rank of each type and of each value; adds up over batches to the scores."""

    projects: list[str]
    """By their numbers."""
    columns: dict[str, list[NDArray[Any]]] = field(default_factory=dict)

    def add(self, answer: Answer, batch: Batch) -> None:
        """Judge a batch."""
        rows, places = batch.is_target.nonzero(as_tuple=True)
        self._add(
            type_rank=ranks(answer.type_logits(rows, places), batch.types[rows, places]),
            project_of_type=batch.projects[rows],
        )
        rows, places = (batch.is_target & batch.has_value).nonzero(as_tuple=True)
        self._add(
            rank=value_ranks(answer, rows, places, batch),
            role=batch.roles[rows, places],
            rarity=(batch.is_rare + 2 * ~_stands_before(batch))[rows, places],
            project=batch.projects[rows],
        )

    def _add(self, **columns: Tensor) -> None:
        for name, column in columns.items():
            self.columns.setdefault(name, []).append(column.cpu().numpy().astype(np.int32))

    def scores(self) -> dict[str, float]:
        """Mean reciprocal ranks and accuracies, with the counts behind them."""
        return _scores(self._column("rank"), self._column("type_rank"))

    def details(self) -> dict[str, Any]:
        """The scores of values by kind of node and by rarity, all by project, and the share that can be told at all."""
        found, role, project = self._column("rank"), self._column("role"), self._column("project")
        rarity = self._column("rarity")
        of_types, project_of_type = self._column("type_rank"), self._column("project_of_type")
        by_kind = {name: _of_ranks(found[np.isin(role, [int(one) for one in roles])]) for name, roles in KINDS.items()}
        by_project = {
            name: _scores(found[project == number], of_types[project_of_type == number])
            for number, name in enumerate(self.projects)
        }
        return {
            "possible_values": float((found > 0).mean()) if len(found) else 0.0,
            "by_kind": by_kind,
            "by_rarity": {name: _of_ranks(found[rarity == number]) for number, name in enumerate(RARITIES)},
            "by_project": {name: scores for name, scores in sorted(by_project.items()) if scores["num_values"]},
        }

    def _column(self, name: str) -> NDArray[np.int32]:
        return np.concatenate(self.columns.get(name, [np.zeros(0, dtype=np.int32)]))


def _scores(of_values: NDArray[np.int32], of_types: NDArray[np.int32]) -> dict[str, float]:
    return {
        f"{key}_{name}": value
        for name, found in (("values", of_values), ("types", of_types))
        for key, value in _of_ranks(found).items()
    }


def _of_ranks(found: NDArray[np.int32]) -> dict[str, float]:
    is_scored = (found > 0) & (found <= WORST_RANK)
    reciprocals = np.where(is_scored, 1.0 / np.maximum(found, 1), 0.0)
    return {
        "mrr": float(reciprocals.mean()) if len(found) else 0.0,
        "accuracy": float((found == 1).mean()) if len(found) else 0.0,
        "num": len(found),
    }
