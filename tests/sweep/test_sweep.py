"""Sweeps: every cell once, whatever happens in between, and no result of anything else."""

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from rarename.cli.main import main
from rarename.config import Experiment
from rarename.errors import RunError, UsageError
from rarename.report.paper import paper_study
from rarename.report.results import read_results
from rarename.runs import embeddings
from rarename.runs.run import evaluate, train
from rarename.sweep import sweep as sweeps
from rarename.sweep.cell import Look, look_at_run
from rarename.sweep.grid import read
from rarename.sweep.sweep import Sweep
from rarename.training.checkpoint import read_tensors, write_tensors

ROOT = Path(__file__).parents[2]

HEAD = """
title = "Tiny"
shows = "nothing"
task = "{task}"
preset = "tiny"
corpus = "corpora/ten"

[settings]
model.width = 16
model.layers = 1
model.heads = 2
model.inner_width = 16
training.batch_nodes = 1000
training.validation_snippets = 20
training.save_every = 0.0
"""

MISUSE = (
    HEAD.format(task="misuse")
    + """
training.epochs = 0.4
training.validate_every = 200
encoding.placeholders = 80
task.max_nodes = 80

[[grid]]
strategy = ["ordered", "standard"]
vocabulary_size = 40
seed = 0

[[grid]]
strategy = "full"
"""
)

COMPLETION = (
    HEAD.format(task="completion")
    + """
training.epochs = 0.05
training.validate_every = 10
encoding.placeholders = 50
model.sees_neighbours = false
task.window = 50
task.stride = 50

[[grid]]
strategy = "standard"
pointer = true
vocabulary_size = 40

[embeddings]
"""
)


class InProcess(Sweep):
    """Does what the commands do in this process: torch need not be imported again for each of them."""

    def _command(self, job, lock, words, more=()):
        if words[0] == "evaluate":
            return json.dumps(evaluate(job.run))
        outcome = train(
            job.wanted,
            job.run,
            resume=bool(more),
            tell=lambda told: self._hear(job, json.dumps(told)),
            is_interrupted=lambda: bool(self.stopped),
        )
        if not outcome:
            raise sweeps._Stopped
        return ""


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def in_process(monkeypatch):
    monkeypatch.setattr("rarename.sweep.sweep.Sweep", InProcess)


@pytest.fixture
def idle(monkeypatch):
    """Nothing may be trained or measured."""

    def command(*arguments):
        raise AssertionError("a command was run")

    monkeypatch.setattr(Sweep, "_command", command)


class Place:
    """A folder with an experiment file, runs and results."""

    def __init__(self, folder: Path, corpus: Path) -> None:
        self.folder, self.corpus = folder, corpus

    def words(self, *more: str, name: str = "tiny") -> list[str]:
        folders = ["--runs", str(self.folder / "runs"), "--results", str(self.folder / "results")]
        corpus = [] if "--corpus" in more else ["--corpus", str(self.corpus)]
        return ["sweep", str(self.folder / f"{name}.toml"), *corpus, *folders, "--threads", "1", *more]

    def sweep(self, *more: str, name: str = "tiny") -> int:
        return main(self.words(*more, name=name))

    def run(self, cell: str, name: str = "tiny") -> Path:
        return self.folder / "runs" / name / cell

    def result(self, cell: str, name: str = "tiny") -> Path:
        return self.folder / "results" / name / f"{cell}.json"

    def wanted(self, cell: str) -> Experiment:
        sweep = Sweep(read(self.folder / "tiny.toml"), corpus=str(self.corpus))
        return next(job.wanted for job in sweep.jobs if job.name == cell)

    def content(self, cell: str) -> dict:
        """A result, without the time that it took."""
        content = json.loads(self.result(cell).read_text())
        del content["seconds"], content["measuring_seconds"]
        for point in content["curve"]:
            del point["seconds"]
        return content


