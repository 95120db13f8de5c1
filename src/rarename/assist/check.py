"""Check: source text to diagnostics. Functions become the same arrays as in training, in batches across files."""

import hashlib
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rarename.assist.baseline import fingerprint
from rarename.assist.diagnostics import Alternative, CheckResult, Diagnostic
from rarename.assist.file_check import FileCheck, position
from rarename.assist.run import CheckRun
from rarename.assist.suppressions import suppressions
from rarename.config import MisuseConfig
from rarename.discovery import CHECKED, Files, Skipped, is_minified
from rarename.errors import ParseError, RunError, UsageError
from rarename.inference.model_folder import CHECK_SETTINGS, ModelFolder, packaged_model
from rarename.inference.session import open_session
from rarename.progress import Progress
from rarename.syntax import Language, Role, Span, language_named
from rarename.syntax.functions import Slice, functions, qualified_name, windows
from rarename.syntax.lines import Lines, is_name
from rarename.tasks.misuse.collate import MisuseCollator, MisuseExample
from rarename.tasks.misuse.confidence import Calibration
from rarename.tasks.misuse.context import FileContext
from rarename.tasks.misuse.functions import Function, outermost_within
from rarename.tasks.misuse.predict import BugPredictions, MisuseOutput, predict_bugs
from rarename.tasks.sampler import bucketed_batches
from rarename.time_limit import time_limit

MAX_FUNCTION_NODES = 1_000  # longer functions are checked in windows: attention is quadratic
WINDOW_STRIDE = 500  # nodes from one window to the next
NUM_ALTERNATIVES = 2  # of each diagnostic
MAX_KNOWN_FUNCTIONS = 20_000  # whose predictions are kept in memory
BATCH_NODES = 800  # largest number of nodes in a batch, padding included

_MAX_LINE_CHARS = 2_000  # on average, in the text of a function whose lines are compared with a baseline as a whole
_Candidate = tuple[int, int, float]  # location, repair, confidence
_DATA = re.compile(r"[\w+/=\\-]{200,}", re.ASCII)  # such as an encoded image: code has blanks and operators


