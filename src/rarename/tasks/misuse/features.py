"""Readable features of a misuse: the correct name, the wrong one, and the place.

Real misuses differ from random ones in all of them. `injection` draws bugs by a log-linear model of these features, and
`confidence` corrects what a model predicts.
"""

import numpy as np
from numpy.typing import NDArray

from rarename.syntax import Role
from rarename.tasks.misuse.functions import ARGUMENT, KEYWORD, OBJECT, Function

FEATURES = (
    "argument", "object", "keyword", "similarity", "similar", "right_is_receiver", "wrong_is_receiver", "right_unread",
    "wrong_unread", "right_attribute", "wrong_attribute", "right_parameter", "wrong_bound_later", "log_distance",
    "log_reads",
)  # fmt: skip
"""Columns of `misuse_features`.

The place; the similarity of the names, and whether it is high; whether a name is `self` or the like, and whether the
function reads it nowhere else; whether only one of `right.attr` and `wrong.attr` occurs elsewhere in the function;
whether the right name is a parameter, and the wrong one is bound only below; the distance to the next use of the right
name, and how often the wrong one is read.
"""

REAL_WEIGHTS = np.array(
    [0.68, 0.28, 0.54, 3.38, 0.89, -1.90, -1.07, -0.98, 1.40, -0.86, 1.65, -0.39, -1.92, 0.28, 0.50]
)
"""How much more probable each feature makes a real misuse than another one of the same function, as a logarithm.

Fitted to 1,114 real fixes of both languages, the part to train of experiments/corpora/real-bugs-splits.txt, by
experiments/fit_real_misuses.py, which also prints the mean of each feature. By the geometric mean, a real misuse is 2.8
times as probable as if all misuses of a function were equally probable.
"""


def misuse_features(
    function: Function,
    locations: NDArray[np.int64],
    right: NDArray[np.int64],
    wrong: NDArray[np.int64],
    similarity: NDArray[np.float64],
    max_distance: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """The features of misuses of a function: (misuses, FEATURES).

    Each misuse has the name `wrong` at a location in place of `right`, both rank ids; the function has one of the two
    there. `similarity` is that of the names. A name without another use is at `max_distance`, by default the length of
    the function and one.
    """
    assert function.places is not None
    values, roles = function.values, function.roles
    current, places = values[locations], function.places[locations]
    names, ids = np.unique(values, return_inverse=True)
    is_read = (roles == Role.READ) & function.is_variable
    num_reads = np.bincount(ids[is_read], minlength=len(names))
    first_binding = np.full(len(names), len(values))
    np.minimum.at(first_binding, ids[function.bindings], function.bindings)
    is_parameter = np.zeros(len(names), dtype=bool)
    is_parameter[ids[roles == Role.PARAMETER]] = True
    right_ids, wrong_ids = np.searchsorted(names, right), np.searchsorted(names, wrong)
    receivers = function.receivers
    distance = _distance(function, locations, right)
    distance = distance if max_distance is None else np.minimum(distance, max_distance)
    reads_right = num_reads[right_ids] - (current == right)  # elsewhere
    reads_wrong = num_reads[wrong_ids] - (current == wrong)
    columns = [
        *(places == place for place in (ARGUMENT, OBJECT, KEYWORD)),
        similarity, similarity >= 0.4,
        np.isin(right, receivers), np.isin(wrong, receivers),
        reads_right == 0, reads_wrong == 0,
        *_attributes(function, locations, right, wrong),
        is_parameter[right_ids], first_binding[wrong_ids] > locations,
        np.log1p(distance), np.log1p(reads_wrong),
    ]  # fmt: skip
    return np.stack(columns, axis=1).astype(np.float64)


def _attributes(
    function: Function, locations: NDArray[np.int64], right: NDArray[np.int64], wrong: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether `right.attr` occurs elsewhere and `wrong.attr` does not, and the converse."""
    assert function.places is not None
    is_object = function.places[locations] == OBJECT
    objects = np.nonzero(function.places == OBJECT)[0]
    following = function.values[np.minimum(objects + 1, len(function) - 1)]
    pairs = function.values[objects] << 32 | (following & 0xFFFFFFFF)
    distinct, counts = np.unique(pairs, return_counts=True)
    found = np.zeros((2, len(locations)), dtype=bool)
    if len(distinct):
        attributes = function.values[np.minimum(locations + 1, len(function) - 1)] & 0xFFFFFFFF
        current = function.values[locations]
        for row, names in enumerate((right, wrong)):
            wanted, own = names << 32 | attributes, current == names
            index = np.minimum(np.searchsorted(distinct, wanted), len(distinct) - 1)
            found[row] = is_object & (distinct[index] == wanted) & (counts[index] > own)
    return found[0] & ~found[1], found[1] & ~found[0]


def _distance(function: Function, locations: NDArray[np.int64], names: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of nodes from each location to the nearest other variable with a name."""
    variables = function.variables
    order = np.lexsort((variables, function.values[variables]))
    nodes = variables[order]
    size = len(function) + 1
    keys = function.values[nodes].astype(np.int64) * size + nodes  # sorted: names, then nodes
    wanted = names.astype(np.int64) * size + locations
    before = np.searchsorted(keys, wanted) - 1
    after = np.searchsorted(keys, wanted, side="right")
    distances = []
    for index in (before, after):
        node = nodes[np.clip(index, 0, len(nodes) - 1)]
        is_same = (index >= 0) & (index < len(nodes)) & (function.values[node] == names)
        distances.append(np.where(is_same, np.abs(node - locations), size))
    return np.minimum(*distances)