@pytest.fixture(scope="module")
def finished(corpus_folder, tmp_path_factory):
    """A sweep that is done. Tests that change it must copy it first."""
    place = Place(tmp_path_factory.mktemp("sweep"), corpus_folder)
    (place.folder / "tiny.toml").write_text(MISUSE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rarename.sweep.sweep.Sweep", InProcess)
        assert place.sweep("--jobs", "2") == 0
    return place


@pytest.fixture
def place(finished, tmp_path):
    """A copy of it."""
    return Place(Path(shutil.copytree(finished.folder, tmp_path / "copy")), finished.corpus)


def plan(tmp_path, text):
    (tmp_path / "some-name.toml").write_text(text)
    return read(tmp_path / "some-name.toml")


# --- experiment files -----------------------------------------------------------------------------------------

BASE = 'title = "T"\ntask = "completion"\ncorpus = "c"\n'


def test_a_grid_is_the_product_of_its_lists(tmp_path):
    text = BASE + '[[grid]]\nstrategy = ["ordered", "standard"]\nvocabulary_size = [20, 100]\nseed = [0, 1]\n'
    cells = plan(tmp_path, text).cells
    assert [cell.name for cell in cells] == [
        f"{strategy}-{size}-{seed}" for strategy in ("ordered", "standard") for size in (20, 100) for seed in (0, 1)
    ]
    expected = {"encoding.strategy": "standard", "encoding.vocabulary_size": 100, "seed": 1}
    assert cells[-1].settings == expected


@pytest.mark.parametrize(
    ("grid", "name"),
    [
        ('strategy = "standard"\npointer = true\nvocabulary_size = 1000', "standard-pointer-1000-0"),
        ('strategy = "randomized"\nvocabulary_size = 1000\nplaceholders = 2000', "randomized-1000-an2000-0"),
        ('strategy = "full"', "full-0"),
        ('strategy = "full"\nvocabulary_size = 100', "full-100-0"),
        ("seed = 7\nmodel.layers = 2", "ordered-7-model.layers=2"),
        ('preset = "tiny"\ntraining.schedule = "cosine"', "ordered-tiny-0-training.schedule=cosine"),
    ],
)
def test_names_of_cells(tmp_path, grid, name):
    assert [cell.name for cell in plan(tmp_path, f"{BASE}[[grid]]\n{grid}\n").cells] == [name]


def test_full_anonymization_keeps_no_name(tmp_path):
    asked = plan(tmp_path, BASE + '[[grid]]\nstrategy = "full"\n')
    assert asked.experiment(asked.cells[0], "c").encoding.vocabulary_size == 0


def test_equal_cells_stand_there_once(tmp_path):
    grids = "[[grid]]\nvocabulary_size = [10, 20]\n[[grid]]\nvocabulary_size = [20, 30]\nplaceholders = 500\n"
    names = [cell.name for cell in plan(tmp_path, BASE + grids).cells]
    assert names == ["ordered-10-0", "ordered-20-0", "ordered-30-an500-0"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "colour = 1\n",
            "no key 'colour'; choose one of title, shows, task, preset, corpus, runs, settings, grid, emb",
        ),
        ("[[grid]]\nsize = 1\n", "no key 'size' of a grid; choose one of strategy, vocabulary_size, .* model.layers"),
        ("[[grid]]\npointer = true\ntask.has_pointer = true\n", "a grid has both pointer and task.has_pointer, which"),
        ("[[grid]]\nseed = []\n", "seed of a grid is an empty list"),
        ("[[grid]]\nmodel.widht = 1\n", "no setting 'model.widht'; choose one of model.width"),
        ('[[grid]]\nstrategy = "sorted"\n', "no strategy 'sorted'; choose one of standard, ordered"),
        ('[[grid]]\npreset = "huge"\n', "no preset of completion 'huge'; choose one of"),
        ('[[grid]]\nmodel.width = "wide"\n', "model.width is 'wide'; expected int"),
        ("", "it has no grid"),
        ("grid = 3\n", "grid is 3; expected list"),
        ("grid = [3]\n", r"grid has 3; expected \[\[grid\]\]"),
        ('runs = "../x"\n[[grid]]\nseed = 0\n', "'../x' is no name of an experiment; use letters"),
        ("[[grid]]\nseed = 0\n[embeddings]\nmetric = 1\n", r"\[embeddings\] has no settings, but metric is given"),
        ("[[grid]]\nseed = 0\n[[grid]]\nseed = 0\n[[grid]\n", "cannot be read: "),
    ],
)
def test_what_is_wrong_in_an_experiment_file_is_said(tmp_path, text, message):
    with pytest.raises(UsageError, match=message):
        plan(tmp_path, BASE + text)


EXPERIMENTS = sorted((ROOT / "experiments").rglob("*.toml"))


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_our_experiment_files_can_be_read(path):
    ours = read(path)
    assert ours.title
    assert ours.shows
    assert ("paper" in path.parts) == ours.name.endswith("-paper")
    assert {cell.preset for cell in ours.cells} == {"paper" if "paper" in path.parts else "small"}
    if ours.runs != ours.name:
        other = read(path.with_name(f"{ours.runs}.toml"))
        theirs = {cell.name: other.experiment(cell, other.corpus) for cell in other.cells}
        shared = [cell for cell in ours.cells if cell.name in theirs]
        assert shared
        assert all(ours.experiment(cell, ours.corpus) == theirs[cell.name] for cell in shared)


@pytest.mark.parametrize("task", ["misuse", "completion"])
@pytest.mark.parametrize("language", ["python", "javascript"])
def test_the_scale_of_the_paper_has_every_row_of_its_tables(task, language):
    plan = read(ROOT / "experiments" / "paper" / f"{task}-{language}-paper.toml")
    ours: dict[str, set[int]] = {}
    for cell in plan.cells:
        experiment = plan.experiment(cell, plan.corpus)
        series = experiment.encoding.strategy + (" + pointer" if "pointer" in cell.name else "")
        ours.setdefault(series, set()).add(experiment.encoding.vocabulary_size)
    theirs = {series: set(scores) for series, scores in paper_study(task, language).scores.items()}
    if task == "misuse":
        theirs["standard"].remove(max(theirs["standard"]))  # all values, whose number depends on the corpus
    assert ours == theirs
    assert len(plan.cells) == 3 * sum(map(len, ours.values()))


