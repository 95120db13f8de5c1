"""Put the model of a run into the package: weights in half precision, and its card with what it is worth.

    python experiments/package_model.py runs/misuse-python src/rarename/data/models/misuse-python \\
        --corpus corpora/pypi [--bugs BUGS.jsonl.gz]

A model of variable misuse is told from which confidence on it speaks: the lowest at which at most 1 in 200 clean
functions is flagged, on the validation split and on the test split. What else the cards say is measured on the test
split, and on real bugs if there are any.
"""

import argparse
import dataclasses
import json
import shutil
import textwrap
from pathlib import Path
from typing import Any

import torch
from real_bugs import measure as measure_bugs
from real_bugs import projects
from safetensors.torch import load_file, save_file

from rarename import config as experiments
from rarename.cli.evaluate import describe
from rarename.cli.progress import ShownProgress
from rarename.corpus.store import Corpus
from rarename.runs import run

FALSE_ALARMS = 1 / 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run_folder", type=Path, metavar="RUN")
    parser.add_argument("target", type=Path, metavar="FOLDER")
    parser.add_argument("--corpus", required=True, help="the corpus, as the commands of the card name it")
    parser.add_argument("--bugs", type=Path, help="real bugs, see real_bugs.py")
    parser.add_argument("--num-threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    source, target = arguments.run_folder, arguments.target

    trained = run.load_experiment(source)
    named = experiments.replace_corpus(trained, arguments.corpus)
    target.mkdir(parents=True, exist_ok=True)
    save_config(named, target / run.SETTING)
    shutil.copyfile(source / run.ENCODING, target / run.ENCODING)
    halves = {name: tensor.half() for name, tensor in load_file(source / run.WEIGHTS).items()}
    save_file(halves, target / run.WEIGHTS)
    (target / run.WEIGHTS).chmod(0o644)

    # What is measured is the packaged_model model: half precision and all.
    corpus = Corpus(trained.corpus)
    if named.task.name == "completion":
        with ShownProgress() as progress:
            scores = run.evaluate(target, "test", trained.corpus, progress)
        (target / "README.md").write_text(completion_card(named, source, corpus, scores))
        print((target / "README.md").read_text())
        return
    splits = {}
    for split in ("validation", "test"):
        with ShownProgress() as progress:
            splits[split] = run.judge(target, split, trained.corpus, progress)
    least = max(counts.confidence_at(FALSE_ALARMS) for counts in splits.values())
    (target / "check.toml").write_text(f"min_confidence = {least}\n")
    scores = splits["test"].scores() | splits["test"].details(least)
    (target / "metrics-test.json").write_text(json.dumps(scores, indent=1) + "\n")
    bugs = real_bugs(arguments.bugs, corpus, target) if arguments.bugs else []
    (target / "README.md").write_text(card(named, source, corpus, least, scores, bugs))
    print((target / "README.md").read_text())


def of_corpus(corpus: Corpus, name: str) -> dict[str, str]:
    """What the cards say of a corpus."""
    request = corpus.manifest["request"]
    sources = [*request["sources"], "--language", corpus.language.name]
    if request["settings"]["splits"]:
        sources += ["--splits", request["settings"]["splits"]]
    lists = " and ".join(f"`{source.removeprefix('@')}`" for source in request["sources"])
    return {"language": corpus.language.name, "corpus": name, "lists": lists, "sources": " ".join(sources)}


def unusual_settings(experiment: experiments.ExperimentConfig, preset: str, language: str) -> str:
    """What `rarename train` must be told beside the preset, as options."""
    usual = preset_config(experiment.corpus, preset, {}, language, experiment.task.name)
    ours, usuals = (experiments.flatten(dataclasses.asdict(each)) for each in (experiment, usual))
    told = {key: value for key, value in ours.items() if value != usuals[key] and key != "corpus_digest"}
    options = [f"--set {key}={str(value).lower()}" for key, value in told.items()]
    return " \\\n    ".join(" ".join(options[start : start + 3]) for start in range(0, len(options), 3))


def completion_card(experiment: experiments.ExperimentConfig, source: Path, corpus: Corpus, scores: dict[str, Any]) -> str:
    """The card of a model for completion."""
    metrics = [json.loads(line) for line in (source / "metrics.jsonl").read_text().splitlines()]
    last, training = metrics[-1], experiment.training
    looks = ", ".join(f"{row['examples']:,}: {100 * row['validation']['mrr_values']:.1f}" for row in metrics)
    text = (Path(__file__).parent / "completion_card.md").read_text()
    return text.format(
        **of_corpus(corpus, experiment.corpus),
        settings=unusual_settings(experiment, "complete", corpus.language.name),
        training=textwrap.fill(
            f"{last['examples']:,} windows, {last['nodes_per_second'] * last['seconds'] / 1e6:.1f} million nodes, "
            f"{last['seconds'] / 3600:.1f} hours on one thread beside other work. Mean reciprocal rank of values on "
            f"{training.eval_examples:,} windows of the validation split, in percent, after so many windows: "
            f"{looks}.",
            120,
        ),
        scores=describe(scores).rstrip(),
    )


def card(
    experiment: experiments.ExperimentConfig,
    source: Path,
    corpus: Corpus,
    least: float,
    scores: dict[str, Any],
    bugs: list[dict[str, Any]],
) -> str:
    """The model card."""
    metrics = [json.loads(line) for line in (source / "metrics.jsonl").read_text().splitlines()]
    shown = scores["at_confidence"][f"{least:g}"]
    text = (Path(__file__).parent / "model_card.md").read_text()
    text = text.format(
        **of_corpus(corpus, experiment.corpus),
        settings=unusual_settings(experiment, "check", corpus.language.name),
        training=textwrap.fill(of_training(metrics, experiment), 120),
        scores=describe(scores).rstrip(),
        least=least,
        false_alarms=100 * shown["false_alarms"],
        found=100 * shown["joint_accuracy"],
    )
    return text + of_bugs(*bugs) if bugs else text.replace(" [--bugs BUGS.jsonl.gz]", "")


def of_training(metrics: list[dict[str, Any]], experiment: experiments.ExperimentConfig) -> str:
    """How long it learned, and how that went."""
    last = metrics[-1]
    looks = {True: "", False: ""}
    for row in metrics:
        scores, is_dense = row["validation"], row["epoch"] < experiment.task.dense_epochs
        joint, no_bug = 100 * scores["joint_accuracy"], 100 * scores["no_bug_accuracy"]
        looks[is_dense] += f", {row['examples']:,}: {joint:.1f} / {no_bug:.1f}"
    hours, num_functions = last["seconds"] / 3600, experiment.training.validation_snippets
    return (
        f"{last['examples']:,} examples, {hours:.1f} hours on one thread beside other work. Joint and no-bug accuracy "
        f"on {num_functions:,} functions of the validation split, in percent, after so many examples, in the dense "
        f"epochs: {looks[True][2:]}; after them, which chooses the weights: {looks[False][2:]}."
    )


def real_bugs(bugs: Path, corpus: Corpus, model: Path) -> list[dict[str, Any]]:
    """Measured on all of them, and on those of projects that are not in the corpus."""
    language = corpus.language.name
    return [measure_bugs(bugs, language, "A", model, without=without) for without in (frozenset(), projects(corpus))]


def of_bugs(bugs: dict[str, Any], of_others: dict[str, Any]) -> str:
    """What the card says of real bugs."""
    num, num_others = bugs["functions"], of_others["functions"]
    rows = {
        "located": "located",
        "the suggestion is the repair": "repaired",
        "both": "joint",
        f"shown at the default confidence of {bugs['min_confidence']}": "shown",
        "… of these located and repaired": "shown_joint",
        "flagged although repaired": "shown_when_repaired",
    }
    lines = [
        "",
        "## Real bugs",
        "",
        textwrap.fill(
            f"{num} functions of open-source projects in which a commit changed one variable name, about 93 % of them "
            "real mistakes (tier A of a collection that is not part of the project; `experiments/real_bugs.py`, or "
            "`--bugs` above). The most suspicious place of each, however little suspicious. A project counts as being "
            "in the corpus if a package there has its name or that of its owner:",
            120,
        ),
        "",
        f"| | of {num} | % | of the {num_others} of projects not in the corpus | % |",
        "|---|---:|---:|---:|---:|",
        *(
            f"| {name} | {bugs[key]} | {100 * bugs[key] / num:.1f} "
            f"| {of_others[key]} | {100 * of_others[key] / num_others:.1f} |"
            for name, key in rows.items()
        ),
    ]
    if bugs["unreadable"]:
        lines += ["", f"{bugs['unreadable']} could not be parsed and count as not found."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
