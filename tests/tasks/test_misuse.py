"""Variable misuse: the examples, the loss and the scores."""

import json
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from rarename.corpus import Corpus, PrepareSettings, prepare
from rarename.encoding import Encoding
from rarename.errors import ParseError, UnknownName, UsageError
from rarename.model import ModelConfig
from rarename.syntax import JAVASCRIPT, PYTHON, Role, parse
from rarename.syntax.functions import Slice, functions
from rarename.syntax.lines import rewrite
from rarename.syntax.scope import ScopeRules
from rarename.tasks.misuse.collate import MULTIPLE_BUGS, NUM_USAGES, Batch, Collator, Example
from rarename.tasks.misuse.examples import (
    BUG_SAMPLERS,
    Function,
    FunctionDataset,
    InjectedBug,
    NestedFunctions,
    sample_bug,
    sample_local_bug,
    sample_local_bugs,
    is_eligible,
)
from rarename.tasks.misuse.model import POINTER_HEADS, PairAnswer, PointerAnswer
from rarename.tasks.misuse.scoring import MULTI_BUG_WEIGHT, Counts, loss, predict_bugs
from rarename.tasks.misuse.similarity import bigram_similarity, character_bigrams
from rarename.tasks.misuse.task import MisuseConfig, MisuseTask
from rarename.tasks.rank_mapping import RankMapping
from rarename.vocabulary import Special, Vocabulary

SOURCE = """
def copy(source, target, limit):
    for line in source:
        parts = [piece.strip() for piece in line.split(limit)]
        target.write(parts)
    return target
"""


def function_of(text, language=PYTHON):
    """The first function of a text, with its tree and the names behind its rank ids."""
    return next(functions_of(text, language))


def functions_of(text, language=PYTHON):
    """All functions of a text."""
    tree = parse(text, language)
    for start, kind in enumerate(tree.types):
        if kind in language.function_types:
            yield function_at(tree, start, language)


def function_at(tree, start, language):
    length = tree.lengths()[start]
    ranks, names = Vocabulary([]).ranks(tree.values)
    types = np.arange(len(tree))  # every node is its own type here: only what it means for scopes matters
    found = ScopeRules.of(tree.types, language).lookup_scopes(types, np.array(tree.parents))
    part = slice(start, start + length)
    roles = np.array([int(role) for role in language.roles(tree)], dtype=np.int8)
    fixes = np.array([kind in language.unswappable_types for kind in tree.types])
    is_fixed = np.array([parent >= 0 and fixes[parent] for parent in tree.parents])[part]
    scopes_of_part = np.maximum(found[part] - start, -1)
    function = Function(types[part], ranks[part], roles[part], scopes_of_part, is_fixed=is_fixed)
    return replace(function, character_bigrams=character_bigrams(tree.values)[part]), tree, start, names


def test_three_places_three_variables_one_of_them_twice():
    assert is_eligible(function_of(SOURCE)[0])
    assert not is_eligible(function_of("def f(a, b):\n    return a + b + a\n")[0])
    assert not is_eligible(function_of("def f(a, b, c):\n    pass\n")[0])


@pytest.mark.parametrize("way", BUG_SAMPLERS)
def test_a_misuse_is_wrong_and_can_be_repaired(way):
    function, _, _, _ = function_of(SOURCE)
    for seed in range(200):
        misuse = BUG_SAMPLERS[way](function, np.random.default_rng(seed))
        right = function.values[misuse.location]
        assert misuse.wrong != right
        assert misuse.wrong in function.values[function.variables]
        assert (function.values[function.variables] == right).sum() >= 2


def test_the_paper_draws_every_place_and_local_draws_reads_of_local_names():
    function, _, _, names = function_of(SOURCE)
    generator = np.random.default_rng(0)
    anywhere = {sample_bug(function, generator).location for _ in range(500)}
    local = [sample_local_bug(function, generator) for _ in range(500)]
    assert {Role(function.roles[place]) for place in anywhere} == {Role.READ, Role.WRITE, Role.PARAMETER}
    assert {Role(function.roles[misuse.location]) for misuse in local} == {Role.READ}
    # `piece` lives in the comprehension alone.
    inside = {names[misuse.wrong] for misuse in local if names[function.values[misuse.location]] == "piece"}
    outside = {names[misuse.wrong] for misuse in local if names[function.values[misuse.location]] == "target"}
    assert inside == {"source", "target", "limit", "line", "parts"}
    assert outside == {"source", "limit", "line", "parts"}