def test_completion_has_three_seeds_at_two_sizes():
    plan = read(ROOT / "experiments" / "completion-python.toml")
    names = {cell.name for cell in plan.cells}
    series = ("ordered", "randomized", "standard", "standard-pointer")
    assert {f"{each}-{size}-{seed}" for each in series for size in (100, 1000) for seed in (0, 1, 2)} <= names


def test_our_experiments_have_names_of_their_own():
    assert len({path.stem for path in EXPERIMENTS}) == len(EXPERIMENTS) > 10


def test_the_page_counts_their_cells():
    page = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[`([\w-]+)`\].* \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    plans = {path.stem: read(path) for path in EXPERIMENTS if "paper" not in path.parts}
    assert {name for name, _, _ in rows} == set(plans)
    for name, num_cells, num_trained in rows:
        ours = plans[name]
        others = {cell.name for cell in plans[ours.runs].cells} if ours.runs != name else set()
        names = {cell.name for cell in ours.cells}
        assert (len(names), len(names - others)) == (int(num_cells), int(num_trained)), name


# --- a sweep ----------------------------------------------------------------------------------------------------


def test_every_cell_has_a_result(finished):
    found, left_out = read_results(finished.folder / "results")
    assert not left_out
    assert {result.cell for result in found} == {"ordered-40-0", "standard-40-0", "full-0"}
    result = next(result for result in found if result.cell == "ordered-40-0")
    assert (result.experiment, result.task, result.language, result.preset) == ("tiny", "misuse", "python", "tiny")
    assert (result.strategy, result.vocabulary_size, result.placeholders, result.seed) == ("ordered", 40, 80, 0)
    assert result.settings["training.epochs"] == 0.4
    assert result.settings["corpus"] == "corpora/ten"
    assert result.corpus["name"] == "ten"
    assert result.corpus["projects"] == 10
    assert result.code["recipe"] == 1
    assert result.split == "test"
    assert [sorted(point) for point in result.curve] == [["examples", "loss", "seconds", "validation"]] * 3
    assert result.examples == result.curve[-1]["examples"]
    assert result.scores == json.loads(json.dumps(evaluate(finished.run("ordered-40-0"))))


def test_a_result_has_the_commands_and_no_path_of_this_machine(finished):
    text = finished.result("ordered-40-0").read_text()
    assert str(finished.folder) not in text
    assert str(finished.corpus) not in text
    training, measuring = json.loads(text)["commands"]
    assert training.startswith(
        "rarename train misuse --corpus corpora/ten --run runs/tiny/ordered-40-0 --preset tiny --strategy ordered "
        "--vocabulary-size 40 --set encoding.placeholders=80 --seed 0 --set model.width=16 "
    )
    assert "--set training.epochs=0.4 " in training
    assert measuring == "rarename evaluate runs/tiny/ordered-40-0 --split test --threads 1"


def test_what_is_done_is_not_done_again(place, idle, capfd):
    before = {path: path.stat().st_mtime_ns for path in place.folder.rglob("*.*")}
    assert place.sweep() == 0
    assert before == {path: path.stat().st_mtime_ns for path in place.folder.rglob("*.*")}
    out, err = capfd.readouterr()
    assert err == "rarename sweep: 3 of 3 cells are done\n"
    assert [line.split("  ")[0] for line in out.splitlines()] == ["ordered-40-0", "standard-40-0", "full-0"]


def test_only_some_cells(place, in_process, capfd):
    for cell in ("ordered-40-0", "full-0"):
        place.result(cell).unlink()
    assert place.sweep("--only", "f*", "--only", "standard-40-0", "--format", "json") == 0
    assert place.result("full-0").exists()
    assert not place.result("ordered-40-0").exists()
    out, err = capfd.readouterr()
    assert [cell["state"] for cell in json.loads(out)["cells"]] == ["done", "done"]
    assert "full-0: begun, trained already\n" in err
    assert place.sweep("--only", "x*") == 2
    message = "rarename sweep: no cell of tiny fits 'x*'; there are ordered-40-0, standard-40-0, full-0\n"
    assert capfd.readouterr().err == message


