"""Metrics of variable misuse (paper, section 4.1; Hellendoorn et al. 2020)."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarename.tasks.batch import map_arrays, to_numpy
from rarename.tasks.misuse.collate import MisuseBatch
from rarename.tasks.misuse.predict import MisuseOutput, masked_softmax, most_probable_variable, predict_bugs
from rarename.tasks.task import Metrics

FALSE_ALARM_RATES = (0.005, 0.01, 0.05, 0.1)
"""Fractions of clean functions flagged at which models are compared: the no-bug logit trades one for the other."""

CONFIDENCES = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
"""Thresholds of `rarename check` that are evaluated."""

LENGTHS = (25, 50, 100, 150, 250)
"""Upper limits of groups of functions by their number of nodes."""

RARITIES = ("both frequent", "one rare", "both rare")
"""Groups of bugs by the two names involved. With both rare, `standard` reads the same with and without the bug."""

MIN_LOGIT = -1e30
"""The logit of a node that is not a candidate; finite, so that margins can be shifted."""

Columns = dict[str, NDArray[Any]]


class MisuseMetrics(Metrics):
    """The predicted bug of each example."""

    def __init__(self, vocabulary_size: int, project_names: Sequence[str] = ()) -> None:
        """Names of rank `vocabulary_size` or higher are rare, whether the strategy shows them or not."""
        super().__init__(project_names)
        self.vocabulary_size = vocabulary_size

    def update(self, output: MisuseOutput, batch: MisuseBatch) -> None:
        output, batch = map_arrays(output, to_numpy), map_arrays(batch, to_numpy)
        self.append(_evaluate_per_example(output, batch, self.vocabulary_size))

    def compute(self) -> dict[str, float]:
        """Accuracies and their counts. Those named `paper` count a repair if its probability is ≥ 0.5."""
        return _clean_metrics(self.columns()) | _buggy_metrics(self.columns())

    def breakdown(self, *thresholds: float) -> dict[str, Any]:
        """Metrics by length, by rarity of the names, by project, at equal false alarm rates, and at thresholds."""
        columns = self.columns()

        def grouped(groups: NDArray[np.int64], names: Iterable[str]) -> dict[str, Columns]:
            return {name: _select(columns, groups == group) for group, name in enumerate(names)}

        lengths = [f"up to {longest}" for longest in LENGTHS] + [f"over {LENGTHS[-1]}"]
        by_length = grouped(np.searchsorted(LENGTHS, columns["length"]), lengths)
        by_rarity = grouped(columns["num_rare"], RARITIES)
        by_project = grouped(columns["project"], self.project_names)
        return {
            "by_length": {label: _clean_metrics(each) | _buggy_metrics(each) for label, each in by_length.items()},
            "by_rarity": {label: _buggy_metrics(each) for label, each in by_rarity.items()},
            "by_project": {
                name: {key: _buggy_metrics(each)[key] for key in ("joint_accuracy", "num_buggy")}
                for name, each in sorted(by_project.items())
                if each["is_buggy"].any()
            },
            "at_false_alarms": {f"{rate:g}": _at_false_alarm_rate(columns, rate) for rate in FALSE_ALARM_RATES},
            "at_confidence": {f"{at:g}": _at_threshold(columns, at) for at in sorted({*CONFIDENCES, *thresholds})},
        }


def _evaluate_per_example(output: MisuseOutput, batch: MisuseBatch, vocabulary_size: int) -> Columns:
    is_buggy = batch.location > 0
    bugs, rows = np.maximum(batch.location - 1, 0), np.arange(len(batch))
    node_logits = np.where(batch.is_candidate, output.location_logits[:, 1:], MIN_LOGIT)
    repair_probs = masked_softmax(output.repair_at(rows, bugs), output.can_repair(batch, rows, bugs))
    repair, _ = most_probable_variable(repair_probs, batch.name_ranks, batch.is_variable)
    wrong, original = batch.name_ranks[rows, bugs], batch.original_ranks[rows, bugs]
    predicted = predict_bugs(output, batch, batch.nested).best_per_example(len(batch)).first()
    return {
        "is_buggy": is_buggy,
        "length": batch.attention_mask.sum(axis=1) - batch.num_context,
        "margin": node_logits.max(axis=1) - output.location_logits[:, 0],  # in favour of a bug
        "confidence": predicted.confidence,
        "is_found": is_buggy & (predicted.location == bugs) & (batch.name_ranks[rows, predicted.repair] == original),
        "is_located": is_buggy & (node_logits.argmax(axis=1) == bugs),
        "is_repaired": is_buggy & batch.is_repair[rows, repair],
        "is_repaired_paper": is_buggy & ((repair_probs * batch.is_repair).sum(axis=1) >= 0.5),
        "project": batch.projects,
        "num_rare": (wrong >= vocabulary_size).astype(int) + (original >= vocabulary_size),
    }


def _select(columns: Columns, mask: NDArray[np.bool_]) -> Columns:
    return {name: column[mask] for name, column in columns.items()}


def _clean_metrics(columns: Columns) -> dict[str, float]:
    clean = _select(columns, ~columns["is_buggy"])
    return {"no_bug_accuracy": _mean(clean["margin"] <= 0), "num_clean": len(clean["margin"])}


def _buggy_metrics(columns: Columns) -> dict[str, float]:
    buggy = _select(columns, columns["is_buggy"])
    is_located = buggy["is_located"] & (buggy["margin"] > 0)
    return {
        "joint_accuracy": _mean(is_located & buggy["is_repaired"]),
        "location_accuracy": _mean(is_located),
        "repair_accuracy": _mean(buggy["is_repaired"]),
        "joint_accuracy_paper": _mean(is_located & buggy["is_repaired_paper"]),
        "repair_accuracy_paper": _mean(buggy["is_repaired_paper"]),
        "num_buggy": len(is_located),
    }


def _at_false_alarm_rate(columns: Columns, rate: float) -> dict[str, float]:
    """Metrics if the no-bug logit were shifted so that this fraction of clean functions is flagged."""
    clean = np.sort(columns["margin"][~columns["is_buggy"]])[::-1]
    if not len(clean):
        return {}
    shift = float(clean[min(len(clean) - 1, int(rate * len(clean)))])
    shifted = columns | {"margin": columns["margin"] - shift}
    metrics = _buggy_metrics(shifted)
    return {
        "false_alarms": 1 - _clean_metrics(shifted)["no_bug_accuracy"],
        "joint_accuracy": metrics["joint_accuracy"],
        "location_accuracy": metrics["location_accuracy"],
        "joint_accuracy_both_rare": _buggy_metrics(_select(shifted, shifted["num_rare"] == 2))["joint_accuracy"],
    }


def _at_threshold(columns: Columns, threshold: float) -> dict[str, float]:
    """What `rarename check` reports at a threshold: the most probable bug of each function."""
    is_shown = columns["confidence"] >= threshold
    return {
        "false_alarms": _mean(is_shown[~columns["is_buggy"]]),
        "joint_accuracy": _mean((is_shown & columns["is_found"])[columns["is_buggy"]]),
    }


def _mean(claims: NDArray[np.bool_]) -> float:
    return float(claims.mean()) if len(claims) else 0.0