def test_how_alike_names_are_spelled():
    words = ["row", "rows", "ROW", "limit", None, "x" * 100, "größe"]
    rows = character_bigrams(words)
    assert bigram_similarity(rows[0], rows).round(3).tolist() == [1.0, round(2 * 3 / (4 + 5), 3), 1.0, 0.0, 0.0, 0.0, 0.0]
    assert bigram_similarity(rows[6], rows[6:]) == [1.0]


def test_misuses_that_prefer_names_spelled_alike_are_drawn_in_proportion():
    text = "def f(row, rows, limit):\n    use(row, rows, limit)\n    use(row, rows, limit)\n"
    function, _, _, names = function_of(text)
    generator, likeness, num_draws = np.random.default_rng(0), 2.0, 6_000
    drawn = Counter()
    for _ in range(num_draws):
        location, wrong = sample_local_bug(function, generator, likeness)
        drawn[names[function.values[location]], names[wrong]] += 1
    words = ["row", "rows", "limit"]
    table = dict(zip(words, character_bigrams(words), strict=True))
    weights = {
        (right, wrong): math.exp(likeness * bigram_similarity(table[right], table[wrong][None])[0])
        for right in words
        for wrong in words
        if right != wrong
    }
    for pair, weight in weights.items():
        assert drawn[pair] / num_draws == pytest.approx(weight / sum(weights.values()), abs=0.02)


@pytest.mark.parametrize("likeness", [0.0, 4.0])
def test_many_misuses_follow_the_rules_of_one(likeness):
    function, _, _, names = function_of(SOURCE)
    for seed in range(50):
        for location, wrong in sample_local_bugs(function, np.random.default_rng(seed), 0.5, likeness):
            right = names[function.values[location]]
            assert names[wrong] in {"source", "target", "limit", "line", "parts", "piece"} - {right}
            assert names[wrong] != "piece" or right in {"line", "limit"}  # it can be seen in the comprehension alone


def test_likeness_changes_training_but_not_what_is_measured(corpus_folder):
    corpus = Corpus(corpus_folder)
    encoding = Encoding(Vocabulary([]), types=corpus.types)
    plain, alike = (
        MisuseTask(corpus, encoding, MisuseConfig(way="local", likeness=likeness), batch_nodes=1_000, seed=0)
        for likeness in (0.0, 4.0)
    )
    for one, other in zip(plain.measured("test"), alike.measured("test"), strict=True):
        assert torch.equal(one.values, other.values)
    pairs = [(plain.batch(indexes, 0).values, alike.batch(indexes, 0).values) for indexes in list(plain.batches(0))[:5]]
    assert any(one.shape != other.shape or not torch.equal(one, other) for one, other in pairs)
    with pytest.raises(ValueError, match="likeness is for the way 'local'"):
        MisuseConfig(way="paper", likeness=1.0)


@pytest.mark.parametrize(("seed", "likeness"), [(0, 0.0), (1, 0.0), (2, 4.0)])
def test_local_misuses_always_compile(corpus_folder, projects, seed, likeness):
    """On real code: put the misuse into the source text, and let Python compile it."""
    checked = 0
    for path in sorted(projects.glob("*/*.py"))[seed::3]:
        text = PYTHON.decode(path.read_bytes())
        try:
            found = list(functions_of(text))
        except ParseError:
            continue
        for function, tree, start, names in found[:10]:
            misuse = sample_local_bug(function, np.random.default_rng(seed), likeness)
            if misuse is None or tree.span(start + misuse.location).line == 0:
                continue
            values = list(tree.values)
            values[start + misuse.location] = names[misuse.wrong]
            compile(rewrite(text, tree, values, PYTHON), path.name, "exec", dont_inherit=True)
            checked += 1
    assert checked > 20


