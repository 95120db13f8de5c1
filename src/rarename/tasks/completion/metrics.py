"""Metrics of code completion (paper, section 4.1; Kim et al. 2021). What counts is the table in `loss`."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rarename.syntax import Role
from rarename.syntax.traversal import IDENTIFIER_ROLES
from rarename.tasks.completion.collate import CompletionBatch
from rarename.tasks.completion.loss import chunks, is_predictable, occurred_before
from rarename.tasks.completion.model import CompletionOutput
from rarename.tasks.task import Metrics

MAX_RANK = 10
"""Higher ranks score 0: users do not read that far."""

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
"""Groups of values. `names` are all values that a programmer chose: the next four groups and others."""

RARITIES = ("frequent, again", "rare, again", "frequent, first", "rare, first")
"""Groups of values by whether they are outside the vocabulary, and whether the window has them before. A rare value at
its first occurrence scores 0 whatever the model."""


class CompletionMetrics(Metrics):
    """The rank of each type and each value."""

    def update(self, output: CompletionOutput, batch: CompletionBatch) -> None:
        rows, nodes = batch.is_target.nonzero(as_tuple=True)
        type_ranks = ranks(output.type_logits(rows, nodes), batch.types[rows, nodes])
        columns = {"type_rank": type_ranks, "type_project": batch.projects[rows]}
        rows, nodes = (batch.is_target & batch.has_value).nonzero(as_tuple=True)
        columns |= {
            "rank": value_ranks(output, rows, nodes, batch),
            "role": batch.roles[rows, nodes],
            "rarity": (batch.is_rare + 2 * ~occurred_before(batch))[rows, nodes],
            "project": batch.projects[rows],
        }
        self.append({name: column.int() for name, column in columns.items()})

    def compute(self) -> dict[str, float]:
        """Mean reciprocal ranks and accuracies, with their counts."""
        columns = self.columns()
        return _metrics(columns["rank"], columns["type_rank"])

    def breakdown(self) -> dict[str, Any]:
        """Metrics by kind of value, by rarity and by project, and the fraction of values that is predictable."""
        type_rank, type_project, rank, role, rarity, project = self.columns().values()
        by_project = {
            name: _metrics(rank[project == index], type_rank[type_project == index])
            for index, name in enumerate(self.project_names)
        }
        return {
            "possible_values": float((rank > 0).mean()) if len(rank) else 0.0,
            "by_kind": {kind: _rank_metrics(rank[np.isin(role, list(roles))]) for kind, roles in KINDS.items()},
            "by_rarity": {name: _rank_metrics(rank[rarity == group]) for group, name in enumerate(RARITIES)},
            "by_project": {name: metrics for name, metrics in sorted(by_project.items()) if metrics["num_values"]},
        }


def ranks(scores: Tensor, targets: Tensor) -> Tensor:
    """The rank of each target (N,) among the scores of its row (N, V), from 1; of equals the first comes first.

    >>> ranks(torch.tensor([[0.1, 0.7, 0.2], [0.4, 0.4, 0.2]]), torch.tensor([2, 1])).tolist()
    [2, 2]
    """
    own = scores.gather(1, targets[:, None])
    is_earlier = torch.arange(scores.shape[1], device=scores.device) < targets[:, None]
    rank: Tensor = 1 + ((scores > own) | ((scores == own) & is_earlier)).sum(dim=1)
    return rank


def value_ranks(output: CompletionOutput, rows: Tensor, nodes: Tensor, batch: CompletionBatch) -> Tensor:
    """The rank of each value, (N,); 0 for one that the model cannot predict."""
    result = torch.zeros_like(rows)
    predictable = is_predictable(output, batch)[rows, nodes].nonzero()[:, 0]
    for chunk in chunks(len(predictable), len(output.model.value_bias)):
        part = predictable[chunk]
        where = (rows[part], nodes[part])
        if output.copy_log_probs is None:
            scores, targets = output.value_logits(*where), batch.values[where]
        else:
            scores, targets = output.extended_log_probs(*where, batch), batch.extended_ids[where]
        result[part] = ranks(scores, targets)
    return result


def _metrics(value_rank: NDArray[np.int32], type_rank: NDArray[np.int32]) -> dict[str, float]:
    return {
        f"{key}_{name}": value
        for name, rank in (("values", value_rank), ("types", type_rank))
        for key, value in _rank_metrics(rank).items()
    }


def _rank_metrics(rank: NDArray[np.int32]) -> dict[str, float]:
    reciprocal = np.where((rank > 0) & (rank <= MAX_RANK), 1.0 / np.maximum(rank, 1), 0.0)
    return {
        "mrr": float(reciprocal.mean()) if len(rank) else 0.0,
        "accuracy": float((rank == 1).mean()) if len(rank) else 0.0,
        "num": len(rank),
    }
