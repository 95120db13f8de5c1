"""Examples to arrays."""

from dataclasses import replace

import numpy as np
import pytest

from rarename.config import MisuseConfig
from rarename.encoding import Encoding
from rarename.errors import TooFewPlaceholders
from rarename.subtokens import MAX_SUBTOKENS, subtoken_ids
from rarename.syntax import Role
from rarename.syntax.functions import Slice
from rarename.syntax.traversal import MisuseLabel
from rarename.tasks.misuse.collate import MULTIPLE_BUGS, NUM_USAGES, MisuseCollator, MisuseExample, usage_ids
from rarename.tasks.misuse.functions import Function
from rarename.tasks.misuse.injection import InjectedBug
from rarename.vocabulary import Special, Vocabulary

FUNCTION = Function(
    types=np.array([0, 1, 1, 2, 1], dtype=np.int16),
    values=np.array([Special.EMPTY.rank, 7, 8, 3, 7]),
    roles=np.array([Role.NONE, Role.PARAMETER, Role.READ, Role.ATTRIBUTE, Role.READ], dtype=np.int8),
    scopes=np.array([-1, 0, 0, 0, 0], dtype=np.int32),
)
CLEAN = MisuseExample(FUNCTION, (), 0)
ENCODING = Encoding(Vocabulary(["a"]), num_placeholders=5)
CONDITIONAL = MisuseConfig(pointer_head="conditional")


def buggy(*bugs, **settings):
    return MisuseExample(FUNCTION, tuple(InjectedBug(*bug) for bug in bugs), 0, **settings)


def test_a_bug_is_injected_before_names_are_numbered():
    """Numbered first, the bug at node 1 would show as VAR2 before VAR1."""
    batch = MisuseCollator(ENCODING)([CLEAN, buggy((1, 8))])
    assert ENCODING.to_text(batch.values[0]) == ["EMPTY", "VAR1", "VAR2", "VAR3", "VAR1"]
    assert ENCODING.to_text(batch.values[1]) == ["EMPTY", "VAR1", "VAR1", "VAR2", "VAR3"]


def test_labels_of_a_clean_and_a_buggy_example():
    batch = MisuseCollator(ENCODING)([CLEAN, replace(buggy((1, 8)), function=replace(FUNCTION, project=4))])
    empty = Special.EMPTY.rank
    assert batch.location.tolist() == [0, 2]
    assert batch.name_ranks.tolist() == [[empty, 7, 8, 3, 7], [empty, 8, 8, 3, 7]]
    assert batch.original_ranks.tolist() == [[empty, 7, 8, 3, 7]] * 2
    assert np.argwhere(batch.is_bug).tolist() == [[1, 1]]
    assert np.argwhere(batch.is_repair).tolist() == [[1, 4]]  # not the location itself
    assert batch.is_variable.tolist() == [[False, True, True, False, True]] * 2
    assert batch.is_candidate.all()  # the paper points at any node
    assert batch.projects.tolist() == [0, 4]


def test_a_multi_bug_example_has_no_single_location():
    batch = MisuseCollator(ENCODING)([buggy((1, 8), (2, 7), is_multi_bug=True)])
    assert batch.location.tolist() == [MULTIPLE_BUGS]
    assert np.argwhere(batch.is_bug[0]).flatten().tolist() == [1, 2]
    assert not batch.is_repair.any()


def test_shorter_functions_are_padded():
    short = Function(*(getattr(FUNCTION, name)[:2] for name in ("types", "values", "roles", "scopes")))
    batch = MisuseCollator(Encoding(Vocabulary([])))([MisuseExample(short, (), 0), CLEAN])
    assert batch.attention_mask.tolist() == [[True, True, False, False, False], [True] * 5]
    assert batch.is_candidate.tolist() == batch.attention_mask.tolist()
    assert batch.values[0, 2:].tolist() == batch.types[0, 2:].tolist() == [Special.PAD] * 3
    assert batch.types[1].tolist() == [rank + len(Special) for rank in FUNCTION.types]


def test_only_masked_literals_and_overflowing_names_lose_their_name():
    function = replace(FUNCTION, roles=np.array([Role.NONE, Role.STRING, Role.READ, Role.NUMBER, Role.READ], np.int8))
    encoding = Encoding(Vocabulary([]), num_placeholders=2, masked_literals=frozenset({Role.STRING}))
    with pytest.raises(TooFewPlaceholders):
        MisuseCollator(encoding)([MisuseExample(function, (), 0)])
    batch = MisuseCollator(encoding)([MisuseExample(function, (), 0)], on_overflow="unk")
    assert encoding.to_text(batch.values[0]) == ["EMPTY", "STRING", "VAR1", "VAR2", "UNK"]