@pytest.mark.parametrize(
    ("text", "language", "unlike"),
    [
        ("def f(a, b):\n    print(a)\n    print(a)\n    global y\n    y = b\n    return y, y, b, a\n", PYTHON, "y"),
        ("function f(Aa, Bb, c, d) { return <Aa x={c}><Bb>{c}{d}</Bb></Aa>; }", JAVASCRIPT, None),
        ("function f(ns, b, c) { return <ns.Foo x={b}>{b}{c}{c}</ns.Foo>; }", JAVASCRIPT, None),
    ],
)
def test_local_misuses_leave_alone_what_must_fit_something_else(text, language, unlike):
    function, tree, start, names = function_of(text, language)
    drawn = [sample_local_bug(function, np.random.default_rng(seed)) for seed in range(100)]
    assert all(drawn)
    for misuse in drawn:
        assert names[misuse.wrong] != unlike
        parent = tree.types[tree.parents[start + misuse.location]]
        assert parent not in language.unswappable_types
        if language is PYTHON:
            values = list(tree.values)
            values[start + misuse.location] = names[misuse.wrong]
            compile(rewrite(text, tree, values, PYTHON), "text", "exec")


def test_a_function_without_a_place_for_a_misuse_has_none():
    function, _, _, _ = function_of("def f():\n    return os.path + os.sep + sys.argv\n")
    assert sample_local_bug(function, np.random.default_rng(0)) is None


def test_functions_of_a_corpus_are_fit_and_not_too_long(corpus_folder):
    corpus = Corpus(corpus_folder)
    functions = FunctionDataset(corpus, "train", RankMapping(None, corpus.ranking("names")), max_nodes=100)
    assert len(functions) > 100
    assert functions.lengths.max() <= 100
    assert all(is_eligible(functions[index]) for index in range(len(functions)))


# --- batches ----------------------------------------------------------------------------------------------

FUNCTION = Function(
    types=np.array([0, 1, 1, 2, 1], dtype=np.int16),
    values=np.array([Special.EMPTY.rank, 7, 8, 3, 7]),
    roles=np.array([Role.NONE, Role.PARAMETER, Role.READ, Role.ATTRIBUTE, Role.READ], dtype=np.int8),
    scopes=np.zeros(5, dtype=np.int32),
)


def test_the_misuse_is_put_in_before_names_are_numbered():
    """Numbered first, the misuse of 8 at the first place would show as VAR2 before VAR1."""
    encoding = Encoding(Vocabulary(["a"]), num_placeholders=5)
    batch = Collator(encoding)([Example(FUNCTION, (), 0), Example(FUNCTION, (InjectedBug(1, 8),), 0)])
    assert encoding.to_text(batch.values[0]) == ["EMPTY", "VAR1", "VAR2", "VAR3", "VAR1"]
    assert encoding.to_text(batch.values[1]) == ["EMPTY", "VAR1", "VAR1", "VAR2", "VAR3"]
    assert batch.location.tolist() == [0, 2]
    assert batch.is_repair.tolist() == [[False] * 5, [False, False, False, False, True]]
    assert batch.is_variable[0].tolist() == [False, True, True, False, True]


def test_shorter_functions_are_padded():
    short = Function(*(getattr(FUNCTION, name)[:2] for name in ("types", "values", "roles", "scopes")))
    batch = Collator(Encoding(Vocabulary([])))([Example(short, (), 0), Example(FUNCTION, (), 0)])
    assert batch.attention_mask.tolist() == [[True, True, False, False, False], [True] * 5]
    assert batch.values[0, 2:].tolist() == [Special.PAD] * 3


# --- loss and scores --------------------------------------------------------------------------------------


def by_hand():
    """A clean and a buggy example of three nodes, a b a and a b b, with round probabilities."""
    batch = Batch(
        types=torch.zeros(2, 3, dtype=torch.long),
        values=torch.zeros(2, 3, dtype=torch.long),
        names=torch.tensor([[0, 1, 0], [0, 1, 1]]),
        right=torch.tensor([[0, 1, 0], [0, 1, 0]]),
        attention_mask=torch.ones(2, 3, dtype=torch.bool),
        is_variable=torch.ones(2, 3, dtype=torch.bool),
        is_candidate=torch.ones(2, 3, dtype=torch.bool),
        is_bug=torch.tensor([[False] * 3, [False, False, True]]),
        location=torch.tensor([0, 3]),
        is_repair=torch.tensor([[False] * 3, [True, False, False]]),
        projects=torch.zeros(2, dtype=torch.long),
    )
    location = torch.tensor([[0.7, 0.1, 0.1, 0.1], [0.2, 0.1, 0.1, 0.6]]).log()
    repair = torch.tensor([[0.2, 0.3, 0.5], [0.45, 0.35, 0.2]]).log()
    return PointerAnswer(location, repair), batch


