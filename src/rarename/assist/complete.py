"""Complete: a source text and a cursor to ranked names.

The text before the cursor becomes the nodes that it would have in training, the model predicts the next value, and
placeholders become the names that they represent. Then scope and the typed prefix filter and reorder the names.
While somebody types, most nodes stay the same. Their keys and values are cached, so only new nodes are computed.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain
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
from rarename.vocabulary import rank_to_id

FALLBACK_PROBABILITY = 1e-3  # of a name in the text that the model cannot predict, because it is outside the window
BUILTIN_FALLBACK_PROBABILITY = 1e-6  # of a builtin or a global that the model has not learned, so it is rare
ATTRIBUTE_SMOOTHING = 0.1  # after a call, the pseudocount of a name as an attribute, added to its count in the text

Floats = NDArray[Any]
_Node = tuple[str, str | None, Role]  # type, value and role
_Weighted = tuple[float, Floats, dict[str, float]]  # weight of a continuation, probabilities of frequent and rare names


@dataclass(frozen=True)
class Suggestion:
    """A name that may follow at the cursor."""

    name: str
    probability: float  # the model's probability among all values that it can predict
    is_in_scope: bool  # whether the name refers to something there; true where scope does not apply, as after a dot
    is_argument: bool = False  # whether it more probably names an argument, as `encoding` in `open(path, encoding=…)`


class Completer:
    """Completes names of one language with a trained model.

    >>> text = "def area(width, height):\\n    return width * he"
    >>> Completer.load("python").complete(text, line=2, column=22)[0].name  # doctest: +SKIP
    'height'
    """

    def __init__(self, folder: ModelFolder) -> None:
        assert isinstance(folder.config.task, CompletionConfig)
        self.folder, self.language, self.encoding = folder, folder.language, folder.encoding
        self._window_size, self._has_pointer = folder.config.task.window_size, folder.config.task.copy_pointer
        self._reader = Reader(open_session(folder))
        ranks = [rank for rank, name in enumerate(self.encoding.values) if is_name(name)]
        self._frequent_names = [self.encoding.values[rank] for rank in ranks]
        self._frequent_ids = rank_to_id(np.array(ranks))

    @classmethod
    def load(cls, language: str = "", folder: Path | None = None) -> "Completer":
        """Load the model of a run, or the one inside the package for a language."""
        folder = folder or packaged_model(language_named(language).name, "completion")
        model = ModelFolder.load(folder, "completion")
        if language and model.language.name != language:
            raise UsageError(f"{folder} is a model for {model.language.name}, not for {language}")
        return cls(model)

    def complete(self, text: str, line: int, column: int, top_k: int = 10) -> list[Suggestion]:
        """The most probable names at a cursor. Lines and columns count from 1, columns in characters."""
        return self.complete_at(at_cursor(text, self.language, line, column), top_k)

    def complete_at(self, cursor: Cursor, top_k: int = 10) -> list[Suggestion]:
        """The most probable names at a cursor that has been parsed."""
        names, arguments = self._predict(cursor)
        unused = cursor.unused_targets
        names |= dict.fromkeys(unused, max(names.values(), default=FALLBACK_PROBABILITY))
        possible = _possible_names(cursor)
        special = {*possible, *cursor.in_scope, *arguments, *unused}
        matching = set(_with_prefix(cursor.word, (possible | names.keys() | arguments.keys()) - cursor.keywords))
        # Of the others, most by far, the probability alone decides.
        others = nsmallest(top_k, matching - special, key=lambda name: (-names[name], name))
        found = [_suggestion(name, cursor, names, arguments) for name in (*(matching & special), *others)]
        found.sort(key=lambda each: (not each.is_in_scope, -each.probability, each.name not in unused, each.name))
        return found[:top_k]

    def _predict(self, cursor: Cursor) -> tuple[dict[str, float], dict[str, float]]:
        """The probability of each name as a name by itself, and as the name of an argument: `f(name=…)`.

        A name that nothing follows yet may become a call, get an attribute, or be assigned to, and the tree has the
        call before the name. So the model predicts the name after each possible node, weighted by the probability
        of that node.
        """
        start, continuations = self._continuations(cursor)
        # Windows start at multiples of a step, as in training, so that they stay the same while nodes are added.
        step = max(1, self._window_size // 2)
        first = max(0, -(-(start - self._window_size + 1) // step) * step)
        scores = self._scores(_nodes(cursor, first, start), continuations)
        weights = softmax(np.array([log_weight for log_weight, _, _ in scores])).tolist()
        keyword_type = self.language.keyword_argument_type if cursor.argument_names else None
        weighted: dict[bool, list[_Weighted]] = {True: [], False: []}  # True: as the name of an argument
        for continuation, weight, (_, frequent, rare) in zip(continuations, weights, scores, strict=True):
            next_type, _, _ = continuation[-1]
            weighted[next_type == keyword_type].append((weight, frequent, rare))
        keyword_probs, name_probs = self._sum(weighted[True]), _dotted_part(self._sum(weighted[False]), cursor)
        if cursor.role is Role.KEYWORD and keyword_probs:  # an argument, perhaps with an unknown name
            unknown = keyword_probs.keys() - cursor.argument_names
            name_probs = {name: ATTRIBUTE_SMOOTHING * keyword_probs[name] for name in unknown}
        first_child = cursor.traversal.types[cursor.parent + 1 : cursor.parent + 2]
        if cursor.role is Role.ATTRIBUTE and not self.language.call_types.isdisjoint(first_child):
            name_probs = _as_attributes(name_probs, cursor)
        return name_probs, _as_arguments(keyword_probs, cursor)

    def _sum(self, weighted: Sequence[_Weighted]) -> dict[str, float]:
        """The probability of each name over some continuations."""
        if not weighted:
            return {}
        frequent = np.zeros(len(self._frequent_names))
        rare: dict[str, float] = defaultdict(float)
        for weight, frequent_probs, rare_probs in weighted:
            frequent += weight * frequent_probs
            for name, probability in rare_probs.items():
                rare[name] += weight * probability
        return dict(zip(self._frequent_names, frequent.tolist(), strict=True)) | rare

    def _continuations(self, cursor: Cursor) -> tuple[int, list[list[_Node]]]:
        """Where the unfinished expression at the cursor starts, and the nodes that it may have, up to the name."""
        wrappers, rewrites = self.language.possible_wrappers, self.language.assignment_rewrites
        types, parents = cursor.traversal.types, cursor.traversal.parents
        unchanged = len(types), [_without_values(cursor.next_type)]
        if not cursor.is_open or cursor.role not in (Role.READ, Role.ATTRIBUTE) or not wrappers:
            return unchanged
        start, parent = len(types), cursor.parent
        if cursor.role is Role.ATTRIBUTE:
            start, parent = parent, parents[parent]
            # A key or an assignment target; or an expression so long that it would leave no room for its context.
            if types[start] != wrappers[1][0] or len(types) - start > self._window_size // 2:
                return unchanged
        expression = _nodes(cursor, start) + _without_values(cursor.next_type)
        if parent == start - 1 and types[parent] == wrappers[0][0]:
            start, parent = parent, parents[parent]  # a call that only the completed text has
        found = [expression, *(_without_values(*wrapper) + expression for wrapper in wrappers)]
        if parent == start - 1 and types[parent] in rewrites:
            start, statement = parent, types[parent]
            found = [_without_values(statement) + each for each in found]
            if cursor.role is Role.ATTRIBUTE:  # an assigned variable is rarely a known one
                (first_type, _, _), *rest = expression
                target = rewrites.get(first_type, (first_type,))
                found.append(_without_values(*rewrites[statement], *target) + rest)
        if cursor.argument_names:
            found.append(_without_values(self.language.keyword_argument_type))
        known = self.encoding.types
        return start, [found[0], *(each for each in found[1:] if all(node_type in known for node_type, _, _ in each))]

    def _scores(self, context: list[_Node], continuations: list[list[_Node]]) -> list[_Weighted]:
        """The log probability of each continuation, and the probabilities of frequent and of rare names at its end."""
        types, names, roles = zip(*context, *chain(*continuations), strict=True)
        type_ranks, (ranks, _) = self.encoding.type_ranks(types), self.encoding.values.ranks(names)
        columns, found, stop = (type_ranks, ranks, np.array(roles, dtype=np.int8)), list[_Weighted](), len(context)
        for continuation in continuations:
            own, stop = np.arange(stop, stop + len(continuation)), stop + len(continuation)
            nodes = np.concatenate([np.arange(len(context)), own[:-1]])
            batch = collate(
                [Window(*(column[nodes] for column in columns))], self.encoding, seeds=[0], on_overflow="unk"
            )
            type_logits, outputs = self._reader.read(batch)
            log_probs = log_softmax(type_logits[len(context) - 1 :])  # each node is predicted by the one before it
            log_weight = float(log_probs[np.arange(len(own)), rank_to_id(type_ranks[own])].sum())
            probs, ids = extended_probs(outputs, batch.extended_ids[0]), batch.extended_ids[0].tolist()
            end = len(probs) if self._has_pointer else self.encoding.num_values
            rare = {
                name: float(probs[extended_id])
                for name, extended_id in zip([names[node] for node in nodes.tolist()], ids, strict=True)
                if self.encoding.first_placeholder <= extended_id < end and name is not None and is_name(name)
            }
            found.append((log_weight, probs[self._frequent_ids], rare))
        return found


class Reader:
    """Reads the nodes of a window; a prefix that was read before is not computed again."""

    def __init__(self, session: Session) -> None:
        self._session, self._cache = session, session.new_cache()
        self._nodes = np.zeros((2, 0), dtype=np.int64)
        self._type_logits: Floats | None = None  # (S, T)

    def read(self, batch: CompletionBatch) -> tuple[Floats, dict[str, Floats]]:
        """Type logits after every node of a batch with one window, (L, T), and the outputs after the last node."""
        nodes = np.concatenate([batch.types, batch.values])
        shorter = min(nodes.shape[1], self._nodes.shape[1])
        differs = (nodes[:, :shorter] != self._nodes[:, :shorter]).any(axis=0)
        num_known = min(int(differs.argmax()) if differs.any() else shorter, nodes.shape[1] - 1)
        self._cache.crop(num_known)
        new = {"types": batch.types[:, num_known:], "values": batch.values[:, num_known:]}
        outputs = self._session.run(new | {"has_value": batch.has_value}, self._cache)
        type_logits = outputs["type_logits"][0]
        if self._type_logits is not None:
            type_logits = np.concatenate([self._type_logits[:num_known], type_logits])
        self._nodes, self._type_logits = nodes, type_logits
        return type_logits, outputs


def _nodes(cursor: Cursor, start: int, end: int | None = None) -> list[_Node]:
    traversal, where = cursor.traversal, slice(start, end)
    return list(zip(traversal.types[where], traversal.values[where], cursor.roles[where], strict=True))


def _without_values(*types: str) -> list[_Node]:
    return [(node_type, None, Role.NONE) for node_type in types]


def _dotted_part(probs: Mapping[str, float], cursor: Cursor) -> dict[str, float]:
    """Names without dots; in a module name, the part at the cursor: `os.path` becomes `path` at `import os.‸`."""
    module = cursor.module
    if module is None:
        return {name: probability for name, probability in probs.items() if "." not in name}
    parts: dict[str, float] = defaultdict(float)
    for name, probability in probs.items():
        if name.startswith(module.prefix) and (module.known is None or name in module.known):
            parts[_next_part(name, module.prefix)] += probability
    return parts


def _next_part(module: str, prefix: str) -> str:
    """The next part of a module's name: `path` of `os.path.join` after `os.`."""
    return module.removeprefix(prefix).partition(".")[0]


