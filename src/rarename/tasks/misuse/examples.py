"""Functions, and the misuses that are put into them (paper, section 4.1; Hellendoorn et al. 2020).

A misuse replaces the name at one variable's place by the name of another variable of the function. It is put in
on rank ids, before anonymization: numbered first, a placeholder out of order would give it away.

There are two ways to draw one. `paper` takes any two places that hold different variables. `local` swaps one read of a
local name for another local name that is in scope there: what people really get wrong, and always code that compiles.
For training it can prefer names that are spelled alike (`similarity`), which people confuse most.
Examples of GREAT come with their misuse, which is taken as it is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarename.corpus.store import Corpus
from rarename.encoding import Encoding
from rarename.subtokens import MAX_PARTS, part_ids
from rarename.syntax import Language, Role, Traversal
from rarename.syntax.functions import Slice, outermost
from rarename.syntax.scope import ScopeRules
from rarename.syntax.traversal import VARIABLE_ROLES, MisuseLabel
from rarename.tasks.misuse.similarity import NUM_BYTES, likeness_of, spellings
from rarename.tasks.rank_mapping import UNCHANGED, Alignment
from rarename.vocabulary import Vocabulary

MAX_NODES = 250
"""Longer functions are left out (paper, section 4.1)."""

_IS_VARIABLE = np.zeros(128, dtype=bool)
_IS_VARIABLE[[int(role) for role in VARIABLE_ROLES]] = True


class Misuse(NamedTuple):
    """What is wrong with a function: at `location` stands `wrong`."""

    location: int
    wrong: int
    """A rank id."""


@dataclass(frozen=True)
class Function:
    """One function; the arrays are views, one entry a node."""

    types: NDArray[np.int16]
    """Rank ids; a type that the model has not met is `Special.UNK.rank`."""
    values: NDArray[np.int64]
    """Rank ids."""
    roles: NDArray[np.int8]
    scopes: NDArray[np.int32]
    """The node that opens the scope of each node (`rarename.syntax.scope`); -1 for what lies outside the function."""
    parts: NDArray[np.int16] | None = None
    """The parts of each value, if it is a name: see `rarename.subtokens`."""
    spellings: NDArray[np.uint8] | None = None
    """How each value is spelled: see `rarename.tasks.misuse.similarity`."""
    bug: MisuseLabel | None = None
    """A ready-made misuse, which is in `values` already."""
    is_fixed: NDArray[np.bool_] | None = None
    """The names that cannot be exchanged by themselves, such as one of the two tags of an element."""

    def __len__(self) -> int:
        return len(self.types)

    @property
    def variables(self) -> NDArray[np.int64]:
        """The places that hold a variable."""
        if self.bug is not None:
            # A few of the published repairs are not among the candidates published with them.
            return np.array(sorted({*self.bug.repair_candidates, *self.bug.repair_targets}), dtype=np.int64)
        return np.nonzero(_IS_VARIABLE[self.roles])[0]

    @property
    def bindings(self) -> NDArray[np.int64]:
        """The places that bind a name: parameters, and what is assigned to."""
        return np.nonzero((self.roles == Role.WRITE) | (self.roles == Role.PARAMETER))[0]


class Nest:
    """A function together with those in it: which owns a node, and what it can see."""

    def __init__(self, function: Function, functions: Sequence[Slice]) -> None:
        self._function = function
        self.functions = {start: start + length for start, length in functions}
        """Where each begins and ends, in pre-order; the first is the whole."""
        self._owners = np.zeros(len(function), dtype=np.int64)
        for start, stop in self.functions.items():  # what is nested comes later
            self._owners[start:stop] = start
        self._bound: dict[int, NDArray[np.int64]] = {}

    def __len__(self) -> int:
        return len(self._owners)

    def owner(self, node: int) -> int:
        """The innermost function around a node, as the node that begins it."""
        return int(self._owners[node])

    def owned_by(self, owner: int) -> NDArray[np.bool_]:
        """The nodes whose innermost function is this one."""
        is_own: NDArray[np.bool_] = self._owners == owner
        return is_own

    def seen_from(self, node: int) -> NDArray[np.bool_]:
        """The nodes that hold a name which can be seen from a node."""
        names = np.union1d(self._bound_for(int(self._function.scopes[node])), self._free)
        return np.isin(self._function.values, names)

    def _bound_for(self, scope: int) -> NDArray[np.int64]:
        """The names that are bound where a scope can see them."""
        if scope not in self._bound:
            function, bindings = self._function, self._function.bindings
            is_seen = np.isin(function.scopes[bindings], scopes_around(function, scope))
            self._bound[scope] = np.unique(function.values[bindings[is_seen]])
        return self._bound[scope]

    @cached_property
    def _free(self) -> NDArray[np.int64]:
        """Names that stand where no binding is seen: of the file, of a builtin, or declared by a `var` in a block."""
        function, variables = self._function, self._function.variables
        scopes = function.scopes[variables]
        found = [
            np.setdiff1d(function.values[variables[scopes == scope]], self._bound_for(scope))
            for scope in np.unique(scopes).tolist()
        ]
        return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)


def is_fit(function: Function) -> bool:
    """Whether a misuse can be put in and repaired: three places, three variables, one of them twice."""
    names = function.values[function.variables]
    _, counts = np.unique(names, return_counts=True)
    return len(names) >= 3 and len(counts) >= 3 and int(counts.max()) >= 2


def draw_anywhere(function: Function, generator: np.random.Generator) -> Misuse | None:
    """The way of the paper: any place whose variable occurs elsewhere too, any other variable."""
    places = function.variables
    names = function.values[places]
    distinct, inverse, counts = np.unique(names, return_inverse=True, return_counts=True)
    if len(distinct) < 2:
        return None
    repairable = places[counts[inverse] >= 2]
    if not len(repairable):
        return None
    location = int(generator.choice(repairable))
    # Another place is drawn, not another name: frequent variables are confused more often.
    return Misuse(location, int(generator.choice(names[names != function.values[location]])))


def draw_local(function: Function, generator: np.random.Generator, likeness: float = 0.0) -> Misuse | None:
    """A read of a local name that stands elsewhere too, replaced by another local name in scope.

    With a `likeness` above 0 a pair of names that are alike by `a` is exp(`likeness` * `a`) times as likely.
    """
    return next(iter(_draw_locals(function, generator, 1, likeness)), None)


def draw_many(
    function: Function, generator: np.random.Generator, share: float, likeness: float = 0.0
) -> tuple[Misuse, ...]:
    """Misuses like those of `draw_local` at about this share of the reads of local names, at least one if any can be.

    Every misused name still stands somewhere, so that each can be repaired.
    """
    num_reads = int(np.isin(function.values[function.roles == Role.READ], function.values[function.bindings]).sum())
    return tuple(_draw_locals(function, generator, max(1, int(generator.binomial(num_reads, share))), likeness))


def _draw_locals(function: Function, generator: np.random.Generator, limit: int, likeness: float) -> Iterator[Misuse]:
    values, bindings = function.values, function.bindings
    reads = np.nonzero(function.roles == Role.READ)[0]
    reads = reads[np.isin(values[reads], values[bindings])]
    fixed = np.zeros(0, dtype=np.int64)
    if function.is_fixed is not None:
        reads = reads[~function.is_fixed[reads]]
        fixed = values[function.is_fixed]  # before `global x` there must be no x
    names, counts = np.unique(values[function.variables], return_counts=True)
    left = dict(zip(names.tolist(), counts.tolist(), strict=True))
    in_scope = {scope: _names_in_scope(function, scope, fixed) for scope in np.unique(function.scopes[reads]).tolist()}
    weights = _weights(function, reads, in_scope, likeness) if likeness else {}
    for location in _in_random_order(reads, weights, generator):
        right = int(values[location])
        if left[right] < 2:
            continue
        others = values[in_scope[int(function.scopes[location])]]
        others = others[others != right]
        if len(others):
            left[right] -= 1
            share = weights[location] / weights[location].sum() if likeness else None
            yield Misuse(location, int(generator.choice(others, p=share)))
            limit -= 1
            if not limit:
                return


def _names_in_scope(function: Function, scope: int, fixed: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each name that is bound where a scope can see it, and may be put in, a place where it is bound."""
    bindings = function.bindings
    visible = bindings[np.isin(function.scopes[bindings], scopes_around(function, scope))]
    names, first = np.unique(function.values[visible], return_index=True)
    return visible[first[~np.isin(names, fixed)]]