def test_the_loss_by_hand():
    answer, batch = by_hand()
    expected = -(math.log(0.7) + math.log(0.6)) / 2 - math.log(0.45)
    assert loss(answer, batch).mean().item() == pytest.approx(expected)


def test_the_losses_of_parts_add_up_to_the_loss_of_the_whole():
    answer, batch = by_hand()
    whole = loss(answer, batch)
    parts = [
        loss(
            PointerAnswer(answer.location[rows], answer.repairs[rows]),
            Batch(**{name: tensor[rows] for name, tensor in vars(batch).items() if torch.is_tensor(tensor)}),
        )
        for rows in (slice(0, 1), slice(1, 2))
    ]
    counts = parts[0].counts + parts[1].counts
    assert counts.tolist() == whole.counts.tolist()
    assert sum(part.over(counts).item() for part in parts) == pytest.approx(whole.mean().item())


def test_the_scores_by_hand():
    answer, batch = by_hand()
    counts = Counts(vocabulary_size=1)
    counts.add(answer, batch)
    # b has 0.35 + 0.2 = 0.55 of the repair, a, which is right, 0.45: neither first nor half.
    assert counts.scores() == {
        "joint_accuracy": 0.0,
        "location_accuracy": 1.0,
        "repair_accuracy": 0.0,
        "no_bug_accuracy": 1.0,
        "joint_accuracy_paper": 0.0,
        "repair_accuracy_paper": 0.0,
        "num_clean": 1,
        "num_buggy": 1,
    }
    counts.add(PointerAnswer(answer.location, torch.tensor([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]]).log()), batch)
    assert counts.scores()["joint_accuracy_paper"] == 0.5


def test_a_right_repair_with_less_than_half_counts_as_first_only():
    answer, batch = by_hand()
    batch = Batch(**(vars(batch) | {"names": torch.tensor([[0, 1, 0], [0, 1, 2]])}))
    counts = Counts(vocabulary_size=1)
    counts.add(answer, batch)
    scores = counts.scores()
    assert (scores["joint_accuracy"], scores["joint_accuracy_paper"]) == (1, 0)


def margins(*rows):
    """Counts of examples: (is buggy, margin of the best place over no bug, is it the right place), all repaired."""
    batch = Batch(
        types=torch.zeros(len(rows), 2, dtype=torch.long),
        values=torch.zeros(len(rows), 2, dtype=torch.long),
        names=torch.tensor([[5, 9]] * len(rows)),
        right=torch.tensor([[9, 9]] * len(rows)),
        attention_mask=torch.ones(len(rows), 2, dtype=torch.bool),
        is_variable=torch.ones(len(rows), 2, dtype=torch.bool),
        is_candidate=torch.ones(len(rows), 2, dtype=torch.bool),
        is_bug=torch.tensor([[is_buggy, False] for is_buggy, _, _ in rows]),
        location=torch.tensor([int(is_buggy) for is_buggy, _, _ in rows]),
        is_repair=torch.tensor([[False, is_buggy] for is_buggy, _, _ in rows]),
        projects=torch.zeros(len(rows), dtype=torch.long),
    )
    location = torch.tensor([[0.0, m, m - 1] if right else [0.0, m - 1, m] for _, m, right in rows])
    counts = Counts(vocabulary_size=6)
    counts.add(PointerAnswer(location, torch.tensor([[0.0, 1.0]] * len(rows))), batch)
    return counts


def test_scores_at_equal_false_alarms_by_hand():
    """Twenty clean functions with margins 0.05 to 1; at 10 % two are flagged, so the bound is 0.9."""
    clean = [(False, 0.05 * number, True) for number in range(1, 21)]
    buggy = [(True, 0.95, True), (True, 0.89, True), (True, 2.0, False), (True, 3.0, True)]
    counts = margins(*clean, *buggy)
    assert counts.scores()["no_bug_accuracy"] == 0
    assert counts.scores()["joint_accuracy"] == 0.75
    at = counts.details()["at_false_alarms"]
    assert at["0.1"]["false_alarms"] == pytest.approx(0.1)
    assert at["0.1"]["joint_accuracy"] == 0.5
    assert at["0.01"]["false_alarms"] == 0
    assert at["0.01"]["joint_accuracy"] == 0.25


