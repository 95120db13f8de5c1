"""The models of the package: small, described by their cards, and correct on simple examples."""

import json
import re
import tomllib
from dataclasses import replace
from importlib.resources import files

import pytest

from rarename.assist import Checker, CheckModel, Completer
from rarename.config import load_config
from rarename.discovery import CHECKED
from rarename.inference.model_folder import packaged_model
from rarename.presets import preset_config

PAPER = "def load(myfnm):\n    with open(myfnm) as myfp:\n        data = ‸myfnm.read()\n    return data\n"
LANGUAGES = [language.name for language in CHECKED]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("task", "max_megabytes"), [("misuse", 10), ("completion", 12)])
def test_the_card_has_the_command_that_trains_the_model(task, max_megabytes, language):
    folder = packaged_model(language, task)
    assert sum(path.stat().st_size for path in folder.iterdir()) < 1e6 * max_megabytes
    assert "/tmp" not in (folder / "config.toml").read_text()
    command = rf"rarename train {task} \S+ --corpus (\S+) --preset (\S+)((?: \\\n[^\\\n]+(?<! ))+)"
    *_, (corpus, preset, options) = re.findall(command, (folder / "README.md").read_text())  # the last stage
    paths = {name.replace("-", "_"): path for name, path in re.findall(r"--(init|fixes\S*) (\S+)", options)}
    options = re.sub(r"=(?!true|false)([A-Za-z]\w+)", r'="\1"', options)  # a word needs no quotes
    settings = tomllib.loads("\n".join(re.findall(r"--set (\S+)", options))) | paths
    saved = replace(load_config(folder / "config.toml"), corpus_digest="", init_digest="", fixes_digest="")
    saved = replace(saved, init=saved.init and f"runs/{saved.init}")
    assert preset_config(corpus, preset, settings, language, task) == saved


def percent(group, key, digits=1):
    return f"{100 * group[key]:.{digits}f}" if key in group else ""


def misuse_rows(metrics):
    """The rows that the card of a misuse model must have."""
    kinds = ("joint", "location", "repair", "no_bug")
    lengths = {f"{name} nodes": group for name, group in metrics["by_length"].items()}
    for name, group in {"all functions": metrics, **lengths, **metrics["by_rarity"]}.items():
        cells = [percent(group, f"{kind}_accuracy") for kind in kinds]
        cells += [percent(group, f"{kind}_accuracy_paper") for kind in ("joint", "repair")]
        yield [name, *cells, *(f"{group[key]:,}" if key in group else "" for key in ("num_clean", "num_buggy"))]
    for rate, group in metrics["at_false_alarms"].items():
        keys = ("joint_accuracy", "location_accuracy", "joint_accuracy_both_rare")
        yield [f"{100 * float(rate):g} %", *(percent(group, key) for key in keys)]
    for threshold, group in metrics["at_confidence"].items():
        yield [threshold, percent(group, "joint_accuracy"), percent(group, "false_alarms", digits=2)]


def completion_rows(metrics):
    """The rows that the card of a completion model must have."""
    totals = {
        name: {key: metrics[f"{key}_{name}"] for key in ("mrr", "accuracy", "num")} for name in ("values", "types")
    }
    for name, group in {**totals, **metrics["by_kind"], **metrics["by_rarity"]}.items():
        yield [name, percent(group, "mrr"), percent(group, "accuracy"), f"{group['num']:,}"]


METRICS = sorted((files("rarename") / "data" / "models").glob("*/metrics-test.json"))
assert len(METRICS) >= 2


@pytest.mark.parametrize("path", METRICS, ids=lambda path: path.parent.name)
def test_the_tables_of_a_card_are_its_metrics(path):
    rows = misuse_rows if path.parent.name.startswith("misuse") else completion_rows
    expected = [f"| {' | '.join(row)} |" for row in rows(json.loads(path.read_text()))]
    card = (path.parent / "README.md").read_text().partition("## Real ")[0]
    assert [line for line in card.splitlines() if line.startswith("| ") and any(map(str.isdigit, line))] == expected


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_default_threshold_flags_few_clean_functions(language):
    folder = packaged_model(language)
    threshold = CheckModel.load(folder).threshold
    assert threshold == tomllib.loads((folder / "check.toml").read_text())["min_confidence"] > 0.5
    if (fixes := folder / "metrics-fixes.json").exists():
        shown = [each["at_false_alarms"]["default"] for each in json.loads(fixes.read_text()).values()]
        assert all(each["threshold"] == threshold and each["false_alarms"] <= 1 / 2_000 for each in shown)
        assert f"The default threshold is {threshold:g}:" in " ".join((folder / "README.md").read_text().split())
        return
    reported = json.loads((folder / "metrics-test.json").read_text())["at_confidence"][f"{threshold:g}"]
    assert reported["false_alarms"] <= 1 / 200
    false_alarms, found = percent(reported, "false_alarms", digits=2), percent(reported, "joint_accuracy")
    sentence = (
        f"The default threshold is {threshold}: {false_alarms} % of the clean functions of the test split are flagged, "
        f"and {found} % of the injected bugs are located and repaired."
    )
    assert sentence in " ".join((folder / "README.md").read_text().split())


@pytest.mark.parametrize(
    ("language", "marked", "suggestion"),
    [
        ("python", PAPER, "myfp"),
        ("javascript", "function load(name, done) { var f = open(name); var text = ‸name.read(); done(text); }", "f"),
        ("javascript", "function area(width, height) { var result = width * ‸width; return result; }", "height"),
    ],
)
def test_obvious_misuses_are_found_and_correct_code_is_not_flagged(language, marked, suggestion):
    checker, (before, after) = Checker.load(), marked.split("‸")
    [diagnostic] = checker.check(before + after, language)
    assert (diagnostic.line, diagnostic.column) == (before.count("\n") + 1, len(before.split("\n")[-1]) + 1)
    assert after.startswith(diagnostic.name)
    assert diagnostic.suggestion == suggestion
    assert checker.check(before + suggestion + after.removeprefix(diagnostic.name), language) == []


@pytest.mark.parametrize(
    ("language", "text", "name"),
    [
        ("python", "def area(width, height):\n    return width * ", "height"),
        ("python", "def load(fnm):\n    with open(fnm) as stream:\n        return stream.", "read"),
        ("javascript", "const wanted = [];\nfor (const item of items) {\n  wanted.", "push"),
        ("javascript", "class Row { cells = []; add(cell) { this.cells.push(cell) } }\nnew Row().", "add"),
    ],
)
def test_obvious_names_are_suggested(language, text, name):
    lines = text.split("\n")
    found = Completer.load(language).complete(text, len(lines), len(lines[-1]) + 1, top_k=3)
    assert name in [each.name for each in found]
