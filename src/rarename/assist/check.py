"""Check: source text to findings.

A text is parsed, its functions are cut out, and each becomes the tensors that it would have become in training:
`examples.Nodes` and the batches are the same there and here. Functions of many files are looked at together,
those of like length side by side.
"""

import re
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rarename.assist.diagnostics import Finding, Report, Skipped, is_silenced
from rarename.assist.files import CHECKED, Files, SourceFile
from rarename.corpus.shards import is_minified
from rarename.errors import ParseError, UsageError
from rarename.inference.model_folder import Model, load_model, packaged
from rarename.progress import NullProgress, Progress
from rarename.syntax import Language, Role, Traversal, language_named
from rarename.syntax.functions import Slice, functions, qualified_name
from rarename.syntax.lines import Lines, is_name
from rarename.tasks.misuse.examples import Function, Nest, Nodes, cut_out
from rarename.tasks.sampler import batches

MAX_NODES_CHECKED = 2_000
"""Longer functions are not checked as a whole, but the functions inside them are. Attention takes the square of it."""

POOL_NODES = 50_000
"""So many nodes wait until functions of like length are put side by side."""

BATCH_NODES = 2_000
"""So many nodes are looked at together, padding included."""

_DATA = re.compile(r"[\w+/=\\-]{200,}", re.ASCII)
"""A string of data, such as a picture: program text has blanks and signs."""

TEXT = "<text>"
"""The path of a text that comes from no file."""


class Checker:
    """Finds variable misuses with trained models, one for each language.

    >>> Checker.load().check("def area(width, height):\\n    return width * width\\n", "python")  # doctest: +SKIP
    [Finding(path='<text>', line=2, column=20, end_line=2, end_column=25, function='area', name='width', …)]
    """

    def __init__(self, models: Sequence[Model] = (), min_confidence: float | None = None) -> None:
        if min_confidence is not None and not 0 <= min_confidence <= 1:
            raise UsageError(f"the least confidence is {min_confidence}; expected a number from 0 to 1")
        self._models = {model.language.name: model for model in models}
        if len(self._models) < len(models):
            raise UsageError("there are two models for the same language; name one for each")
        self._is_packaged = not models
        self._min_confidence = min_confidence

    @classmethod
    def load(cls, *folders: str | Path, min_confidence: float | None = None) -> "Checker":
        """A checker with the models of these runs; without any, with those of the package, read when needed.

        Findings below `min_confidence` are not shown; without it each model has its own bound.
        """
        return cls([load_model(Path(folder)) for folder in folders], min_confidence)

    @property
    def languages(self) -> tuple[Language, ...]:
        """The languages that can be checked."""
        return CHECKED if self._is_packaged else tuple(model.language for model in self._models.values())

    def model(self, language: Language) -> Model:
        """The model for a language."""
        if language.name not in self._models:
            if not self._is_packaged:
                raise UsageError(f"the model given is for {', '.join(self._models)}, not for {language.name}")
            self._models[language.name] = load_model(packaged(language.name))
        return self._models[language.name]

    def min_confidence(self, language: Language) -> float:
        """From which confidence on findings in a language are shown."""
        return self.model(language).min_confidence if self._min_confidence is None else self._min_confidence

    def check(self, text: str, language: str | Language, path: str = TEXT) -> list[Finding]:
        """The findings in one source text, from top to bottom; ParseError if it cannot be read.

        At most one for each function, nested or not; those that a `noqa` comment silences are left out.
        """
        language = language_named(language) if isinstance(language, str) else language
        parsed = _Parsed.of(text, language, path, 0)
        found = self._judge(self._functions(parsed))
        return [finding for _, finding in sorted(found, key=_by_place) if not _is_silenced(finding, language)]

    def check_files(self, files: Files, progress: Progress | None = None) -> Report:
        """Check many files. What cannot be checked is listed in the report, with its reason."""
        began = time.monotonic()
        progress = progress or NullProgress()
        progress.start("checking", len(files))
        skipped = list(files.skipped)
        found: list[tuple[_Function, Finding]] = []
        pool: list[_Function] = []
        languages: set[str] = set()
        num_files = num_functions = num_nodes = waiting = 0
        for number, item in enumerate(files):
            waiting += 1
            parsed = item if isinstance(item, Skipped) else _parse_file(item, number)
            if isinstance(parsed, Skipped):
                skipped.append(parsed)
            else:
                num_files += 1
                languages.add(parsed.language.name)
                cut = self._functions(parsed)
                num_functions += sum(one.num_functions for one in cut)
                num_nodes += sum(len(function.function) for function in cut)
                pool += cut
                skipped += parsed.too_long()
            if num_nodes >= POOL_NODES:
                found += self._judge(pool, _Steps(progress, waiting))
                pool, num_nodes, waiting = [], 0, 0
        found += self._judge(pool, _Steps(progress, waiting))
        shown = [
            finding for function, finding in sorted(found, key=_by_place)
            if not _is_silenced(finding, function.parsed.language)
        ]  # fmt: skip
        bounds = [self.min_confidence(language) for language in self.languages if language.name in languages]
        return Report(
            findings=shown,
            skipped=skipped,
            num_files=num_files,
            num_functions=num_functions,
            num_silenced=len(found) - len(shown),
            min_confidence=min(bounds or [self.min_confidence(language) for language in self.languages]),
            seconds=time.monotonic() - began,
        )

    def _functions(self, parsed: "_Parsed") -> list["_Function"]:
        slices = cut_out(parsed.functions, MAX_NODES_CHECKED)
        if not slices:
            return []
        encoding = self.model(parsed.language).encoding
        nodes = Nodes.of(parsed.traversal, parsed.language, encoding, parsed.roles)
        return [_Function.of(parsed, part, nodes.cut(*part)) for part in slices]

    def _judge(self, pool: Sequence["_Function"], steps: "_Steps | None" = None) -> list[tuple["_Function", Finding]]:
        """Ask the models about functions; gives what is suspicious enough, in no order."""
        found: list[tuple[_Function, Finding]] = []
        total = sum(len(one.function) for one in pool)
        done = 0
        for name, model in self._models.items():
            chosen = [one for one in pool if one.parsed.language.name == name and one.has_choice()]
            least = self.min_confidence(model.language)
            for asked, suspected in _ask(model, chosen):
                for function, place, repair, confidence in suspected:
                    if confidence >= least and (finding := function.finding(place, repair, confidence)):
                        found.append((function, finding))
                done += asked
                if steps:
                    steps.reach(done / total)
        if steps:
            steps.reach(1.0)
        return found