def test_the_confidence_from_which_on_few_are_flagged():
    counts = margins(*[(False, number / 10, True) for number in range(200)], (True, 30.0, True), (True, 0.0, True))
    least = counts.confidence_at(1 / 200)
    assert sum(confidence >= least for confidence in counts.columns["confidence"][0][:200]) <= 1
    assert sum(confidence >= least - 0.001 for confidence in counts.columns["confidence"][0][:200]) >= 1
    at = counts.details()["at_confidence"]
    assert at["0.1"] == {"false_alarms": 1.0, "joint_accuracy": 1.0}
    assert at["0.7"]["joint_accuracy"] == 0.5
    assert at["0.99"]["false_alarms"] < at["0.7"]["false_alarms"] < 1


def test_scores_by_project():
    answer, batch = by_hand()
    batch = replace(batch, projects=torch.tensor([0, 1]))
    counts = Counts(vocabulary_size=2, projects=["clean", "buggy", "other"])
    counts.add(answer, batch)
    assert counts.details()["by_project"] == {"buggy": {"joint_accuracy": 0.0, "num_buggy": 1}}


def test_scores_by_length_and_by_rarity_by_hand():
    counts = margins((False, -1.0, True), (True, 1.0, True), (True, -1.0, True))
    details = counts.details()
    # Rank 5 is in a vocabulary of 6, rank 9 is not.
    assert details["by_rarity"]["one rare"]["num_buggy"] == 2
    assert details["by_rarity"]["one rare"]["joint_accuracy"] == 0.5
    assert details["by_rarity"]["both rare"]["num_buggy"] == 0
    assert details["by_length"]["up to 25"] == counts.scores()
    assert details["by_length"]["over 250"]["num_clean"] == 0


# --- every place by itself, and the repair of a place -------------------------------------------------------


def test_many_misuses_can_all_be_repaired_and_reads_alone_are_wrong():
    function, _, _, _ = function_of(SOURCE)
    for seed in range(100):
        misuses = sample_local_bugs(function, np.random.default_rng(seed), 0.5)
        names = function.values.copy()
        for place, wrong in misuses:
            assert function.roles[place] == Role.READ
            assert wrong != function.values[place]
            names[place] = wrong
        assert len({misuse.location for misuse in misuses}) == len(misuses) >= 1
        for place, _ in misuses:
            assert function.values[place] in names[function.variables]


def test_local_batches_look_at_bound_names_alone():
    function, _, _, names = function_of("def f(a, b, c):\n    return a + b + os.sep(a)\n")
    batch = Collator(Encoding(Vocabulary([])), is_local=True)([Example(function, (), 0)])
    shown = [[names[int(rank)] for rank in batch.names[0][mask[0]]] for mask in (batch.is_candidate, batch.is_variable)]
    assert sorted(shown[0]) == ["a", "a", "b"]
    assert sorted(shown[1]) == ["a", "a", "a", "b", "b", "c"]


def test_uses_by_hand():
    """Up to three reads, two bindings and three earlier places are told apart."""
    batch = Collator(Encoding(Vocabulary([])), counts_uses=True)([Example(FUNCTION, (), 0)])
    # 7 is read once and bound once, 8 is read once; only the last place has one of its name before it.
    assert batch.usages[0].tolist() == [0, 1 + 12 + 4 + 0, 1 + 12 + 0 + 0, 0, 1 + 12 + 4 + 1]
    assert batch.usages.max() < NUM_USAGES


def test_a_misuse_brings_the_parts_of_its_name():
    encoding = Encoding(Vocabulary([]), subtokens=Vocabulary(["max", "index"]))
    parts = np.array([[0, 0], [1, 2], [2, 0], [1, 0], [1, 2]], dtype=np.int16)
    function = replace(FUNCTION, parts=np.pad(parts, ((0, 0), (0, 2))))
    batch = Collator(encoding)([Example(function, (), 0), Example(function, (InjectedBug(4, 8),), 0)])
    assert batch.parts[0, :, :2].tolist() == parts.tolist()
    assert batch.parts[1, 4].tolist() == [2, 0, 0, 0]