def test_local_batches_point_at_bound_names_and_locate_bugs_at_reads():
    """As `def f(a, b): return a + os + b[a]`, without the attribute; the last read cannot be replaced."""
    roles, zeros = np.array([Role.PARAMETER] * 2 + [Role.READ] * 4, np.int8), np.zeros(6, np.int16)
    is_last = np.arange(6) == 5
    function = Function(zeros, np.array([1, 2, 1, 9, 2, 1]), roles, zeros, is_unswappable=is_last)
    examples = [MisuseExample(function, (), 0), MisuseExample(function, (InjectedBug(3, 2),), 0)]
    batch = MisuseCollator(ENCODING, CONDITIONAL)(examples)
    assert batch.is_variable.tolist() == [[True, True, True, False, True, True], [True] * 6]
    assert batch.is_candidate[0].tolist() == [False, False, True, False, True, False]


def test_a_published_bug_is_taken_as_it_is():
    label = MisuseLabel(2, (4,), (1, 2), "misuse")  # the target is not a candidate
    labelled = MisuseExample(replace(FUNCTION, label=label), (), 0)
    clean = MisuseExample(replace(FUNCTION, label=MisuseLabel(0, (), (1, 2), "misuse")), (), 0)
    for config in (MisuseConfig(), CONDITIONAL):
        batch = MisuseCollator(ENCODING, config)([labelled, clean])
        assert batch.location.tolist() == [3, 0]
        assert batch.is_variable.tolist() == [[False, True, True, False, True], [False, True, True, False, False]]
        assert (batch.is_candidate == (batch.is_variable if config is CONDITIONAL else True)).all()
        assert np.argwhere(batch.is_repair).tolist() == [[0, 4]]
        assert np.argwhere(batch.is_bug).tolist() == [[0, 2]]
        assert batch.name_ranks[0].tolist() == FUNCTION.values.tolist()
        assert batch.original_ranks[0].tolist() == [Special.EMPTY.rank, 7, 7, 3, 7]


def test_usages_count_reads_bindings_and_earlier_uses():
    batch = MisuseCollator(ENCODING, MisuseConfig(usage_features=True))([CLEAN])
    # 7 is read once and bound once, 8 is read once; only the last node has an earlier use.
    assert batch.usages[0].tolist() == [0, 1 + 12 + 4 + 0, 1 + 12 + 0 + 0, 0, 1 + 12 + 4 + 1]
    many = np.array([[1] * 9])
    ids = usage_ids(many, many > 0, np.array([[Role.WRITE] * 4 + [Role.READ] * 5], dtype=np.int8))
    assert ids[0, [0, -1]].tolist() == [1 + 3 * 12 + 2 * 4 + 0, 1 + 3 * 12 + 2 * 4 + 3]  # capped
    assert ids.max() == NUM_USAGES - 1 == 48


def test_a_long_name_keeps_its_last_subtokens():
    names = ["old_maxRowIndex_ofAll", "max" * 20, "max_" * 15 + "x"]
    ids = subtoken_ids(names, Vocabulary(["old", "max", "row", "index", "of", "all", "max" * 20]))
    assert ids.tolist() == [[3, 4, 5, 6], [7, 0, 0, 0], [0, 0, 0, 0]]  # names over 60 characters have none


def test_a_bug_brings_the_subtokens_of_its_name():
    encoding = Encoding(Vocabulary([]), subtokens=Vocabulary(["max", "index"]))
    subtokens = np.zeros((5, MAX_SUBTOKENS), dtype=np.int16)
    subtokens[:, :2] = [[3, 0], [1, 2], [2, 0], [1, 0], [1, 2]]
    function = replace(FUNCTION, subtokens=subtokens)
    batch = MisuseCollator(encoding)([MisuseExample(function, bugs, 0) for bugs in ((), (InjectedBug(4, 8),))])
    assert batch.subtokens[0, :, :2].tolist() == [[0, 0], [1, 2], [2, 0], [1, 0], [1, 2]]  # node 0 is not an identifier
    assert batch.subtokens[1, 4, :2].tolist() == [2, 0]
    assert set(batch.inputs()) == {"types", "values", "attention_mask", "subtokens"}


def test_nested_functions_see_the_bug():
    batch = MisuseCollator(ENCODING)([buggy((4, 3), nested_slices=(Slice(0, 5), Slice(2, 3)))])
    (nested,) = batch.nested
    assert nested.functions == [0, 2]
    assert nested.visible_from(4).tolist() == [False, True, True, True, True]  # 3 is a variable only by the bug
