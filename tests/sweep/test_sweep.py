"""Sweeps: every trial is trained once, whatever interrupts it, and only valid results are kept."""

import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from rarename.cli.main import main
from rarename.config import ADDED_SETTINGS
from rarename.errors import UsageError
from rarename.io import locked
from rarename.runs.run import evaluate, train
from rarename.sweep import sweep as sweeps
from rarename.sweep import trial as trials
from rarename.sweep.grid import load_sweep
from rarename.sweep.result import read_result
from rarename.sweep.sweep import Sweep, seconds_left
from rarename.sweep.trial import TrialStatus

pytestmark = pytest.mark.usefixtures("one_thread")

HEAD = """
title = "Tiny"
reproduces = "nothing"
task = "{task}"
preset = "tiny"
corpus = "corpora/ten"

[settings]
model.d_model = 16
model.num_layers = 1
model.num_heads = 2
model.d_ff = 16
training.max_batch_nodes = 1000
training.eval_examples = 20
training.save_every_seconds = 0.0
"""
MISUSE = HEAD.format(task="misuse") + """
training.num_epochs = 0.4
training.eval_every_examples = 200
encoding.num_placeholders = 80
task.max_function_nodes = 80

[[grid]]
strategy = ["ordered", "standard"]
vocabulary_size = 40
seed = 0

[[grid]]
strategy = "full"
"""  # fmt: skip
COMPLETION = HEAD.format(task="completion") + """
training.num_epochs = 0.05
training.eval_every_examples = 10
encoding.num_placeholders = 50
model.init_neighbour_heads = false
task.window_size = 50
task.stride = 50

[[grid]]
strategy = "standard"
copy_pointer = true
vocabulary_size = 40

[embeddings]
"""  # fmt: skip
NAMES = ["ordered-40-0", "standard-40-0", "full-0"]


class InThisThread(Executor):
    """Runs each trial at once, in this thread."""

    def __init__(self) -> None:
        self.names = []

    def submit(self, function, job):
        self.names.append(job.name)
        future = Future()
        future.set_result(function(job))
        return future


class Sandbox:
    """A folder with experiment files, runs and results."""

    def __init__(self, folder: Path, corpus: Path) -> None:
        self.folder, self.corpus = folder, corpus

    def sweep(self, name: str = "tiny", **changes) -> Sweep:
        folders = {"corpus": str(self.corpus), "runs": self.folder / "runs", "results": self.folder / "results"}
        return Sweep(load_sweep(self.folder / f"{name}.toml"), **folders | changes)

    def run(self, *patterns: str, name: str = "tiny", **options) -> tuple[dict[str, TrialStatus], list[str]]:
        """The statuses after a sweep, and the trials that were submitted."""
        sweep, executor = self.sweep(name), InThisThread()
        return sweep.run(sweep.select(patterns), executor=executor, **options), executor.names

    def words(self, *more: str) -> list[str]:
        folders = {"--corpus": self.corpus, "--runs": self.folder / "runs", "--results": self.folder / "results"}
        options = [word for option in folders.items() for word in map(str, option)]
        return ["sweep", str(self.folder / "tiny.toml"), *options, "--num-threads", "1", *more]

    def job(self, trial: str):
        return next(job for job in self.sweep().jobs if job.name == trial)

    def run_folder(self, trial: str) -> Path:
        return self.job(trial).run_folder

    def result_path(self, trial: str, name: str = "tiny") -> Path:
        return self.folder / "results" / name / f"{trial}.json"

    def content(self, trial: str) -> dict:
        """A result, without the time that it took."""
        content = dataclasses.asdict(read_result(self.result_path(trial)))
        del content["seconds"], content["eval_seconds"]
        for point in content["curve"]:
            del point["seconds"]
        return content


@pytest.fixture(scope="module")
def finished(corpus_folder, tmp_path_factory):
    """A sweep that is done. Tests that change it must copy it first."""
    sandbox = Sandbox(tmp_path_factory.mktemp("sweep"), corpus_folder)
    (sandbox.folder / "tiny.toml").write_text(MISUSE)
    statuses, submitted = sandbox.run()
    assert submitted == NAMES
    assert {status.state for status in statuses.values()} == {"done"}
    return sandbox


