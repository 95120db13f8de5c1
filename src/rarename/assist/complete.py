"""Complete: a source text and a cursor to ranked names.

The text before the cursor becomes the nodes that it would have become in training; the model tells the next value;
placeholders become the names that they stand for. What scope and the letters already typed say comes on top:

    names that can be in scope     before those that cannot, where a variable is read
    behind a call                  variables of the text are hardly attributes
    words of the language          are no names
    the word left of the cursor    is what a name begins with

While somebody types, most nodes stay what they were. Their keys and values are kept, and only new nodes are read.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from rarename.encoding import Encoding
from rarename.errors import RunError, UsageError
from rarename.inference.model_folder import language_of_encoding, packaged
from rarename.runs import run
from rarename.syntax import Language, Role, language_named
from rarename.syntax.cursor import Cursor, at_cursor
from rarename.syntax.lines import is_name
from rarename.tasks.completion.collate import Batch, Collator
from rarename.tasks.completion.model import Answer, CompletionModel
from rarename.tasks.completion.task import CompletionConfig
from rarename.tasks.completion.windows import Snippet

UNTOLD = 1e-3
"""The probability that a name of the text is given when the model cannot tell it: the window does not show it."""
UNTOLD_GIVEN = 1e-6
"""The same for a builtin or a global: one that the model has not learned is rare."""
UNSEEN = 0.1
"""Behind a call, how often a name counts as an attribute in addition to what the text has of it."""


@dataclass(frozen=True)
class Suggestion:
    """A name that may stand at the cursor."""

    name: str
    probability: float
    """The model's, among all values that it can tell."""
    is_in_scope: bool
    """Whether it can mean something there; true where scope says nothing, as behind a dot and of keyword arguments."""
    is_argument: bool = False
    """Whether it rather names an argument, as `encoding` of `open(path, encoding=…)`."""


_Node = tuple[str, str | None, Role]
"""The type, the value and the role of a node."""


@dataclass(frozen=True)
class _Way:
    """Nodes that may stand before the cursor, and the type of the one at the cursor then."""

    nodes: list[_Node]
    next_type: str

    @property
    def types(self) -> list[str]:
        return [*(kind for kind, _, _ in self.nodes), self.next_type]

    def behind(self, types: Sequence[str]) -> "_Way":
        """The same, with more nodes before it."""
        return _Way([*((kind, None, Role.NONE) for kind in types), *self.nodes], self.next_type)

    def assigned(self, as_target: Mapping[str, tuple[str, ...]]) -> "_Way":
        """The same, with its first node as it is where something is assigned to it."""
        (kind, _, _), *rest = self.nodes
        return _Way(rest, self.next_type).behind(as_target.get(kind, (kind,)))


@dataclass(frozen=True)
class _Share:
    """What the model says if the text goes on in one way."""

    weight: float
    """How likely this way is."""
    scores: Tensor
    """The probability of each choice."""
    names: Mapping[str, int]
    """The rare names among the choices."""


@dataclass(frozen=True)
class _Told:
    """The probability of each name that the model can tell."""

    alone: dict[str, float]
    """As a name by itself."""
    as_keyword: dict[str, float]
    """As the name of an argument: `f(name=…)`."""


