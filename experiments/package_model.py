"""Add a trained model to the package: weights in half precision, the ONNX graph, metrics, and a model card.

    python experiments/package_model.py runs/misuse-python src/rarename/data/models/misuse-python \\
        --corpus corpora/pypi [--fixes FIXES.jsonl --version 2]

With real fixes, a misuse model gets a calibrated confidence (`calibration.py`), fitted to the fixes of the projects to
tune and to the validation split of the corpus. The threshold of `check` is the lowest confidence at which at most 1 in
2,000 clean functions is flagged, on the validation split and on the test split. All metrics are those of the packaged
weights.
"""

import argparse
import dataclasses
import json
import shutil
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
import torch
from calibration import clean_groups, fit_calibration, fix_groups, threshold_at

from rarename.assist.check import CheckModel
from rarename.cli.display import Display
from rarename.config import ExperimentConfig, flatten, load_config, save_config
from rarename.corpus.splits import read_splits
from rarename.corpus.store import Corpus
from rarename.inference.model_folder import CHECK_SETTINGS, CONFIG, ENCODING, ONNX_MODEL, ModelFolder
from rarename.inference.onnx_export import export_model
from rarename.presets import preset_config
from rarename.runs.fix_evaluation import clean_confidences, evaluate_fixes
from rarename.runs.run import _make_task, evaluate_per_example
from rarename.tasks.misuse.collate import MisuseExample
from rarename.tasks.misuse.fixes import read_fixes
from rarename.training.checkpoint import WEIGHTS, read_tensors, write_tensors
from rarename.training.trainer import METRICS

