"""Complete: a source text and a cursor to ranked names.

The text before the cursor becomes the nodes that it would have in training, the model predicts the next value, and
placeholders become the names that they represent. Scope and the typed prefix then filter and reorder:

    where a variable is read       names in scope come before all others
    after a call                   variables of the text are rarely attributes
    keywords of the language       are no names
    the word left of the cursor    is the prefix of every suggestion

While somebody types, most nodes stay the same. Their keys and values are cached, so only new nodes are computed.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarename.config import CompletionConfig
from rarename.errors import UsageError
from rarename.inference.model_folder import ModelFolder, packaged_model
from rarename.inference.session import Session, open_session
from rarename.syntax import Role, language_named
from rarename.syntax.cursor import Cursor, at_cursor
from rarename.syntax.lines import is_name
from rarename.tasks.completion.collate import CompletionBatch, Window, collate
from rarename.tasks.completion.predict import extended_probs, log_softmax, softmax

FALLBACK_PROBABILITY = 1e-3
"""The probability of a name in the text that the model cannot predict, because it is outside the window."""
BUILTIN_FALLBACK_PROBABILITY = 1e-6
"""The same for a builtin or a global: one that the model has not learned is rare."""
ATTRIBUTE_SMOOTHING = 0.1
"""After a call, the pseudocount of a name as an attribute, added to its count in the text."""

Floats = NDArray[Any]
_Node = tuple[str, str | None, Role]
"""Type, value and role."""


@dataclass(frozen=True)
class Suggestion:
    """A name that may follow at the cursor."""

    name: str
    probability: float  # the model's probability among all values that it can predict
    is_in_scope: bool  # whether the name refers to something there; true where scope does not apply, as after a dot
    is_argument: bool = False  # whether it rather names an argument, as `encoding` in `open(path, encoding=…)`


@dataclass(frozen=True)
class _Continuation:
    """Nodes that may turn out to precede the name at the cursor, and the type of its node in that case."""

    nodes: list[_Node]
    next_type: str

    @property
    def types(self) -> list[str]:
        return [*(node_type for node_type, _, _ in self.nodes), self.next_type]

    def after(self, types: Sequence[str]) -> "_Continuation":
        """The same after further nodes."""
        return _Continuation([*((node_type, None, Role.NONE) for node_type in types), *self.nodes], self.next_type)

    def as_assignment(self, rewrites: Mapping[str, tuple[str, ...]]) -> "_Continuation":
        """The same with its first node as an assignment target."""
        (node_type, _, _), *rest = self.nodes
        return _Continuation(rest, self.next_type).after(rewrites.get(node_type, (node_type,)))


@dataclass(frozen=True)
class _WeightedScores:
    """The prediction for one continuation."""

    log_weight: float  # log probability of the continuation
    probs: Floats  # the probability of each value of the extended vocabulary
    rare_names: Mapping[str, int]  # the rare names of the window, with their ids in the extended vocabulary


@dataclass(frozen=True)
class _Predictions:
    """The probability of each name that the model can predict."""

    names: dict[str, float]  # as a name by itself
    keywords: dict[str, float]  # as the name of an argument: `f(name=…)`


class Completer:
    """Completes names of one language with a trained model.

    >>> text = "def area(width, height):\\n    return width * he"
    >>> Completer.load("python").complete(text, line=2, column=22)[0].name  # doctest: +SKIP
    'height'
    """

    def __init__(self, folder: ModelFolder, session: Session | None = None) -> None:
        assert isinstance(folder.config.task, CompletionConfig)
        self.folder, self.language, self.encoding = folder, folder.language, folder.encoding
        self.window_size, self._copies = folder.config.task.window_size, folder.config.task.copy_pointer
        self._reader = Reader(session or open_session(folder))
        ranks = [rank for rank, name in enumerate(self.encoding.values) if is_name(name)]
        self._frequent_names = [self.encoding.values[rank] for rank in ranks]
        self._frequent_ids = np.array(ranks, dtype=np.int64) + self.encoding.first_placeholder
        self._frequent_ids -= len(self.encoding.values)

    @classmethod
    def load(cls, language: str = "", folder: Path | None = None) -> "Completer":
        """Load the model of a run, or the one inside the package for a language."""
        if folder is None:
            folder = packaged_model(language_named(language).name, "completion")
        model = ModelFolder.load(folder, "completion")
        if language and model.language.name != language:
            raise UsageError(f"{folder} is a model for {model.language.name}, not for {language}")
        return cls(model)

    def complete(self, text: str, line: int, column: int, top_k: int = 10) -> list[Suggestion]:
        """The most probable names at a cursor. Lines and columns count from 1, columns in characters."""
        return self.complete_at(at_cursor(text, self.language, line, column), top_k)

    def complete_at(self, cursor: Cursor, top_k: int = 10) -> list[Suggestion]:
        """The most probable names at a cursor that has been parsed."""
        predicted = self._predict(cursor)
        best = max(predicted.names.values(), default=FALLBACK_PROBABILITY)
        predicted = _Predictions(predicted.names | dict.fromkeys(cursor.unused_targets, best), predicted.keywords)
        names = {*_possible_names(cursor), *predicted.names, *predicted.keywords} - cursor.keywords
        suggestions = [_suggestion(name, cursor, predicted) for name in _with_prefix(cursor.word, names)]
        suggestions.sort(
            key=lambda each: (
                not each.is_in_scope,
                -each.probability,
                each.name not in cursor.unused_targets,
                each.name,
            )
        )
        return suggestions[:top_k]

    def probabilities(self, cursor: Cursor) -> dict[str, float]:
        """The model's probability of each name that it can predict at a cursor."""
        predicted = self._predict(cursor)
        names = {*predicted.names, *predicted.keywords}
        return {name: predicted.names.get(name, 0.0) + predicted.keywords.get(name, 0.0) for name in names}

    def _predict(self, cursor: Cursor) -> _Predictions:
        """Average the predictions over the ways in which the text may continue.

        A name that nothing follows yet may turn out to be called, to have an attribute, or to be assigned to, and the
        tree has the call before the name. So the model predicts with each such node put in, weighted by the
        probability of that node.
        """
        start, continuations = self._continuations(cursor)
        scores = [self._score(cursor, start, continuation) for continuation in continuations]
        weights = softmax(np.array([each.log_weight for each in scores])).tolist()
        names: list[tuple[float, _WeightedScores]] = []
        keywords: list[tuple[float, _WeightedScores]] = []
        for continuation, weight, score in zip(continuations, weights, scores, strict=True):
            is_keyword = cursor.argument_names and continuation.next_type == self.language.keyword_argument_type
            (keywords if is_keyword else names).append((weight, score))
        keyword_probs = self._sum(keywords)
        name_probs = _dotted_part(self._sum(names), cursor)
        if cursor.role is Role.KEYWORD and keywords:  # certainly an argument, perhaps with a name that is not known
            unknown = keyword_probs.keys() - cursor.argument_names
            name_probs = {name: ATTRIBUTE_SMOOTHING * keyword_probs[name] for name in unknown}
        if self._is_after_call(cursor):
            name_probs = _as_attributes(name_probs, cursor)
        return _Predictions(name_probs, _as_arguments(keyword_probs, cursor))

    def _is_after_call(self, cursor: Cursor) -> bool:
        """Whether the cursor names an attribute of the result of a call."""
        first_child = cursor.traversal.types[cursor.parent + 1 : cursor.parent + 2]
        return cursor.role is Role.ATTRIBUTE and not self.language.call_types.isdisjoint(first_child)

    def _sum(self, weighted: Sequence[tuple[float, _WeightedScores]]) -> dict[str, float]:
        """The probability of each name over some continuations."""
        if not weighted:
            return {}
        frequent = np.zeros(len(self._frequent_names))
        rare: dict[str, float] = {}
        for weight, scores in weighted:
            frequent += weight * scores.probs[self._frequent_ids]
            for name, extended_id in scores.rare_names.items():
                rare[name] = rare.get(name, 0.0) + weight * float(scores.probs[extended_id])
        return dict(zip(self._frequent_names, frequent.tolist(), strict=True)) | rare

    def _continuations(self, cursor: Cursor) -> tuple[int, list[_Continuation]]:
        """Where the unfinished expression at the cursor starts, and the nodes that it may turn out to have."""
        wrappers, rewrites = self.language.possible_wrappers, self.language.assignment_rewrites
        types, parents = cursor.traversal.types, cursor.traversal.parents
        as_it_is = len(types), [_Continuation([], cursor.next_type)]
        if not cursor.is_open or cursor.role not in (Role.READ, Role.ATTRIBUTE) or not wrappers:
            return as_it_is
        start, parent = len(types), cursor.parent
        if cursor.role is Role.ATTRIBUTE:
            start, parent = parent, parents[parent]
            if types[start] != wrappers[1][0]:
                return as_it_is  # a key, or an assignment target
            if len(types) - start > self.window_size // 2:
                return as_it_is  # so long an expression would leave no room for its context
        expression = _Continuation(_nodes(cursor, start), cursor.next_type)
        if parent == start - 1 and types[parent] == wrappers[0][0]:
            start, parent = parent, parents[parent]  # a call that only the completed text has
        found = [expression, *(expression.after(wrapper) for wrapper in wrappers)]
        if parent == start - 1 and types[parent] in rewrites:
            start, statement = parent, types[parent]
            found = [each.after((statement,)) for each in found]
            if cursor.role is Role.ATTRIBUTE:  # a variable that is assigned to is seldom a known one
                found.append(expression.as_assignment(rewrites).after(rewrites[statement]))
        if cursor.argument_names:
            found.append(_Continuation([], self.language.keyword_argument_type))
        known = self.encoding.types
        return start, [found[0], *(each for each in found[1:] if all(name in known for name in each.types))]

    def _score(self, cursor: Cursor, start: int, continuation: _Continuation) -> _WeightedScores:
        """Predict the value after a continuation, and the probability of the continuation itself."""
        # Windows start where those of training may, so that they stay the same while nodes are added.
        step = max(1, self.window_size // 2)
        first = max(0, -(-(start - self.window_size + 1) // step) * step)
        types, names, roles = zip(*_nodes(cursor, first, start), *continuation.nodes, strict=True)
        ranks, _ = self.encoding.values.ranks(names)
        window = Window(self.encoding.type_ranks(types), ranks, np.array(roles, dtype=np.int8))
        batch = collate([window], self.encoding, seeds=[0], on_overflow="unk")
        type_logits, outputs = self._reader.read(batch)
        log_probs = log_softmax(type_logits[start - first - 1 :])  # each node is predicted by the one before it
        type_ids = self.encoding.encode_types(continuation.types)
        log_weight = float(log_probs[np.arange(len(type_ids)), type_ids].sum())
        return _WeightedScores(
            log_weight, extended_probs(outputs, batch.extended_ids[0]), self._rare_names(batch, names)
        )

    def _rare_names(self, batch: CompletionBatch, names: Sequence[str | None]) -> dict[str, int]:
        """The rare names of the window that can be predicted, with their ids in the extended vocabulary."""
        end = np.inf if self._copies else self.encoding.num_values
        return {
            name: extended_id
            for extended_id, name in zip(batch.extended_ids[0].tolist(), names, strict=True)
            if self.encoding.first_placeholder <= extended_id < end and name is not None and is_name(name)
        }


class Reader:
    """Reads the nodes of a window; a prefix that was read before is not computed again."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.reset()

    def reset(self) -> None:
        self._nodes = np.zeros((2, 0), dtype=np.int64)
        self._type_logits: Floats | None = None  # (S, T)
        self._cache = self._session.new_cache()

    def read(self, batch: CompletionBatch) -> tuple[Floats, dict[str, Floats]]:
        """Type logits after every node of a batch with one window, (L, T), and the outputs after the last node."""
        nodes = np.concatenate([batch.types, batch.values])
        shorter = min(nodes.shape[1], self._nodes.shape[1])
        differs = (nodes[:, :shorter] != self._nodes[:, :shorter]).any(axis=0)
        num_known = min(int(differs.argmax()) if differs.any() else shorter, nodes.shape[1] - 1)
        self._cache.crop(num_known)
        new = slice(num_known, None)
        inputs = {"types": batch.types[:, new], "values": batch.values[:, new], "has_value": batch.has_value}
        outputs = self._session.run(inputs, self._cache)
        type_logits = outputs["type_logits"][0]
        if self._type_logits is not None:
            type_logits = np.concatenate([self._type_logits[:num_known], type_logits])
        self._nodes, self._type_logits = nodes, type_logits
        return type_logits, outputs


def _nodes(cursor: Cursor, start: int, end: int | None = None) -> list[_Node]:
    traversal, where = cursor.traversal, slice(start, end)
    return list(zip(traversal.types[where], traversal.values[where], cursor.roles[where], strict=True))


def _dotted_part(probs: Mapping[str, float], cursor: Cursor) -> dict[str, float]:
    """Names without dots; in a module name, the part at the cursor: `os.path` becomes `path` at `import os.‸`."""
    module = cursor.module
    if module is None:
        return {name: probability for name, probability in probs.items() if "." not in name}
    parts: dict[str, float] = {}
    for name, probability in probs.items():
        if name.startswith(module.prefix) and (module.known is None or name in module.known):
            part = _next_part(name, module.prefix)
            parts[part] = parts.get(part, 0.0) + probability
    return parts


def _next_part(module: str, prefix: str) -> str:
    """The next part of a module's name: `path` of `os.path.join` after `os.`."""
    return module.removeprefix(prefix).partition(".")[0]


def _as_arguments(probs: Mapping[str, float], cursor: Cursor) -> dict[str, float]:
    """The possible names of arguments, if the model predicts them or the text contains them.

    The model predicts values without their types, so strings and variables would count as much as keywords.
    """
    in_text = set(cursor.traversal.values) if cursor.argument_names else set()
    possible = (name for name in cursor.argument_names if name in probs or name in in_text)
    return {name: probs.get(name, FALLBACK_PROBABILITY) for name in possible}


def _as_attributes(probs: Mapping[str, float], cursor: Cursor) -> dict[str, float]:
    """The probabilities of names, given that the node is an attribute.

    After a call the model cannot know that: a further argument might follow instead. So a name of the text is weighted
    by how often the text has it as an attribute or a method.
    """
    as_attribute: Counter[str] = Counter()
    otherwise: Counter[str] = Counter()
    for name, role in zip(cursor.traversal.values, cursor.roles, strict=True):
        if name is not None and role is not Role.KEYWORD:
            (as_attribute if role in (Role.ATTRIBUTE, Role.FUNCTION) else otherwise)[name] += 1
    weighted = {}
    for name, probability in probs.items():
        count = as_attribute[name] + ATTRIBUTE_SMOOTHING
        weighted[name] = probability * count / (count + otherwise[name])
    scale = sum(probs.values()) / (sum(weighted.values()) or 1)
    return {name: probability * scale for name, probability in weighted.items()}


def _possible_names(cursor: Cursor) -> set[str]:
    """The names that are possible at a cursor, whatever the model predicts."""
    if cursor.module is None or cursor.module.known is None:
        return {name for name in cursor.in_scope | cursor.same_role_names if is_name(name)}
    prefix = cursor.module.prefix
    return {_next_part(name, prefix) for name in cursor.module.known if name.startswith(prefix)}


def _suggestion(name: str, cursor: Cursor, predicted: _Predictions) -> Suggestion:
    is_builtin = name in cursor.in_scope and name not in cursor.bound_names
    fallback = BUILTIN_FALLBACK_PROBABILITY if is_builtin else FALLBACK_PROBABILITY
    as_name, as_keyword = predicted.names.get(name, fallback), predicted.keywords.get(name, 0.0)
    if not cursor.is_scope_known or name in cursor.in_scope:
        return Suggestion(name, as_name + as_keyword, True, cursor.role is Role.KEYWORD or as_keyword > as_name)
    # Scope covers names by themselves, not the arguments that a function has.
    return Suggestion(name, as_keyword or as_name, bool(as_keyword), bool(as_keyword))


def _with_prefix(prefix: str, names: set[str]) -> list[str]:
    """The names with a prefix; without any, those that have it regardless of case."""
    found = [name for name in names if name.startswith(prefix)]
    return found or [name for name in names if name.lower().startswith(prefix.lower())]
