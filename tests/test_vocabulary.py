"""Names by rank, special values, and subtokens."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarename.errors import CorpusError, UsageError
from rarename.subtokens import MAX_SUBTOKENS, frequent_subtokens, split_subtokens, subtoken_ids
from rarename.vocabulary import Special, Vocabulary, is_placeholder, rank_to_id


def test_names_are_ranked_by_frequency_then_alphabetically():
    assert list(Vocabulary.ranked(["b", "a", "c", "c"])) == ["c", "a", "b"]


def test_a_repeated_name_keeps_its_first_rank():
    vocabulary = Vocabulary(["a", "b", "a", "c"])
    assert list(vocabulary) == ["a", "b", "c"]
    assert [vocabulary.rank(name) for name in ("a", "b", "c", "d")] == [0, 1, 2, None]


def test_a_name_in_the_form_of_a_placeholder_is_never_kept():
    names = ["VAR1", "VARx", "VAR", "VAR22", "VAR1x", "xVAR1", "VAR1\n", "VAR٣"]
    assert list(Vocabulary(names)) == ["VARx", "VAR", "VAR1x", "xVAR1", "VAR1\n", "VAR٣"]
    assert is_placeholder("VAR0") and not is_placeholder("var0")


def test_top_keeps_the_most_frequent_names():
    assert list(Vocabulary(["a", "b", "c"]).top(2)) == ["a", "b"]
    assert list(Vocabulary(["a"]).top(10**30)) == ["a"]


def test_a_list_of_names_is_read_without_blank_lines_and_byte_order_mark(tmp_path):
    (tmp_path / "names.txt").write_bytes("\ufeffself\n\n größe \nx".encode())
    assert list(Vocabulary.read(tmp_path / "names.txt")) == ["self", "größe", "x"]


def test_a_list_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "names.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CorpusError, match=r"names\.txt is not a list of names in UTF-8"):
        Vocabulary.read(tmp_path / "names.txt")


@pytest.mark.parametrize(("language", "first"), [("python", "self"), ("javascript", "exports")])
def test_the_package_has_a_vocabulary(language, first):
    vocabulary = Vocabulary.default(language)
    assert len(vocabulary) == 50_000
    assert first in vocabulary.top(20)


def test_a_language_without_a_vocabulary_is_refused():
    with pytest.raises(UsageError, match="the package has no vocabulary for cobol; use one of your own"):
        Vocabulary.default("cobol")


def test_special_values_come_first_among_model_ids():
    assert [special.rank for special in Special] == [-1, -2, -3, -4, -5, -6]
    ranks = np.array([-1, -6, 0, 30_000], dtype=np.int16)
    assert rank_to_id(ranks).tolist() == [0, 5, 6, 30_006]
    assert rank_to_id(np.array([32_767], dtype=np.int16)).tolist() == [32_773]


@given(st.lists(st.one_of(st.none(), st.text(max_size=3))), st.lists(st.text(min_size=1, max_size=2)))
def test_ranks_identify_names(values, known):
    vocabulary = Vocabulary(known)
    ranks, new = vocabulary.ranks(values)
    assert new == list(dict.fromkeys(value for value in values if value is not None and value not in vocabulary))
    names = [*vocabulary, *new]
    assert [None if rank == Special.EMPTY.rank else names[rank] for rank in ranks.tolist()] == values


@pytest.mark.parametrize(
    ("name", "subtokens"),
    [
        ("max_index", "max index"),
        ("maxIndex2", "max index"),
        ("MAX_INDEX", "max index"),
        ("HTTPServer", "http server"),
        ("parseHTTP", "parse http"),
        ("utf8decode", "utf decode"),
        ("größe", ""),
        ("a" * 60, "a" * 60),
        ("a" * 61, ""),
        ("__", ""),
        (None, ""),
    ],
)
def test_a_name_is_split_into_subtokens(name, subtokens):
    assert split_subtokens(name) == subtokens.split()


def test_the_most_frequent_subtokens():
    names, counts = ["row_row", "max_index", "index", "never"], [1, 2, 1, 0]
    assert list(frequent_subtokens(names, counts, 9)) == ["index", "max", "row"]
    assert list(frequent_subtokens(names, counts, 2)) == ["index", "max"]


def test_a_name_keeps_its_last_known_subtokens():
    subtokens = Vocabulary(["a", "b", "c", "d", "e"])
    ids = subtoken_ids(["b_x_a", None, "a_b_c_d_e"], subtokens)
    assert ids.tolist() == [[2, 1, 0, 0], [0, 0, 0, 0], [2, 3, 4, 5]]
    assert ids.shape == (3, MAX_SUBTOKENS)