MAX_FALSE_ALARM_RATE = 1 / 2_000
NUM_COMPARED = 10_000
SPLITS = Path(__file__).parent / "corpora" / "real-bugs-splits.txt"
TITLES = {"python": "Python", "javascript": "JavaScript"}
TEMPLATES = {"misuse": "model_card.md", "completion": "completion_card.md"}
PRESETS = {"misuse": "check", "completion": "complete"}

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
    parser.add_argument(
        "--fixes", type=Path, help="real fixes, for a misuse model; projects as in corpora/real-bugs-splits.txt"
    )
    parser.add_argument("--sources", help="sources of the corpus that the card shows (default: those it was made from)")
    parser.add_argument("--version", default="", help="version of the model")
    parser.add_argument("--num-threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.num_threads)
    run, target = arguments.run, arguments.target

    trained = load_config(run / CONFIG)
    config = published(trained, arguments.corpus)
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
        metrics = _metrics(target, "test", trained.corpus)
        for old in (CHECK_SETTINGS, ONNX_MODEL):
            (target / old).unlink(missing_ok=True)
        fixes = calibrate(target, trained, arguments.fixes, arguments.version)
        values = metrics.compute() | metrics.breakdown()
        fields = {"metrics": misuse_tables(values), "confidence": fix_section(fixes)}
        fields["fixes_option"] = " --fixes FIXES.jsonl" if arguments.fixes else ""
        fields["version_option"] = f" --version {arguments.version}" if arguments.version else ""
        (target / "metrics-fixes.json").write_text(json.dumps(fixes, indent=1) + "\n")
    export_model(ModelFolder.load(target, config.task.name), target)
    (target / WEIGHTS).unlink()  # from here on they are read from the ONNX file
    if config.task.name == "misuse":
        fields["metrics"] += "\n\n" + fill(agreement(run, target, corpus))
    (target / "metrics-test.json").write_text(json.dumps(values, indent=1) + "\n")
    template = (Path(__file__).parent / TEMPLATES[config.task.name]).read_text()
    stages = [(run, config)]  # with the runs whose weights it started from
    while (init := Path(load_config(stages[0][0] / CONFIG).init)).joinpath(METRICS).exists():
        stages.insert(0, (init, published(load_config(init / CONFIG), arguments.corpus)))
    card = template.format(**training_fields(stages, corpus, arguments.sources), **fields).rstrip() + "\n"
    (target / "README.md").write_text(card)
    print(card)


def published(config: ExperimentConfig, corpus: str) -> ExperimentConfig:
    """The config with paths that mean something to others."""
    config = dataclasses.replace(config, corpus=corpus, init=config.init and Path(config.init).name)
    if not config.fixes:
        return config
    splits = "experiments/corpora/real-bugs-splits.txt"
    return dataclasses.replace(config, fixes="FIXES.jsonl", fixes_splits=config.fixes_splits and splits)


def calibrate(target: Path, trained: ExperimentConfig, fixes: Path | None, version: str) -> dict[str, Any]:
    """Write check.toml, and return the metrics on the fixes and the clean functions of each split."""
    settings: dict[str, Any] = {"version": version, "confidence": {"log_odds": 1.0}}  # as the model says
    (target / CHECK_SETTINGS).write_text(tomli_w.dumps(settings))
    model, splits = CheckModel.load(target), read_splits(SPLITS)
    dataset = _make_task(trained, model.folder.encoding).dataset
    found = {}
    with Display() as progress:
        if fixes:
            names = ("validation", "test")
            found = {name: read_fixes(fixes, model.language, "A", splits, name) for name in names}
            candidates = fix_groups(model, found["validation"].fixes) + clean_groups(model, dataset("validation"))
            settings["confidence"] = fit_calibration(candidates)
            (target / CHECK_SETTINGS).write_text(tomli_w.dumps(settings))
            model = CheckModel.load(target)
        clean = {name: clean_confidences(model, dataset(name), progress=progress) for name in ("validation", "test")}
        threshold = max(threshold_at(each, MAX_FALSE_ALARM_RATE) for each in clean.values())
        (target / CHECK_SETTINGS).write_text(tomli_w.dumps({"min_confidence": threshold} | settings))
        model = CheckModel.load(target)
        return {name: evaluate_fixes(model, each, clean[name], progress) for name, each in found.items()}


def agreement(run: Path, target: Path, corpus: Corpus) -> str:
    """How often the packaged model predicts the same as the run, whose weights have single precision."""
    models = CheckModel.load(run), CheckModel.load(target)
    dataset, same = _make_task(load_config(run / CONFIG), models[0].folder.encoding).dataset("test"), 0
    items = np.random.default_rng(0).permutation(len(dataset))[:NUM_COMPARED]
    for item in items.tolist():
        example = MisuseExample(dataset[item], (), 0, nested_slices=dataset.nested_slices(item))
        found = []
        for model in models:
            model.calibration = None  # the run has none
            first = model.predict([example]).first()
            found.append((first.location.tolist(), example.function.values[first.repair].tolist()))
        same += found[0] == found[1]
    return (
        f"The packaged weights have half precision. In {same:,} of {len(items):,} functions of the test split "
        f"({100 * same / len(items):.2f} %) the most suspicious variable and its repair are those of the weights in "
        "single precision."
    )


def _metrics(folder: Path, split: str, corpus: str) -> Any:
    with Display() as progress:
        return evaluate_per_example(folder, split, corpus, progress)


def training_fields(stages: list[tuple[Path, ExperimentConfig]], corpus: Corpus, sources: str | None) -> dict[str, str]:
    """What a card says about its corpus and its training."""
    request, language = corpus.manifest["request"], corpus.language.name
    listed = sources.split() if sources else request["sources"]
    splits = ["--splits", request["settings"]["splits"]] if request["settings"]["splits"] else []
    commands, texts = [], []
    for run, config in stages:
        task = config.task.name
        usual = flatten(dataclasses.asdict(preset_config("", PRESETS[task], {}, language, task)))
        settings = [
            f"--set {key}={str(value).lower() if isinstance(value, bool) else value}"
            for key, value in flatten(dataclasses.asdict(config)).items()
            if value != usual[key] and not key.startswith(("corpus", "init", "fixes"))
        ]
        lines = [" ".join(settings[start : start + 3]) for start in range(0, len(settings), 3)]
        if config.init:
            lines.append(f"--init runs/{config.init}")
        if config.fixes:
            lines.append(f"--fixes {config.fixes} --fixes-splits {config.fixes_splits}")
        command = f"rarename train {task} runs/{run.name} --corpus {config.corpus} --preset {PRESETS[task]}"
        commands.append(" \\\n    ".join([command, *lines, "--num-threads 1"]))
        log = [json.loads(line) for line in (run / METRICS).read_text().splitlines()]
        describe = _misuse_training if task == "misuse" else _completion_training
        texts.append(fill(describe(config, log, f"{log[-1]['seconds'] / 3600:.1f} hours on one thread")))
    return {
        "title": TITLES[language],
        "language": language,
        "run": stages[-1][0].name,
        "corpus": stages[-1][1].corpus,
        "lists": " and ".join(f"`{source.removeprefix('@')}`" for source in listed),
        "sources": " ".join([*listed, "--language", language, *splits]),
        "commands": "\n".join(commands),
        "training": "\n\n".join(texts),
    }


def _misuse_training(config: ExperimentConfig, log: list[dict[str, Any]], hours: str) -> str:
    curves: dict[bool, list[str]] = {True: [], False: []}
    fixes: list[str] = []
    for record in log:
        joint, no_bug = (100 * record["validation"][key] for key in ("joint_accuracy", "no_bug_accuracy"))
        if config.fixes and record["epoch"] >= config.training.num_epochs:
            real = record["validation"].get("fixes_joint", 0.0)
            fixes.append(f"{record['examples']:,}: {joint:.1f} / {no_bug:.1f} / {100 * real:.1f}")
        else:
            is_multi_bug = record["epoch"] < config.task.multi_bug_epochs
            curves[is_multi_bug].append(f"{record['examples']:,}: {joint:.1f} / {no_bug:.1f}")
    num_epochs = config.training.num_epochs + (config.task.fix_epochs if config.fixes else 0)
    planned = f" of {log[-1]['total_examples']:,} planned ones" if log[-1]["epoch"] + 1 < num_epochs else ""
    parts = [f"{log[-1]['examples']:,} examples{planned}, {hours}."]
    if curves[True] or curves[False]:
        parts.append(
            f"Joint / no-bug accuracy on {config.training.eval_examples:,} functions of the validation split, in "
            f"percent, by number of examples. Multi-bug epochs: {', '.join(curves[True])}. After them, when the best "
            f"weights are selected: {', '.join(curves[False])}."
        )
    if fixes:
        parts.append(
            "Epochs on real fixes, with joint / no-bug accuracy as before, and the real mistakes of the projects to "
            f"tune that are located and repaired: {', '.join(fixes)}."
        )
    return " ".join(parts)


def _completion_training(config: ExperimentConfig, log: list[dict[str, Any]], hours: str) -> str:
    curve = ", ".join(f"{record['examples']:,}: {100 * record['validation']['mrr_values']:.1f}" for record in log)
    num_nodes = log[-1]["nodes_per_second"] * log[-1]["seconds"]
    return (
        f"{log[-1]['examples']:,} windows, {num_nodes / 1e6:.1f} million nodes, {hours}. MRR of values on "
        f"{config.training.eval_examples:,} windows of the validation split, in percent, by number of windows: {curve}."
    )


def misuse_tables(metrics: Mapping[str, Any]) -> str:
    """The tables of a misuse model; tests/assist/test_packaged.py compares them with metrics-test.json."""
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
        "Joint accuracy and the fraction of flagged clean functions, by threshold on the model's own probability.",
    ]  # fmt: skip
    return "\n\n".join(tables)


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


