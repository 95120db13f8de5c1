"""Real code on every machine: packages of the standard library, each as a project of its own."""

import shutil
import sysconfig
from pathlib import Path

import pytest

PROJECTS = ("json", "logging", "email", "http", "urllib", "html", "wsgiref", "sqlite3", "tomllib", "zoneinfo")


@pytest.fixture(scope="session")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ten small projects."""
    folder = tmp_path_factory.mktemp("projects")
    library = Path(sysconfig.get_paths()["stdlib"])
    for name in PROJECTS:
        shutil.copytree(library / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="session")
def corpus_folder(projects: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of these projects. Tests that change it must copy it first."""
    from rarename.corpus import PrepareSettings, prepare

    folder = tmp_path_factory.mktemp("corpora") / "ten"
    prepare(folder, [str(projects)], PrepareSettings("python"))
    return folder