def test_the_loss_of_places_judged_by_themselves_by_hand():
    _, batch = by_hand()
    many = {
        "location": torch.tensor([MULTIPLE_BUGS, MULTIPLE_BUGS]),
        "names": torch.tensor([[0, 1, 0], [1, 1, 0]]),
        "right": torch.tensor([[0, 1, 0], [0, 1, 0]]),
        "is_bug": torch.tensor([[False] * 3, [True, False, False]]),
        "is_candidate": torch.tensor([[True, True, False], [True, False, False]]),
    }
    batch = Batch(**(vars(batch) | many))
    odds = torch.tensor([[0.25, 0.5, 9.0], [3.0, 9.0, 9.0]])
    location = torch.cat([torch.full((2, 1), 0.7), odds.log() + 0.7], dim=1)
    # From the first place of the second example only the third place has another name.
    answer = PairAnswer(location, torch.zeros(2, 3, 4), torch.zeros(2, 3, 4))
    right = [1 / 1.25, 1 / 1.5, 3 / 4]
    expected = MULTI_BUG_WEIGHT * -sum(math.log(share) for share in right) / 3
    assert loss(answer, batch).mean().item() == pytest.approx(expected, abs=1e-6)


def test_a_suspicion_is_a_candidate_and_names_another_variable():
    answer, batch = by_hand()
    batch = Batch(**(vars(batch) | {"is_candidate": torch.tensor([[True, False, False], [False, False, False]])}))
    found = predict_bugs(answer, batch)
    assert found.place.tolist() == [0, -1]
    assert found.repair[0] == 1
    assert found.confidence[0] == pytest.approx(0.1)
    assert found.confidence[1] == 0


def nodes_of(values, roles):
    scopes = np.array([-1] + [0] * (len(values) - 1), dtype=np.int32)
    return Function(np.zeros(len(values), dtype=np.int64), np.array(values), np.array(roles, dtype=np.int8), scopes)


def test_each_nested_function_has_its_own_suspicion():
    answer, batch = by_hand()
    batch = Batch(**(vars(batch) | {"is_candidate": torch.tensor([[True, True, True], [False, False, False]])}))
    answer = PointerAnswer(torch.tensor([[1.0, 3.0, 6.0, 2.0], [1.0, 1.0, 1.0, 1.0]]).log(), answer.repairs)
    alone = predict_bugs(answer, batch)
    assert (alone.row.tolist(), alone.place.tolist()) == ([0, 1], [1, -1])
    assert alone.confidence.tolist() == pytest.approx([6 / 12, 0])
    binds_both = nodes_of([0, 1, 0], [Role.PARAMETER, Role.WRITE, Role.READ])
    nests = [NestedFunctions(binds_both, [Slice(0, 3), Slice(1, 2)]), NestedFunctions(binds_both, [Slice(0, 3)])]
    found = predict_bugs(answer, batch, nests)
    assert (found.row.tolist(), found.place.tolist()) == ([0, 0, 1], [-1, 1, -1])
    # Of no bug and the places of the inner one: 6 of 1 + 6 + 2. What it binds, the outer one cannot see.
    assert found.confidence.tolist() == pytest.approx([0, 6 / 9, 0])


NESTED = """
@mark(outer)
def f(outer, rows, total=outer):
    first = [row.name for row in rows for cell in row]
    class Own:
        field = outer
        def method(self, given=field):
            inner = given
            return inner, outer, freely
    key = lambda one, two=first: one
    return first, key, freely
"""

NESTED_JAVASCRIPT = """
function f(rows, start = rows) {
  for (const row of rows) { let inner = row; use(inner); }
  if (start) { var late = start; }
  class Own { method(given) { return given; } }
  return [late, start];
}
"""