@pytest.fixture
def sandbox(finished, tmp_path):
    return Sandbox(Path(shutil.copytree(finished.folder, tmp_path / "copy")), finished.corpus)


@pytest.fixture
def never_trained(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a model was trained")

    monkeypatch.setattr("rarename.runs.run.train", refuse)


# --- results ------------------------------------------------------------------------------------------------------


def test_every_trial_has_a_result_that_repeats_it(finished):
    result = read_result(finished.result_path("ordered-40-0"))
    names = (result.experiment, result.trial, result.title, result.reproduces)
    assert names == ("tiny", "ordered-40-0", "Tiny", "nothing")
    assert (result.task, result.language, result.preset, result.split) == ("misuse", "python", "tiny", "test")
    assert (result.settings["training.num_epochs"], result.settings["encoding.vocabulary_size"]) == (0.4, 40)
    assert (result.settings["corpus"], result.corpus["name"], result.corpus["projects"]) == ("corpora/ten", "ten", 10)
    assert result.settings["corpus_digest"] == result.corpus["digest"] != ""
    assert result.code["recipe"] == 1
    assert [sorted(point) for point in result.curve] == [["examples", "loss", "seconds", "validation"]] * 3
    assert result.examples == result.curve[-1]["examples"] > 500
    assert result.seconds > 0 <= result.eval_seconds
    assert result.metrics == json.loads(json.dumps(evaluate(finished.run_folder("ordered-40-0"))))
    text = finished.result_path("ordered-40-0").read_text()
    assert str(finished.folder) not in text and str(finished.corpus) not in text


def test_run_folders_are_named_by_their_config(finished, tmp_path):
    names = [job.run_folder.name for job in finished.sweep().jobs]
    assert len(set(names)) == 3
    assert re.fullmatch(r"misuse-ordered-40-0-[0-9a-f]{8}", names[0])
    (tmp_path / "tiny.toml").write_text(MISUSE.replace("d_ff = 16", "d_ff = 32"))
    others = [job.run_folder.name for job in Sandbox(tmp_path, finished.corpus).sweep().jobs]
    assert set(names).isdisjoint(others)
    (tmp_path / "tiny.toml").write_text(MISUSE.replace("corpora/ten", "elsewhere/other-name"))
    assert [job.run_folder.name for job in Sandbox(tmp_path, finished.corpus).sweep().jobs] == names


def test_finished_trials_are_not_repeated_wherever_the_corpus_is(sandbox):
    edited(settings={"corpus": "corpora/elsewhere"})(sandbox.result_path("full-0"))
    before = {path: path.stat().st_mtime_ns for path in sandbox.folder.rglob("*.*")}
    assert sandbox.run()[1] == []
    assert before == {path: path.stat().st_mtime_ns for path in sandbox.folder.rglob("*.*")}


@pytest.mark.parametrize("has_corpus_moved", [False, True])
def test_a_finished_run_is_only_evaluated(sandbox, finished, monkeypatch, tmp_path, has_corpus_moved):
    sandbox.result_path("full-0").unlink()
    if has_corpus_moved:
        config = sandbox.run_folder("full-0") / "config.toml"
        config.write_text(config.read_text().replace(str(sandbox.corpus), "gone"))
    monkeypatch.setattr("rarename.training.trainer.Trainer._step", None)
    statuses, submitted = sandbox.run()
    assert (submitted, statuses["full-0"].state) == (["full-0"], "done")
    assert sandbox.content("full-0") == finished.content("full-0")


def test_results_of_another_experiment_with_the_same_settings_are_copied(sandbox, never_trained):
    (sandbox.folder / "other.toml").write_text(MISUSE.replace('"Tiny"', '"Other"').replace("seed = 0", "seed = [0, 1]"))
    seen = []
    statuses, submitted = sandbox.run(
        "*-0", name="other", on_status=lambda name, status: seen.append((name, status.state, status.reason))
    )
    assert submitted == []
    assert {status.state for status in statuses.values()} == {"done"}
    assert seen[0] == ("ordered-40-0", "done", "copied from tiny/ordered-40-0")
    ours, theirs = (read_result(sandbox.result_path("ordered-40-0", name)) for name in ("other", "tiny"))
    assert ours == dataclasses.replace(theirs, experiment="other", title="Other")
    sweep = sandbox.sweep("other")
    assert sweep.statuses(sweep.jobs)["ordered-40-1"] == TrialStatus("open")


def test_embeddings_are_part_of_the_result_if_the_file_asks_for_them(tmp_path, corpus_folder):
    sandbox = Sandbox(tmp_path, corpus_folder)
    (tmp_path / "tiny.toml").write_text(COMPLETION.replace("[embeddings]", ""))
    assert sandbox.run()[1] == ["standard-pointer-40-0"]
    (tmp_path / "tiny.toml").write_text(COMPLETION)
    assert sandbox.sweep().statuses(sandbox.sweep().jobs)["standard-pointer-40-0"] == TrialStatus(
        "open", "stale: no embeddings"
    )
    statuses, _ = sandbox.run()
    assert set(statuses["standard-pointer-40-0"].result.embeddings["cosine"]) == {
        "within_placeholders", "within_vocabulary", "between",
    }  # fmt: skip
    assert len(read_result(sandbox.result_path("standard-pointer-40-0")).embeddings["points"]) == 40 + 50
    shutil.copytree(tmp_path / "results" / "tiny", tmp_path / "results" / "before")
    content = json.loads(sandbox.result_path("standard-pointer-40-0", "before").read_text())
    sandbox.result_path("standard-pointer-40-0", "before").write_text(json.dumps(content | {"embeddings": {}}))
    (tmp_path / "other.toml").write_text(COMPLETION)
    assert sandbox.run(name="other")[1] == []  # `tiny` has the embeddings, `before` has not


# --- damage -------------------------------------------------------------------------------------------------------


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-50])


