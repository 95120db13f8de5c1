"""Injected bugs (paper, section 4.1; Hellendoorn et al. 2020).

A bug replaces the name at one variable node by the name of another variable of the function. It is injected into rank
ids, before anonymization: otherwise a placeholder out of order would reveal it.

`paper` takes any two variables. `local` replaces the read of a local name by another local name in scope: a mistake
that people make, in code that always compiles. For training it can prefer similar names (`similarity`).
`realistic` is the same with the names and the places of real misuses preferred (`features`).
`published` takes any two variables too, at up to three nodes of a function, one for each of its bugs.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarename.syntax import Role
from rarename.tasks.misuse.features import REAL_WEIGHTS, misuse_features
from rarename.tasks.misuse.functions import Function
from rarename.tasks.misuse.similarity import bigram_similarities


class InjectedBug(NamedTuple):
    """The node `location` holds the rank id `wrong`."""

    location: int
    wrong: int


def repairable_nodes(function: Function) -> NDArray[np.int64]:
    """The variable nodes whose name occurs again."""
    names = function.values[function.variables]
    _, inverse, counts = np.unique(names, return_inverse=True, return_counts=True)
    return function.variables[counts[inverse] >= 2]


def sample_bug(function: Function, rng: np.random.Generator, number: int | None = None) -> InjectedBug | None:
    """Sample as in the paper: any node whose name occurs again, and the name of any other variable node.

    With a number, the bugs of one generator state are at different nodes, one for each number.
    """
    names, repairable = function.values[function.variables], repairable_nodes(function)
    if len(np.unique(names)) < 2 or len(repairable) <= (number or 0):
        return None
    location = int(rng.choice(repairable) if number is None else rng.permutation(repairable)[number])
    # A node is drawn, not a name: frequent variables are the wrong one more often.
    return InjectedBug(location, int(rng.choice(names[names != function.values[location]])))


def sample_local_bug(
    function: Function, rng: np.random.Generator, similarity_weight: float = 0.0
) -> InjectedBug | None:
    """Sample a read of a local name, and another local name in scope.

    A pair of names with similarity s is exp(similarity_weight · s) times as probable.
    """
    return next(_sample_local(function, rng, 1, similarity_weight), None)


def sample_realistic_bug(function: Function, rng: np.random.Generator) -> InjectedBug | None:
    """Sample a local misuse; each is as probable as its features make it among real ones."""
    return next(_sample_local(function, rng, 1, 0.0, is_realistic=True), None)


def sample_local_bugs(
    function: Function,
    rng: np.random.Generator,
    rate: float,
    similarity_weight: float = 0.0,
    is_realistic: bool = False,
) -> tuple[InjectedBug, ...]:
    """Sample local bugs at about this fraction of the reads of local names, at least one if any is possible.

    Every replaced name still occurs where it is bound, so that each bug can be repaired.
    """
    num_reads = int(np.isin(function.values[function.roles == Role.READ], function.values[function.bindings]).sum())
    limit = max(1, int(rng.binomial(num_reads, rate)))
    return tuple(_sample_local(function, rng, limit, similarity_weight, is_realistic))


def _sample_local(
    function: Function, rng: np.random.Generator, limit: int, similarity_weight: float, is_realistic: bool = False
) -> Iterator[InjectedBug]:
    values = function.values
    others = local_misuses(function)
    reads = np.array(list(others), dtype=np.int64)
    weights = _weights(function, others, similarity_weight, is_realistic)
    if weights:  # each next read is drawn in proportion to the sum of its weights
        totals = np.array([each.sum() for each in weights.values()])
        order = reads[np.argsort(rng.exponential(size=len(reads)) / np.maximum(totals, 1e-9))]
    else:
        order = rng.permutation(reads)
    for location in order.tolist():
        if limit and len(others[location]):
            probabilities = weights[location] / weights[location].sum() if weights else None
            yield InjectedBug(location, int(rng.choice(values[others[location]], p=probabilities)))
            limit -= 1


def local_misuses(function: Function) -> dict[int, NDArray[np.int64]]:
    """For each read of a local name, a binding node of each other local name in scope."""
    values = function.values
    reads = np.nonzero(function.roles == Role.READ)[0]
    reads = reads[np.isin(values[reads], values[function.bindings])]
    if function.is_unswappable is not None:
        reads = reads[~function.is_unswappable[reads]]
    in_scope = {scope: _names_in_scope(function, scope) for scope in np.unique(function.scopes[reads]).tolist()}
    visible = {read: in_scope[int(function.scopes[read])] for read in reads.tolist()}
    return {read: nodes[values[nodes] != values[read]] for read, nodes in visible.items()}


def misuse_pairs(
    function: Function, others: dict[int, NDArray[np.int64]]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """The local misuses as arrays: the locations, the wrong names, and the similarity to the correct ones."""
    assert function.bigrams is not None
    locations = np.repeat(np.array(list(others), dtype=np.int64), [len(nodes) for nodes in others.values()])
    nodes = np.concatenate([np.zeros(0, dtype=np.int64), *others.values()])
    return locations, function.values[nodes], bigram_similarities(function.bigrams[locations], function.bigrams[nodes])


def _weights(
    function: Function, others: dict[int, NDArray[np.int64]], similarity_weight: float, is_realistic: bool
) -> dict[int, NDArray[np.float64]]:
    """The weight of each local misuse; empty if all are equal."""
    if not (similarity_weight or is_realistic):
        return {}
    locations, wrong, similarity = misuse_pairs(function, others)
    if is_realistic:
        right = function.values[locations]
        scores = misuse_features(function, locations, right, wrong, similarity) @ REAL_WEIGHTS
    else:
        scores = similarity_weight * similarity
    ends = np.cumsum([len(nodes) for nodes in others.values()])[:-1]
    return dict(zip(others, np.split(np.exp(scores), ends), strict=True)) if others else {}


def _names_in_scope(function: Function, scope: int) -> NDArray[np.int64]:
    """One binding node for each name that is visible in a scope and may be injected."""
    visible = function.bindings_visible_in(scope)
    names, first = np.unique(function.values[visible], return_index=True)
    if function.is_unswappable is not None:  # there must be no x before `global x`
        first = first[~np.isin(names, function.values[function.is_unswappable])]
    return visible[first]


BUG_SAMPLERS: dict[str, Callable[[Function, np.random.Generator], InjectedBug | None]] = {
    "paper": sample_bug,
    "local": sample_local_bug,
    "realistic": sample_realistic_bug,
    "published": sample_bug,
}