@pytest.mark.parametrize(
    ("text", "language", "name", "number", "seen"),
    [
        # The last number counts the places where the name is read.
        (NESTED, PYTHON, "rows", 0, "outer rows total first key freely"),  # what a comprehension loops over
        (NESTED, PYTHON, "row", 1, "outer rows total first key freely row cell"),  # the next loop in it
        (NESTED, PYTHON, "outer", 0, "outer freely"),  # a default
        (NESTED, PYTHON, "outer", 1, "outer rows total first key freely field"),  # the body of a class
        (NESTED, PYTHON, "field", 0, "outer rows total first key freely field"),  # a default in a class
        (NESTED, PYTHON, "inner", 0, "outer rows total first key freely self given inner"),  # not the class around it
        (NESTED, PYTHON, "first", 0, "outer rows total first key freely"),  # the default of a lambda
        (NESTED, PYTHON, "one", 0, "outer rows total first key freely one two"),
        (NESTED_JAVASCRIPT, JAVASCRIPT, "rows", 1, "rows start late use"),  # `late` stands outside of its block
        (NESTED_JAVASCRIPT, JAVASCRIPT, "row", 0, "rows start late use row inner"),
        (NESTED_JAVASCRIPT, JAVASCRIPT, "given", 0, "rows start late use given"),
        (NESTED_JAVASCRIPT, JAVASCRIPT, "late", 0, "rows start late use"),
    ],
)
def test_what_can_be_seen_from_a_place(text, language, name, number, seen):
    function, _, _, names = function_of(text, language)
    nest = NestedFunctions(function, [Slice(0, len(function))])
    reads = [node for node in np.nonzero(function.roles == Role.READ)[0] if names[function.values[node]] == name]
    is_seen = nest.seen_from(int(reads[number]))[function.variables]
    found = {names[rank] for rank in function.values[function.variables[is_seen]]}
    assert found - {"mark"} == set(seen.split())


def test_which_function_owns_a_place():
    nest = NestedFunctions(nodes_of([5, 6, 5, 7], [Role.PARAMETER] * 4), [Slice(0, 4), Slice(1, 2), Slice(3, 1)])
    assert [nest.owner(node) for node in range(4)] == [0, 1, 1, 3]
    assert nest.owned_by(1).tolist() == [False, True, True, False]


@pytest.mark.parametrize("likeness", [0.0, 4.0])
@pytest.mark.parametrize(("text", "language"), [(NESTED, PYTHON), (NESTED_JAVASCRIPT, JAVASCRIPT)])
def test_misuses_put_in_only_what_can_be_seen(text, language, likeness):
    function, _, _, names = function_of(text, language)
    nest = NestedFunctions(function, [Slice(0, len(function))])
    for seed in range(200):
        location, wrong = sample_local_bug(function, np.random.default_rng(seed), likeness)
        assert wrong in function.values[nest.seen_from(location)], (names[function.values[location]], names[wrong])


def test_suggestions_can_be_seen_and_each_example_has_its_surest():
    function, _, _, _ = function_of(NESTED)
    nodes = len(function)
    config = MisuseConfig(way="local", head="pairs")
    encoding = Encoding(Vocabulary([]), types=[str(number) for number in range(500)], num_placeholders=nodes)
    inside = (Slice(0, nodes), *(Slice(*part) for part in nested_functions(NESTED)))
    assert len(inside) == 2
    batch = config.collator(encoding)(
        [Example(function, (), 0, inside=inside), Example(function, (), 0, inside=inside)]
    )
    torch.manual_seed(0)
    answer = config.model(ModelConfig(16, 1, 2, 16, dropout=0.0), encoding).eval()(batch)
    said = predict_bugs(answer, batch, batch.nests)
    assert said.row.tolist() == [0, 0, 1, 1]
    for row, place, repair in zip(said.row.tolist(), said.place.tolist(), said.repair.tolist(), strict=True):
        assert batch.nests[row].seen_from(place)[repair]
    best_per_example = said.best_per_example(2)
    assert best_per_example.row.tolist() == [0, 1]
    assert best_per_example.confidence.tolist() == pytest.approx(said.confidence.view(2, 2).max(dim=1).values.tolist())


def nested_functions(text):
    """The functions inside the first, counted from its beginning."""
    tree = parse(text, PYTHON)
    outer, *inside = functions(tree, PYTHON)
    return [(start - outer.start, length) for start, length in inside]