def _weights(
    function: Function, reads: NDArray[np.int64], in_scope: Mapping[int, NDArray[np.int64]], likeness: float
) -> dict[int, NDArray[np.float64]]:
    """For each read how likely each of the other names in scope is put there."""
    result = {}
    assert function.spellings is not None
    for location in reads.tolist():
        others = in_scope[int(function.scopes[location])]
        others = others[function.values[others] != function.values[location]]
        result[location] = np.exp(likeness * likeness_of(function.spellings[location], function.spellings[others]))
    return result


def _in_random_order(
    reads: NDArray[np.int64], weights: Mapping[int, NDArray[np.float64]], generator: np.random.Generator
) -> list[int]:
    """Reads in random order; with weights, each time the next is drawn in proportion to the sum of its own."""
    if weights:
        totals = np.array([weights[location].sum() for location in reads.tolist()])
        order = reads[np.argsort(generator.exponential(size=len(reads)) / np.maximum(totals, 1e-9))]
    else:
        order = generator.permutation(reads)
    return [int(location) for location in order]


def scopes_around(function: Function, scope: int) -> list[int]:
    """A scope and those around it."""
    result = []
    while scope >= 0:
        result.append(scope)
        scope = int(function.scopes[scope])
    return result


WAYS: dict[str, Callable[[Function, np.random.Generator], Misuse | None]] = {
    "paper": draw_anywhere,
    "local": draw_local,
}


