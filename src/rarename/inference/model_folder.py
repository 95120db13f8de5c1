"""Model folders: those inside the package and the user's own runs. This module does not need torch.

A packaged model has the files of a run that prediction needs, a threshold, and a model card:

    data/models/misuse-python/
    ├── config.toml         every setting of its training
    ├── encoding.json       vocabulary and strategy
    ├── model.onnx          the graph with its weights
    ├── check.toml          confidence threshold, calibration and version of the model for `rarename check`; optional
    └── README.md           data, split, command and metrics
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as shorten
from typing import TYPE_CHECKING, Any

from rarename.errors import RunError
from rarename.reading import open_regular, read_toml
from rarename.syntax import LANGUAGES, Language

if TYPE_CHECKING:
    from rarename.config import ExperimentConfig
    from rarename.encoding import Encoding

CONFIG, ENCODING, CHECK_SETTINGS, ONNX_MODEL = "config.toml", "encoding.json", "check.toml", "model.onnx"

DEFAULT_THRESHOLD = 0.9
"""The confidence threshold of a model without `check.toml`."""
MAX_WEIGHT = 1e6
"""The largest weight of a calibration, far above any that was ever fitted."""


@dataclass(frozen=True)
class ModelFolder:
    """A trained model on disk, without its weights."""

    path: Path
    config: "ExperimentConfig"
    encoding: "Encoding"
    language: Language

    @classmethod
    def load(cls, path: Path, task: str) -> "ModelFolder":
        """Read a folder that holds a model of a task."""
        from rarename.encoding import Encoding  # not needed for what is cached

        config = load_run_config(path)
        if config.task.name != task:
            raise RunError(f"{path} is a run of {config.task.name}; expected one of {task}")
        encoding = Encoding.load(path / ENCODING)
        return cls(path, config, encoding, _language(encoding, path / ENCODING))

    @property
    def version(self) -> str:
        """The name of the folder, and the version that `check.toml` gives."""
        version = _check_settings(self.path)["version"]
        return f"{self.path.name} {version}" if version else self.path.name

    def calibration(self) -> dict[str, float]:
        """The weights that turn probabilities into a confidence (`tasks.misuse.confidence`); empty without any."""
        weights: dict[str, float] = _check_settings(self.path)["confidence"]
        return weights

    def threshold(self) -> float:
        """The confidence from which predictions are reported by default."""
        return default_threshold(self.path)


def default_threshold(folder: Path) -> float:
    """The confidence from which predictions of a model are reported by default."""
    return float(_check_settings(folder)["min_confidence"])


def model_digest(folder: Path) -> str:
    """A hash of all that the predictions of a model depend on."""
    digest = hashlib.sha256()
    weights = ONNX_MODEL if (folder / ONNX_MODEL).exists() else "model.safetensors"
    for name in (CONFIG, ENCODING, CHECK_SETTINGS, weights):
        if (path := folder / name).exists():
            with open_regular(path) as file:
                digest.update(name.encode() + hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _check_settings(folder: Path) -> dict[str, Any]:
    defaults: dict[str, Any] = {"min_confidence": DEFAULT_THRESHOLD, "version": "", "confidence": {}}
    path = folder / CHECK_SETTINGS
    if not path.exists():
        return defaults
    try:
        settings = read_toml(path)
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be read: {error}") from error
    if unknown := settings.keys() - defaults.keys():
        raise RunError(f"{path} has no setting {min(unknown)!r}; expected min_confidence, version or confidence")
    value = (defaults | settings)["min_confidence"]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise RunError(f"{path}: min_confidence is {shorten(value)}; expected a number from 0 to 1")
    weights = settings.get("confidence", {})
    if not isinstance(weights, dict) or not all(
        type(each) in (int, float) and abs(each) <= MAX_WEIGHT for each in weights.values()
    ):
        expected = f"a table of numbers from {-MAX_WEIGHT:,.0f} to {MAX_WEIGHT:,.0f}"
        raise RunError(f"{path}: confidence is {shorten(weights)}; expected {expected}")
    if not isinstance(version := settings.get("version", ""), str):
        raise RunError(f"{path}: version is {shorten(version)}; expected a text")
    return defaults | settings


def packaged_model(language: str, task: str = "misuse") -> Path:
    """The folder of the model inside the package for a language and a task."""
    folder = Path(__file__).parent.parent / "data" / "models" / f"{task}-{language}"
    if not folder.is_dir():
        raise RunError(
            f"the package has no {task} model for {language}; train one with `rarename train {task}` and pass its "
            "folder (--model RUN)"
        )
    return folder


def load_run_config(folder: Path) -> "ExperimentConfig":
    """The config of a run or a packaged model."""
    if not (folder / CONFIG).is_file():
        raise RunError(f"{folder} is not a run: it has no {CONFIG}; create one with `rarename train`")
    from rarename.config import load_config

    return load_config(folder / CONFIG)


def _language(encoding: "Encoding", path: Path) -> Language:
    """The language whose root node the encoding has."""
    for language in LANGUAGES.values():
        if language.root_type and language.root_type in encoding.types:
            return language
    raise RunError(f"{path} has the node types of no language that can be checked or completed")