@pytest.mark.parametrize("head", POINTER_HEADS)
def test_ready_made_misuses_of_great_are_taken_as_they_come(tmp_path, head):
    tokens = ["#NEWLINE#", "def f(", "a", ",", "b", ")", ":", "return", "b", "+", "c"]
    # The right name stands at 2, which is no published candidate.
    bug = {"has_bug": True, "error_location": 8, "repair_targets": [2], "repair_candidates": [4, 8, 10]}
    clean = {"has_bug": False, "error_location": 0, "repair_targets": [], "repair_candidates": [2, 4, 8, 10]}
    lines = [
        json.dumps({"source_tokens": [*tokens[:-1], f"c{number}"], **kind, "bug_kind_name": "VARIABLE_MISUSE",
                    "provenances": [{"datasetProvenance": {"filepath": f"owner{number}/repo/m.py"}}]})
        for number in range(40) for kind in (bug, clean)
    ]  # fmt: skip
    (tmp_path / "dev.jsonl").write_text("\n".join(lines) + "\n")
    settings = PrepareSettings("tokens", keep_near_duplicates=True)
    prepare(tmp_path / "corpus", [str(tmp_path / "dev.jsonl")], settings)
    corpus = Corpus(tmp_path / "corpus")
    encoding = Encoding(corpus.vocabulary(5), corpus.types, num_placeholders=20)
    task = MisuseTask(corpus, encoding, MisuseConfig(head=head), batch_nodes=1_000, seed=0)
    with pytest.raises(UsageError, match="come with their own"):
        MisuseTask(corpus, encoding, MisuseConfig(head=head, dense_epochs=1), batch_nodes=1_000, seed=0)
    assert task.num_examples() == len(task.functions("train")) > 10
    batch = task.batch(list(range(len(task.functions("train")))), 0)
    places = {(int(row.location), tuple(row.is_repair.nonzero().flatten().tolist())) for row in rows_of(batch)}
    assert places == {(9, (2,)), (0, ())}
    assert loss(task.build(ModelConfig(16, 1, 2, 16))(batch), batch).mean().item() < 20


def test_wrong_words_for_the_task_are_named():
    with pytest.raises(UnknownName, match="no head 'pairz'"):
        MisuseConfig(head="pairz")


def rows_of(batch):
    for row in range(len(batch)):
        yield Batch(**{name: tensor[row] for name, tensor in vars(batch).items() if torch.is_tensor(tensor)})


@pytest.mark.parametrize("head", POINTER_HEADS)
def test_epochs_with_many_misuses_come_first(corpus_folder, head):
    corpus = Corpus(corpus_folder)
    encoding = Encoding(corpus.vocabulary(50), corpus.types, num_placeholders=250)
    config = MisuseConfig(way="local", head=head, counts_uses=True, dense_epochs=1)
    task = MisuseTask(corpus, encoding, config, batch_nodes=1_000, seed=0)
    num = len(task.functions("train"))
    assert task.num_examples(1.5) == num + num
    assert sum(len(indexes) for indexes in task.batches(0)) == num
    model = task.build(ModelConfig(32, 1, 2, 64, dropout=0.0))
    for epoch, is_dense in ((0, True), (1, False)):
        batch = task.batch(next(iter(task.batches(epoch))), epoch)
        assert ((batch.location == MULTIPLE_BUGS) == is_dense).all()
        value = loss(model(batch), batch).mean()
        assert torch.isfinite(value)
        value.backward()


@pytest.mark.parametrize("head", POINTER_HEADS)
def test_a_tiny_model_learns_a_handful_of_functions_by_heart(tmp_path, head):
    folder = tmp_path / "src"
    bodies = ["x = a + b", "return b - a", "a.append(b)", "c = [a, b, a]", "print(a, b, c)", "del a"]
    for number, body in enumerate(bodies):
        (folder / f"p{number}").mkdir(parents=True)
        text = f"def f{number}(a, b, c):\n    {body}\n    for a in c:\n        b = a\n    return b\n"
        (folder / f"p{number}" / "m.py").write_text(text)
    settings = PrepareSettings("python", keep_near_duplicates=True)
    prepare(tmp_path / "corpus", [str(folder)], settings)
    corpus = Corpus(tmp_path / "corpus")
    functions = FunctionDataset(corpus, "train", RankMapping(None, corpus.ranking("names")))
    encoding = Encoding(Vocabulary([]), corpus.types, num_placeholders=50)
    generator = np.random.default_rng(0)
    examples = []
    for index in range(len(functions)):
        examples.append(Example(functions[index], (), 0))
        examples.append(Example(functions[index], (sample_local_bug(functions[index], generator),), 0))
    config = MisuseConfig(head=head, counts_uses=head == "pairs")
    batch = config.collator(encoding)(examples)
    torch.manual_seed(0)
    model = config.model(ModelConfig(32, 2, 2, 64, dropout=0.0), encoding)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(150):
        optimizer.zero_grad()
        loss(model(batch), batch).mean().backward()
        optimizer.step()
    counts = Counts(vocabulary_size=0)
    counts.add(model(batch), batch)
    scores = counts.scores()
    assert (scores["joint_accuracy"], scores["no_bug_accuracy"]) == (1.0, 1.0)