class _Steps:
    """Some steps of a progress, of which a share is done."""

    def __init__(self, progress: Progress, count: int) -> None:
        self._progress, self._count, self._done = progress, count, 0

    def reach(self, share: float) -> None:
        """So much is done. Tells it even if no step is full: time has passed."""
        steps = int(share * self._count) - self._done
        self._done += steps
        self._progress.advance(steps)


@dataclass(frozen=True, eq=False)
class _Parsed:
    """A source text with its tree."""

    path: str
    number: int
    """Its place among the files."""
    language: Language
    traversal: Traversal
    roles: list[Role]
    functions: list[Slice]
    """All of them, nested ones too."""
    lines: Lines

    @classmethod
    def of(cls, text: str, language: Language, path: str, number: int) -> "_Parsed":
        traversal = language.parse(text, False)
        return cls(
            path=path,
            number=number,
            language=language,
            traversal=traversal,
            roles=language.roles(traversal),
            functions=functions(traversal, language),
            lines=Lines(text.encode("utf-8", "replace"), language),
        )

    def inside(self, start: int, length: int) -> list[Slice]:
        """The functions of a part of the file, counted from its beginning."""
        first = bisect_left(self.functions, (start,))
        last = bisect_left(self.functions, (start + length,))
        return [Slice(one.start - start, one.length) for one in self.functions[first:last]]

    def too_long(self) -> Iterator[Skipped]:
        """The functions that are not checked as a whole."""
        for start, length in self.functions:
            if length > MAX_NODES_CHECKED:
                name = qualified_name(self.traversal, self.roles, start, self.language)
                line = self.traversal.span(start).line
                yield Skipped(self.path, line or None, f"function over {MAX_NODES_CHECKED:,} nodes", name)


