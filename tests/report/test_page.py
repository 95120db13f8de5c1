"""The report as a whole, and the pages of the repository that are written from it."""

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from tests.report.conftest import Results

from rarename.cli.main import main
from rarename.errors import UsageError
from rarename.report.page import FIGURES, make_report, page, write_report
from rarename.report.statistics import MeanStd
from rarename.report.tables import percent, points, readme_table, update_tables

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """Results for every section of the report."""
    results = Results(tmp_path_factory.mktemp("filled") / "results")
    for seed in (0, 1):
        for size in (0, 100, 1000):
            for strategy, score in (("ordered", 0.3), ("randomized", 0.29), ("standard", 0.2)):
                results.add(strategy, size, score + size / 10_000 + 0.01 * seed, seed=seed)
    results.add("ordered", 100, 0.25, language="javascript")
    for size, score in ((100, 0.45), (1000, 0.4)):
        results.add("standard", size, score, task="completion", pointer=True)
        results.add("ordered", size, score + 0.1, task="completion")
    longer = {"task": "completion", "settings": {"training.num_epochs": 1.0}}
    results.add("ordered", 1000, 0.6, trial="long", **longer)
    results.add("standard", 1000, 0.5, trial="long-pointer", pointer=True, **longer)
    cosine = {"within_vocabulary": 0.1, "within_placeholders": 0.05, "between": -0.1}
    points = [[0, 1.5, "placeholder", "VAR1"], [2, 1, "vocabulary", "self"]]
    results.add("randomized", 1000, 0.3, task="completion", embeddings={"points": points, "cosine": cosine})
    return results


@pytest.fixture(scope="module")
def written(filled):
    folder = filled.folder.with_name("out")
    write_report(make_report(filled.folder), folder)
    return folder


def test_the_page_begins_with_verdicts_and_their_basis(written):
    text = (written / "results.md").read_text(encoding="utf-8")
    assert "In short: of 6 verdicts on 11 claims, 3 hold, 0 do not hold, and 3 are undecided." in text
    claim = "[1. Anonymization is better than `standard`](#1-anonymization-is-better-than-standard)"
    assert f"| {claim} | holds | – | – |" in text
    assert "\n### 1. Anonymization is better than `standard`\n" in text
    assert "| Variable misuse, Python | `ordered`: +81.9 (0), +30.6 (100), +14.4 (1,000)<br>" in text
    assert "| `ordered`: +10.0 ± 1.6 (0), +10.0 ± 1.6 (100), +10.0 ± 1.6 (1,000)<br>" in text
    assert "### 3. Numbering by frequency is as good as `ordered`\n\nUndecided: not measured.\n" in text
    assert "mean cosine 0.09 among frequent names, 0.05 among placeholders, −0.06 between" in text
    assert "mean cosine 0.10 among frequent names, 0.05 among placeholders, −0.10 between | **holds** |" in text
    assert "| `ordered, num_epochs=1.0` − `standard + pointer, num_epochs=1.0` | +10.0 (1,000) |" in text


def test_scores_are_next_to_those_of_the_paper_and_follow_its_rule(written):
    text = (written / "results.md").read_text(encoding="utf-8")
    assert "| 100 | 29.5 ± 0.7<br>*85.3* | 28.5 ± 0.7<br>*85.0* | 19.5 ± 0.7<br>*54.7* |" in text
    assert "| 1,000 | 50.0<br>*63.9* | 30.0<br>*63.1* | 40.0<br>*62.4* |" in text
    assert "| Python | `standard + pointer` | 100 | 35.0 | 58.9 |" in text  # accuracy at the best size
    scale = "128 × 3; 1,000 examples, 253 projects (`pypi`) | 512 × 6; 25 epochs of 417K functions, Python150k"
    assert f"| Variable misuse, Python | 18 | {scale} |" in text


def test_every_figure_can_be_read_by_itself(written):
    text = (written / "results.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[[^\]]+\]\(figures/([\w-]+)\.svg\)", text)
    assert shown == list(FIGURES)
    assert sorted(f"{name}.svg" for name in shown) == sorted(path.name for path in (written / "figures").iterdir())
    for name in shown:
        root = ElementTree.parse(written / "figures" / f"{name}.svg").getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
    svg = (written / "figures" / "headline.svg").read_text(encoding="utf-8")
    words = (
        "Bugs located and repaired", "Variable misuse, Python", "names kept by the vocabulary", "joint accuracy, %",
        "error bars: standard deviation over seeds", "ordered", "randomized", "standard",
    )  # fmt: skip
    assert [word for word in words if f"<!-- {word}" not in svg] == []  # text is drawn as paths, with a comment