def _nodes_of(cursor: Cursor, first: int, end: int | None = None) -> list[_Node]:
    nodes, places = cursor.traversal, slice(first, end)
    return list(zip(nodes.types[places], nodes.values[places], cursor.roles[places], strict=True))


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
        ranks = [rank for rank, name in enumerate(encoding.values) if is_name(name)]
        self._kept = [encoding.values[rank] for rank in ranks]
        self._kept_choices = torch.tensor(ranks, dtype=torch.long) + first

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
        told = self._told(cursor)
        best = max(told.alone.values(), default=UNTOLD)
        told = _Told(told.alone | dict.fromkeys(cursor.unused_targets, best), told.as_keyword)
        names = {*_untold(cursor), *told.alone, *told.as_keyword} - cursor.keywords
        suggestions = [_suggestion(name, cursor, told) for name in _beginning_with(cursor.word, names)]
        suggestions.sort(
            key=lambda each: (
                not each.is_in_scope,
                -each.probability,
                each.name not in cursor.unused_targets,
                each.name,
            )
        )
        return suggestions[:top]

    def probabilities(self, cursor: Cursor) -> dict[str, float]:
        """What the model says of each name that it can tell at a cursor."""
        told = self._told(cursor)
        return {
            name: told.alone.get(name, 0.0) + told.as_keyword.get(name, 0.0) for name in {*told.alone, *told.as_keyword}
        }

    def _told(self, cursor: Cursor) -> _Told:
        """What the model says, for each way in which the text may go on.

        A name that nothing follows yet may turn out to be called, to have an attribute, or to be assigned to, and a
        tree has the call before the name. So the model is asked with each such node put in, and believed as far as
        it expects them.
        """
        begin, ways = self._ways(cursor)
        told = [self._ask(cursor, begin, way) for way in ways]
        weights = torch.tensor([log_weight for log_weight, _, _ in told]).softmax(dim=0).tolist()
        alone: list[_Share] = []
        keywords: list[_Share] = []
        for way, weight, (_, scores, names) in zip(ways, weights, told, strict=True):
            is_keyword = cursor.argument_names and way.next_type == self.language.keyword_argument_type
            (keywords if is_keyword else alone).append(_Share(weight, scores, names))
        as_keyword = self._sum(keywords)
        fitting = _fitting(self._sum(alone), cursor)
        if cursor.role is Role.KEYWORD and keywords:  # an argument for certain: other names may be those of one, too
            fitting = {name: UNSEEN * as_keyword[name] for name in as_keyword.keys() - cursor.argument_names}
        if self._is_behind_call(cursor):
            fitting = _as_attributes(fitting, cursor)
        return _Told(fitting, _of_arguments(as_keyword, cursor))

    def _is_behind_call(self, cursor: Cursor) -> bool:
        """Whether the cursor names an attribute of what a call returns."""
        first_child = cursor.traversal.types[cursor.parent + 1 : cursor.parent + 2]
        return cursor.role is Role.ATTRIBUTE and not self.language.call_types.isdisjoint(first_child)

    def _sum(self, shares: Sequence[_Share]) -> dict[str, float]:
        """The probability of each name in some of the ways."""
        if not shares:
            return {}
        kept = torch.zeros(len(self._kept))
        rare: dict[str, float] = {}
        for share in shares:
            kept += share.weight * share.scores[self._kept_choices]
            for name, choice in share.names.items():
                rare[name] = rare.get(name, 0.0) + share.weight * float(share.scores[choice])
        return dict(zip(self._kept, kept.tolist(), strict=True)) | rare

    def _ways(self, cursor: Cursor) -> tuple[int, list[_Way]]:
        """Where what is still open at the cursor begins, and the nodes that may turn out to stand from there on."""
        around, as_target = self.language.possible_wrappers, self.language.assignment_rewrites
        types, parents = cursor.traversal.types, cursor.traversal.parents
        certain = len(types), [_Way([], cursor.next_type)]
        if not cursor.is_open or cursor.role not in (Role.READ, Role.ATTRIBUTE) or not around:
            return certain
        begin, parent = len(types), cursor.parent
        if cursor.role is Role.ATTRIBUTE:
            begin, parent = parent, parents[parent]
            if types[begin] != around[1][0]:
                return certain  # a key, or what is assigned to
            if len(types) - begin > self.window // 2:
                return certain  # so long an expression would leave no room for what stands before it
        expression = _Way(_nodes_of(cursor, begin), cursor.next_type)
        if parent == begin - 1 and types[parent] == around[0][0]:
            begin, parent = parent, parents[parent]  # a call that only mending has put there
        ways = [expression, *(expression.behind(shape) for shape in around)]
        if parent == begin - 1 and types[parent] in as_target:
            begin, statement = parent, types[parent]
            ways = [way.behind((statement,)) for way in ways]
            if cursor.role is Role.ATTRIBUTE:  # a variable that is assigned to is seldom one that is known already
                ways.append(expression.assigned(as_target).behind(as_target[statement]))
        if cursor.argument_names:
            ways.append(_Way([], self.language.keyword_argument_type))
        known = self.encoding.types
        return begin, [ways[0], *(way for way in ways[1:] if all(kind in known for kind in way.types))]

    def _ask(self, cursor: Cursor, begin: int, way: _Way) -> tuple[float, Tensor, dict[str, int]]:
        """How likely it is, as a logarithm, that just these nodes stand at a place; the probability of each choice
        then; and which of the choices are the rare names of the window."""
        # Windows begin where those of training may, so that they stay the same while nodes are added.
        step = max(1, self.window // 2)
        first = max(0, -(-(begin - self.window + 1) // step) * step)
        types, names, roles = zip(*_nodes_of(cursor, first, begin), *way.nodes, strict=True)
        batch = self._batch(types, names, roles)
        with torch.inference_mode():
            states = self._reader.read(batch.types[0], batch.values[0])
            ids = torch.from_numpy(self.encoding.encode_types(way.types))
            before = states[begin - first - 1 :]  # each node is told by the one before
            log_weight = float(self._network.type_logits(before).log_softmax(dim=-1).gather(1, ids[:, None]).sum())
            scores = self._scores(batch, states)
        return log_weight, scores, self._rare_names(batch, names)

    def _scores(self, batch: Batch, states: Tensor) -> Tensor:
        """The probability of each choice behind the last node."""
        pointer = self._network.pointer
        inputs = self._network.transformer.embed(batch.types, batch.values)
        pointed = () if pointer is None else pointer(states[None], inputs, batch.has_value)
        last = torch.tensor([batch.types.shape[1]])
        answer = Answer(states[None], self._network, *pointed)
        return answer.choice_log_probabilities(torch.tensor([0]), last, batch)[0].exp()

    def _batch(self, types: Sequence[str], names: Sequence[str | None], roles: Sequence[Role]) -> Batch:
        """The nodes before the cursor as tensors."""
        ranks, _ = self.encoding.values.ranks(names)
        snippet = Snippet(self.encoding.type_ranks(types), ranks, np.array(roles, dtype=np.int8))
        return self._collate([snippet], seeds=[0], surplus="unknown")

    def _rare_names(self, batch: Batch, names: Sequence[str | None]) -> dict[str, int]:
        """The rare names of the window that can be told, each with its choice."""
        num_told = self.encoding.num_values if self._network.pointer is None else torch.inf
        return {
            name: choice
            for choice, name in zip(batch.choices[0].tolist(), names, strict=True)
            if self.encoding.first_placeholder <= choice < num_told and name is not None and is_name(name)
        }


def _fitting(told: Mapping[str, float], cursor: Cursor) -> dict[str, float]:
    """The names that have as many dots as fit; of a module the part that stands at the cursor.

    Where `import os.‸` stands, `os.path` is told as `path`.
    """
    module = cursor.module
    if module is None:
        return {name: probability for name, probability in told.items() if "." not in name}
    parts: dict[str, float] = {}
    for name, probability in told.items():
        if name.startswith(module.prefix) and (module.known is None or name in module.known):
            part = _part(name, module.prefix)
            parts[part] = parts.get(part, 0.0) + probability
    return parts


def _part(module: str, prefix: str) -> str:
    """The part of a module's name that comes next: `path` of `os.path.join` behind `os.`."""
    return module.removeprefix(prefix).partition(".")[0]


def _of_arguments(told: Mapping[str, float], cursor: Cursor) -> dict[str, float]:
    """The names that arguments can have: those that the model tells, and those of the text that it cannot tell.

    The model tells values without their types: of strings and variables it says as much as of keywords.
    """
    own = set(cursor.traversal.values) if cursor.argument_names else set()
    return {name: told.get(name, UNTOLD) for name in cursor.argument_names if name in told or name in own}


def _as_attributes(told: Mapping[str, float], cursor: Cursor) -> dict[str, float]:
    """What the model says, given that an attribute is named.

    Behind a call it cannot know that: one more argument might come, and much of what it says is about that. So a
    name that the text has is believed as far as the text has it as an attribute or a method.
    """
    as_attribute: Counter[str] = Counter()
    otherwise: Counter[str] = Counter()
    for name, role in zip(cursor.traversal.values, cursor.roles, strict=True):
        if name is not None and role is not Role.KEYWORD:
            (as_attribute if role in (Role.ATTRIBUTE, Role.FUNCTION) else otherwise)[name] += 1
    left = {
        name: probability * (as_attribute[name] + UNSEEN) / (as_attribute[name] + otherwise[name] + UNSEEN)
        for name, probability in told.items()
    }
    share = sum(told.values()) / (sum(left.values()) or 1)
    return {name: probability * share for name, probability in left.items()}


def _untold(cursor: Cursor) -> set[str]:
    """The names that can stand at a cursor, whatever the model says."""
    if cursor.module is None or cursor.module.known is None:
        return {name for name in cursor.in_scope | cursor.same_role_names if is_name(name)}
    prefix = cursor.module.prefix
    return {_part(name, prefix) for name in cursor.module.known if name.startswith(prefix)}


def _suggestion(name: str, cursor: Cursor, told: _Told) -> Suggestion:
    """A name with its probability. Scope tells what it can mean by itself, not which arguments a function has."""
    is_given = name in cursor.in_scope and name not in cursor.bound_names
    alone = told.alone.get(name, UNTOLD_GIVEN if is_given else UNTOLD)
    as_keyword = told.as_keyword.get(name, 0.0)
    if not cursor.is_scope_known or name in cursor.in_scope:
        return Suggestion(name, alone + as_keyword, True, cursor.role is Role.KEYWORD or as_keyword > alone)
    return Suggestion(name, as_keyword or alone, bool(as_keyword), bool(as_keyword))


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