def change_seed(path: Path) -> None:
    path.write_text(path.read_text().replace("seed = 0", "seed = 1"))


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("config.toml", cut), ("config.toml", Path.unlink), ("config.toml", change_seed), ("encoding.json", cut),
        ("model.safetensors", cut), ("model.safetensors", Path.unlink), ("trainer_state.safetensors", cut),
        ("metrics.jsonl", Path.unlink), ("metrics.jsonl", cut),
    ],
)  # fmt: skip
def test_a_damaged_run_is_moved_aside_and_trained_again(sandbox, finished, name, damage):
    sandbox.result_path("full-0").unlink()
    folder = sandbox.run_folder("full-0")
    damage(folder / name)
    statuses, _ = sandbox.run()
    aside = folder.with_name(f"{folder.name}.damaged-1")
    assert statuses["full-0"].state == "done"
    assert statuses["full-0"].reason.startswith(f"trained again, the old run folder is now {aside.name}: ")
    assert aside.is_dir()
    assert sandbox.content("full-0") == finished.content("full-0")


def edited(**changes):
    def edit(path: Path) -> None:
        content = json.loads(path.read_text())
        for key, value in changes.items():
            content[key] = content[key] | value if isinstance(value, dict) else value
        path.write_text(json.dumps(content))

    return edit


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (cut, "full-0.json cannot be read"),
        (edited(version=1), "has version 1; this rarename reads version 2"),
        (edited(settings={"seed": 5}), "stale: seed (5, not 0)"),
        (edited(settings={"old_key": 5}), "stale: old_key (5, not None)"),
        (edited(settings={"corpus_digest": "6"}), "stale: corpus_digest ('6', not "),
        (edited(code={"recipe": 0}), "stale: recipe (0, not 1)"),
    ],
)
def test_a_damaged_or_outdated_result_is_moved_aside_and_computed_again(sandbox, finished, damage, reason):
    path = sandbox.result_path("full-0")
    damage(path)
    sweep = sandbox.sweep()
    status = sweep.statuses(sweep.select(["full-0"]))["full-0"]
    assert status.state == "open" and reason in status.reason
    statuses, submitted = sandbox.run()
    assert (statuses["full-0"].state, submitted) == ("done", ["full-0"])
    assert path.with_name("full-0.json.stale-1").exists()
    assert sandbox.content("full-0") == finished.content("full-0")


