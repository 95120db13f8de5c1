"""How a misuse model does on real fixes: what `rarename check` says about each function before and after its fix."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarename.assist.check import Checker, CheckModel
from rarename.assist.diagnostics import Diagnostic
from rarename.errors import ParseError
from rarename.progress import NullProgress, Progress
from rarename.syntax import Language
from rarename.tasks.misuse.collate import MisuseExample
from rarename.tasks.misuse.dataset import FunctionDataset
from rarename.tasks.misuse.fixes import Fix, Fixes
from rarename.tasks.misuse.metrics import FALSE_ALARM_RATES, LENGTHS
from rarename.tasks.sampler import bucketed_batches
from rarename.tasks.task import EVAL_BATCH_NODES, EVAL_SEED

RATES = (1 / 2_000, 1 / 1_000, *FALSE_ALARM_RATES)
LONGEST = (*LENGTHS, 400, 1_000)
RELIABILITY_BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
Columns = dict[str, NDArray[Any]]


def evaluate_fixes(
    model: CheckModel, fixes: Fixes, clean: NDArray[np.float64] | None = None, progress: Progress | None = None
) -> dict[str, Any]:
    """The metrics of a model on fixes, at false alarm rates if the confidences in clean functions are given."""
    progress = progress or NullProgress()
    progress.start("checking fixes", len(fixes.fixes))
    checker, rows, skipped = Checker([model], threshold=0), [], fixes.skipped.copy()
    for fix in fixes.fixes:
        try:
            rows.append(_evaluate(fix, checker, model.language))
        except ParseError as error:  # the fixed function is no program, or one of both is minified
            skipped[error.reason] += 1
        progress.advance()
    columns = {name: np.array([row[name] for row in rows]) for name in (rows[0] if rows else {})}
    return {"skipped": dict(skipped)} | (_summary(columns, clean, model.threshold) if rows else {"num": 0})


def _evaluate(fix: Fix, checker: Checker, language: Language) -> dict[str, Any]:
    before, after = (_most_suspicious(checker, text, language) for text in (fix.text, fix.fixed_text))
    line, column, *_ = fix.traversal.span(fix.node)
    column = (
        len(fix.text.encode("utf-8", "surrogatepass").split(b"\n")[line - 1][:column].decode("utf-8", "surrogatepass"))
        + 1
    )
    return {
        "length": len(fix.traversal),
        "before": before.confidence if before else 0.0,
        "after": after.confidence if after else 0.0,
        "is_located": before is not None and (before.line, before.column) == (line, column),
        "is_repaired": before is not None and before.suggestion == fix.right,
    }


def _most_suspicious(checker: Checker, text: str, language: Language) -> Diagnostic | None:
    """The most confident finding: each function nested in this one has its own."""
    return max(checker.check(text, language), key=lambda each: each.confidence, default=None)


def _summary(columns: Columns, clean: NDArray[np.float64] | None, threshold: float) -> dict[str, Any]:
    before, after = columns["before"], columns["after"]
    joint = columns["is_located"] & columns["is_repaired"]
    groups = np.searchsorted(LONGEST, columns["length"])
    names = [f"up to {longest}" for longest in LONGEST] + [f"over {LONGEST[-1]}"]
    limits = {f"{rate:g}": _limit(clean, rate) for rate in RATES} if clean is not None else {}
    limits |= {"default": threshold}
    metrics = {
        **_rates(columns, np.ones(len(before), dtype=bool)),
        "above_twin": float((before > after).mean() + (before == after).mean() / 2),
        "auc": _auc(before, after),
        "by_length": {name: _rates(columns, groups == group) for group, name in enumerate(names)},
        "at_false_alarms": {
            name: {
                "threshold": limit,
                "joint": float((joint & (before >= limit)).mean()),
                "reported": float((before >= limit).mean()),
                "reported_after_fix": float((after >= limit).mean()),
                "false_alarms": None if clean is None else float((clean >= limit).mean()),
            }
            for name, limit in limits.items()
        },
        "reliability": _reliability(np.concatenate([before, after]), np.concatenate([joint, np.zeros_like(joint)])),
    }
    return metrics | ({} if clean is None else {"num_clean": len(clean)})


def _rates(columns: Columns, mask: NDArray[np.bool_]) -> dict[str, float]:
    located, repaired = columns["is_located"][mask], columns["is_repaired"][mask]
    counts = {"located": located, "repaired": repaired, "joint": located & repaired}
    return {name: float(each.mean()) if len(each) else 0.0 for name, each in counts.items()} | {"num": len(located)}


def _limit(clean: NDArray[np.float64], rate: float) -> float:
    """The lowest confidence above which at most a fraction of the clean functions is."""
    falling = np.sort(clean)[::-1]
    return float(np.nextafter(falling[int(rate * len(falling))], 2)) if len(falling) else 0.0


def _auc(positive: NDArray[np.float64], negative: NDArray[np.float64]) -> float:
    """The probability that a positive one is above a negative one, of another pair or the same; ties count half."""
    ordered = np.sort(negative)
    below, upto = (np.searchsorted(ordered, positive, side=side) for side in ("left", "right"))
    return float((below + upto).mean() / 2 / len(negative))


def _reliability(confidence: NDArray[np.float64], is_right: NDArray[np.bool_]) -> list[dict[str, float]]:
    """How often predictions are right, by their confidence: half of the functions have a mistake."""
    bins = np.digitize(confidence, RELIABILITY_BINS[1:-1])
    table = []
    for number, (low, high) in enumerate(pairwise(RELIABILITY_BINS)):
        mask = bins == number
        if mask.any():
            mean, right = float(confidence[mask].mean()), float(is_right[mask].mean())
            table.append({"from": low, "to": high, "confidence": mean, "right": right, "num": int(mask.sum())})
    return table


def clean_confidences(
    model: CheckModel, dataset: FunctionDataset, limit: int = 0, progress: Progress | None = None
) -> NDArray[np.float64]:
    """The confidence of the most probable bug of functions without one; nested functions count like others."""
    progress = progress or NullProgress()
    chosen = np.random.default_rng(EVAL_SEED).permutation(len(dataset))[: limit or None]
    progress.start("checking clean functions", len(chosen))
    found: list[NDArray[Any]] = [np.zeros(0)]
    for indexes in bucketed_batches(dataset.lengths[chosen], EVAL_BATCH_NODES, None):
        items = chosen[indexes].tolist()
        examples = [MisuseExample(dataset[item], (), 0, nested_slices=dataset.nested_slices(item)) for item in items]
        found.append(model.predict(examples).confidence[:, 0])
        progress.advance(len(items))
    return np.concatenate(found)
