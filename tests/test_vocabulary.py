"""Names by rank."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarename.errors import CorpusError, UnknownName
from rarename.vocabulary import Special, Vocabulary


def test_names_are_ranked_by_frequency_then_alphabet():
    assert list(Vocabulary.ranked(["b", "a", "c", "c"])) == ["c", "a", "b"]


def test_a_repeated_name_keeps_its_first_rank():
    assert list(Vocabulary(["a", "b", "a"])) == ["a", "b"]


def test_a_name_spelt_like_a_placeholder_is_never_kept():
    assert list(Vocabulary(["VAR1", "VARx", "VAR", "VAR22"])) == ["VARx", "VAR"]


def test_written_and_read(tmp_path):
    vocabulary = Vocabulary(["self", "größe", "x"])
    vocabulary.write(tmp_path / "names.txt")
    assert list(Vocabulary.read(tmp_path / "names.txt")) == ["self", "größe", "x"]
    assert [path.name for path in tmp_path.iterdir()] == ["names.txt"]


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    (tmp_path / "names.txt").write_bytes(b"\xef\xbb\xbfnp\nsin\n")
    assert list(Vocabulary.read(tmp_path / "names.txt")) == ["np", "sin"]


def test_a_list_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "names.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CorpusError, match=r"names.txt is not a list of names in UTF-8"):
        Vocabulary.read(tmp_path / "names.txt")


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_the_package_has_a_vocabulary_for(language):
    vocabulary = Vocabulary.default(language)
    assert len(vocabulary) == 50_000
    assert {"python": "self", "javascript": "exports"}[language] in vocabulary.top(20)


def test_a_language_without_a_vocabulary_names_the_choices():
    with pytest.raises(UnknownName, match="'cobol'; choose one of javascript, python"):
        Vocabulary.default("cobol")


def test_special_codes_lie_below_every_rank():
    assert {special.rank for special in Special} == {-1, -2, -3, -4, -5, -6}


@given(st.lists(st.one_of(st.none(), st.text(max_size=3))), st.lists(st.text(min_size=1, max_size=2)))
def test_ranks_tell_names_apart(values, known):
    vocabulary = Vocabulary(known)
    ranks, new = vocabulary.ranks(values)
    spelt = [None if rank < 0 else [*vocabulary, *new][rank] for rank in ranks.tolist()]
    assert spelt == values
