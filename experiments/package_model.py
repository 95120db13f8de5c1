"""Add a trained model to the package: weights in half precision, metrics, a threshold for `check`, and a model card.

    python experiments/package_model.py runs/misuse-python src/rarename/data/models/misuse-python \\
        --corpus corpora/pypi [--bugs BUGS.jsonl.gz]

The threshold of a misuse model is the lowest confidence at which at most 1 in 200 clean functions is flagged, on the
validation split and on the test split. All metrics are those of the packaged weights.
"""

import argparse
import dataclasses
import json
import shutil
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from real_bugs import BugMetrics, project_names
from real_bugs import evaluate as evaluate_bugs

from rarename.cli.display import Display
from rarename.config import ExperimentConfig, flatten, load_config, save_config
from rarename.corpus.store import Corpus
from rarename.inference.model_folder import CHECK_SETTINGS, CONFIG, ENCODING
from rarename.presets import preset_config
from rarename.runs.run import evaluate_per_example
from rarename.training.checkpoint import WEIGHTS, read_tensors, write_tensors
from rarename.training.trainer import METRICS

MAX_FALSE_ALARM_RATE = 1 / 200
TITLES = {"python": "Python", "javascript": "JavaScript"}
TEMPLATES = {"misuse": "model_card.md", "completion": "completion_card.md"}
PRESETS = {"misuse": "check", "completion": "complete"}

BUG_ROWS = {
    "located": "located",
    "repaired": "repaired",
    "located and repaired": "joint",
    "reported at the default threshold": "reported",
    "… of these located and repaired": "reported_joint",
    "reported after the fix": "reported_after_fix",
}