def test_a_result_from_before_a_setting_was_added_counts(sandbox):
    path = sandbox.result_path("full-0")
    content = json.loads(path.read_text())
    older = {key: value for key, value in content["settings"].items() if key not in ADDED_SETTINGS}
    assert len(older) < len(content["settings"])
    path.write_text(json.dumps(content | {"settings": older}))
    sweep = sandbox.sweep()
    assert sweep.statuses(sweep.select(["full-0"]))["full-0"].state == "done"
    assert trials.run_name(older, 1) == trials.run_name(content["settings"], 1) == sandbox.run_folder("full-0").name
    assert trials.run_name(older | {"model.activation": "gelu"}, 1) != trials.run_name(older, 1)


# --- stopping, failing, sharing -----------------------------------------------------------------------------------


def test_a_stopped_sweep_resumes_and_ends_the_same(sandbox, finished, monkeypatch):
    sandbox.result_path("full-0").unlink()
    shutil.rmtree(sandbox.run_folder("full-0"))
    calls = iter(range(10_000))
    monkeypatch.setattr(trials, "_stop_signal", lambda _: lambda: next(calls) > 6)
    assert sandbox.run()[0]["full-0"].state == "stopped"
    monkeypatch.undo()
    assert (sandbox.run_folder("full-0") / "trainer_state.safetensors").exists()
    assert sandbox.run()[0]["full-0"] == TrialStatus("done", "", read_result(sandbox.result_path("full-0")))
    assert sandbox.content("full-0") == finished.content("full-0")


def test_an_evaluation_is_stopped_too(sandbox, monkeypatch):
    sandbox.result_path("full-0").unlink()
    calls = iter(range(10_000))
    monkeypatch.setattr(trials, "_stop_signal", lambda _: lambda: next(calls) > 0)  # a finished run asks no more
    assert sandbox.run()[0]["full-0"] == TrialStatus("stopped")
    assert not sandbox.result_path("full-0").exists()


def test_no_trial_starts_after_a_stop_request(sandbox):
    sandbox.result_path("full-0").unlink()
    statuses, submitted = sandbox.run(should_stop=lambda: True)
    assert (submitted, statuses["full-0"], statuses["ordered-40-0"].state) == ([], TrialStatus("stopped"), "done")
    assert not list((sandbox.folder / "runs").glob(".stop*"))


def test_progress_is_shown_once_for_each_record(sandbox, monkeypatch):
    sandbox.result_path("full-0").unlink()
    monkeypatch.setattr(trials, "run_trial", lambda job: time.sleep(1.2) or TrialStatus("done"))
    sweep, shown = sandbox.sweep(), []
    with ThreadPoolExecutor(1) as executor:
        sweep.run(sweep.jobs, executor=executor, on_progress=lambda name, record: shown.append(name))
    assert shown == ["full-0"]


def test_workers_stop_after_an_error_of_the_sweep(sandbox, monkeypatch):
    """Such as the KeyboardInterrupt of a second Ctrl-C."""
    (sandbox.folder / "tiny.toml").write_text(MISUSE.replace("num_epochs = 0.4", "num_epochs = 4000"))
    monkeypatch.setattr(sweeps, "process_pool", lambda num_jobs, _: ThreadPoolExecutor(num_jobs))

    def interrupt(name, record):
        raise KeyboardInterrupt

    sweep = sandbox.sweep()
    with pytest.raises(KeyboardInterrupt):
        sweep.run(sweep.jobs[:1], on_progress=interrupt)
    assert (sweep.jobs[0].run_folder / "trainer_state.safetensors").exists()
    assert not sweep.stop_file.exists()


def test_a_failing_trial_is_tried_twice_and_the_others_continue(sandbox):
    text = MISUSE.replace("vocabulary_size = 40", "vocabulary_size = [40, 10_000_000]")
    (sandbox.folder / "tiny.toml").write_text(text)
    statuses, submitted = sandbox.run()
    names = ["ordered-10000000-0", "standard-10000000-0"]
    assert submitted == 2 * names
    assert {status.state for name, status in statuses.items() if name not in names} == {"done"}
    assert statuses[names[0]].state == "failed"
    assert "encoding.vocabulary_size is 10000000, but the training split" in statuses[names[0]].reason
    assert not list((sandbox.folder / "runs").glob("misuse-ordered-10000000*"))


