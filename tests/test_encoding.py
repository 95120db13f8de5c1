"""Vocabulary and strategy together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarename.anonymize import STRATEGIES
from rarename.encoding import Encoding
from rarename.errors import CorpusError, UnknownName, UsageError
from rarename.syntax import Role
from rarename.vocabulary import Special, Vocabulary

VOCABULARY = Vocabulary(["np", "sin"])


def test_ids_are_special_values_then_names_then_placeholders():
    encoding = Encoding(VOCABULARY, num_placeholders=3)
    assert encoding.first_placeholder == len(Special) + 2
    assert encoding.num_values == len(Special) + 2 + 3
    assert encoding.to_text(range(encoding.num_values)) == [
        "PAD", "UNK", "EMPTY", "STRING", "NUMBER", "REGEXP", "np", "sin", "VAR1", "VAR2", "VAR3",
    ]  # fmt: skip


def test_hidden_literals_get_their_stand_in_and_take_no_placeholder():
    encoding = Encoding(VOCABULARY, masked_literals=frozenset({Role.STRING}))
    encoded = encoding.encode(["a text", "x", "7"], roles=[Role.STRING, Role.READ, Role.NUMBER])
    assert encoding.to_text(encoded.values) == ["STRING", "VAR1", "VAR2"]


def test_hiding_needs_roles():
    with pytest.raises(UsageError, match="needs the roles"):
        Encoding(VOCABULARY, masked_literals=frozenset({Role.STRING})).encode(["x"])


def test_only_literals_can_be_hidden():
    with pytest.raises(UsageError, match="cannot mask READ; choose from STRING, NUMBER, REGEXP"):
        Encoding(VOCABULARY, masked_literals=frozenset({Role.READ}))


def test_an_unknown_strategy_is_refused_at_once():
    with pytest.raises(UnknownName, match="no strategy 'x'"):
        Encoding(VOCABULARY, strategy="x")


def test_types_outside_the_vocabulary_are_unknown():
    encoding = Encoding(VOCABULARY, types=Vocabulary(["NameLoad"]))
    ids = encoding.encode_types(["NameLoad", "CompareLtLtLt"])
    assert ids.tolist() == [len(Special), Special.UNK]


def test_saved_and_loaded(tmp_path):
    encoding = Encoding(VOCABULARY, Vocabulary(["Module"]), "randomized", 7, frozenset({Role.NUMBER}))
    encoding.save(tmp_path / "encoding.json")
    loaded = Encoding.load(tmp_path / "encoding.json")
    assert (list(loaded.values), list(loaded.types)) == (["np", "sin"], ["Module"])
    assert (loaded.strategy, loaded.num_placeholders, loaded.masked_literals) == (
        "randomized",
        7,
        encoding.masked_literals,
    )


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1'])
def test_a_damaged_file_is_refused(tmp_path, text):
    (tmp_path / "encoding.json").write_text(text)
    with pytest.raises(CorpusError, match="is not an encoding written by rarename"):
        Encoding.load(tmp_path / "encoding.json")


def test_a_file_of_another_version_is_refused(tmp_path):
    (tmp_path / "encoding.json").write_text('{"format": "rarename-encoding", "version": 99}')
    with pytest.raises(CorpusError, match="version 99; this rarename reads rarename-encoding version 2"):
        Encoding.load(tmp_path / "encoding.json")


@given(
    st.lists(st.one_of(st.none(), st.text(max_size=4)), max_size=30),
    st.lists(st.text(min_size=1, max_size=2), max_size=10),
    st.sampled_from([name for name, strategy in STRATEGIES.items() if strategy.renames != "none"]),
    st.integers(0, 5),
)
def test_encode_then_decode_gives_back_the_names(values, known, strategy, seed):
    encoding = Encoding(Vocabulary(known), strategy=strategy, num_placeholders=30)
    encoded = encoding.encode(values, seed=seed)
    assert encoding.decode(encoded.values, encoded.names) == values


@given(st.lists(st.integers(0, 9), min_size=1, max_size=20), st.integers(0, 6))
def test_names_from_a_file_and_ranks_from_a_corpus_meet(ranks, size):
    """Training reads ranks, use reads names: the model must see the same."""
    names = [f"n{rank}" for rank in range(10)]
    encoding = Encoding(Vocabulary(names[:size]))
    from_file = encoding.encode([names[rank] for rank in ranks]).values
    from_corpus = encoding.encode_ranks(np.array(ranks))
    assert from_file.tolist() == from_corpus.tolist()