def test_the_list_tells_how_far_each_cell_is(place, idle, capfd):
    place.result("standard-40-0").unlink()
    place.result("full-0").unlink()
    shutil.rmtree(place.run("full-0"))
    (place.folder / "tiny.toml").write_text(MISUSE.replace('strategy = "full"', 'strategy = "full"\nseed = [0, 1]'))
    shutil.copytree(place.run("standard-40-0"), place.run("full-1"))
    assert place.sweep("--list") == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].startswith("ordered-40-0   done, joint ")
    assert lines[1:3] == ["standard-40-0  run finished", "full-0         not begun"]
    assert lines[3].startswith("full-1         stale: seed (0, not 1), encoding.vocabulary_size (40, not 0), ")
    assert re.fullmatch(r"1 of 4 done, about \d+ min \d+ s left \(one job\)", lines[4])
    assert len(lines) == 5
    assert place.sweep("--list", "--format", "json", "--only", "st*") == 0
    cell = json.loads(capfd.readouterr().out)["cells"][0]
    assert (cell["state"], cell["examples"] >= cell["total_examples"] > 300) == ("run finished", True)


def looks(state, *, seconds=0.0, measuring=None, run="missing", examples=0, total=0):
    content = {"seconds": seconds} | ({} if measuring is None else {"measuring_seconds": measuring})
    return Look(state, content=content if state == "done" else {}), Look(run, "", {}, examples, total, seconds)


MISSING, BEGUN = looks("missing"), looks("missing", run="begun", examples=100, total=400, seconds=50.0)
TRAINED = looks("missing", run="finished", examples=400, total=400, seconds=80.0)
DONE, EARLIER_DONE = looks("done", seconds=100.0, measuring=20.0), looks("done", seconds=140.0)


@pytest.mark.parametrize(
    ("found", "num_jobs", "seconds"),
    [
        ([DONE, DONE], 1, 0.0),
        ([MISSING], 1, None),
        ([TRAINED], 1, None),  # how long it takes to measure is not known
        ([DONE, TRAINED], 1, 20.0),
        ([DONE, MISSING], 1, 120.0),
        ([DONE, EARLIER_DONE, MISSING], 1, 140.0),
        ([DONE, BEGUN, MISSING], 1, 170.0 + 120.0),
        ([DONE, MISSING, MISSING, MISSING], 2, 180.0),
        ([DONE, MISSING], 4, 120.0),
        ([BEGUN, MISSING], 1, 150.0 + 200.0),
        ([DONE, looks("missing", run="begun")], 1, 120.0),
    ],
)
def test_how_long_the_rest_will_take(found, num_jobs, seconds):
    assert sweeps.seconds_left(found, num_jobs) == seconds


def test_a_sweep_counts_what_another_has_measured_and_what_is_trained(place, in_process, capfd):
    """The time left is for what is left to do, and a cell that is done counts when that is told."""
    place.result("full-0").unlink()  # its run is finished
    content = json.loads(place.result("ordered-40-0").read_text())
    place.result("ordered-40-0").write_text(json.dumps(content | {"seconds": 7000.0, "measuring_seconds": 260.0}))
    assert place.sweep() == 0
    lines = capfd.readouterr().err.splitlines()
    assert re.match(r"\[2 of 3 done, about 2 min \d+ s left\] full-0: begun, trained already", lines[0])
    assert lines[-2].startswith("[3 of 3 done] full-0: done after ")


def test_the_list_has_a_summary(place, idle, capfd):
    assert place.sweep("--list") == 0
    assert capfd.readouterr().out.endswith("\n3 of 3 done\n")
    shutil.rmtree(place.run("full-0"))
    place.result("full-0").unlink()
    for cell in ("ordered-40-0", "standard-40-0"):
        content = json.loads(place.result(cell).read_text())
        place.result(cell).write_text(json.dumps(content | {"seconds": 7000.0, "measuring_seconds": 260.0}))
    assert place.sweep("--list") == 0
    assert capfd.readouterr().out.endswith("\n2 of 3 done, about 2 h 1 min left (one job)\n")
    assert place.sweep("--list", "--jobs", "2", "--format", "json") == 0
    said = json.loads(capfd.readouterr().out)
    summary = [said[key] for key in ("num_done", "num_cells", "jobs", "seconds_left")]
    assert summary == [2, 3, 2, 7260.0]


def test_a_result_of_an_earlier_version_has_no_time_of_measuring_and_is_done(place, idle):
    content = json.loads(place.result("full-0").read_text())
    assert content.pop("measuring_seconds") >= 0
    place.result("full-0").write_text(json.dumps(content))
    assert place.sweep() == 0


class Patient(InProcess):
    """However fast the machine is, training is not over before the sweep is stopped."""

    def _hear(self, job, line):
        super()._hear(job, line)
        for _ in range(6_000):
            if self.stopped:
                break
            time.sleep(0.01)


def test_the_time_is_up(place, in_process, capfd, monkeypatch):
    place.result("full-0").unlink()
    assert place.sweep("--time-limit", "0") == 2
    message = "rarename sweep: 2 of 3 cells are done; the time is up, the same command goes on\n"
    assert capfd.readouterr().err == message
    assert not place.result("full-0").exists()
    shutil.rmtree(place.run("full-0"))
    with monkeypatch.context() as patch:
        patch.setattr("rarename.sweep.sweep.Sweep", Patient)
        assert place.sweep("--time-limit", "0.02") == 2
    assert "full-0: stopped; the same command goes on" in capfd.readouterr().err
    assert not place.result("full-0").exists()
    assert place.sweep() == 0


