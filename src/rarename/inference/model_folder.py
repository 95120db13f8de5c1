"""Model folders: those inside the package and the user's own runs. This module does not need torch.

A packaged model has the files of a run that prediction needs, a threshold, and a model card:

    data/models/misuse-python/
    ├── config.toml         every setting of its training
    ├── encoding.json       vocabulary and strategy
    ├── model.safetensors   weights
    ├── check.toml          confidence threshold of `rarename check`; optional
    └── README.md           data, split, command and metrics
"""

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from rarename.config import ExperimentConfig, load_config
from rarename.encoding import Encoding
from rarename.errors import RunError
from rarename.syntax import LANGUAGES, Language

CONFIG, ENCODING, CHECK_SETTINGS = "config.toml", "encoding.json", "check.toml"

DEFAULT_THRESHOLD = 0.9
"""The confidence threshold of a model without `check.toml`."""


@dataclass(frozen=True)
class ModelFolder:
    """A trained model on disk, without its weights."""

    path: Path
    config: ExperimentConfig
    encoding: Encoding
    language: Language

    @classmethod
    def load(cls, path: Path, task: str) -> "ModelFolder":
        """Read a folder that holds a model of a task."""
        config = load_run_config(path)
        if config.task.name != task:
            raise RunError(f"{path} is a run of {config.task.name}; expected one of {task}")
        encoding = Encoding.load(path / ENCODING)
        return cls(path, config, encoding, _language(encoding, path / ENCODING))

    def threshold(self) -> float:
        """The confidence from which predictions are reported by default."""
        path = self.path / CHECK_SETTINGS
        if not path.exists():
            return DEFAULT_THRESHOLD
        try:
            settings = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise RunError(f"{path} cannot be read: {error}") from error
        value = settings.pop("min_confidence", DEFAULT_THRESHOLD)
        if settings:
            raise RunError(f"{path} has no setting {next(iter(settings))!r}; expected min_confidence")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise RunError(f"{path}: min_confidence is {value!r}; expected a number from 0 to 1")
        return float(value)


def packaged_model(language: str, task: str = "misuse") -> Path:
    """The folder of the model inside the package for a language and a task."""
    folder = Path(str(files("rarename") / "data" / "models" / f"{task}-{language}"))
    if not folder.is_dir():
        raise RunError(
            f"the package has no {task} model for {language}; train one with `rarename train {task}` and pass its "
            "folder (--model RUN)"
        )
    return folder


def load_run_config(folder: Path) -> ExperimentConfig:
    """The config of a run or a packaged model."""
    if not (folder / CONFIG).is_file():
        raise RunError(f"{folder} is not a run: it has no {CONFIG}; create one with `rarename train`")
    return load_config(folder / CONFIG)


def _language(encoding: Encoding, path: Path) -> Language:
    """The language whose root node the encoding has."""
    for language in LANGUAGES.values():
        if language.root_type and language.root_type in encoding.types:
            return language
    raise RunError(f"{path} has the node types of no language that can be checked or completed")