class CheckModel:
    """A misuse model of one language, ready to predict."""

    def __init__(self, folder: ModelFolder) -> None:
        assert isinstance(folder.config.task, MisuseConfig)
        self.folder, self.language, self.threshold = folder, folder.language, folder.threshold()
        self.version = folder.version
        table = folder.calibration()
        try:
            self.calibration = Calibration.of(table) if table else None
        except RunError as error:
            raise RunError(f"{folder.path / CHECK_SETTINGS}: {error}") from None
        self.num_context = folder.config.task.context_nodes
        self.collate = MisuseCollator(folder.encoding, folder.config.task)
        self._session = open_session(folder)
        self._is_conditional = folder.config.task.pointer_head == "conditional"

    @classmethod
    def load(cls, path: Path) -> "CheckModel":
        """Load the model of a run or of the package."""
        return cls(ModelFolder.load(path, "misuse"))

    def can_repair(self, function: Function) -> bool:
        """Whether the function has two names that the model can point at. A conditional head points at bound names."""
        names = function.values[function.bindings if self._is_conditional else function.variables]
        return bool((names != names[:1]).any())

    def key(self, example: MisuseExample) -> bytes:
        """A hash of all that the prediction depends on. Which ranks rare names have in a file does not matter."""
        function, digest = example.function, hashlib.blake2b(self.language.name.encode(), digest_size=16)
        values, num_kept = function.values, len(self.folder.encoding.values)
        _, first, same_as = np.unique(values, return_index=True, return_inverse=True)
        digest.update(repr((len(function), function.num_context, example.nested_slices)).encode())
        for array in (
            *(function.types, function.roles, function.scopes, function.subtokens, function.bigrams),
            *(function.is_unswappable, function.places, np.minimum(values, num_kept), first[same_as]),
            *((values[:, None] == names).any(axis=1) for names in (function.receivers, function.constructors)),
        ):
            digest.update(b"-" if array is None else array.tobytes())
        return digest.digest()

    def predict(self, examples: Sequence[MisuseExample]) -> BugPredictions:
        """Predict the most probable bug of each function and of each function nested in it."""
        batch = self.collate(examples, on_overflow="unk")
        if self._is_conditional:
            # Only names bound in the function can be locations or repairs; they come first, then others as padding.
            num_nodes = max(1, int(batch.is_variable.sum(axis=1).max()))
            nodes = np.argsort(~batch.is_variable, axis=1, kind="stable")[:, :num_nodes]
            outputs = self._session.run(batch.inputs() | {"nodes": nodes})
            output = MisuseOutput.of_nodes(**outputs, nodes=nodes, length=batch.types.shape[1])
        else:
            output = MisuseOutput(**self._session.run(batch.inputs()), is_conditional=False)
        found = predict_bugs(output, batch, batch.nested)
        return self.calibration.apply(found, [each.function for each in examples]) if self.calibration else found


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
        self._known: dict[bytes, list[list[_Candidate]]] = {}  # by function: an editor asks again after each change

    @classmethod
    def load(cls, *folders: str | Path, threshold: float | None = None) -> "Checker":
        """Load the models of runs. Without any, packaged models are loaded when needed.

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

    def check(
        self,
        text: str,
        language: str | Language,
        path: str = "<text>",
        threshold: float | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> list[Diagnostic]:
        """Check one source text; raises ParseError if it cannot be parsed or is minified.

        At most one diagnostic per function, nested or not, from top to bottom. `noqa` comments suppress them. Between
        batches of functions, `should_stop` may end the check; then some diagnostics are missing.
        """
        language = language_named(language) if isinstance(language, str) else language
        minimum = self.threshold(language) if threshold is None else threshold
        [found] = self._checks([_ParsedFile(text, language)], minimum, should_stop)
        return found.report(path, language.name, minimum, report_unused=False).diagnostics

    def check_files(
        self, files: Files, progress: Progress | None = None, *, report_unused: bool = False
    ) -> CheckResult:
        """Check many files in this process. What cannot be checked is listed in the result with its reason.

        With `report_unused`, comments that name RN001 and suppress nothing are diagnostics too.
        """
        return CheckRun(checker=self).result(files, progress, report_unused=report_unused)

    def check_contents(
        self,
        contents: Sequence[tuple[str, bytes]],
        min_confidence: float,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> list[FileCheck] | None:
        """Check the contents of files, each with the name of its language; None after `should_stop`.

        Predictions below `min_confidence` are left out.
        """
        parsed = [_parse_file(language_named(name), content) for name, content in contents]
        found = iter(
            self._checks([each for each in parsed if isinstance(each, _ParsedFile)], min_confidence, should_stop)
        )
        checks = [FileCheck([], [], [each], 0, False) if isinstance(each, Skipped) else next(found) for each in parsed]
        return None if should_stop() else checks

    def _checks(
        self, files: Sequence["_ParsedFile"], min_confidence: float, should_stop: Callable[[], bool]
    ) -> list[FileCheck]:
        pending = [self._functions(each) for each in files]
        found: dict[_ParsedFile, list[Diagnostic]] = {each: [] for each in files}
        for file, diagnostic in self._predict(list(chain(*pending)), min_confidence, should_stop):
            found[file].append(diagnostic)
        return [
            FileCheck(
                sorted(found[file], key=position),
                [replace(each, source=file.lines.line(each.line)) for each in file.suppressions],
                [],
                len(file.functions),
                is_checked=True,
            )
            for file in files
        ]

    def _functions(self, parsed: "_ParsedFile") -> Iterator["_PendingFunction"]:
        slices = outermost_within(parsed.functions, MAX_FUNCTION_NODES)
        if not slices:
            return
        model = self.model(parsed.language)
        encoding = model.folder.encoding
        has_bigrams = model.calibration is not None
        encoded = Function.of_file(parsed.traversal, parsed.roles, parsed.language, encoding, has_bigrams)
        context = FileContext.of_file(encoded, parsed.traversal, parsed.language, encoding)
        for start, length in outermost_within(parsed.functions, MAX_FUNCTION_NODES):
            first, last = (bisect_left(parsed.functions, (node,)) for node in (start, start + length))
            nested = tuple(Slice(each.start - start, each.length) for each in parsed.functions[first:last])
            function = context.function_at(start, length, model.num_context)
            example = MisuseExample(function, (), seed=0, nested_slices=nested)
            yield _PendingFunction(parsed, np.arange(start, start + length), example)
        for start, length in parsed.functions:
            for nodes in _windows(parsed, encoded, start) if length > MAX_FUNCTION_NODES else ():
                function = context.extend(encoded.select(nodes), start, length, model.num_context)
                example = MisuseExample(function, (), seed=0, nested_slices=(Slice(0, len(nodes)),))
                yield _PendingFunction(parsed, nodes, example)

    def _predict(
        self, pool: Sequence["_PendingFunction"], min_confidence: float, should_stop: Callable[[], bool]
    ) -> Iterator[tuple["_ParsedFile", Diagnostic]]:
        """Run the models on functions that are new to them; return unordered predictions above the threshold."""
        if len(self._known) > MAX_KNOWN_FUNCTIONS:
            self._known = {}
        known, best = self._known, dict[tuple[_ParsedFile, int], Diagnostic]()  # of each function: it may have windows
        for name, model in self._models.items():
            of_model = [each for each in pool if each.parsed.language.name == name]
            pending = [(each, model.key(each.example)) for each in of_model if model.can_repair(each.example.function)]
            unknown = list({key: each.example for each, key in pending if key not in known}.items())
            lengths = np.array([len(example.function) for _, example in unknown], dtype=np.int64)
            for indexes in bucketed_batches(lengths, BATCH_NODES, None):
                if should_stop():
                    break
                batch = [unknown[index] for index in indexes]
                found: list[list[list[_Candidate]]] = [[] for _ in batch]
                predictions = vars(model.predict([example for _, example in batch])).values()
                for row, *columns in zip(*map(np.ndarray.tolist, predictions), strict=True):
                    found[row].append([each for each in zip(*columns, strict=True) if each[0] >= 0])
                known.update(zip((key for key, _ in batch), found, strict=True))
            for function, key in pending:
                for candidates in known.get(key, ()):
                    if not candidates or candidates[0][-1] < min_confidence:
                        continue
                    owner = function.parsed, function.owner(candidates[0][0])
                    if owner not in best or best[owner].confidence < candidates[0][-1]:
                        best[owner] = function.diagnostic(candidates, model.version)
        return ((parsed, diagnostic) for (parsed, _), diagnostic in best.items())


class _ParsedFile:
    """A source text with its tree."""

    def __init__(self, text: str, language: Language) -> None:
        # Long strings of data in a line do not make a file minified.
        if is_minified(_DATA.sub("", re.sub(language.line_break.decode(), "\n", text))):
            raise ParseError("minified")
        self.language = language
        with time_limit(text, language):
            self.traversal = language.parse(text, False)
            self.roles = language.roles(self.traversal)
            self.functions = functions(self.traversal, language)  # nested ones included, in pre-order
            self.lines = Lines(text.encode("utf-8", "surrogatepass"), language)
            self.suppressions = suppressions(text, language)

    @cached_property
    def lengths(self) -> dict[int, int]:
        """The number of nodes of each function, by its first node."""
        return dict(self.functions)

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        """The first node of the innermost function around each node; -1 outside of functions."""
        owners = np.full(len(self.traversal), -1)
        for start, length in self.functions:  # an inner function comes later and overwrites
            owners[start : start + length] = start
        return owners


def _windows(parsed: _ParsedFile, file: Function, start: int) -> Iterator[NDArray[np.int64]]:
    """The nodes of a long function in overlapping windows, without those of nested functions, which are checked alone.

    Before the nodes of a window come the function itself and where the names of the window are bound.
    """
    parents = np.array(parsed.traversal.parents)
    nested = np.array([each for each in parsed.lengths if each != start and parsed.owners[parents[each]] == start])
    own = np.union1d(np.nonzero(parsed.owners == start)[0], nested).astype(np.int64)
    is_binding = np.isin(file.roles[own], (Role.WRITE, Role.PARAMETER))
    bound, first = np.unique(file.values[own[is_binding]], return_index=True)
    binding_of = own[is_binding][first]  # of each name
    for window in windows(len(own), MAX_FUNCTION_NODES, WINDOW_STRIDE):
        nodes = own[window.start : window.stop]
        needed = binding_of[np.isin(bound, file.values[nodes[file.is_variable[nodes]]])]
        before = np.union1d([start], needed)
        yield np.concatenate([before[before < nodes[0]], nodes])


@dataclass(frozen=True, eq=False)
class _PendingFunction:
    """A function that waits for a prediction, with those nested in it."""

    parsed: _ParsedFile
    nodes: NDArray[np.int64]  # the node of the tree for each node of the function
    example: MisuseExample

    def owner(self, location: int) -> int:
        """The first node, in the tree, of the innermost function around a location."""
        first, _ = max(each for each in self.example.nested_slices if each.start <= location < sum(each))
        return int(self.nodes[first])

    def diagnostic(self, candidates: Sequence[_Candidate], model: str = "") -> Diagnostic:
        """Express the candidates of a function, the most probable one first, in the names and positions of the text."""
        parsed, (location, repair, confidence) = self.parsed, candidates[0]
        tree, lines, node = parsed.traversal, parsed.lines, int(self.nodes[location])
        name, suggestion = self._name(location), self._name(repair)
        spanned, span = self._span(location)
        owner = self.owner(location)
        # The span of a function may be that of its name.
        spans = [tree.span(each) for each in range(owner, owner + parsed.lengths[owner])]
        first, last = min(each.line for each in spans if each.line), max(each.end_line for each in spans)
        text = "\n".join(lines.line(number) for number in range(first, last + 1))
        if len(text) > _MAX_LINE_CHARS * (last - first + 1):  # other functions may be on these lines
            text = lines.text(Span(*min(each[:2] for each in spans if each.line), *max(each[2:] for each in spans)))
        return Diagnostic(
            path="",
            line=span.line,
            column=lines.characters(span.line, span.column) + 1,
            end_line=span.end_line,
            end_column=lines.characters(span.end_line, span.end_column) + 1,
            function=qualified_name(tree, parsed.roles, owner, parsed.language),
            name=name,
            suggestion=suggestion,
            confidence=confidence,
            source=lines.line(span.line),
            fix=self._fix(node, name, suggestion) if spanned == node else None,
            model=model,
            function_line=first,
            function_end_line=last,
            fingerprint=fingerprint(text, name, suggestion),
            alternatives=tuple(map(self._alternative, candidates[1 : 1 + NUM_ALTERNATIVES])),
        )

    def _alternative(self, candidate: _Candidate) -> Alternative:
        location, repair, confidence = candidate
        _, span = self._span(location)
        column = self.parsed.lines.characters(span.line, span.column) + 1
        return Alternative(span.line, column, self._name(location), self._name(repair), confidence)

    def _name(self, position: int) -> str:
        name = self.parsed.traversal.values[int(self.nodes[position])]
        assert name is not None, "variables have names"
        return name

    def _span(self, position: int) -> tuple[int, Span]:
        """Where a node is in the text; a node without a position has that of its parent."""
        tree, spanned = self.parsed.traversal, int(self.nodes[position])
        while not tree.span(spanned).line and spanned > 0:
            spanned = tree.parents[spanned]
        return spanned, tree.span(spanned)

    def _fix(self, node: int, name: str, suggestion: str) -> str | None:
        """The text that replaces a node; None where the result may be incorrect."""
        tree, parent = self.parsed.traversal, self.parsed.traversal.parents[node]
        span = tree.span(node)
        if not is_name(suggestion) or self.parsed.lines.text(span) != name:
            return None
        if tree.span(parent) == span and self.parsed.roles[parent] == Role.ATTRIBUTE:
            return f"{name}: {suggestion}"  # the name in `{a}` is both a key and a variable
        return None if tree.types[node] in self.parsed.language.paired_types else suggestion


def _parse_file(language: Language, content: bytes) -> _ParsedFile | Skipped:
    try:
        return _ParsedFile(language.decode(content), language)
    except ParseError as error:
        return Skipped("", error.line or None, error.reason, error.detail)