def cut_out(slices: Sequence[Slice], max_nodes: int) -> list[Slice]:
    """Of the functions that are short enough, the outermost."""
    return outermost([part for part in slices if part.length <= max_nodes])


class Nodes(NamedTuple):
    """The nodes of a whole file, from which functions are cut; the arrays are those of `Function`."""

    types: NDArray[np.int16]
    values: NDArray[np.int64]
    roles: NDArray[np.int8]
    scopes: NDArray[np.int32]
    parts: NDArray[np.int16] | None = None
    is_fixed: NDArray[np.bool_] | None = None

    @classmethod
    def of(
        cls, traversal: Traversal, language: Language, encoding: Encoding, roles: Sequence[Role] | None = None
    ) -> "Nodes":
        """The nodes of a source text. Rare names get other rank ids than in a corpus, but the same model ids.

        Roles that are known already need not be found again.
        """
        values, _ = encoding.values.ranks(traversal.values)
        fixes = np.array([name in language.unswappable_types for name in traversal.types])
        nodes = np.arange(len(traversal), dtype=np.int32)  # the types that these speak of: each node has its own
        parents = np.array(traversal.parents, dtype=np.int32)
        return cls(
            types=encoding.type_ranks(traversal.types),
            values=values,
            roles=np.array(language.roles(traversal) if roles is None else roles, dtype=np.int8),
            scopes=ScopeRules.of(traversal.types, language).lookup_scopes(nodes, parents),
            parts=_parts_of_nodes(traversal, values, encoding.parts) if encoding.parts else None,
            is_fixed=_is_fixed(nodes, parents, fixes),
        )

    def cut(self, start: int, length: int) -> Function:
        """One function."""
        part = slice(start, start + length)
        scopes = np.maximum(self.scopes[part] - start, -1)
        parts = None if self.parts is None else self.parts[part]
        is_fixed = None if self.is_fixed is None else self.is_fixed[part]
        return Function(self.types[part], self.values[part], self.roles[part], scopes, parts, is_fixed=is_fixed)


