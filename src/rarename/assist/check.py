"""Check: source text to diagnostics.

A text is parsed, and its functions become the same arrays as in training (`Function`, `MisuseCollator`). Functions
of many files are batched together by length.
"""

import re
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rarename.assist.diagnostics import CheckResult, Diagnostic, is_suppressed
from rarename.config import MisuseConfig
from rarename.discovery import CHECKED, Files, Skipped, SourceFile, is_minified
from rarename.errors import ParseError, UsageError
from rarename.inference.model_folder import ModelFolder, packaged_model
from rarename.inference.session import Session, open_session
from rarename.progress import NullProgress, Progress
from rarename.syntax import Language, Role, Traversal, language_named
from rarename.syntax.functions import Slice, functions, qualified_name
from rarename.syntax.lines import Lines, is_name
from rarename.tasks.misuse.collate import MisuseBatch, MisuseCollator, MisuseExample
from rarename.tasks.misuse.functions import Function, NestedFunctions, outermost_within
from rarename.tasks.misuse.predict import BugPredictions, MisuseOutput, predict_bugs
from rarename.tasks.sampler import bucketed_batches

MAX_FUNCTION_NODES = 2_000
"""Longer functions are not checked as a whole, but the functions inside them are. Attention is quadratic in it."""

POOL_NODES = 50_000
"""Number of nodes that are collected before functions of similar length are batched."""

BATCH_NODES = 2_000
"""Largest number of nodes in a batch, padding included."""

_DATA = re.compile(r"[\w+/=\\-]{200,}", re.ASCII)
"""A string of data, such as an encoded image: code has blanks and operators."""

TEXT_PATH = "<text>"
"""The path of a text that comes from no file."""


class CheckModel:
    """A misuse model of one language, ready to predict."""

    def __init__(self, folder: ModelFolder, session: Session | None = None) -> None:
        assert isinstance(folder.config.task, MisuseConfig)
        self.folder, self.language, self.threshold = folder, folder.language, folder.threshold()
        self._session = session or open_session(folder)
        self._collate = MisuseCollator(folder.encoding, folder.config.task)
        self._is_conditional = folder.config.task.pointer_head == "conditional"

    @classmethod
    def load(cls, path: Path) -> "CheckModel":
        """Load the model of a run or of the package."""
        return cls(ModelFolder.load(path, "misuse"))

    def encode(self, parsed: "_ParsedFile") -> Function:
        return Function.of_file(parsed.traversal, parsed.roles, parsed.language, self.folder.encoding)

    def make_batch(self, functions: Sequence[Function]) -> MisuseBatch:
        """The arrays that training would make of these functions."""
        return self._collate([MisuseExample(function, (), seed=0) for function in functions], on_overflow="unk")

    def predict(self, functions: Sequence[Function], nested: Sequence[NestedFunctions]) -> BugPredictions:
        """Predict the most probable bug of each function and of each function nested in it."""
        batch = self.make_batch(functions)
        outputs = self._session.run(batch.inputs())
        return predict_bugs(MisuseOutput(**outputs, is_conditional=self._is_conditional), batch, nested)