def test_a_killed_worker_breaks_neither_the_sweep_nor_its_trial(sandbox, monkeypatch):
    sandbox.result_path("full-0").unlink()
    pools = []

    class Fragile(InThisThread):
        def submit(self, function, job):
            pools.append(self)
            if len(pools) > 1:
                return super().submit(function, job)
            future = Future()
            future.set_exception(BrokenProcessPool("terminated abruptly"))
            return future

    monkeypatch.setattr(sweeps, "process_pool", lambda *_: Fragile())
    sweep, seen = sandbox.sweep(), []
    statuses = sweep.run(sweep.jobs, on_status=lambda name, status: seen.append(status))
    assert statuses["full-0"].state == "done"
    assert seen[0] == TrialStatus("failed", "its process was killed: terminated abruptly")
    assert len(set(pools)) == 2


def test_two_sweeps_share_a_folder_and_train_each_trial_once(tmp_path, finished, monkeypatch):
    sandbox, trained = Sandbox(tmp_path, finished.corpus), []
    (tmp_path / "tiny.toml").write_text(MISUSE)

    def counted(config, folder, **options):
        trained.append(folder.name)
        time.sleep(0.2)  # so that the other sweep finds it busy
        return train(config, folder, **options)

    monkeypatch.setattr("rarename.runs.run.train", counted)
    first, second, seen = sandbox.sweep(), sandbox.sweep(), []
    with ThreadPoolExecutor(2) as threads:
        futures = [
            threads.submit(
                each.run, each.jobs, executor=InThisThread(), on_status=lambda name, status: seen.append(status.state)
            )
            for each in (first, second)
        ]
    for future in futures:
        assert {status.state for status in future.result().values()} == {"done"}
    assert sorted(trained) == sorted(job.run_folder.name for job in first.jobs)
    assert "busy" in seen


def wait_for(condition) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("waited for a minute")


@pytest.mark.slow
def test_interrupted_and_killed_processes_save_and_the_sweep_continues(tmp_path, finished):
    """Real processes: Ctrl-C of a terminal reaches all of them; a killed sweep leaves no worker."""
    sandbox = Sandbox(tmp_path, finished.corpus)
    (tmp_path / "tiny.toml").write_text(MISUSE.replace("num_epochs = 0.4", "num_epochs = 400"))
    job = sandbox.job("full-0")
    command = [sys.executable, "-m", "rarename", *sandbox.words("--filter", "full-0")]
    progress, lock = job.run_folder / "progress.json", job.run_folder.with_name(f".{job.run_folder.name}.lock")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as sweep:
        wait_for(progress.exists)
        os.killpg(sweep.pid, signal.SIGINT)
        errors = sweep.communicate()[1]
    assert sweep.returncode == 130, errors
    assert errors.endswith("; run the same command to resume\n")
    assert "process was killed" not in errors
    examples = json.loads(progress.read_text())["examples"]
    assert (job.run_folder / "trainer_state.safetensors").exists()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as sweep:
        wait_for(lambda: json.loads(progress.read_text())["examples"] > examples)
        workers = Path(f"/proc/{sweep.pid}/task/{sweep.pid}/children").read_text().split()
        sweep.kill()

    def is_free() -> bool:
        try:
            with locked(lock, ""):
                return True
        except UsageError:
            return False

    assert not is_free()
    wait_for(is_free)
    assert workers
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))


def test_a_sweep_runs_on_dask(sandbox, finished):
    distributed = pytest.importorskip("dask.distributed")
    sandbox.result_path("full-0").unlink()
    sweep = sandbox.sweep()
    cluster = distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        statuses = sweep.run(sweep.jobs, executor=client.get_executor())
    assert statuses["full-0"].state == "done"
    assert sandbox.content("full-0") == finished.content("full-0")


def test_embeddings_need_a_package_before_anything_is_trained(tmp_path, corpus_folder, monkeypatch, capfd):
    (tmp_path / "tiny.toml").write_text(COMPLETION)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert main(Sandbox(tmp_path, corpus_folder).words()) == 2
    assert "needs sklearn, which is not installed; run: pip install 'rarename[report]'" in capfd.readouterr().err


