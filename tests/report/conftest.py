"""Result files with made-up numbers, in a temporary folder."""

from pathlib import Path

import pytest

from rarename.sweep.result import Result, write_result

PROJECTS = ("apple", "birch", "cedar", "dogwood", "elm", "fir", "ginkgo", "hazel")


def misuse_metrics(joint: float) -> dict:
    return {
        "joint_accuracy": joint,
        "joint_accuracy_paper": joint - 0.02,
        "num_buggy": 800,
        "by_rarity": {"both rare": {"joint_accuracy": joint / 2, "num_buggy": 200}},
        "at_false_alarms": {rate: {"joint_accuracy": joint * float(rate) ** 0.1} for rate in ("0.01", "0.1")},
        "by_project": {name: {"joint_accuracy": joint, "num_buggy": 100} for name in PROJECTS},
    }


def completion_metrics(mrr: float) -> dict:
    return {
        "mrr_values": mrr,
        "mrr_types": mrr + 0.2,
        "accuracy_values": mrr - 0.1,
        "num_values": 5000,
        "by_project": {
            name: {"mrr_values": mrr, "num_values": 500, "mrr_types": mrr + 0.2, "num_types": 900} for name in PROJECTS
        },
    }


class Results:
    """A folder to which results are added."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, strategy: str, size: int, score: float, *, seed: int = 0, pointer: bool = False, **changes) -> Result:
        task, language = changes.get("task", "misuse"), changes.get("language", "python")
        key, metrics = ("joint_accuracy", misuse_metrics) if task == "misuse" else ("mrr_values", completion_metrics)
        settings = {
            "seed": seed, "encoding.strategy": strategy, "encoding.vocabulary_size": size, "task.copy_pointer": pointer,
            "encoding.num_placeholders": 250, "model.d_model": 128, "model.num_layers": 3, "training.num_epochs": 0.36,
        } | changes.pop("settings", {})  # fmt: skip
        fields = {
            "experiment": f"{task}-{language}",
            "trial": f"{strategy}-{pointer}-{size}-{settings['encoding.num_placeholders']}-{seed}",
            "title": "A title",
            "reproduces": "Table 2",
            "task": task,
            "language": language,
            "preset": "small",
            "corpus": {"name": "pypi", "digest": "5" * 64, "projects": 253},
            "code": {"version": "0.1.0", "recipe": 1},
            "split": "test",
            "examples": 1000,
            "seconds": 600.0,
            "metrics": metrics(score),
            "curve": [{"examples": 500 * step, "validation": {key: score * step / 2}} for step in (1, 2)],
        } | changes
        result = Result(settings=settings, **fields)
        write_result(self.folder / result.experiment / f"{result.trial}.json", result)
        return result

    def add_seeds(self, std: float = 0.0, **changes) -> None:
        """Two seeds of one cell, so that the variance over seeds is known."""
        for seed, score in enumerate((0.3, 0.3 + 2**0.5 * std)):
            self.add("other", 7, score, seed=seed, **changes)


@pytest.fixture
def results(tmp_path) -> Results:
    return Results(tmp_path / "results")