def fix_section(metrics: Mapping[str, Any]) -> str:
    """The section on real mistakes; `metrics` has an entry for each split of the fixes."""
    if not metrics:
        return ""
    test, tune = metrics["test"], metrics["validation"]
    shown, clean = test["at_false_alarms"]["default"], tune["num_clean"] + test["num_clean"]
    alarms = max(each["at_false_alarms"]["default"]["false_alarms"] for each in metrics.values())
    found = shown["joint"] / 1_000
    precision = found / max(1e-12, shown["reported"] / 1_000 + shown["false_alarms"] * 0.999)
    text = (
        f"Functions in which a commit changed one variable name, before and after it: {test['num']} of projects to "
        f"test, {tune['num']} of projects to tune (`experiments/corpora/real-bugs-splits.txt`). The model was trained "
        "on neither; its confidence is fitted to those to tune. The default threshold is "
        f"{shown['threshold']:g}: of {clean:,} clean functions of the validation and the test split, at most 1 in "
        f"2,000 is flagged ({100 * alarms:.3f} % in the worse split), and {100 * shown['joint']:.1f} % of the mistakes "
        "to test are shown with the right repair. If one function in 1,000 has a mistake, "
        f"{100 * precision:.0f} % of the findings are such mistakes with the right repair."
    )
    keys = ("located", "repaired", "joint")
    groups = {"test": test, "tune": tune} | {f"test, {name} nodes": each for name, each in test["by_length"].items()}
    lengths = ([name, *percents(each, keys), *counts(each, "num")] for name, each in groups.items() if each["num"])
    rates = (
        ["default" if name == "default" else f"1 in {1 / float(name):,.0f}", f"{each['threshold']:.4f}",
         *percents(each, ("joint", "reported", "reported_after_fix"))]
        for name, each in test["at_false_alarms"].items()
    )  # fmt: skip
    reliability = (
        [f"{each['from']:g} to {each['to']:g}", *percents(each, ("confidence", "right")), *counts(each, "num")]
        for each in test["reliability"]
    )
    twins = (
        f"The function with the mistake has the higher confidence in {100 * test['above_twin']:.1f} % of the pairs "
        f"(AUC {test['auc']:.3f})."
    )
    return "\n\n".join([
        "## Real mistakes", fill(text),
        table(["", "located", "repaired", "both", "functions"], lengths),
        "The most suspicious variable of each function, whatever its confidence.",
        table(["false alarm rate", "threshold", "both", "reported", "reported after the fix"], rates),
        twins,
        table(["confidence", "mean", "right", "functions"], reliability),
        "How often a prediction is right, by its confidence, before and after the fix: half of them have a mistake.",
    ])  # fmt: skip


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
