"""Injected bugs (paper, section 4.1; Hellendoorn et al. 2020).

A bug replaces the name at one variable node by the name of another variable of the function. It is injected into rank
ids, before anonymization: otherwise a placeholder out of order would reveal it.

`paper` takes any two variables. `local` replaces the read of a local name by another local name in scope: the mistake
that people make, and code that always compiles. For training it can prefer similarly spelled names (`similarity`).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rarename.syntax import Role
from rarename.tasks.misuse.functions import Function
from rarename.tasks.misuse.similarity import bigram_similarity


class InjectedBug(NamedTuple):
    """The node `location` holds the rank id `wrong`."""

    location: int
    wrong: int


def sample_bug(function: Function, rng: np.random.Generator) -> InjectedBug | None:
    """Sample the paper's way: any node whose name occurs again, and the name of any other variable node."""
    nodes = function.variables
    names = function.values[nodes]
    distinct, inverse, counts = np.unique(names, return_inverse=True, return_counts=True)
    repairable = nodes[counts[inverse] >= 2]
    if len(distinct) < 2 or not len(repairable):
        return None
    location = int(rng.choice(repairable))
    # A node is drawn, not a name: frequent variables are the wrong one more often.
    return InjectedBug(location, int(rng.choice(names[names != function.values[location]])))


def sample_local_bug(
    function: Function, rng: np.random.Generator, similarity_weight: float = 0.0
) -> InjectedBug | None:
    """Sample a read of a local name, and another local name in scope.

    A pair of names with similarity s is exp(similarity_weight · s) times as probable.
    """
    return next(_sample_local(function, rng, 1, similarity_weight), None)


def sample_local_bugs(
    function: Function, rng: np.random.Generator, rate: float, similarity_weight: float = 0.0
) -> tuple[InjectedBug, ...]:
    """Sample local bugs at about this fraction of the reads of local names, at least one if any is possible.

    Every replaced name still occurs where it is bound, so that each bug can be repaired.
    """
    num_reads = int(np.isin(function.values[function.roles == Role.READ], function.values[function.bindings]).sum())
    return tuple(_sample_local(function, rng, max(1, int(rng.binomial(num_reads, rate))), similarity_weight))


def _sample_local(
    function: Function, rng: np.random.Generator, limit: int, similarity_weight: float
) -> Iterator[InjectedBug]:
    values = function.values
    reads = np.nonzero(function.roles == Role.READ)[0]
    reads = reads[np.isin(values[reads], values[function.bindings])]
    if function.is_unswappable is not None:
        reads = reads[~function.is_unswappable[reads]]
    in_scope = {scope: _names_in_scope(function, scope) for scope in np.unique(function.scopes[reads]).tolist()}
    weights = _pair_weights(function, reads, in_scope, similarity_weight) if similarity_weight else {}
    for location in _shuffled(reads, weights, rng):
        others = values[in_scope[int(function.scopes[location])]]
        others = others[others != values[location]]
        if not len(others):
            continue
        probabilities = weights[location] / weights[location].sum() if weights else None
        yield InjectedBug(location, int(rng.choice(others, p=probabilities)))
        limit -= 1
        if not limit:
            return


def _names_in_scope(function: Function, scope: int) -> NDArray[np.int64]:
    """One binding node for each name that is visible in a scope and may be injected."""
    visible = function.bindings_visible_in(scope)
    names, first = np.unique(function.values[visible], return_index=True)
    if function.is_unswappable is not None:  # there must be no x before `global x`
        first = first[~np.isin(names, function.values[function.is_unswappable])]
    return visible[first]


def _pair_weights(
    function: Function, reads: NDArray[np.int64], in_scope: Mapping[int, NDArray[np.int64]], similarity_weight: float
) -> dict[int, NDArray[np.float64]]:
    """For each read the weight of every other name in scope."""
    assert function.bigrams is not None
    weights = {}
    for location in reads.tolist():
        others = in_scope[int(function.scopes[location])]
        others = others[function.values[others] != function.values[location]]
        similarity = bigram_similarity(function.bigrams[location], function.bigrams[others])
        weights[location] = np.exp(similarity_weight * similarity)
    return weights


def _shuffled(
    reads: NDArray[np.int64], weights: Mapping[int, NDArray[np.float64]], rng: np.random.Generator
) -> list[int]:
    """Reads in random order; with weights, each next one is drawn in proportion to the sum of its weights."""
    if not weights:
        return [int(location) for location in rng.permutation(reads)]
    totals = np.array([weights[location].sum() for location in reads.tolist()])
    arrival = rng.exponential(size=len(reads)) / np.maximum(totals, 1e-9)
    return [int(location) for location in reads[np.argsort(arrival)]]


BUG_SAMPLERS: dict[str, Callable[[Function, np.random.Generator], InjectedBug | None]] = {
    "paper": sample_bug,
    "local": sample_local_bug,
}