class Checker:
    """Finds variable misuses with trained models, one per language.

    >>> Checker.load().check("def area(width, height):\\n    return width * width\\n", "python")  # doctest: +SKIP
    [Diagnostic(path='<text>', line=2, column=20, end_line=2, end_column=25, function='area', name='width', …)]
    """

    def __init__(self, models: Sequence[CheckModel] = (), threshold: float | None = None) -> None:
        if threshold is not None and not 0 <= threshold <= 1:
            raise UsageError(f"the minimum confidence is {threshold}; expected a number from 0 to 1")
        self._models = {model.language.name: model for model in models}
        if len(self._models) < len(models):
            raise UsageError("two models are for the same language; pass one per language")
        self._is_packaged = not models
        self._threshold = threshold

    @classmethod
    def load(cls, *folders: str | Path, threshold: float | None = None) -> "Checker":
        """Load the models of runs; without any, those of the package are loaded when needed.

        Predictions below `threshold` are not reported; by default each model has its own.
        """
        return cls([CheckModel.load(Path(folder)) for folder in folders], threshold)

    @property
    def languages(self) -> tuple[Language, ...]:
        """The languages that can be checked."""
        return CHECKED if self._is_packaged else tuple(model.language for model in self._models.values())

    def model(self, language: Language) -> CheckModel:
        """The model for a language."""
        if language.name not in self._models:
            if not self._is_packaged:
                raise UsageError(f"the model is for {', '.join(self._models)}, not for {language.name}")
            self._models[language.name] = CheckModel.load(packaged_model(language.name))
        return self._models[language.name]

    def threshold(self, language: Language) -> float:
        """The confidence from which predictions in a language are reported."""
        return self.model(language).threshold if self._threshold is None else self._threshold

    def check(self, text: str, language: str | Language, path: str = TEXT_PATH) -> list[Diagnostic]:
        """Check one source text; raises ParseError if it cannot be parsed.

        At most one diagnostic per function, nested or not, from top to bottom. `noqa` comments suppress them.
        """
        language = language_named(language) if isinstance(language, str) else language
        found = self._predict(self._functions(_ParsedFile.of(text, language, path, 0)))
        return [diagnostic for _, diagnostic in _unsuppressed(found)]

    def check_files(self, files: Files, progress: Progress | None = None) -> CheckResult:
        """Check many files. What cannot be checked is listed in the result with its reason."""
        started = time.monotonic()
        progress = progress or NullProgress()
        progress.start("checking", len(files))
        skipped = list(files.skipped)
        found: list[_Found] = []
        pool: list[_PendingFunction] = []
        languages: set[str] = set()
        num_files = num_functions = num_nodes = num_pending_files = 0
        for index, item in enumerate(files):
            num_pending_files += 1
            parsed = item if isinstance(item, Skipped) else _parse_file(item, index)
            if isinstance(parsed, Skipped):
                skipped.append(parsed)
            else:
                num_files += 1
                languages.add(parsed.language.name)
                pending = self._functions(parsed)
                num_functions += sum(len(each.nested.functions) for each in pending)
                num_nodes += sum(len(each.function) for each in pending)
                pool += pending
                skipped += parsed.too_long()
            if num_nodes >= POOL_NODES:
                found += self._predict(pool, progress, num_pending_files)
                pool, num_nodes, num_pending_files = [], 0, 0
        found += self._predict(pool, progress, num_pending_files)
        reported = _unsuppressed(found)
        used = [language for language in self.languages if language.name in languages] or self.languages
        return CheckResult(
            diagnostics=[diagnostic for _, diagnostic in reported],
            skipped=skipped,
            num_files=num_files,
            num_functions=num_functions,
            num_suppressed=len(found) - len(reported),
            threshold=min(self.threshold(language) for language in used),
            seconds=time.monotonic() - started,
        )

    def _functions(self, parsed: "_ParsedFile") -> list["_PendingFunction"]:
        slices = outermost_within(parsed.functions, MAX_FUNCTION_NODES)
        if not slices:
            return []
        encoded = self.model(parsed.language).encode(parsed)
        return [_PendingFunction.of(parsed, each, encoded.function_at(*each)) for each in slices]

    def _predict(
        self, pool: Sequence["_PendingFunction"], progress: Progress | None = None, num_steps: int = 0
    ) -> list["_Found"]:
        """Run the models on functions; return predictions above the threshold, in no order."""
        found: list[_Found] = []
        num_done, total, steps_done = 0, sum(len(each.function) for each in pool), 0
        for name, model in self._models.items():
            chosen = [each for each in pool if each.parsed.language.name == name and each.has_two_names()]
            threshold = self.threshold(model.language)
            for batch, predictions in _predict_batches(model, chosen):
                for row, location, repair, confidence in predictions:
                    if location >= 0 and confidence >= threshold:
                        function = batch[row]
                        if diagnostic := function.diagnostic(location, repair, confidence):
                            found.append((function, diagnostic))
                num_done += sum(len(each.function) for each in batch)
                if progress:  # also without a full step, so that the display stays alive
                    steps = int(num_steps * num_done / total) - steps_done
                    steps_done += steps
                    progress.advance(steps)
        if progress:
            progress.advance(num_steps - steps_done)
        return found