def test_details_have_all_metrics_and_tests(written):
    details = json.loads((written / "results.json").read_text(encoding="utf-8"))
    verdict = details["verdicts"][0]
    found = (verdict["group"], verdict["outcome"], len(verdict["comparisons"]))
    assert found == ("Variable misuse, Python", "holds", 6)
    comparison = verdict["comparisons"][0]
    assert comparison["first"] == ["ordered", 0]
    assert comparison["mean"] == 0.1
    assert comparison["interval"] == pytest.approx([0.084, 0.116], abs=0.0005)
    cell = next(each for each in details["cells"] if (each["series"], each["vocabulary_size"]) == ("ordered", 100))
    assert cell["trials"] == ["misuse-python/ordered-False-100-250-0", "misuse-python/ordered-False-100-250-1"]
    assert cell["metrics"]["by_rarity.both rare.joint_accuracy"] == [0.1575, 0.003536]
    assert not any("by_project" in key for key in cell["metrics"])


def test_the_same_results_give_the_same_bytes(filled, written, tmp_path):
    write_report(make_report(filled.folder), tmp_path)
    files = [path.relative_to(tmp_path) for path in tmp_path.rglob("*.*")]
    assert len(files) == 2 + len(FIGURES)
    assert [path for path in files if (tmp_path / path).read_bytes() != (written / path).read_bytes()] == []


def test_one_model_is_enough_for_a_report(results, tmp_path):
    results.add("ordered", 100, 0.3, metrics={"joint_accuracy": 0.3}, curve=[])
    write_report(make_report(results.folder), tmp_path)
    text = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "of 0 verdicts on 11 claims" in text
    assert text.count("![") == 2


def test_nothing_to_report_is_an_error_with_a_reason(results, tmp_path):
    with pytest.raises(UsageError, match=r"nowhere has no results to report; expected files EXPERI.*, found: none"):
        make_report(tmp_path / "nowhere")
    (results.folder / "x").mkdir(parents=True)
    (results.folder / "x" / "y.json").write_text("{")
    with pytest.raises(UsageError, match=r"found:\n  x/y\.json cannot be read: Expecting property name"):
        make_report(results.folder)


def test_the_command_prints_verdicts_and_updates_a_page(results, tmp_path, capfdbinary):
    results.add_seeds(0.01)
    for strategy, score in (("ordered", 0.5), ("standard", 0.3)):
        results.add(strategy, 1000, score)
    (results.folder / "misuse-python" / "broken.json").write_text("{")
    readme = tmp_path / "README.md"
    readme.write_text("before\n<!-- results:misuse -->\n<!-- /results -->\nafter\n")
    assert main(["report", str(results.folder), "--output-dir", str(tmp_path / "out"), "--readme", str(readme)]) == 0
    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert lines[0] == "Anonymization is better than `standard`: holds (Variable misuse, Python)"
    assert lines[2] == "Numbering by frequency is as good as `ordered`: not measured"
    assert lines[-2].startswith("not read: misuse-python/broken.json cannot be read: ")
    assert lines[-1] == f"wrote {tmp_path / 'out' / 'results.md'}"
    text = readme.read_text(encoding="utf-8")
    assert text.startswith("before\n<!-- results:misuse -->\n\n|  | names kept | `ordered` | `standard` |\n")
    assert "\n| Python | 1,000 | 50.0 | 30.0 |\n" in text
    assert text.endswith("|\n\n<!-- /results -->\nafter\n")


def test_numbers_are_rounded_and_signed():
    assert (percent(MeanStd(0.1234)), percent(MeanStd(0.1234, 0.05)), percent(None)) == ("12.3", "12.3 ± 5.0", "")
    assert [points(value) for value in (0.0123, -0.004, -0.0004, 0.0)] == ["+1.2", "−0.4", "+0.0", "+0.0"]


# --- this repository ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ours():
    return make_report(ROOT / "results")


def test_our_page_is_generated_from_our_results(ours):
    figures = [path.stem for path in (ROOT / "docs" / "figures").glob("*.svg")]
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert text == page(ours, figures), "run: rarename report results --output-dir docs --readme README.md"
    assert len(text.splitlines()) <= 300


def test_the_tables_of_the_readme_are_generated_from_our_results(ours):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert update_tables(text, ours.groups) == text, "run: rarename report results --output-dir docs --readme README.md"
    assert readme_table(ours.groups, "misuse") in text
