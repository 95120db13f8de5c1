"""Result files with made-up numbers, in a temporary folder."""

import json
from pathlib import Path

import pytest

PROJECTS = ("apple", "birch", "cedar", "dogwood", "elm", "fir", "ginkgo", "hazel")


def misuse_scores(joint: float) -> dict:
    groups = {"both frequent": 2 * joint / 3, "one rare": joint, "both rare": joint / 2}
    return {
        "joint_accuracy": joint,
        "joint_accuracy_paper": joint - 0.02,
        "location_accuracy": joint + 0.1,
        "repair_accuracy": joint + 0.2,
        "no_bug_accuracy": 0.9,
        "num_clean": 800,
        "num_buggy": 800,
        "by_rarity": {
            name: {"joint_accuracy": value, "num_buggy": count}
            for (name, value), count in zip(groups.items(), (300, 300, 200), strict=True)
        },
        "at_false_alarms": {
            share: {
                "false_alarms": float(share),
                "joint_accuracy": joint * float(share) ** 0.1,
                "joint_accuracy_both_rare": joint * float(share) ** 0.1 / 2,
            }
            for share in ("0.005", "0.01", "0.05", "0.1")
        },
        "by_project": {
            name: {"joint_accuracy": joint + 0.01 * (number % 3 - 1), "num_buggy": 100}
            for number, name in enumerate(PROJECTS)
        },
    }


def completion_scores(mrr: float) -> dict:
    return {
        "mrr_values": mrr,
        "mrr_types": mrr + 0.2,
        "accuracy_values": mrr - 0.1,
        "accuracy_types": mrr + 0.1,
        "possible_values": 0.8,
        "num_values": 5000,
        "num_types": 9000,
        "by_kind": {
            kind: {"mrr": mrr, "accuracy": mrr - 0.1, "num": 700} for kind in ("names", "reads", "attributes", "others")
        },
        "by_rarity": {
            "frequent, again": {"mrr": mrr + 0.1, "accuracy": mrr, "num": 2000},
            "rare, again": {"mrr": mrr, "accuracy": mrr - 0.05, "num": 1500},
            "frequent, first": {"mrr": mrr - 0.1, "accuracy": mrr - 0.2, "num": 500},
            "rare, first": {"mrr": 0.0, "accuracy": 0.0, "num": 1000},
        },
        "by_project": {
            name: {"mrr_values": mrr, "num_values": 500, "mrr_types": mrr + 0.2, "num_types": 900} for name in PROJECTS
        },
    }


class Results:
    """A folder to which results are added."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, strategy: str, size: int, score: float, *, seed: int = 0, **changes) -> Path:
        task = changes.get("task", "misuse")
        language = changes.get("language", "python")
        experiment = changes.get("experiment", f"{task}-{language}")
        pointer = "-pointer" if changes.get("pointer") else ""
        cell = changes.pop("cell", f"{strategy}{pointer}-{size}-{changes.get('placeholders', 250)}-{seed}")
        curve_key = "joint_accuracy" if task == "misuse" else "mrr_values"
        content = {
            "format": "rarename-result",
            "version": 1,
            "experiment": experiment,
            "cell": cell,
            "task": task,
            "language": language,
            "preset": "small",
            "strategy": strategy,
            "vocabulary_size": size,
            "placeholders": 250,
            "pointer": False,
            "seed": seed,
            "settings": {
                "seed": seed, "encoding.strategy": strategy, "encoding.vocabulary_size": size,
                "model.width": 128, "model.layers": 3, "training.epochs": 0.36,
            },
            "corpus": {"name": "pypi", "digest": "5" * 64, "projects": 253},
            "code": {"version": "0.1.0", "recipe": 1},
            "commands": [
                f"rarename train {task} --strategy {strategy} --set training.epochs=0.36",
                "rarename evaluate runs/x --split test",
            ],
            "split": "test",
            "examples": 1000,
            "seconds": 600.0,
            "scores": misuse_scores(score) if task == "misuse" else completion_scores(score),
            "curve": [
                {"examples": 500 * step, "validation": {curve_key: score * step / 2}} for step in (1, 2)
            ],
        } | changes  # fmt: skip
        path = self.folder / experiment / f"{cell}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    def add_luck(self, deviation: float = 0.0, **changes) -> None:
        """An experiment of its own, with two seeds: how much luck training takes is known from it."""
        for seed, score in enumerate((0.3, 0.3 + 2**0.5 * deviation)):
            self.add("ordered", 7, score, seed=seed, **{"experiment": "seeds"} | changes)


@pytest.fixture
def results(tmp_path) -> Results:
    return Results(tmp_path / "results")
