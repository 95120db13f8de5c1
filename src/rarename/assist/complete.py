"""Complete: a source text and a cursor to ranked names.

The text before the cursor becomes the nodes that it would have become in training; the model tells the next value;
placeholders become the names that they stand for. What scope and the letters already typed say comes on top:

    names that can be in scope     before those that cannot, where a variable is read
    the word left of the cursor    is what a name begins with

While somebody types, most nodes stay what they were. Their keys and values are kept, and only new nodes are read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from rarename.assist.models import language_of_encoding, packaged
from rarename.encoding import Encoding
from rarename.errors import RunError, UsageError
from rarename.experiment import run
from rarename.syntax import Language, Role, language_named
from rarename.syntax.source import is_name
from rarename.syntax.unfinished import Cursor, at_cursor
from rarename.tasks.code_completion.batch import Batch, Collator
from rarename.tasks.code_completion.examples import Snippet
from rarename.tasks.code_completion.model import Answer, CompletionModel
from rarename.tasks.code_completion.task import CompletionConfig

UNTOLD = 1e-3
"""The probability that a name in scope is given when the model cannot tell it, because the window does not show it."""


@dataclass(frozen=True)
class Suggestion:
    """A name that may stand at the cursor."""

    name: str
    probability: float
    """The model's, among all values that it can tell."""
    is_in_scope: bool
    """Whether it can mean something there; true where scope says nothing, as behind a dot."""


class Completer:
    """Completes names of one language with a trained model.

    >>> text = "def area(width, height):\\n    return width * he"
    >>> Completer.load("python").complete(text, line=2, column=22)[0].name  # doctest: +SKIP
    'height'
    """

    def __init__(
        self, folder: Path, language: Language, encoding: Encoding, network: CompletionModel, window: int
    ) -> None:
        self.folder, self.language, self.encoding, self.window = folder, language, encoding, window
        self._network = network.eval()
        self._collate = Collator(encoding)
        self._reader = Reader(network)
        first = encoding.first_placeholder - len(encoding.values)
        self._kept = [(first + rank, name) for rank, name in enumerate(encoding.values) if is_name(name)]

    @classmethod
    def load(cls, language: str = "", folder: Path | None = None) -> "Completer":
        """The model of a run, or the one inside the package for a language."""
        if folder is None:
            folder = packaged(language_named(language).name, "completion")
        setting = run.load_experiment(folder)
        encoding = Encoding.load(folder / run.ENCODING)
        network = run.load_model(folder, setting, encoding)
        if not isinstance(network, CompletionModel) or not isinstance(setting.task, CompletionConfig):
            raise RunError(f"{folder} is a run of {setting.task.name}; name one of completion")
        found = language_of_encoding(encoding, folder)
        if language and found.name != language:
            raise UsageError(f"{folder} is a model for {found.name}, not for {language}")
        return cls(folder, found, encoding, network, setting.task.window)

    def complete(self, text: str, line: int, column: int, top: int = 10) -> list[Suggestion]:
        """The likeliest names at a cursor, best first. Lines and columns count from 1, columns in characters."""
        return self.at(at_cursor(text, self.language, line, column), top)

    def at(self, cursor: Cursor, top: int = 10) -> list[Suggestion]:
        """The likeliest names at a cursor that is known already."""
        told = self.probabilities(cursor)
        names = {*told, *cursor.in_scope}
        is_free = cursor.role is not Role.READ or not cursor.in_scope
        suggestions = [
            Suggestion(name, told.get(name, UNTOLD), is_free or name in cursor.in_scope)
            for name in _beginning_with(cursor.word, names)
        ]
        suggestions.sort(key=lambda each: (not each.is_in_scope, -each.probability, each.name))
        return suggestions[:top]

    def probabilities(self, cursor: Cursor) -> dict[str, float]:
        """What the model says of each name that it can tell at a cursor."""
        batch, names = self._batch(cursor)
        with torch.inference_mode():
            states = self._reader.read(batch.types[0], batch.values[0])[None]
            pointer = self._network.pointer
            inputs = self._network.transformer.embed(batch.types, batch.values)
            pointed = () if pointer is None else pointer(states, inputs, batch.has_value)
            last = torch.tensor([batch.types.shape[1]])
            answer = Answer(states, self._network, *pointed)
            scores = answer.choice_log_probabilities(torch.tensor([0]), last, batch)[0].exp()
        return {name: float(scores[choice]) for choice, name in self._choices(batch, names)}

    def _batch(self, cursor: Cursor) -> tuple[Batch, Sequence[str | None]]:
        """The nodes before the cursor as tensors, and their values."""
        traversal = cursor.traversal
        # Windows begin where those of training may, so that they stay the same while nodes are added.
        step = max(1, self.window // 2)
        start = max(0, -(-(len(traversal) - self.window + 1) // step) * step)
        names = traversal.values[start:]
        ranks, _ = self.encoding.values.ranks(names)
        snippet = Snippet(
            types=self.encoding.type_ranks(traversal.types[start:]),
            values=ranks,
            roles=np.array(cursor.roles[start:], dtype=np.int8),
        )
        return self._collate([snippet], seeds=[0], surplus="unknown"), names

    def _choices(self, batch: Batch, names: Sequence[str | None]) -> Iterator[tuple[int, str]]:
        """The choices that are names: those of the vocabulary, and the rare ones of the window."""
        yield from self._kept
        num_told = self.encoding.num_values if self._network.pointer is None else torch.inf
        rare = {
            int(choice): name
            for choice, name in zip(batch.choices[0].tolist(), names, strict=True)
            if self.encoding.first_placeholder <= choice < num_told and name is not None and is_name(name)
        }
        yield from rare.items()


def _beginning_with(word: str, names: set[str]) -> list[str]:
    """The names that begin with a word; if there is none, those that do but for capitals."""
    found = [name for name in names if name.startswith(word)]
    return found or [name for name in names if name.lower().startswith(word.lower())]


class Reader:
    """Reads nodes, and remembers them: what comes again in the same order is not computed again."""

    def __init__(self, network: CompletionModel) -> None:
        self._network = network
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self._nodes = torch.zeros(2, 0, dtype=torch.long)
        self._states = torch.zeros(0, self._network.transformer.config.width)
        self._memory = self._network.transformer.new_memory()

    def read(self, types: Tensor, values: Tensor) -> Tensor:
        """The states of nodes (L,) that stand at the beginning of a window: (L, D)."""
        nodes = torch.stack([types, values])
        shorter = min(nodes.shape[1], self._nodes.shape[1])
        is_other = (nodes[:, :shorter] != self._nodes[:, :shorter]).any(dim=0).nonzero()
        known = int(is_other[0]) if len(is_other) else shorter
        for memory in self._memory:
            memory.crop(known)
        states = self._states[:known]
        if known < nodes.shape[1]:
            new = self._network.read(types[None, known:], values[None, known:], self._memory)[0]
            states = torch.cat([states, new])
        self._nodes, self._states = nodes, states
        return states