def _parts_of_nodes(traversal: Traversal, values: NDArray[np.int64], parts: Vocabulary) -> NDArray[np.int16]:
    """The parts of the value of each node; `values` are its rank ids, so that each value is taken apart once."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    return part_ids([traversal.values[node] for node in first.tolist()], parts)[inverse]


class Functions(Sequence[Function]):
    """The functions of a split that are fit for the task, by index; those of GREAT are taken whole, as they come."""

    def __init__(
        self,
        corpus: Corpus,
        split: str,
        alignment: Alignment = UNCHANGED,
        max_nodes: int = MAX_NODES,
        parts: NDArray[np.int16] | None = None,
        spellings: NDArray[np.uint8] | None = None,
    ) -> None:
        self._parts, self._spellings = parts, spellings
        self._files: list[Nodes] = []
        self._slices: list[NDArray[np.int64]] = []  # of each file
        self._bugs: dict[int, MisuseLabel] = {}
        numbers: dict[str, int] = {}
        self._project: list[int] = []  # of each file
        places: list[tuple[int, int, int]] = []
        scoping = ScopeRules.of(corpus.types, corpus.language)
        fixes = np.array([name in corpus.language.unswappable_types for name in corpus.types])
        for number, file in enumerate(corpus.split(split)):
            types, values = alignment.align_types(file.types), alignment.align_values(file.values)
            scopes = scoping.lookup_scopes(file.types, file.parents)
            is_fixed = _is_fixed(file.types, file.parents, fixes)
            nodes = Nodes(types, values, file.roles, scopes, is_fixed=is_fixed)
            self._files.append(nodes)
            self._slices.append(np.asarray(file.functions, dtype=np.int64).reshape(-1, 2))
            self._project.append(numbers.setdefault(file.project, len(numbers)))
            if file.bug is not None:
                # The few published bugs whose right name stands nowhere else cannot be repaired by pointing.
                if len(file.types) <= max_nodes and (not file.bug.location or file.bug.repair_targets):
                    places.append((number, 0, len(file.types)))
                    self._bugs[number] = file.bug
                continue
            slices = [Slice(*pair) for pair in self._slices[-1].tolist()]
            for start, length in cut_out(slices, max_nodes):
                if is_fit(nodes.cut(start, length)):
                    places.append((number, start, length))
        self._places = np.array(places, dtype=np.int64).reshape(-1, 3)
        self.projects = list(numbers)

    @property
    def examples_each(self) -> int:
        """How many examples a function gives: with and without a misuse, unless it has come with its own."""
        return 1 if self._bugs else 2

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of nodes of each function."""
        return self._places[:, 2]

    def project(self, index: int) -> int:
        """Which of `projects` a function is from."""
        return self._project[int(self._places[index, 0])]

    def inside(self, index: int) -> tuple[Slice, ...]:
        """A function and those nested in it, counted from its beginning; none if it is not cut from a file."""
        file, start, length = self._places[index].tolist()
        starts = self._slices[file][:, 0]
        first, last = np.searchsorted(starts, (start, start + length)).tolist()
        return tuple(Slice(one - start, count) for one, count in self._slices[file][first:last].tolist())

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: int) -> Function:  # type: ignore[override]
        file, start, length = self._places[index].tolist()
        function: Function = self._files[file].cut(start, length)
        ranks = np.maximum(function.values, -1)  # the last row of a table is for values without a rank
        parts = None if self._parts is None else self._parts[ranks]
        spellings = None if self._spellings is None else self._spellings[ranks]
        return replace(function, parts=parts, spellings=spellings, bug=self._bugs.get(file))


def part_table(corpus: Corpus, alignment: Alignment, parts: Vocabulary) -> NDArray[np.int16]:
    """The parts of every value of a corpus, by its rank; the last row is empty."""
    ranks = alignment.align_values(np.arange(corpus.num_values))
    result = np.zeros((int(ranks.max(initial=-1)) + 2, MAX_PARTS), dtype=np.int16)
    result[ranks] = part_ids(corpus.values(), parts)
    return result


def spelling_table(corpus: Corpus, alignment: Alignment) -> NDArray[np.uint8]:
    """The spelling of every value of a corpus, by its rank; the last row is empty."""
    ranks = alignment.align_values(np.arange(corpus.num_values))
    result = np.zeros((int(ranks.max(initial=-1)) + 2, NUM_BYTES), dtype=np.uint8)
    result[ranks] = spellings(corpus.values())
    return result


def _is_fixed(
    types: NDArray[np.integer], parents: NDArray[np.int32], fixes: NDArray[np.bool_]
) -> NDArray[np.bool_] | None:
    """The nodes right below one of these types; most files have none."""
    if not fixes[types].any():
        return None
    is_fixed: NDArray[np.bool_] = fixes[types[parents]] & (parents >= 0)
    return is_fixed
