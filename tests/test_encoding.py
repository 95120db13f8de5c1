"""The vocabulary and the strategy of a model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarename.anonymize import STRATEGIES
from rarename.encoding import LITERAL_MASKS, Encoding
from rarename.errors import CorpusError, TooFewPlaceholders, UnknownName, UsageError
from rarename.syntax import Role
from rarename.vocabulary import Special, Vocabulary

VOCABULARY = Vocabulary(["np", "sin"])


def test_ids_are_special_values_then_names_then_placeholders():
    encoding = Encoding(VOCABULARY, Vocabulary(["Module"]), num_placeholders=3)
    assert (encoding.first_placeholder, encoding.num_values, encoding.num_types) == (8, 11, 7)
    assert encoding.to_text(range(encoding.num_values)) == [
        "PAD", "UNK", "EMPTY", "STRING", "NUMBER", "REGEXP", "np", "sin", "VAR1", "VAR2", "VAR3",
    ]  # fmt: skip


def test_decode_gives_names_to_placeholders_and_none_to_special_values():
    encoding = Encoding(VOCABULARY, num_placeholders=3)
    assert encoding.decode([0, 5, 6, 7, 8, 9], {8: "my_y"}) == [None, None, "np", "sin", "my_y", "VAR2"]


def test_masked_literals_become_special_values_and_take_no_placeholder():
    values, roles = ["a text", "7", "x", "a+"], [Role.STRING, Role.NUMBER, Role.READ, Role.REGEXP]
    texts = {
        frozenset[Role](): ["VAR1", "VAR2", "VAR3", "VAR4"],
        frozenset({Role.STRING}): ["STRING", "VAR1", "VAR2", "VAR3"],
        frozenset(LITERAL_MASKS): ["STRING", "NUMBER", "VAR1", "REGEXP"],
    }
    for masked_literals, text in texts.items():
        encoding = Encoding(VOCABULARY, masked_literals=masked_literals)
        encoded = encoding.encode(values, roles=roles)
        assert encoding.to_text(encoded.values) == text


def test_masking_does_not_change_its_input():
    ranks, roles = np.array([5, 6]), np.array([Role.STRING, Role.READ])
    ids = Encoding(VOCABULARY, masked_literals=frozenset({Role.STRING})).encode_ranks(ranks, roles)
    assert (ids.tolist(), ranks.tolist()) == ([Special.STRING, 8], [5, 6])


def test_masking_needs_roles():
    with pytest.raises(UsageError, match="an encoding that masks literals needs the roles of the nodes"):
        Encoding(VOCABULARY, masked_literals=frozenset({Role.STRING})).encode(["x"])


def test_wrong_settings_are_refused():
    with pytest.raises(UsageError, match="cannot mask READ; choose from STRING, NUMBER, REGEXP"):
        Encoding(VOCABULARY, masked_literals=frozenset({Role.READ}))
    with pytest.raises(UnknownName, match="no strategy 'x'"):
        Encoding(VOCABULARY, strategy="x")


def test_types_outside_the_vocabulary_are_unknown():
    encoding = Encoding(VOCABULARY, types=Vocabulary(["Module", "NameLoad"]))
    assert encoding.encode([], ["NameLoad", "CompareLtLtLt"]).types.tolist() == [7, Special.UNK]


def test_overflow_is_unk_unless_it_is_an_error():
    encoding = Encoding(VOCABULARY, num_placeholders=1)
    ranks = np.array([5, 6])
    assert encoding.encode_ranks(ranks).tolist() == [8, Special.UNK]
    with pytest.raises(TooFewPlaceholders):
        encoding.encode_ranks(ranks, on_overflow="error")


def test_the_seed_draws_the_placeholders():
    encoding = Encoding(VOCABULARY, strategy="randomized", num_placeholders=500)
    drawn = [encoding.encode(["x", "y"], seed=seed).values.tolist() for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert encoding.encode_ranks(np.array([[2, 3]]), seeds=[1]).tolist() == [drawn[0]]


def test_a_saved_encoding_is_loaded_equal(tmp_path):
    encoding = Encoding(
        VOCABULARY, Vocabulary(["Module"]), "randomized", 7, frozenset({Role.NUMBER}), Vocabulary(["größe"])
    )
    encoding.save(tmp_path / "encoding.json")
    assert Encoding.load(tmp_path / "encoding.json") == encoding


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not an encoding written by rarename"),
        ("[]", "is not an encoding written by rarename"),
        ('{"format": 1', "is not an encoding written by rarename"),
        (
            '{"format": "rarename-encoding", "version": 99}',
            "is in format rarename-encoding version 99; this rarename reads rarename-encoding version 2",
        ),
        (
            '{"format": "rarename-encoding", "version": 2}',
            r"is not an encoding written by rarename: strategy is missing",
        ),
    ],
)
def test_another_file_is_refused(tmp_path, text, message):
    with pytest.raises(CorpusError, match="No such file"):
        Encoding.load(tmp_path / "encoding.json")
    (tmp_path / "encoding.json").write_text(text)
    with pytest.raises(CorpusError, match=rf"encoding\.json {message}"):
        Encoding.load(tmp_path / "encoding.json")


@given(
    st.lists(st.one_of(st.none(), st.text(max_size=4)), max_size=30),
    st.lists(st.text(min_size=1, max_size=2), max_size=10),
    st.sampled_from([name for name, strategy in STRATEGIES.items() if strategy.renames != "none"]),
    st.integers(0, 5),
)
def test_decoding_undoes_encoding(values, known, strategy, seed):
    encoding = Encoding(Vocabulary(known), strategy=strategy, num_placeholders=30)
    encoded = encoding.encode(values, seed=seed)
    assert encoding.decode(encoded.values, encoded.names) == values


@given(st.lists(st.integers(0, 9), min_size=1, max_size=20), st.integers(0, 6))
def test_names_of_a_file_and_ranks_of_a_corpus_give_the_same_ids(ranks, size):
    names = [f"n{rank}" for rank in range(10)]
    encoding = Encoding(Vocabulary(names[:size]))
    from_file = encoding.encode([names[rank] for rank in ranks]).values
    assert from_file.tolist() == encoding.encode_ranks(np.array(ranks)).tolist()


def test_rare_values_that_are_not_identifiers_have_no_placeholder():
    encoding = Encoding(Vocabulary(["np", "0"]), [], "ordered", num_placeholders=5)
    values = ["x", "1", "0", "np", "y"]
    for is_identifier in ([True, False, False, True, True], str.isidentifier):
        encoded = encoding.encode(values, is_identifier=is_identifier)
        assert sorted(encoded.names.values()) == ["x", "y"]
        assert encoding.decode(encoded.values.tolist(), encoded.names) == ["x", None, "0", "np", "y"]
        assert encoded.values[1] == Special.UNK
