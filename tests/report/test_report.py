"""The report as a whole: what is in it, and that it can be read anywhere."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest

from rarename.cli.main import main
from rarename.errors import UsageError
from rarename.report.report import make_report, write_report


@pytest.fixture
def filled(results):
    """A little of everything."""
    for seed in (0, 1):
        for size in (0, 100, 1000):
            results.add("ordered", size, 0.3 + size / 10_000 + 0.01 * seed, seed=seed)
            results.add("randomized", size, 0.29 + size / 10_000 + 0.01 * seed, seed=seed)
            results.add("standard", size, 0.2 + size / 10_000 + 0.01 * seed, seed=seed)
    results.add("ordered", 100, 0.25, language="javascript")
    for pointer in (False, True):
        results.add("standard", 1000, 0.4, task="completion", pointer=pointer)
    results.add("ordered", 1000, 0.5, task="completion")
    results.add("randomized", 1000, 0.45, task="completion", placeholders=500)
    results.add("randomized", 1000, 0.44, task="completion", placeholders=1000)
    embeddings = {
        "points": [[0, 1.5, "placeholder", "VAR1"], [2, 1, "vocabulary", '<self> & "co"']],
        "cosine": {"within_vocabulary": 0.1, "within_placeholders": 0.05, "between": -0.1},
    }
    results.add("randomized", 1000, 0, task="completion", experiment="embeddings", scores={}, embeddings=embeddings)
    return results


@pytest.fixture
def written(filled, tmp_path):
    write_report(make_report(filled.folder), tmp_path / "out")
    return tmp_path / "out"


def table(folder, name):
    tables = json.loads((folder / "results.json").read_text(encoding="utf-8"))["tables"]
    return next(table for table in tables if table["name"] == name)


def test_the_report_begins_with_the_verdicts(written):
    verdicts = table(written, "verdicts")
    names = [row[0] for row in verdicts["rows"]]
    assert names[0] == "anonymization against standard"
    found = dict(verdicts["rows"])
    assert {"experiment": "misuse-python", "verdict": "holds"} in found["anonymization against standard"]
    assert not found["numbering by frequency"]
    text = (written / "results.md").read_text(encoding="utf-8")
    assert text.index("## At a glance") < text.index("## Variable misuse, Python")
    assert "| numbering by frequency | **not measured** |" in text


def test_experiments_are_told_by_their_title_and_what_they_show(results, tmp_path):
    """Two experiments of one task and language: headings and figures tell them apart."""
    for title, experiment in (("Misuse over sizes", "misuse-python"), ("Misuse trained longer", "misuse-longer")):
        for strategy in ("ordered", "standard"):
            results.add(strategy, 100, 0.3, experiment=experiment, title=title, shows="Figure 2")
    points = {"points": [[0, 1, "placeholder", "VAR1"]], "cosine": {"between": -0.1}}
    results.add("ordered", 100, 0.3, experiment="embeddings", shows="Figure 5", embeddings=points)
    write_report(make_report(results.folder), tmp_path)
    text = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "\n## Misuse over sizes\n" in text
    assert "\n## Misuse trained longer\n" in text
    assert "![Joint accuracy while training: Misuse trained longer]" in text
    assert table(tmp_path, "counterparts")["rows"] == [
        ["Figure 2", "Misuse trained longer", "misuse-longer", 2],
        ["Figure 2", "Misuse over sizes", "misuse-python", 2],
        ["Figure 5", "", "embeddings", 1],
    ]
    assert "| Figure 2 | Misuse trained longer | `rarename sweep experiments/misuse-longer.toml` | 2 |" in text
    assert "Variable misuse, Python (`embeddings`)" not in text


def test_the_tables_have_means_deviations_and_seeds(written):
    joint = table(written, "misuse-python-joint")
    assert joint["columns"] == ["Vocabulary", "ordered", "randomized", "standard"]
    assert [row[0] for row in joint["rows"]] == [0, 100, 1000]
    cell = joint["rows"][1][1]
    assert cell["mean"] == pytest.approx(0.315)
    assert cell["standard_deviation"] == pytest.approx(0.01 / 2**0.5)
    assert cell["seeds"] == 2
    text = (written / "results.md").read_text(encoding="utf-8")
    assert "| 100 | **31.5 ± 0.7** | 30.5 ± 0.7 | 21.5 ± 0.7 |" in text
    assert "mean ± standard deviation over 2 seeds; 800 misuses of the test split behind each number" in text


def test_the_paper_stands_beside_ours_by_its_own_rule(written):
    beside = table(written, "misuse-python-paper")
    assert beside["columns"][4:] == ["paper: ordered", "paper: randomized", "paper: standard"]
    assert beside["rows"][0][4:] == [81.93, 81.26, 0.0]
    assert beside["rows"][1][1]["mean"] == pytest.approx(0.295)
    values = table(written, "completion-python-values")
    assert dict(zip(values["columns"], values["rows"][0], strict=True))["paper: standard + pointer"] == 62.38
    assert table(written, "completion-python-placeholders")["rows"][0][0] == 500
    assert table(written, "completion-python-best-accuracy")["rows"][0][3] == 59.71
    by_rarity = table(written, "completion-python-rarity")
    assert by_rarity["columns"][2:4] == ["rare, again: MRR", "rare, again: accuracy"]
    assert [0.5, 0.45] in [[cell["mean"] for cell in row[2:4]] for row in by_rarity["rows"]]


def test_a_group_without_misuses_has_no_accuracy(results, tmp_path):
    results.add("ordered", 100, 0.4)
    path = results.add("full", 0, 0.4)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["scores"]["by_rarity"]["one rare"] = {"joint_accuracy": 0.0, "num_buggy": 0}
    path.write_text(json.dumps(content), encoding="utf-8")
    write_report(make_report(results.folder), tmp_path / "out")
    row = table(tmp_path / "out", "misuse-python-rarity")["rows"][0]
    assert row[:2] == [0, "full"]
    assert row[3] is None
    assert row[5] == [300, 0, 200]


def test_rarity_alarms_and_differences(written):
    rarity = table(written, "misuse-python-rarity")
    assert rarity["rows"][0][-2:] == [[300, 300, 200], 0.25]
    alarms = table(written, "misuse-python-false-alarms")
    shares = ["at 0.5 %", "at 1 %", "at 5 %", "at 10 %"]
    assert alarms["columns"][2:] == shares + [f"both rare, {share}" for share in shares]
    assert alarms["rows"][0][6]["mean"] == pytest.approx(alarms["rows"][0][2]["mean"] / 2)
    first = table(written, "misuse-python-significance")["rows"][0]
    assert first[:2] == [0, ["ordered", "standard"]]
    assert first[2] == pytest.approx(0.1)
    assert first[4] == 2 / 2**8


@pytest.mark.parametrize("name", ["joint", "paper", "false-alarms"])
def test_the_share_that_standard_cannot_see_stands_below(written, name):
    note = "Both names rare, which `standard` cannot see, of all misuses: 25.0 % at 0, 25.0 % at 100, 25.0 % at 1,000."
    assert note in table(written, f"misuse-python-{name}")["note"]
    parts = table(written, "misuse-python-parts")
    assert parts["columns"][3] == "joint, both rare"
    assert parts["rows"][0][3]["mean"] == pytest.approx(parts["rows"][0][2]["mean"] / 2)
    assert "cannot see" not in table(written, "completion-python-values")["note"]


def test_every_cell_has_its_command_and_cost(written):
    text = (written / "results.md").read_text(encoding="utf-8")
    assert "# ordered-100-250-1\nrarename train misuse --strategy ordered --set training.epochs=0.36" in text
    cells = table(written, "misuse-python-cells")
    assert cells["rows"][0][5:] == [["training.epochs=0.36"], "5" * 64, 1000, 10.0]


def test_what_an_experiment_changes_in_its_preset_is_told(results, tmp_path):
    told = "rarename train misuse --set task.counts_uses=true --set training.epochs=0.36 --set task.max_nodes={}"
    for number, strategy in enumerate(("ordered", "standard")):
        results.add(strategy, 100, 0.3, commands=[told.format(100 + number)])
    write_report(make_report(results.folder), tmp_path / "out")
    text = (tmp_path / "out" / "results.md").read_text(encoding="utf-8")
    assert "Besides the preset, all have `task.counts_uses=true`.\n" in text


def test_scale_is_told_from_the_settings(written):
    text = (written / "results.md").read_text(encoding="utf-8")
    assert (
        "width 128 (the paper: 512); layers 3 (the paper: 6); 1,000 training examples seen "
        "(the paper: 25 epochs of 417K functions); a corpus of 253 projects (pypi) (the paper: Python150k)"
    ) in text


def test_figures_are_files_that_the_page_shows(written):
    text = (written / "results.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert shown == json.loads((written / "results.json").read_text(encoding="utf-8"))["figures"]
    assert sorted(shown) == sorted(f"figures/{path.name}" for path in (written / "figures").iterdir())
    assert shown[0] == "figures/headline.svg"
    for name in shown:
        root = ElementTree.parse(written / name).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "prefers-color-scheme:dark" in (written / name).read_text(encoding="utf-8")


def test_a_figure_can_be_read_without_its_text(written):
    text = " ".join(ElementTree.parse(written / "figures" / "misuse-python-paper.svg").getroot().itertext())
    for words in (
        "Joint accuracy by the paper's rule: Variable misuse, Python", "vocabulary size (names kept; 0: full",
        "joint accuracy, %", "mean over 2 seeds, error bars", "ordered", "paper: ordered", "1k", "622k",
    ):  # fmt: skip
        assert words in text


class Page(HTMLParser):
    """Notes whatever does not close, and whatever is fetched."""

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.references, self.ids, self.links = [], [], [], set(), []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "link", "img", "br"):
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "srcset", "data", "action"):
                self.links.append(value)
            if name == "id":
                assert value not in self.ids
                self.ids.add(value)
        assert tag not in ("script", "iframe", "object", "link", "img")

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append((tag, self.getpos()))


def test_the_page_is_whole_and_needs_nothing_else(written):
    text = (written / "results.html").read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    page.close()
    assert (page.wrong, page.open) == ([], [])
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert not re.search(r"https?:|@import|url\(", text)
    assert "prefers-color-scheme:dark" in text
    assert 'name="viewport"' in text
    assert "&lt;self&gt; &amp; &quot;co&quot;" in text


def test_names_from_files_cannot_break_the_page(results, tmp_path):
    wild = "<b>`|*x*\n../evil"
    results.add(wild, 100, 0.3, experiment="wild", cell="wild")
    results.add("standard", 100, 0.2, experiment="wild", language="<i>")
    path = results.folder / "wild" / "wild.json"
    path.write_text(path.read_text().replace('"experiment": "wild"', '"experiment": "../../<u>wild"'))
    paths = write_report(make_report(results.folder), tmp_path / "out")
    assert all(each.resolve().is_relative_to(tmp_path / "out") for each in paths)
    text = (tmp_path / "out" / "results.html").read_text(encoding="utf-8")
    assert not re.search(r"<(b|i|u)>", text)


def test_the_same_results_give_the_same_bytes(filled, tmp_path):
    first = write_report(make_report(filled.folder), tmp_path / "a")
    second = write_report(make_report(filled.folder), tmp_path / "b")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_one_seed_and_no_details_are_enough(results, tmp_path):
    results.add("ordered", 100, 0, scores={"joint_accuracy": 0.3}, curve=[], settings={}, corpus={}, commands=[])
    write_report(make_report(results.folder), tmp_path / "out")
    text = (tmp_path / "out" / "results.md").read_text(encoding="utf-8")
    assert "In percent; one seed each; the number of examples is not given." in text
    assert "No result has scores by project, so there are no tests." in text


def test_uneven_seeds_are_told_in_each_cell(results, tmp_path):
    results.add("ordered", 100, 0.3)
    results.add("ordered", 100, 0.4, seed=1)
    results.add("standard", 100, 0.2)
    write_report(make_report(results.folder), tmp_path / "out")
    assert "| 100 | **35.0 ± 7.1 (2)** | 20.0 (1) |" in (tmp_path / "out" / "results.md").read_text(encoding="utf-8")


def test_presets_can_be_compared(results, tmp_path):
    for preset, score in (("small", 0.3), ("tiny", 0.2)):
        for strategy, gain in (("ordered", 0.1), ("standard", 0.0)):
            results.add(strategy, 100, score + gain, cell=f"{strategy}-{preset}", preset=preset)
    write_report(make_report(results.folder), tmp_path / "out")
    joint = table(tmp_path / "out", "misuse-python-joint")
    assert joint["columns"][1:] == ["ordered", "ordered, preset=tiny", "standard", "standard, preset=tiny"]
    said = (tmp_path / "out" / "results.md").read_text(encoding="utf-8")
    assert "Where a strategy's name does not say otherwise: `preset=small`." in said
    assert "Left out" not in said


def test_nothing_to_report_is_an_error_with_a_reason(results, tmp_path):
    with pytest.raises(UsageError, match=r"is no folder; give the one that holds EXPERIMENT/CELL\.json"):
        make_report(tmp_path / "nowhere")
    results.folder.mkdir()
    with pytest.raises(UsageError, match=r"nothing to report in .*: it holds no JSON files"):
        make_report(results.folder)
    (results.folder / "x.json").write_text("{")
    with pytest.raises(UsageError, match=r"can be shown:\n  x\.json is no JSON"):
        make_report(results.folder)


def test_the_command_prints_a_summary(filled, tmp_path, capfdbinary):
    (filled.folder / "misuse-python" / "broken.json").write_text("{")
    assert main(["report", str(filled.folder), "--out", str(tmp_path / "out")]) == 0
    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert lines[0] == "25 trained models, 1 left out"
    assert lines[1] == (
        "misuse-python: Variable misuse, Python, Joint accuracy (at the best vocabulary): "
        "ordered 40.5 % (1,000), randomized 39.5 % (1,000), standard 30.5 % (1,000)"
    )
    assert "  anonymization against standard: holds (misuse-python), undecided (completion-python)" in lines
    assert f"wrote {tmp_path / 'out' / 'results.html'}" in lines
    assert any(line.startswith("left out: misuse-python/broken.json is no JSON") for line in lines)


def test_the_summary_as_json(filled, tmp_path, capfdbinary):
    assert main(["report", str(filled.folder), "--out", str(tmp_path / "out"), "--format", "json"]) == 0
    said = json.loads(capfdbinary.readouterr().out)
    assert said["models"] == 25
    assert said["files"][0] == str(tmp_path / "out" / "results.md")


def test_an_empty_folder_is_exit_2(tmp_path, capsys):
    (tmp_path / "results").mkdir()
    assert main(["report", str(tmp_path / "results"), "--out", str(tmp_path / "out")]) == 2
    assert "rarename report: nothing to report in" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_report_is_made_without_torch():
    code = "import sys, rarename.cli.report, rarename.report.report; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_names_of_embeddings_may_hold_any_character(results, tmp_path):
    points = [[0, 1, "vocabulary", "a\x1b\n<b>\ud800"], [1, 0, "placeholder", "VAR1"]]
    results.add("ordered", 100, 0.3, embeddings={"points": points})
    write_report(make_report(results.folder), tmp_path / "out")
    (figure,) = (tmp_path / "out" / "figures").glob("*embeddings.svg")
    titles = [each.text for each in ElementTree.parse(figure).iter() if each.tag.endswith("title")]
    assert "a\ufffd\ufffd<b>\ufffd" in titles