MISUSE_COLUMNS = {
    "joint": "joint_accuracy",
    "location": "location_accuracy",
    "repair": "repair_accuracy",
    "no bug": "no_bug_accuracy",
    "joint*": "joint_accuracy_paper",
    "repair*": "repair_accuracy_paper",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("target", type=Path, metavar="FOLDER")
    parser.add_argument("--corpus", required=True, help="the path of the corpus that the card shows")
    parser.add_argument("--bugs", type=Path, help="real bugs, see real_bugs.py")
    parser.add_argument("--num-threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.num_threads)
    run, target = arguments.run, arguments.target

    trained = load_config(run / CONFIG)
    config = dataclasses.replace(trained, corpus=arguments.corpus)
    target.mkdir(parents=True, exist_ok=True)
    save_config(config, target / CONFIG)
    shutil.copyfile(run / ENCODING, target / ENCODING)
    tensors, _ = read_tensors(run / WEIGHTS)
    write_tensors(target / WEIGHTS, {name: tensor.half() for name, tensor in tensors.items()})
    (target / WEIGHTS).chmod(0o644)

    corpus = Corpus(trained.corpus)
    if config.task.name == "completion":
        metrics = _metrics(target, "test", trained.corpus)
        values = metrics.compute() | metrics.breakdown()
        fields = {"metrics": completion_tables(values)}
    else:
        splits = {split: _metrics(target, split, trained.corpus) for split in ("validation", "test")}
        threshold = max(metrics.threshold_at(MAX_FALSE_ALARM_RATE) for metrics in splits.values())
        (target / CHECK_SETTINGS).write_text(f"min_confidence = {threshold}\n")
        values = splits["test"].compute() | splits["test"].breakdown(threshold)
        fields = misuse_fields(values, threshold) | bug_fields(arguments.bugs, corpus, target)
    (target / "metrics-test.json").write_text(json.dumps(values, indent=1) + "\n")
    template = (Path(__file__).parent / TEMPLATES[config.task.name]).read_text()
    log = [json.loads(line) for line in (run / METRICS).read_text().splitlines()]
    card = template.format(**training_fields(config, corpus, log), **fields).rstrip() + "\n"
    (target / "README.md").write_text(card)
    print(card)


def _metrics(folder: Path, split: str, corpus: str) -> Any:
    with Display() as progress:
        return evaluate_per_example(folder, split, corpus, progress)


def training_fields(config: ExperimentConfig, corpus: Corpus, log: list[dict[str, Any]]) -> dict[str, str]:
    """What a card says about its corpus and its training."""
    request, language = corpus.manifest["request"], corpus.language.name
    sources = [*request["sources"], "--language", language]
    if request["settings"]["splits"]:
        sources += ["--splits", request["settings"]["splits"]]
    usual = flatten(dataclasses.asdict(preset_config("", PRESETS[config.task.name], {}, language, config.task.name)))
    settings = [
        f"--set {key}={str(value).lower()}"
        for key, value in flatten(dataclasses.asdict(config)).items()
        if value != usual[key] and not key.startswith("corpus")
    ]
    describe = _misuse_training if config.task.name == "misuse" else _completion_training
    hours = f"{log[-1]['seconds'] / 3600:.1f} hours on one thread of a busy machine"
    return {
        "title": TITLES[language],
        "language": language,
        "corpus": config.corpus,
        "lists": " and ".join(f"`{source.removeprefix('@')}`" for source in request["sources"]),
        "sources": " ".join(sources),
        "settings": "".join(
            " ".join(settings[start : start + 3]) + " \\\n    " for start in range(0, len(settings), 3)
        ),
        "training": fill(describe(config, log, hours)),
    }


def _misuse_training(config: ExperimentConfig, log: list[dict[str, Any]], hours: str) -> str:
    curves: dict[bool, list[str]] = {True: [], False: []}
    for record in log:
        joint, no_bug = (100 * record["validation"][key] for key in ("joint_accuracy", "no_bug_accuracy"))
        is_multi_bug = record["epoch"] < config.task.multi_bug_epochs
        curves[is_multi_bug].append(f"{record['examples']:,}: {joint:.1f} / {no_bug:.1f}")
    return (
        f"{log[-1]['examples']:,} examples, {hours}. Joint / no-bug accuracy on {config.training.eval_examples:,} "
        f"functions of the validation split, in percent, by number of examples. Multi-bug epochs: "
        f"{', '.join(curves[True])}. After them, when the best weights are selected: {', '.join(curves[False])}."
    )


def _completion_training(config: ExperimentConfig, log: list[dict[str, Any]], hours: str) -> str:
    curve = ", ".join(f"{record['examples']:,}: {100 * record['validation']['mrr_values']:.1f}" for record in log)
    num_nodes = log[-1]["nodes_per_second"] * log[-1]["seconds"]
    return (
        f"{log[-1]['examples']:,} windows, {num_nodes / 1e6:.1f} million nodes, {hours}. MRR of values on "
        f"{config.training.eval_examples:,} windows of the validation split, in percent, by number of windows: {curve}."
    )


def misuse_fields(metrics: Mapping[str, Any], threshold: float) -> dict[str, Any]:
    """The metrics of a misuse model; tests/assist/test_packaged.py compares the tables with metrics-test.json."""
    groups = {"all functions": metrics}
    groups |= {f"{length} nodes": group for length, group in metrics["by_length"].items()}
    groups |= metrics["by_rarity"]
    rates = ("joint_accuracy", "location_accuracy", "joint_accuracy_both_rare")
    tables = [
        table(
            ["", *MISUSE_COLUMNS, "clean", "buggy"],
            ([name, *percents(group, MISUSE_COLUMNS.values()), *counts(group, "num_clean", "num_buggy")]
             for name, group in groups.items()),
        ),
        fill(
            "The last three rows are by rarity of the wrong and the correct name. Columns with \\* follow the paper: a "
            "repair counts if its probability is at least 0.5. In the others, the most probable repair counts."
        ),
        table(
            ["false alarm rate", "joint", "location", "joint, both rare"],
            ([f"{100 * float(rate):g} %", *percents(group, rates)]
             for rate, group in metrics["at_false_alarms"].items()),
        ),
        "The logit of \"no bug\" is shifted until this fraction of the clean functions is flagged.",
        table(
            ["threshold", "joint", "false alarms"],
            ([at, *percents(group, ["joint_accuracy"]), f"{100 * group['false_alarms']:.2f}"]
             for at, group in metrics["at_confidence"].items()),
        ),
        "Joint accuracy and the fraction of flagged clean functions, by threshold (`rarename check --min-confidence`).",
    ]  # fmt: skip
    reported = metrics["at_confidence"][f"{threshold:g}"]
    return {
        "metrics": "\n\n".join(tables),
        "threshold": threshold,
        "false_alarms": 100 * reported["false_alarms"],
        "found": 100 * reported["joint_accuracy"],
    }


def completion_tables(metrics: Mapping[str, Any]) -> str:
    """The metrics of a completion model."""
    totals = {
        name: {key: metrics[f"{key}_{name}"] for key in ("mrr", "accuracy", "num")} for name in ("values", "types")
    }
    groups = totals | metrics["by_kind"] | metrics["by_rarity"]
    rows = ([name, *percents(group, ("mrr", "accuracy")), *counts(group, "num")] for name, group in groups.items())
    notes = (
        "Names are reads, attributes, parameters, writes and other identifiers. A rare value is not in the vocabulary. "
        "*Again* means that the value occurred earlier in the window, *first* that it did not. "
        f"{100 * metrics['possible_values']:.1f} % of the values can be predicted."
    )
    return f"{table(['', 'MRR', 'accuracy', 'number'], rows)}\n\n{fill(notes)}"


def bug_fields(path: Path | None, corpus: Corpus, model: Path) -> dict[str, str]:
    """The section about real bugs, if there are any: all of them, and those of projects outside the corpus."""
    if path is None:
        return {"bugs_option": "", "real_bugs": ""}
    excluded = (frozenset(), project_names(corpus))
    found = [evaluate_bugs(path, corpus.language.name, "A", model, names) for names in excluded]
    return {"bugs_option": " --bugs BUGS.jsonl.gz", "real_bugs": f"\n{bug_section(*found)}"}


def bug_section(all_bugs: BugMetrics, unseen: BugMetrics) -> str:
    num_bugs, num_unseen = all_bugs.num_functions, unseen.num_functions
    text = (
        f"{num_bugs} functions of open-source projects in which a commit changed one variable name; about 93 % are "
        "real bugs (tier A of a collection that is not part of this project; see `experiments/real_bugs.py`). The "
        "first three rows use the most suspicious variable of each function, regardless of its confidence. A project "
        "counts as part of the corpus if a package has its name or the name of its owner."
    )
    rows = (
        [name, *(cell for each in (all_bugs, unseen) for cell in _fraction(getattr(each, key), each.num_functions))]
        for name, key in BUG_ROWS.items()
    )
    header = ["", f"all {num_bugs}", "%", f"the {num_unseen} of projects outside the corpus", "%"]
    unparsable = f"\n\n{all_bugs.unparsable} could not be parsed and count as not found." * bool(all_bugs.unparsable)
    return f"## Real bugs\n\n{fill(text)}\n\n{table(header, rows)}{unparsable}"


def _fraction(count: int, total: int) -> list[str]:
    return [str(count), f"{100 * count / total:.1f}" if total else "–"]


def fill(text: str) -> str:
    return textwrap.fill(text, 120, break_on_hyphens=False, break_long_words=False)


def table(header: list[str], rows: Iterable[list[str]]) -> str:
    """A Markdown table with names on the left and numbers on the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def percents(group: Mapping[str, float], keys: Iterable[str]) -> list[str]:
    return [f"{100 * group[key]:.1f}" if key in group else "" for key in keys]


def counts(group: Mapping[str, float], *keys: str) -> list[str]:
    return [f"{group[key]:,}" if key in group else "" for key in keys]


if __name__ == "__main__":
    main()
