"""Corpora of real code and small runs, made once per session. Tests that change one must copy it first."""

import os
import shutil
import sysconfig
import tempfile
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: small models compute faster on one thread

import pytest

_cache = tempfile.TemporaryDirectory(prefix="rarename-tests-")
os.environ["XDG_CACHE_HOME"] = _cache.name  # not the cache of the user

PROJECTS = ("json", "logging", "email", "http", "urllib", "html", "wsgiref", "sqlite3", "tomllib", "zoneinfo")


@pytest.fixture(scope="session")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten packages of the standard library, each as a project."""
    folder = tmp_path_factory.mktemp("projects")
    library = Path(sysconfig.get_paths()["stdlib"])
    for name in PROJECTS:
        shutil.copytree(library / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="session")
def prepare_corpus():
    """Prepare a corpus from a folder or file, with settings of `rarename prepare`."""
    from rarename.corpus.build import PrepareConfig, prepare

    def prepare_from(folder: Path, source: Path, language: str = "python", **settings: object) -> Path:
        prepare(folder, [str(source)], PrepareConfig(language, **settings))
        return folder

    return prepare_from


@pytest.fixture(scope="session")
def corpus_folder(prepare_corpus, projects: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of the ten projects."""
    return prepare_corpus(tmp_path_factory.mktemp("corpora") / "ten", projects)


@pytest.fixture(scope="session")
def other_corpus_folder(
    prepare_corpus, corpus_folder: Path, projects: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A corpus with the same test split; one more project in training gives names and types other ranks."""
    from rarename.corpus.store import Corpus

    corpus, folder = Corpus(corpus_folder), tmp_path_factory.mktemp("others")
    splits = {name: {file.project for file in corpus.split(name)} for name in ("train", "validation", "test")}
    sources = Path(shutil.copytree(projects, folder / "projects"))
    (sources / "more").mkdir()
    text = "".join(f"async def new_{number}(fresh):\n    await fresh\n" for number in range(400))
    (sources / "more" / "m.py").write_text(text)
    splits["train"].add("more")
    (folder / "splits.txt").write_text("".join(f"{split} {name}\n" for split in splits for name in splits[split]))
    other = Corpus(prepare_corpus(folder / "other", sources, splits=folder / "splits.txt"))
    assert list(other.types) != list(corpus.types)
    assert list(other.vocabulary(40)) != list(corpus.vocabulary(40))
    return folder / "other"


@pytest.fixture(scope="module")
def one_thread():
    """Sums of floats depend on how they are divided among threads."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


SMALL = {
    "encoding.vocabulary_size": 40,
    "encoding.num_placeholders": 80,
    "task.max_function_nodes": 80,
    "model": {"d_model": 16, "num_layers": 1, "num_heads": 2, "d_ff": 16},
    "training": {"num_epochs": 0.3, "max_batch_nodes": 1000, "eval_every_examples": 300, "eval_examples": 20},
}
"""A model that trains within seconds; its predictions are bad."""


@pytest.fixture(scope="session")
def python_run(corpus_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of misuse on Python."""
    from rarename.presets import preset_config
    from rarename.runs.run import train

    folder = tmp_path_factory.mktemp("runs") / "python"
    assert train(preset_config(str(corpus_folder), "tiny", SMALL), folder)
    return folder


@pytest.fixture(scope="session")
def javascript_run(prepare_corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of misuse on JavaScript, on functions that are nearly the same."""
    from rarename.presets import preset_config
    from rarename.runs.run import train

    folder = tmp_path_factory.mktemp("javascript")
    for number in range(30):
        project = folder / "projects" / f"p{number}"
        project.mkdir(parents=True)
        source = f"function f{number}(a, b, limit) {{ var sum{number} = a + b; return sum{number} > limit ? a : b; }}\n"
        (project / "index.js").write_text(source)
    corpus = prepare_corpus(folder / "corpus", folder / "projects", "javascript", keep_near_duplicates=True)
    assert train(preset_config(str(corpus), "tiny", SMALL | {"encoding.vocabulary_size": 3}), folder / "run")
    return folder / "run"


COMPLETION = {
    "encoding": {"vocabulary_size": 60, "num_placeholders": 100},
    "task": {"window_size": 100, "stride": 100},
    "model": {"d_model": 16, "num_layers": 2, "num_heads": 2, "d_ff": 16, "max_relative_distance": 8},
    "training": {"num_epochs": 0.2, "max_batch_nodes": 1_000, "eval_every_examples": 50, "eval_examples": 20},
}


@pytest.fixture(scope="session", params=["plain", "pointer"])
def completion_run(
    corpus_folder: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Path:
    """A run of completion on Python with `ordered`, and one with a pointer and `standard`."""
    from rarename.presets import preset_config
    from rarename.runs.run import train

    folder = tmp_path_factory.mktemp("runs") / "completion"
    is_plain = request.param == "plain"
    more = {"encoding.strategy": "ordered" if is_plain else "standard", "task.copy_pointer": not is_plain}
    assert train(preset_config(str(corpus_folder), "tiny", COMPLETION | more, task="completion"), folder)
    return folder
