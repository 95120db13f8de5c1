"""Loss and scores of variable misuse (paper, section 4.1; Hellendoorn et al. 2020), and what an answer says."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from rarename.tasks.misuse.collate import MANY, Batch
from rarename.tasks.misuse.examples import Nest
from rarename.tasks.misuse.model import Answer, lowest
from rarename.tasks.task import Loss

FALSE_ALARMS = (0.005, 0.01, 0.05, 0.1)
"""Shares of clean functions flagged at which answers are compared: the no-bug logit trades one for the other."""

PLACES_WEIGHT = 3.0
"""What places judged by themselves count, against one repair: there are several of them in a function."""

CONFIDENCES = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
"""From which on `rarename check` may show what it suspects."""

LENGTHS = (25, 50, 100, 150, 250)
"""Groups of functions by their number of nodes: up to so many each, and longer."""

RARITIES = ("both frequent", "one rare", "both rare")
"""Groups of bugs by the two names involved. With both rare, `standard` reads the same with the bug and without it."""


def loss(answer: Answer, batch: Batch) -> Loss:
    """Cross entropy of the location, and the negative log of all that right repairs get, where there is a bug.

    Where each place is judged by itself, the location has a binary cross entropy for each candidate. Its logit over
    that of no bug then is the log odds that the place is wrong, as it is in the softmax of the other examples.
    """
    is_one = batch.location != MANY
    of_location = F.cross_entropy(answer.location[is_one], batch.location[is_one], reduction="sum")
    is_judged = batch.is_candidate & ~is_one[:, None]
    odds = (answer.location[:, 1:] - answer.location[:, :1])[is_judged]
    of_places = F.binary_cross_entropy_with_logits(odds, batch.is_wrong[is_judged].to(odds.dtype), reduction="sum")
    rows, places = batch.is_wrong.nonzero(as_tuple=True)
    shares = answer.repair(rows, places, batch).log_softmax(dim=-1)  # (N, L)
    holds_right = batch.is_variable[rows] & (batch.names[rows] == batch.right[rows, places][:, None])
    is_repair = torch.where(is_one[rows, None], batch.is_repair[rows], holds_right)
    of_repair = -shares.masked_fill(~is_repair, lowest(shares)).logsumexp(dim=-1).sum()
    counts = torch.stack([is_one.sum(), is_judged.sum(), torch.tensor(len(rows), device=rows.device)])
    return Loss(torch.stack([of_location, PLACES_WEIGHT * of_places, of_repair]), counts)


@dataclass(frozen=True)
class Suspicions:
    """Suspicious places, and what should stand there."""

    row: Tensor  # (N,), the example that the place is in
    place: Tensor  # (N,), -1 where nothing can be wrong
    repair: Tensor  # (N,), a place that holds the suggested variable
    confidence: Tensor  # (N,), the probability that the place is wrong and the suggestion right

    def surest(self, count: int) -> "Suspicions":
        """Of each of so many examples the suspicion with the highest confidence."""
        best = dict(zip(self.row.tolist(), range(len(self.row)), strict=True))
        for index in self.confidence.argsort(stable=True).tolist():
            best[int(self.row[index])] = index
        chosen = torch.tensor([best[row] for row in range(count)], device=self.row.device)
        return Suspicions(**{name: tensor[chosen] for name, tensor in vars(self).items()})


def suspicions(answer: Answer, batch: Batch, nests: Sequence[Nest] = ()) -> Suspicions:
    """The most suspicious place of each example, however little suspicious it is.

    If it is told how functions are nested in the examples, then the most suspicious place of each function that has
    one of its own. The places of others are left out of the probability, since several may be wrong at once, and only
    variables that can be seen from the place are suggested.
    """
    is_candidate, is_variable = batch.is_candidate & batch.is_variable, batch.is_variable
    rows, location = torch.arange(len(batch), device=is_candidate.device), answer.location
    if nests:
        owners = [(row, nest, owner) for row, nest in enumerate(nests) for owner in nest.functions]
        rows = torch.tensor([row for row, _, _ in owners], device=rows.device)
        is_own = torch.zeros_like(is_variable[rows])
        for number, (_, nest, owner) in enumerate(owners):
            is_own[number, : len(nest)] = torch.from_numpy(nest.owned_by(owner))
        is_candidate, is_variable = is_candidate[rows] & is_own, is_variable[rows]
        location = torch.cat([location[rows, :1], location[rows, 1:].masked_fill(~is_own, lowest(location))], dim=1)
    probabilities = location.softmax(dim=1)[:, 1:].masked_fill(~is_candidate, -1.0)
    of_place, place = probabilities.max(dim=1)
    names = batch.names[rows]
    is_other = is_variable & (names != names.gather(1, place[:, None]))
    for number, (row, suspicious) in enumerate(zip(rows.tolist(), place.tolist(), strict=True)):
        if nests and of_place[number] >= 0:
            nest = nests[row]
            is_other[number, : len(nest)] &= torch.from_numpy(nest.seen_from(suspicious)).to(is_other.device)
    logits = answer.repair(rows, place, batch)
    shares = logits.masked_fill(~is_other, lowest(logits)).softmax(dim=1)
    repair, of_repair = likeliest_variable(shares, names, is_other)
    is_possible = is_candidate.any(dim=1) & is_other.any(dim=1)
    confidence = of_place.clamp(min=0) * of_repair * is_possible
    return Suspicions(rows, place.masked_fill(~is_possible, -1), repair, confidence)


def likeliest_variable(probabilities: Tensor, names: Tensor, is_variable: Tensor) -> tuple[Tensor, Tensor]:
    """For each example a place of the variable whose places have most probability together, and that probability."""
    distinct, name = torch.unique(names, return_inverse=True)
    sums = probabilities.new_zeros(len(names), len(distinct)).scatter_add_(1, name, probabilities * is_variable)
    best, place = sums.gather(1, name).masked_fill(~is_variable, -1.0).max(dim=1)
    return place, best.clamp(min=0)


Table = dict[str, NDArray[Any]]
"""A row for each example."""


@dataclass
class Counts:
    """What was answered for each example; adds up over batches to the scores."""

    vocabulary_size: int
    """Names of this rank or beyond are rare, whether the strategy shows them or not."""
    projects: list[str] = field(default_factory=list)
    """By their numbers."""
    columns: dict[str, list[NDArray[Any]]] = field(default_factory=dict)

    def add(self, answer: Answer, batch: Batch) -> None:
        """Judge a batch."""
        is_buggy = batch.location > 0
        place = (batch.location - 1).clamp(min=0)
        rows = torch.arange(len(batch), device=place.device)
        best, pointed = answer.location[:, 1:].max(dim=1)
        shares = answer.repair(rows, place, batch).softmax(dim=1)
        first, _ = likeliest_variable(shares, batch.names, batch.is_variable)
        wrong, right = batch.names[rows, place], batch.right[rows, place]
        suspected = suspicions(answer, batch, batch.nests).surest(len(batch))
        suggested = batch.names.gather(1, suspected.repair[:, None])[:, 0]
        judged = {
            "is_buggy": is_buggy,
            "length": batch.is_node.sum(dim=1),
            "margin": best - answer.location[:, 0],
            "confidence": suspected.confidence,
            "is_found": is_buggy & (suspected.place == place) & (suggested == right),
            "is_located": is_buggy & (pointed == place),
            "is_repaired": is_buggy & batch.is_repair.gather(1, first[:, None])[:, 0],
            "is_half": is_buggy & ((shares * batch.is_repair).sum(dim=1) >= 0.5),
            "project": batch.projects,
            "num_rare": (wrong >= self.vocabulary_size).long() + (right >= self.vocabulary_size),
        }
        for name, column in judged.items():
            self.columns.setdefault(name, []).append(column.detach().cpu().numpy())

    def scores(self) -> dict[str, float]:
        """Accuracies, with the counts behind them. Those named `paper` count a repair from one half on."""
        table = self._table()
        return _of_clean(table) | _of_buggy(table)

    def details(self, *confidences: float) -> dict[str, Any]:
        """Scores by length, by rarity of the names, by project, at equal shares of false alarms, and at confidences."""
        table = self._table()
        groups = np.searchsorted(LENGTHS, table["length"])
        lengths = [f"up to {longest}" for longest in LENGTHS] + [f"over {LENGTHS[-1]}"]
        by_length = {name: _rows(table, groups == number) for number, name in enumerate(lengths)}
        by_project = {name: _rows(table, table["project"] == number) for number, name in enumerate(self.projects)}
        by_rarity = {name: _rows(table, table["num_rare"] == number) for number, name in enumerate(RARITIES)}
        return {
            "by_length": {name: _of_clean(rows) | _of_buggy(rows) for name, rows in by_length.items()},
            "by_rarity": {name: _of_buggy(rows) for name, rows in by_rarity.items()},
            "by_project": {
                name: {key: _of_buggy(rows)[key] for key in ("joint_accuracy", "num_buggy")}
                for name, rows in sorted(by_project.items())
                if rows["is_buggy"].any()
            },
            "at_false_alarms": {f"{share:g}": _at_false_alarms(table, share) for share in FALSE_ALARMS},
            "at_confidence": {
                f"{least:g}": _at_confidence(table, least) for least in sorted({*CONFIDENCES, *confidences})
            },
        }

    def confidence_at(self, false_alarms: float) -> float:
        """The lowest confidence, to three digits, from which on at most this share of clean functions is flagged."""
        table = self._table()
        clean = np.sort(table["confidence"][~table["is_buggy"]])[::-1]
        first_silent = float(clean[int(false_alarms * len(clean))]) if len(clean) else 0.0
        return min(1.0, math.floor(1_000 * first_silent + 1) / 1_000)

    def _table(self) -> Table:
        return {name: np.concatenate(parts) for name, parts in self.columns.items()}


def _rows(table: Table, is_kept: NDArray[np.bool_]) -> Table:
    return {name: column[is_kept] for name, column in table.items()}


def _of_clean(table: Table) -> dict[str, float]:
    clean = _rows(table, ~table["is_buggy"])
    return {"no_bug_accuracy": _share(clean["margin"] <= 0), "num_clean": len(clean["margin"])}


def _of_buggy(table: Table) -> dict[str, float]:
    buggy = _rows(table, table["is_buggy"])
    is_located = buggy["is_located"] & (buggy["margin"] > 0)
    return {
        "joint_accuracy": _share(is_located & buggy["is_repaired"]),
        "location_accuracy": _share(is_located),
        "repair_accuracy": _share(buggy["is_repaired"]),
        "joint_accuracy_paper": _share(is_located & buggy["is_half"]),
        "repair_accuracy_paper": _share(buggy["is_half"]),
        "num_buggy": len(is_located),
    }


def _at_false_alarms(table: Table, share: float) -> dict[str, float]:
    """The scores if the no-bug logit were such that this share of the clean functions is flagged, and no more."""
    clean = np.sort(table["margin"][~table["is_buggy"]])[::-1]
    if not len(clean):
        return {}
    threshold = float(clean[min(len(clean) - 1, int(share * len(clean)))])
    moved = table | {"margin": table["margin"] - threshold}
    both_rare = _rows(moved, moved["num_rare"] == len(RARITIES) - 1)
    return {
        "false_alarms": 1 - _of_clean(moved)["no_bug_accuracy"],
        "joint_accuracy": _of_buggy(moved)["joint_accuracy"],
        "location_accuracy": _of_buggy(moved)["location_accuracy"],
        "joint_accuracy_both_rare": _of_buggy(both_rare)["joint_accuracy"],
    }


def _at_confidence(table: Table, least: float) -> dict[str, float]:
    """What `rarename check` would show: the most suspicious place of a function, if it is suspicious enough."""
    is_shown = table["confidence"] >= least
    return {
        "false_alarms": _share(is_shown[~table["is_buggy"]]),
        "joint_accuracy": _share((is_shown & table["is_found"])[table["is_buggy"]]),
    }


def _share(claims: NDArray[np.bool_]) -> float:
    return float(claims.mean()) if len(claims) else 0.0
