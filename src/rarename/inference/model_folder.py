"""Trained models: those inside the package, and those of the user's own runs.

A model is a folder laid out like a run; inside the package, a model card is its README.md:

    data/models/misuse-python/
    ├── experiment.toml       the whole setting of its training
    ├── encoding.json         vocabulary and strategy
    ├── weights.safetensors
    ├── check.toml            from which confidence on findings are shown; may be absent
    └── README.md             data, split, command and scores
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import torch

from rarename.encoding import Encoding
from rarename.errors import RunError
from rarename.runs import run
from rarename.syntax import LANGUAGES, Language
from rarename.tasks.misuse.collate import Batch, Collator, Example
from rarename.tasks.misuse.examples import Function, Nest
from rarename.tasks.misuse.model import MisuseModel
from rarename.tasks.misuse.scoring import Suspicions, suspicions
from rarename.tasks.misuse.task import MisuseConfig

CHECK_SETTINGS = "check.toml"
DEFAULT_MIN_CONFIDENCE = 0.9
"""Of a model that does not say from which confidence on it is to be believed."""


@dataclass(frozen=True)
class Model:
    """A model that finds variable misuses in one language."""

    folder: Path
    language: Language
    encoding: Encoding
    network: MisuseModel
    collate: Collator
    min_confidence: float
    """From which confidence on its findings are shown, unless the user says otherwise."""

    def batch(self, functions: Sequence[Function]) -> Batch:
        """The tensors that training would make of these functions."""
        return self.collate([Example(function, (), seed=0) for function in functions], on_overflow="unk")

    def suspicions(self, functions: Sequence[Function], nests: Sequence[Nest]) -> Suspicions:
        """The most suspicious place of each function and of each that is nested in it, and what should stand there."""
        with torch.inference_mode():
            batch = self.batch(functions)
            return suspicions(self.network(batch), batch, nests)


def packaged(language: str, task: str = "misuse") -> Path:
    """The folder of the model inside the package for a language and a task."""
    folder = Path(str(files("rarename") / "data" / "models" / f"{task}-{language}"))
    if not folder.is_dir():
        raise RunError(
            f"there is no model for {task} in {language} inside the package; train one with `rarename train {task}` "
            "and name its folder (--model RUN)"
        )
    return folder


def load_model(folder: Path) -> Model:
    """Read a model, ready to be asked."""
    experiment = run.load_experiment(folder)
    encoding = Encoding.load(folder / run.ENCODING)
    network = run.load_model(folder, experiment, encoding)
    if not isinstance(network, MisuseModel) or not isinstance(experiment.task, MisuseConfig):
        raise RunError(f"{folder} is a run of {experiment.task.name}; name one of misuse")
    return Model(
        folder=folder,
        language=language_of_encoding(encoding, folder),
        encoding=encoding,
        network=network.eval(),
        collate=experiment.task.collator(encoding),
        min_confidence=_min_confidence(folder),
    )


def language_of_encoding(encoding: Encoding, folder: Path) -> Language:
    """The language whose trees a model has seen: they all begin with its root."""
    for language in LANGUAGES.values():
        if language.root_type and language.root_type in encoding.types:
            return language
    raise RunError(f"{folder / run.ENCODING} has the node types of no language that can be checked")


def _min_confidence(folder: Path) -> float:
    path = folder / CHECK_SETTINGS
    if not path.exists():
        return DEFAULT_MIN_CONFIDENCE
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RunError(f"{path} cannot be read: {error}") from error
    value = content.pop("min_confidence", DEFAULT_MIN_CONFIDENCE)
    if content:
        raise RunError(f"{path} has no setting {next(iter(content))!r}; expected min_confidence")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise RunError(f"{path}: min_confidence is {value!r}; expected a number from 0 to 1")
    return float(value)