def cut(path):
    path.write_bytes(path.read_bytes()[:100])


def take(run, *names):
    """Files of the neighbouring run."""
    for name in names:
        shutil.copy(run.with_name("ordered-40-0") / name, run / name)


def set_back(run, **position):
    tensors, before = read_tensors(run / "state.safetensors")
    after = {f"position.{key}": str(value) for key, value in position.items()}
    write_tensors(run / "state.safetensors", tensors, before | after)


def garble(path, number, text):
    lines = path.read_bytes().splitlines()
    lines[number] = text
    path.write_bytes(b"\n".join([*lines, b""]))


NOT_TOLD = r"metrics\.jsonl does not tell what was measured while training"

DAMAGES = {
    "weights": (lambda run: cut(run / "weights.safetensors"), r"weights\.safetensors is damaged: "),
    "no weights": (lambda run: (run / "weights.safetensors").unlink(), r"weights\.safetensors is missing"),
    "state": (lambda run: cut(run / "state.safetensors"), r"state\.safetensors is damaged: "),
    "other state": (
        lambda run: shutil.copy(run / "weights.safetensors", run / "state.safetensors"),
        r"state\.safetensors does not say how far training is",
    ),
    "setting": (lambda run: cut(run / "experiment.toml"), r"experiment\.toml "),
    "no setting": (lambda run: (run / "experiment.toml").unlink(), r"it has no experiment\.toml"),
    "encoding": (lambda run: cut(run / "encoding.json"), r"encoding\.json is not an encoding"),
    "empty encoding": (lambda run: (run / "encoding.json").write_text("{}"), r"encoding\.json is not an encoding"),
    "no encoding": (lambda run: (run / "encoding.json").unlink(), r"encoding\.json is missing"),
    "other encoding": (
        lambda run: take(run, "encoding.json"),
        r"encoding\.json is of another run: strategy \('ordered', not 'full'\), vocabulary_size \(40, not 0\)",
    ),
    "other model": (
        lambda run: take(run, "weights.safetensors", "state.safetensors"),
        r"state\.safetensors and .*encoding\.json are of different models",
    ),
    "no metrics": (lambda run: (run / "metrics.jsonl").unlink(), NOT_TOLD),
    "no line of metrics": (lambda run: garble(run / "metrics.jsonl", 0, b"{}"), NOT_TOLD),
    "metrics": (lambda run: garble(run / "metrics.jsonl", 0, b"\xff{"), NOT_TOLD),
    "metrics without scores": (
        lambda run: garble(run / "metrics.jsonl", 0, b'{"examples": 1, "total_examples": 1, "seconds": 1, "loss": 1}'),
        NOT_TOLD,
    ),
    "later metrics": (
        lambda run: garble(run / "metrics.jsonl", 1, b'{"exam'),
        r"metrics\.jsonl ends at \d+ of \d+ examples",
    ),
    "metrics of a run that is not over": (
        lambda run: (set_back(run, examples=300, next_validation=600), garble(run / "metrics.jsonl", 1, b'{"exam')),
        r"metrics\.jsonl ends at 2\d\d of 300 examples",
    ),
    "metrics that are a folder": (
        lambda run: ((run / "metrics.jsonl").unlink(), (run / "metrics.jsonl").mkdir()),
        r"metrics\.jsonl",
    ),
    "a file in its place": (lambda run: (shutil.rmtree(run), run.write_text("")), "Not a directory"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_is_found(place, capfd, damage):
    change, message = DAMAGES[damage]
    place.result("full-0").unlink()
    change(place.run("full-0"))
    assert place.sweep("--list", "--only", "full-0") == 0
    assert re.match(rf"full-0  damaged: .*{message}", capfd.readouterr().out)


@pytest.mark.parametrize("damage", ["weights", "state", "other encoding", "no metrics"])
def test_a_damaged_run_is_made_again(finished, place, in_process, capfd, damage):
    change, message = DAMAGES[damage]
    place.result("full-0").unlink()
    change(place.run("full-0"))
    assert place.sweep() == 0
    words = rf"full-0: its run is damaged, and is made again: .*{message}.*\(now full-0\.damaged-1\)"
    assert re.search(words, capfd.readouterr().err)
    assert place.run("full-0.damaged-1").is_dir()
    assert place.content("full-0") == finished.content("full-0")


def test_a_run_that_was_stopped_before_its_first_look_is_not_damaged(place):
    run, wanted = place.run("full-0"), place.wanted("full-0")
    set_back(run, best=-1.0, examples=100, stale=0, next_validation=200)
    (run / "metrics.jsonl").unlink()
    assert (look_at_run(run, wanted).state, look_at_run(run, wanted).examples) == ("begun", 100)
    (run / "weights.safetensors").unlink()
    assert look_at_run(run, wanted).state == "begun"
    (run / "state.safetensors").unlink()
    (run / "encoding.json").unlink()
    assert look_at_run(run, wanted).state == "begun"


@pytest.mark.parametrize("text", [b"{}", b"[]", b'{"examples": "many"}', b'{"examples": 1, "\xff": 1', b"\xff\xfe"])
def test_training_goes_on_whatever_stands_in_the_metrics(place, text):
    run, wanted = place.run("full-0"), place.wanted("full-0")
    garble(run / "metrics.jsonl", 1, text)
    kept = (run / "metrics.jsonl").read_bytes().splitlines()[0]
    assert train(wanted, run, resume=True)
    assert (run / "metrics.jsonl").read_bytes() == kept + b"\n"


@pytest.mark.parametrize("content", ['{"format": "rarename-result"', "[]"])
def test_a_damaged_result_is_found_and_made_again(finished, place, in_process, capfd, content):
    place.result("full-0").write_text(content)
    assert place.sweep() == 0
    assert "full-0: its result is damaged, and is made again: it cannot be read: " in capfd.readouterr().err
    assert place.content("full-0") == finished.content("full-0")
    assert place.result("full-0").with_name("full-0.json.damaged-1").read_text() == content
    assert len(read_results(place.folder / "results")[0]) == 3


def test_a_result_of_other_settings_is_never_kept(place, in_process, capfd):
    (place.folder / "tiny.toml").write_text(MISUSE.replace("epochs = 0.4", "epochs = 0.1"))
    assert place.sweep("--list", "--only", "full-0") == 0
    assert capfd.readouterr().out.startswith("full-0  stale: training.epochs (0.4, not 0.1)\n0 of 1 done")
    assert place.sweep("--only", "full-0") == 0
    said = capfd.readouterr().err
    unlike = "training.epochs (0.4, not 0.1)"
    assert f"full-0: its result is stale, and is made again: {unlike} (now full-0.json.stale-1)\n" in said
    assert f"full-0: its run is of other settings, and is made again: {unlike} (now full-0.damaged-1)\n" in said
    assert place.content("full-0")["settings"]["training.epochs"] == 0.1


def test_a_result_of_another_recipe_or_corpus_is_stale(place, capfd):
    for cell, old, new in (("full-0", '"recipe": 1', '"recipe": 0'), ("ordered-40-0", '"digest": "', '"digest": "x')):
        path = place.result(cell)
        path.write_text(path.read_text().replace(old, new))
    assert place.sweep("--list") == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].startswith("ordered-40-0   stale: corpus digest (x")
    assert lines[2] == "full-0         stale: recipe (0, not 1)"


def test_the_corpus_may_lie_elsewhere(finished, place, in_process, tmp_path, capfd):
    shutil.copytree(place.corpus, tmp_path / "elsewhere" / "ten")
    place.result("full-0").unlink()
    assert place.sweep("--corpus", str(tmp_path / "elsewhere" / "ten")) == 0
    assert "full-0: begun, trained already\n" in capfd.readouterr().err
    assert place.content("full-0") == finished.content("full-0")


def test_a_cell_that_fails_again_does_not_stop_the_others(place, monkeypatch, capfd):
    class Failing(InProcess):
        def _command(self, job, lock, words, more=()):
            if job.name == "ordered-40-0":
                raise RunError("the sky fell")
            return super()._command(job, lock, words, more)

    monkeypatch.setattr("rarename.sweep.sweep.Sweep", Failing)
    for cell in ("ordered-40-0", "full-0"):
        place.result(cell).unlink()
    assert place.sweep() == 2
    out, err = capfd.readouterr()
    assert "ordered-40-0: failed, and is tried once more: the sky fell\n" in err
    assert "ordered-40-0: failed: the sky fell\n" in err
    assert err.endswith("rarename sweep: 2 of 3 cells are done, 1 failed\n")
    assert "ordered-40-0  failed: the sky fell\n" in out
    assert place.result("full-0").exists()


def test_two_sweeps_do_not_meet(place, in_process, capfd):
    """Another sweep holds a cell: ours does the other one, waits, and takes over what is left."""
    for cell in ("ordered-40-0", "full-0"):
        place.result(cell).unlink()
    with (place.folder / "runs" / "tiny" / ".ordered-40-0.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ours = Sweep(
            read(place.folder / "tiny.toml"),
            corpus=str(place.corpus),
            runs=place.folder / "runs",
            results=place.folder / "results",
        )
        ours.__class__ = InProcess
        outcomes = {}
        thread = threading.Thread(target=lambda: outcomes.update(ours.run(ours.chosen([]))))
        thread.start()
        wait_for(place.result("full-0").exists)
        assert not place.result("ordered-40-0").exists()
        assert thread.is_alive()
    thread.join()
    assert {outcome.state for outcome in outcomes.values()} == {"done"}


def test_a_run_of_another_experiment_is_used_but_never_moved(place, in_process, capfd):
    shared = MISUSE.replace("[settings]", 'runs = "tiny"\n[settings]')
    (place.folder / "other.toml").write_text(shared)
    place.result("full-0").unlink()
    assert place.sweep("--only", "full-0", name="other") == 0
    assert "full-0: begun, trained already\n" in capfd.readouterr().err
    assert json.loads(place.result("full-0", "other").read_text())["experiment"] == "other"
    assert "--run runs/tiny/full-0 " in place.result("full-0", "other").read_text()
    (place.folder / "other.toml").write_text(shared.replace("epochs = 0.4", "epochs = 0.1"))
    assert place.sweep("--only", "full-0", name="other") == 2
    assert "a run of tiny, has other settings: training.epochs (0.4, not 0.1); let the" in capfd.readouterr().err
    assert place.run("full-0").exists()


def test_a_result_of_another_experiment_is_taken_over_if_it_is_of_the_same_model(place, idle, capfd):
    shared = MISUSE.replace("[settings]", 'runs = "tiny"\n[settings]')
    (place.folder / "other.toml").write_text(shared)
    shutil.rmtree(place.run("full-0"))
    assert place.sweep("--list", "--only", "full-0", name="other") == 0
    assert re.match(r"full-0  measured, joint \d+\.\d\n0 of 1 done\n", capfd.readouterr().out)
    old = place.result("full-0", "other")
    old.parent.mkdir(parents=True)
    old.write_text("{}")
    assert place.sweep("--only", "full-0", name="other") == 0
    assert (
        "full-0: takes the result of tiny, which has the same settings (the old one is now full-0.json.stale-1)\n"
        in capfd.readouterr().err
    )
    theirs, ours = (json.loads(place.result("full-0", name).read_text()) for name in ("tiny", "other"))
    assert ours == theirs | {"experiment": "other"}
    assert old.with_name("full-0.json.stale-1").read_text() == "{}"


@pytest.mark.parametrize("change", ["settings", "corpus"])
def test_a_result_of_another_experiment_is_not_taken_over_if_anything_differs(place, idle, capfd, change):
    shared = MISUSE.replace("[settings]", 'runs = "tiny"\n[settings]')
    (place.folder / "other.toml").write_text(shared)
    theirs = json.loads(place.result("full-0").read_text())
    if change == "settings":
        theirs["settings"]["training.epochs"] = 0.1
    else:
        theirs["corpus"]["digest"] = "0" * 64
    place.result("full-0").write_text(json.dumps(theirs))
    assert place.sweep("--list", "--only", "full-0", name="other") == 0
    assert capfd.readouterr().out.startswith("full-0  run finished\n")


@pytest.mark.parametrize("damage", ["weights", "no encoding", "metrics"])
def test_a_damaged_run_of_another_experiment_is_left_where_it_is(place, idle, capfd, damage):
    change, message = DAMAGES[damage]
    (place.folder / "other.toml").write_text(MISUSE.replace("[settings]", 'runs = "tiny"\n[settings]'))
    change(place.run("full-0"))
    place.result("full-0").unlink()
    assert place.sweep("--only", "full-0", name="other") == 2
    words = rf"full-0, a run of tiny, is damaged: .*{message}.*; sweep tiny, or move that folder away\n"
    assert re.search(words, capfd.readouterr().err)
    assert [path.name for path in place.run("full-0").parent.glob("full-0*") if path.is_dir()] == ["full-0"]


EARLIER = {
    "a setting less": ("parts = 0\n", "", "encoding.parts (none, not 0)"),
    "a setting more": ("parts = 0\n", "parts = 0\nshoes = 2\n", "encoding.shoes (2, not none)"),
    "another version": ("version = 1\n", "version = 0\n", "experiment.toml is of version 0"),
}


@pytest.mark.parametrize("change", EARLIER)
def test_a_run_of_another_version_is_unlike_and_not_damaged(place, in_process, capfd, change):
    old, new, message = EARLIER[change]
    path = place.run("full-0") / "experiment.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    place.result("full-0").unlink()
    (place.folder / "other.toml").write_text(MISUSE.replace("[settings]", 'runs = "tiny"\n[settings]'))
    assert place.sweep("--only", "full-0", name="other") == 2
    said = capfd.readouterr().err
    assert "a run of tiny, has other settings: " in said
    assert message in said
    assert place.run("full-0").exists()
    assert place.sweep("--list", "--only", "full-0") == 0
    assert re.match(rf"full-0  stale: .*{re.escape(message)}", capfd.readouterr().out)
    assert place.sweep("--only", "full-0") == 0
    assert "its run is of other settings, and is made again: " in capfd.readouterr().err


def test_completion_with_a_pointer_and_its_embeddings(corpus_folder, tmp_path, in_process, capfd):
    pytest.importorskip("sklearn")
    place = Place(tmp_path, corpus_folder)
    (tmp_path / "tiny.toml").write_text(COMPLETION)
    assert place.sweep() == 0
    (result,), left_out = read_results(tmp_path / "results")
    assert not left_out
    assert (result.cell, result.task, result.pointer) == ("standard-pointer-40-0", "completion", True)
    assert "--pointer" in result.commands[0]
    assert result.scores["num_values"] > 100
    points = result.embeddings["points"]
    assert [point[2] for point in points] == ["vocabulary"] * 40 + ["placeholder"] * 50
    assert points[40][3] == "VAR1"
    assert all(round(x, 3) == x and round(y, 3) == y for x, y, _, _ in points)
    cosine = result.embeddings["cosine"]
    assert sorted(cosine) == ["between", "within_placeholders", "within_vocabulary"]
    # Weights that were drawn at random and hardly trained point nowhere.
    assert all(-1 <= value <= 1 for value in cosine.values())
    assert embeddings.look_at_embeddings(place.run(result.cell)) == result.embeddings
    content = json.loads(place.result(result.cell).read_text())
    del content["embeddings"]
    place.result(result.cell).write_text(json.dumps(content))
    assert place.sweep("--list") == 0
    assert "standard-pointer-40-0  stale: embeddings (none)\n" in capfd.readouterr().out


@pytest.mark.parametrize("text", [MISUSE, COMPLETION.replace("[embeddings]", "")], ids=["misuse", "completion"])
def test_standard_may_keep_no_name(corpus_folder, tmp_path, in_process, text):
    place = Place(tmp_path, corpus_folder)
    (tmp_path / "tiny.toml").write_text(text.replace("vocabulary_size = 40", "vocabulary_size = 0"))
    assert place.sweep("--only", "standard-*") == 0
    (result,), left_out = read_results(tmp_path / "results")
    assert not left_out
    assert (result.strategy, result.size) == ("standard", 0)


def test_groups_that_lie_apart_are_told_from_groups_drawn_at_random():
    generator = np.random.default_rng(1)
    shared, one, other = 3 + generator.normal(size=(3, 16))
    noise = generator.normal(size=(2, 60, 16))
    apart = embeddings.p_of_gap(shared + one + noise[0], shared + other + noise[1], shuffles=99)
    alike = embeddings.p_of_gap(shared + noise[0], shared + noise[1], shuffles=99)
    assert apart == 0.01
    assert alike > 0.05


def test_few_embeddings_have_places_too():
    assert embeddings.in_two_dimensions(np.eye(2)).tolist() == [[0, 0], [0, 0]]
    assert np.isfinite(embeddings.in_two_dimensions(np.eye(4))).all()


def test_embeddings_need_a_package(corpus_folder, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr("rarename.runs.embeddings.find_spec", lambda name: None)
    place = Place(tmp_path, corpus_folder)
    (tmp_path / "tiny.toml").write_text(COMPLETION)
    assert place.sweep() == 2
    message = "rarename sweep: embeddings need the package scikit-learn; install it with rarename[report]\n"
    assert capfd.readouterr().err == message


# --- processes --------------------------------------------------------------------------------------------------


def wait_for(is_so, seconds=120.0):
    give_up = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < give_up
        time.sleep(0.02)


def is_locked(path):
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@pytest.mark.slow
def test_interrupted_and_killed_it_ends_in_the_same_result(finished, tmp_path):
    place = Place(tmp_path, finished.corpus)
    (tmp_path / "tiny.toml").write_text(MISUSE)
    words = [sys.executable, "-m", "rarename", *place.words("--only", "full-0")]
    state = place.run("full-0") / "state.safetensors"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}

    with subprocess.Popen(words, **pipes) as process:
        wait_for(state.exists)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130
    assert "full-0: stopped; the same command goes on\n" in said
    assert said.endswith("rarename sweep: 0 of 1 cells are done; interrupted, the same command goes on\n")

    saved = state.stat().st_mtime_ns
    with subprocess.Popen(words, **pipes) as process:
        wait_for(lambda: state.stat().st_mtime_ns != saved)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    # The training has ended as well: nobody holds the lock that it inherited.
    wait_for(lambda: not is_locked(place.folder / "runs" / "tiny" / ".full-0.lock"), 60)

    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "full-0: begun, goes on at " in done.stderr
    assert place.content("full-0") == finished.content("full-0")
    assert not list(place.run("full-0").glob(".*"))


@pytest.mark.slow
def test_a_command_that_fails_is_quoted(finished, tmp_path, capfd, monkeypatch):
    place = Place(tmp_path, finished.corpus)
    (tmp_path / "tiny.toml").write_text(MISUSE.replace("vocabulary_size = 40", "vocabulary_size = 10000000"))
    monkeypatch.setattr("rarename.sweep.sweep.ATTEMPTS", 1)
    assert place.sweep("--only", "ordered-*") == 2
    said = capfd.readouterr().err
    assert (
        "failed: `rarename train` ended with exit code 2; rarename train: encoding.vocabulary_size is 10000000" in said
    )