def _as_arguments(probs: Mapping[str, float], cursor: Cursor) -> dict[str, float]:
    """The possible names of arguments, if the model predicts them or the text contains them.

    The model predicts values without their types, so strings and variables would count as much as keywords.
    """
    known = cursor.argument_names & {*probs, *cursor.traversal.values}
    return {name: probs.get(name, FALLBACK_PROBABILITY) for name in known}


def _as_attributes(probs: Mapping[str, float], cursor: Cursor) -> dict[str, float]:
    """The probabilities of names, given that the node is an attribute.

    After a call the node might also be a further argument. So a name of the text is weighted by how often the text has
    it as an attribute or a method.
    """
    nodes = zip(cursor.traversal.values, cursor.roles, strict=True)
    uses = Counter((name, role in (Role.ATTRIBUTE, Role.FUNCTION)) for name, role in nodes if role is not Role.KEYWORD)
    weighted = {}
    for name, probability in probs.items():
        count = uses[name, True] + ATTRIBUTE_SMOOTHING
        weighted[name] = probability * count / (count + uses[name, False])
    scale = sum(probs.values()) / (sum(weighted.values()) or 1)
    return {name: probability * scale for name, probability in weighted.items()}


def _possible_names(cursor: Cursor) -> set[str]:
    """The names that are possible at a cursor, whatever the model predicts."""
    if cursor.module is None or cursor.module.known is None:
        return {name for name in cursor.in_scope | cursor.same_role_names if is_name(name)}
    prefix = cursor.module.prefix
    return {_next_part(name, prefix) for name in cursor.module.known if name.startswith(prefix)}


def _suggestion(name: str, cursor: Cursor, names: Mapping[str, float], arguments: Mapping[str, float]) -> Suggestion:
    is_builtin = name in cursor.in_scope and name not in cursor.bound_names
    fallback = BUILTIN_FALLBACK_PROBABILITY if is_builtin else FALLBACK_PROBABILITY
    as_name, as_keyword = names.get(name, fallback), arguments.get(name, 0.0)
    if not cursor.is_scope_known or name in cursor.in_scope:
        return Suggestion(name, as_name + as_keyword, True, cursor.role is Role.KEYWORD or as_keyword > as_name)
    # Scope is about variables, not about names of arguments.
    return Suggestion(name, as_keyword or as_name, bool(as_keyword), bool(as_keyword))


def _with_prefix(prefix: str, names: Set[str]) -> list[str]:
    """The names with a prefix; without any, those that have it regardless of case."""
    found = [name for name in names if name.startswith(prefix)]
    return found or [name for name in names if name.lower().startswith(prefix.lower())]