# --- the command --------------------------------------------------------------------------------------------------


@pytest.fixture
def in_this_thread(monkeypatch):
    monkeypatch.setattr(sweeps, "process_pool", lambda *_: InThisThread())


def test_the_command_prints_a_line_for_each_trial(sandbox, in_this_thread, capfd):
    sandbox.result_path("full-0").unlink()
    assert main(sandbox.words()) == 0
    out, err = capfd.readouterr()
    assert re.fullmatch(
        r"ordered-40-0   done, joint \d+\.\d\nstandard-40-0  done, joint .*\nfull-0         done, joint .*\n", out
    )
    assert re.search(r"full-0: done, joint \d+\.\d \[3 of 3 trials done\]\n", err)
    assert err.endswith("rarename sweep: 3 of 3 trials done\n")


def test_the_list_shows_the_progress_of_each_trial(sandbox, never_trained, capfd):
    sandbox.result_path("standard-40-0").unlink()
    progress = sandbox.run_folder("standard-40-0") / "progress.json"
    record = json.loads(progress.read_text()) | {"examples": 400, "total_examples": 1000, "seconds_left": 30.0}
    progress.write_text(json.dumps(record))
    edited(settings={"seed": 5})(sandbox.result_path("full-0"))
    assert main(sandbox.words("--list")) == 0
    out, err = capfd.readouterr()
    lines = out.splitlines()
    assert re.fullmatch(r"ordered-40-0   done, joint \d+\.\d", lines[0])
    assert lines[1:3] == ["standard-40-0  open: 40 % trained", "full-0         open: stale: seed (5, not 0)"]
    assert re.fullmatch(r"rarename sweep: 1 of 3 trials done, about \d+ s left\n", err)
    assert main(sandbox.words("--list", "--output-format", "json", "--filter", "f*", "--filter", "standard-40-0")) == 0
    listed = json.loads(capfd.readouterr().out)
    assert (listed["experiment"], listed["seconds_left"] > 0) == ("tiny", True)
    assert listed["trials"][0] == {"trial": "standard-40-0", "state": "open", "reason": "40 % trained"}
    assert [each["trial"] for each in listed["trials"]] == ["standard-40-0", "full-0"]


def test_the_time_limit_stops_the_sweep(sandbox, in_this_thread, capfd):
    sandbox.result_path("full-0").unlink()
    assert main(sandbox.words("--time-limit", "0")) == 2
    out, err = capfd.readouterr()
    assert out.splitlines()[2] == "full-0         stopped"
    assert "2 of 3 trials done" in err and err.endswith("; run the same command to resume\n")


def test_an_unknown_filter_is_an_error(sandbox, capfd):
    assert main(sandbox.words("--filter", "x*")) == 2
    message = "rarename sweep: no trial of tiny matches 'x*'; choose among ordered-40-0, standard-40-0, full-0\n"
    assert capfd.readouterr().err == message


def test_the_time_left_is_estimated_from_finished_and_running_trials(sandbox):
    jobs = sandbox.sweep().jobs
    statuses = sandbox.sweep().statuses(jobs)
    assert seconds_left(statuses, jobs, 1) == 0
    done = dataclasses.replace(statuses["full-0"].result, seconds=100.0, eval_seconds=10.0)
    statuses = {name: TrialStatus("open") for name in NAMES}
    for job in jobs:
        shutil.rmtree(job.run_folder)
    assert seconds_left(statuses, jobs, 1) is None
    statuses["full-0"] = TrialStatus("done", "", done)
    assert seconds_left(statuses, jobs, 1) == 2 * (100 + 10)
    assert seconds_left(statuses, jobs, 2) == seconds_left(statuses, jobs, 9) == 100 + 10
    jobs[0].run_folder.mkdir()
    record = {"examples": 400, "total_examples": 1000, "seconds": 20.0, "seconds_left": 30.0}
    (jobs[0].run_folder / "progress.json").write_text(json.dumps(record))
    assert seconds_left(statuses, jobs, 1) == (30 + 10) + ((100 + 50) / 2 + 10)