@dataclass(frozen=True, eq=False)
class _ParsedFile:
    """A source text with its tree."""

    path: str
    index: int  # its index among the files
    language: Language
    traversal: Traversal
    roles: list[Role]
    functions: list[Slice]  # all functions, nested ones included, in pre-order
    lines: Lines

    @classmethod
    def of(cls, text: str, language: Language, path: str, index: int) -> "_ParsedFile":
        traversal = language.parse(text, False)
        lines = Lines(text.encode("utf-8", "replace"), language)
        return cls(path, index, language, traversal, language.roles(traversal), functions(traversal, language), lines)

    def functions_within(self, start: int, length: int) -> list[Slice]:
        """The functions of a slice of the file, relative to its start."""
        first, last = (bisect_left(self.functions, (node,)) for node in (start, start + length))
        return [Slice(each.start - start, each.length) for each in self.functions[first:last]]

    def too_long(self) -> Iterator[Skipped]:
        """The functions that are not checked as a whole."""
        for start, length in self.functions:
            if length > MAX_FUNCTION_NODES:
                name = qualified_name(self.traversal, self.roles, start, self.language)
                line = self.traversal.span(start).line
                yield Skipped(self.path, line or None, f"function over {MAX_FUNCTION_NODES:,} nodes", name)


@dataclass(frozen=True, eq=False)
class _PendingFunction:
    """A function that waits for a prediction, with those nested in it."""

    parsed: _ParsedFile
    start: int
    function: Function
    nested: NestedFunctions

    @classmethod
    def of(cls, parsed: _ParsedFile, where: Slice, function: Function) -> "_PendingFunction":
        return cls(parsed, where.start, function, NestedFunctions(function, parsed.functions_within(*where)))

    def has_two_names(self) -> bool:
        names = self.function.values[self.function.variables]
        return bool((names != names[:1]).any())

    def diagnostic(self, location: int, repair: int, confidence: float) -> Diagnostic | None:
        """Express a prediction in the names and positions of the text."""
        parsed, node = self.parsed, self.start + location
        tree, lines = parsed.traversal, parsed.lines
        name, suggestion = tree.values[node], tree.values[self.start + repair]
        if name is None or suggestion is None:
            return None
        span, spanned = tree.span(node), node
        while not span.line and spanned > 0:  # a node without a position of its own takes that of its parent
            spanned = tree.parents[spanned]
            span = tree.span(spanned)
        return Diagnostic(
            path=parsed.path,
            line=span.line,
            column=lines.characters(span.line, span.column) + 1,
            end_line=span.end_line,
            end_column=lines.characters(span.end_line, span.end_column) + 1,
            function=qualified_name(
                tree, parsed.roles, self.start + int(self.nested.owners[location]), parsed.language
            ),
            name=name,
            suggestion=suggestion,
            confidence=confidence,
            source=lines.line(span.line),
            fix=self._fix(node, suggestion) if spanned == node else None,
        )

    def _fix(self, node: int, suggestion: str) -> str | None:
        """The text that replaces a node; None where that is not sure to be correct."""
        tree, parent = self.parsed.traversal, self.parsed.traversal.parents[node]
        span, name = tree.span(node), tree.values[node]
        if name is None or not is_name(suggestion) or self.parsed.lines.text(span) != name:
            return None
        if tree.span(parent) == span and self.parsed.roles[parent] == Role.ATTRIBUTE:
            return f"{name}: {suggestion}"  # the name in `{a}` is both a key and a variable
        return None if tree.types[node] in self.parsed.language.paired_types else suggestion


_Found = tuple[_PendingFunction, Diagnostic]


def _parse_file(file: SourceFile, index: int) -> _ParsedFile | Skipped:
    try:
        text = file.language.decode(file.content)
        # Long strings of data in a line do not make a file minified.
        if is_minified(_DATA.sub("", re.sub(file.language.line_break.decode(), "\n", text))):
            return Skipped(file.path, None, "minified")
        return _ParsedFile.of(text, file.language, file.path, index)
    except ParseError as error:
        return Skipped(file.path, error.line or None, error.reason, error.detail)


def _predict_batches(
    model: CheckModel, pending: Sequence[_PendingFunction]
) -> Iterator[tuple[list[_PendingFunction], Iterator[tuple[int, int, int, float]]]]:
    """Batches of functions, and for each prediction its row, location, repair and confidence."""
    lengths = np.array([len(each.function) for each in pending], dtype=np.int64)
    for indexes in bucketed_batches(lengths, BATCH_NODES, None):
        batch = [pending[index] for index in indexes]
        predicted = model.predict([each.function for each in batch], [each.nested for each in batch])
        yield batch, zip(*(column.tolist() for column in vars(predicted).values()), strict=True)


def _unsuppressed(found: Sequence[_Found]) -> list[_Found]:
    """In the order of files and lines, without those that a comment suppresses."""
    ordered = sorted(found, key=lambda each: (each[0].parsed.index, each[1].line, each[1].column))
    return [each for each in ordered if not is_suppressed(each[1].source, each[0].parsed.language)]