@dataclass(frozen=True, eq=False)
class _Function:
    """A function that waits to be looked at, together with those nested in it."""

    parsed: _Parsed
    start: int
    function: Function
    nest: Nest

    @classmethod
    def of(cls, parsed: _Parsed, part: Slice, function: Function) -> "_Function":
        return cls(parsed, part.start, function, Nest(function, parsed.inside(*part)))

    @property
    def num_functions(self) -> int:
        return len(self.nest.functions)

    def has_choice(self) -> bool:
        """Whether there are two variables: else there is nothing to confuse."""
        names = self.function.values[self.function.variables]
        return bool((names != names[:1]).any())

    def finding(self, place: int, repair: int, confidence: float) -> Finding | None:
        """What the model says about this function, in the text's own names; both places are nodes of the function."""
        parsed, node = self.parsed, self.start + place
        tree, lines = parsed.traversal, parsed.lines
        name, suggestion = tree.values[node], tree.values[self.start + repair]
        if name is None or suggestion is None:
            return None
        span, standing = tree.span(node), node
        while not span.line and standing > 0:  # it stands nowhere itself: what it is part of does
            standing = tree.parents[standing]
            span = tree.span(standing)
        return Finding(
            path=parsed.path,
            line=span.line,
            column=lines.characters(span.line, span.column) + 1,
            end_line=span.end_line,
            end_column=lines.characters(span.end_line, span.end_column) + 1,
            function=qualified_name(tree, parsed.roles, self.start + self.nest.owner(place), parsed.language),
            name=name,
            suggestion=suggestion,
            confidence=confidence,
            source=lines.line(span.line),
            replacement=self._replacement(node, suggestion) if standing == node else None,
        )

    def _replacement(self, node: int, suggestion: str) -> str | None:
        """What to write at a node so that it holds the suggestion; None where that is not sure to mend it."""
        tree, parent = self.parsed.traversal, self.parsed.traversal.parents[node]
        span, name = tree.span(node), tree.values[node]
        if name is None or not is_name(suggestion) or self.parsed.lines.text(span) != name:
            return None
        if tree.span(parent) == span and self.parsed.roles[parent] == Role.ATTRIBUTE:
            return f"{name}: {suggestion}"  # `{a}` is a key and a variable at one place
        # The two tags of an element go together.
        return None if tree.types[node] in self.parsed.language.paired_types else suggestion


def _parse_file(file: SourceFile, number: int) -> _Parsed | Skipped:
    """A file's tree, or why it has none: the reasons for which a corpus leaves files out."""
    try:
        text = file.language.decode(file.content)
        if _is_minified(text, file.language):
            return Skipped(file.path, None, "minified")
        return _Parsed.of(text, file.language, file.path, number)
    except ParseError as error:
        return Skipped(file.path, error.line or None, error.reason, error.detail)


def _is_minified(text: str, language: Language) -> bool:
    """As corpora have it, but long pieces of data in a line do not count: the rest is there to be checked."""
    lines = re.sub(language.line_break.decode(), "\n", text)
    return is_minified(_DATA.sub("", lines))


def _ask(model: Model, functions: Sequence[_Function]) -> Iterator[tuple[int, list[tuple[_Function, int, int, float]]]]:
    """Batch by batch how many nodes it has, and of each function the most suspicious place, if it has one, a place of
    what should stand there, and a confidence."""
    lengths = np.array([len(one.function) for one in functions], dtype=np.int64)
    for indexes in batches(lengths, BATCH_NODES, None):
        asked = [functions[index] for index in indexes]
        said = model.suspicions([one.function for one in asked], [one.nest for one in asked])
        rows = zip(said.row.tolist(), said.place.tolist(), said.repair.tolist(), said.confidence.tolist(), strict=True)
        suspected = [(asked[row], place, repair, confidence) for row, place, repair, confidence in rows if place >= 0]
        yield sum(len(one.function) for one in asked), suspected


def _by_place(found: tuple[_Function, Finding]) -> tuple[int, int, int]:
    function, finding = found
    return function.parsed.number, finding.line, finding.column


def _is_silenced(finding: Finding, language: Language) -> bool:
    return is_silenced(finding.source, language)
