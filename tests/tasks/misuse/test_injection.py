"""Functions, the names visible in them, and injected bugs."""

import math
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pytest

from rarename.encoding import Encoding
from rarename.errors import ParseError
from rarename.syntax import JAVASCRIPT, PYTHON, Language, Role, Traversal, parse
from rarename.syntax.functions import Slice, functions
from rarename.syntax.lines import rewrite
from rarename.tasks.misuse.features import FEATURES, REAL_WEIGHTS, misuse_features
from rarename.tasks.misuse.functions import Function, NestedFunctions, is_eligible, outermost_within
from rarename.tasks.misuse.injection import (
    BUG_SAMPLERS,
    local_misuses,
    misuse_pairs,
    sample_bug,
    sample_local_bug,
    sample_local_bugs,
    sample_realistic_bug,
)
from rarename.tasks.misuse.similarity import bigram_similarities, character_bigrams
from rarename.vocabulary import Vocabulary

SOURCE = """
def copy(source, target, limit):
    for line in source:
        parts = [piece.strip() for piece in line.split(limit)]
        target.write(parts)
    return target
"""


@dataclass(frozen=True)
class ParsedFunction:
    """A function with the tree of its file and the name of each rank id."""

    function: Function
    tree: Traversal
    start: int
    names: list[str]
    language: Language

    def name_at(self, node):
        return self.names[self.function.values[node]]

    def rewritten(self, text, bug):
        """The source text with the bug."""
        values = list(self.tree.values)
        values[self.start + bug.location] = self.names[bug.wrong]
        return rewrite(text, self.tree, values, self.language)


def parse_functions(text, language=PYTHON, limit=None):
    """The first functions of a text, with every name as a rare one."""
    tree = parse(text, language)
    _, names = Vocabulary([]).ranks(tree.values)
    file = Function.of_file(tree, language.roles(tree), language, Encoding(Vocabulary([])))
    bigrams = character_bigrams(tree.values)
    for start, length in functions(tree, language)[:limit]:
        function = replace(file.function_at(start, length), bigrams=bigrams[start : start + length])
        yield ParsedFunction(function, tree, start, names, language)


def parse_function(text, language=PYTHON):
    return next(parse_functions(text, language))


@pytest.mark.parametrize(
    ("body", "eligible"),
    [
        ("(a, b): return a + b + c", True),
        ("(a, b): return a + b + a", False),  # two names
        ("(a, b, c): pass", False),  # no name twice
        ("(): return os.path + os.sep + sys.argv + json.x", True),  # globals count
    ],
)
def test_a_function_needs_three_names_one_of_them_twice(body, eligible):
    assert is_eligible(parse_function(f"def f{body}\n").function) == eligible


@pytest.mark.parametrize("sampler", BUG_SAMPLERS)
def test_a_bug_is_wrong_and_can_be_repaired(sampler):
    function = parse_function(SOURCE).function
    for seed in range(200):
        bug = BUG_SAMPLERS[sampler](function, np.random.default_rng(seed))
        original = function.values[bug.location]
        assert bug.wrong != original
        assert bug.wrong in function.values[function.variables]
        assert (function.values[function.variables] == original).sum() >= 2


def test_paper_samples_every_repairable_node_and_wrong_names_by_frequency():
    parsed = parse_function("def f(a, b, c):\n    return a + a + a + b\n")
    rng, num_draws = np.random.default_rng(0), 4_000
    bugs = [sample_bug(parsed.function, rng) for _ in range(num_draws)]
    locations = Counter(bug.location for bug in bugs)
    assert {parsed.name_at(node) for node in locations} == {"a", "b"}  # c occurs once
    assert len(locations) == 6
    assert min(locations.values()) == pytest.approx(num_draws / 6, rel=0.15)
    in_place_of_b = Counter(parsed.names[bug.wrong] for bug in bugs if parsed.name_at(bug.location) == "b")
    assert in_place_of_b["a"] / in_place_of_b.total() == pytest.approx(4 / 5, abs=0.03)


def test_paper_samples_all_roles_and_local_samples_reads():
    parsed, rng = parse_function(SOURCE), np.random.default_rng(0)
    roles = parsed.function.roles
    paper = {Role(roles[sample_bug(parsed.function, rng).location]) for _ in range(500)}
    local = [sample_local_bug(parsed.function, rng) for _ in range(500)]
    assert paper == {Role.READ, Role.WRITE, Role.PARAMETER}
    assert {Role(roles[bug.location]) for bug in local} == {Role.READ}
    # `piece` is visible in the comprehension only.
    wrong = {name: set() for name in ("piece", "target")}
    for bug in local:
        wrong.get(parsed.name_at(bug.location), set()).add(parsed.names[bug.wrong])
    assert wrong["piece"] == {"source", "target", "limit", "line", "parts"}
    assert wrong["target"] == {"source", "limit", "line", "parts"}


def test_a_function_without_local_names_gets_no_local_bug():
    function = parse_function("def f():\n    return os.path + os.sep + sys.argv\n").function
    assert sample_local_bug(function, np.random.default_rng(0)) is None
    assert sample_local_bugs(function, np.random.default_rng(0), 1.0) == ()
    assert sample_bug(parse_function("def f(a):\n    return a\n").function, np.random.default_rng(0)) is None


def test_similarity_of_names():
    names = ["row", "rows", "ROW", "limit", None, "row" * 21, "größe"]
    bigrams = character_bigrams(names)
    expected = [1.0, 2 * 3 / (4 + 5), 1.0, 0.0, 0.0, 0.0, 0.0]
    assert bigram_similarities(bigrams[0], bigrams).tolist() == pytest.approx(expected)
    assert bigram_similarities(bigrams[6], bigrams[6]) == 1.0


def test_similar_names_are_confused_in_proportion_to_their_weight():
    text = "def f(row, rows, limit):\n    use(row, rows, limit)\n    use(row, rows, limit)\n"
    parsed, rng, num_draws = parse_function(text), np.random.default_rng(0), 6_000
    drawn = Counter()
    for _ in range(num_draws):
        bug = sample_local_bug(parsed.function, rng, similarity_weight=2.0)
        drawn[parsed.name_at(bug.location), parsed.names[bug.wrong]] += 1
    names = ["row", "rows", "limit"]
    bigrams = character_bigrams(names)
    similarities = bigram_similarities(bigrams[:, None], bigrams)
    weights = {
        (original, wrong): math.exp(2.0 * similarity)
        for original, row in zip(names, similarities, strict=True)
        for wrong, similarity in zip(names, row, strict=True)
        if original != wrong
    }
    for pair, weight in weights.items():
        assert drawn[pair] / num_draws == pytest.approx(weight / sum(weights.values()), abs=0.02)


FEATURES_SOURCE = """
def f(self, rows, row, unread):
    total = row.size
    send(total, self, key=row)
    late = rows.size
    return late.name, rows
"""


def features_of(place, wrong, text=FEATURES_SOURCE, language=PYTHON):
    """The features that are not zero if a name stands at the number-th read of a name."""
    parsed = parse_function(text, language)
    function, (name, number) = parsed.function, place
    reads = [node for node in np.nonzero(function.roles == Role.READ)[0].tolist() if parsed.name_at(node) == name]
    locations, names, similarity = misuse_pairs(function, local_misuses(function))
    matrix = misuse_features(function, locations, function.values[locations], names, similarity)
    chosen = (locations == reads[number]) & (names == parsed.names.index(wrong))
    (row,) = matrix[chosen]
    values = function.values.copy()
    values[reads[number]] = names[chosen][0]  # with the wrong name in its place, the features are the same
    buggy, places = replace(function, values=values), locations[chosen]
    same = misuse_features(buggy, places, function.values[places], names[chosen], similarity[chosen])
    assert same.tolist() == [row.tolist()]
    return {name: round(value, 2) for name, value in zip(FEATURES, row.tolist(), strict=True) if value}


def test_features_of_a_misuse():
    right = {"right_parameter": 1}
    own = features_of(("total", 0), "rows")
    assert own.items() >= {"argument": 1, "right_unread": 1, "log_reads": round(math.log1p(2), 2)}.items()
    assert "similar" not in own
    alike = features_of(("row", 0), "rows")
    assert alike.items() >= (right | {"object": 1, "similarity": 0.67, "similar": 1, "wrong_attribute": 1}).items()
    assert features_of(("rows", 0), "row")["wrong_attribute"] == 1  # row.size occurs, rows.size nowhere else
    assert "wrong_attribute" not in features_of(("late", 0), "rows")
    assert features_of(("row", 1), "self").items() >= (right | {"keyword": 1, "wrong_is_receiver": 1}).items()
    assert features_of(("self", 0), "late")["right_is_receiver"] == 1
    assert features_of(("self", 0), "unread")["wrong_unread"] == 1
    assert {"wrong_bound_later", "wrong_unread"} & features_of(("self", 0), "late").keys() == {"wrong_bound_later"}
    assert features_of(("rows", 1), "total")["log_distance"] == round(math.log1p(7), 2)  # seven nodes from rows.size
    script = "function f(a, b) { return new F(a).x + a.y(b) }"
    assert features_of(("a", 0), "b", script, JAVASCRIPT)["argument"] == 1
    assert features_of(("a", 1), "b", script, JAVASCRIPT)["object"] == 1


def test_realistic_bugs_are_drawn_by_their_features():
    parsed, rng, num_draws = parse_function(FEATURES_SOURCE), np.random.default_rng(0), 4_000
    locations, names, similarity = misuse_pairs(parsed.function, local_misuses(parsed.function))
    right = parsed.function.values[locations]
    weights = np.exp(misuse_features(parsed.function, locations, right, names, similarity) @ REAL_WEIGHTS)
    expected = dict(zip(zip(locations.tolist(), names.tolist(), strict=True), weights / weights.sum(), strict=True))
    drawn = Counter(sample_realistic_bug(parsed.function, rng) for _ in range(num_draws))
    for bug, probability in expected.items():
        assert drawn[bug] / num_draws == pytest.approx(probability, abs=0.025)
    assert sample_realistic_bug(parse_function("def f():\n    return os.sep\n").function, rng) is None
    many = sample_local_bugs(parsed.function, rng, 0.5, is_realistic=True)
    assert {bug.location for bug in many} <= set(locations.tolist())


@pytest.mark.parametrize("similarity_weight", [0.0, 4.0])
def test_many_bugs_are_local_and_can_all_be_repaired(similarity_weight):
    parsed = parse_function(SOURCE)
    function = parsed.function
    for seed in range(100):
        bugs = sample_local_bugs(function, np.random.default_rng(seed), 0.5, similarity_weight)
        assert len({bug.location for bug in bugs}) == len(bugs) >= 1
        values = function.values.copy()
        for location, wrong in bugs:
            assert function.roles[location] == Role.READ
            assert parsed.names[wrong] != "piece" or parsed.name_at(location) in {"line", "limit"}  # its scope
            assert wrong != function.values[location]
            values[location] = wrong
        assert np.isin(function.values[[bug.location for bug in bugs]], values[function.variables]).all()


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_the_number_of_bugs_follows_the_rate(rate):
    reads = "    use(a, b, c, d)\n" * 10
    function = parse_function(f"def f(a, b, c, d):\n{reads}").function
    counts = [len(sample_local_bugs(function, np.random.default_rng(seed), rate)) for seed in range(500)]
    assert np.mean(counts) == pytest.approx(40 * rate, rel=0.08)


@pytest.mark.parametrize(("seed", "similarity_weight"), [(0, 0.0), (1, 4.0)])
def test_local_bugs_always_compile(projects, seed, similarity_weight):
    """Real code with a bug in its text is still accepted by Python."""
    num_compiled = 0
    for path in sorted(projects.glob("*/*.py"))[seed::3]:
        text = PYTHON.decode(path.read_bytes())
        try:
            parsed_functions = list(parse_functions(text, limit=10))
        except ParseError:
            continue
        for parsed in parsed_functions:
            bug = sample_local_bug(parsed.function, np.random.default_rng(seed), similarity_weight)
            if bug is not None and parsed.tree.span(parsed.start + bug.location).line:
                compile(parsed.rewritten(text, bug), path.name, "exec", dont_inherit=True)
                num_compiled += 1
    assert num_compiled > 20


@pytest.mark.parametrize(
    ("text", "language", "never_injected"),
    [
        ("def f(a, b):\n    print(a)\n    print(a)\n    global y\n    y = b\n    return y, y, b, a\n", PYTHON, "y"),
        ("function f(Aa, Bb, c, d) { return <Aa x={c}><Bb>{c}{d}</Bb></Aa>; }", JAVASCRIPT, None),
        ("function f(ns, b, c) { return <ns.Foo x={b}>{b}{c}{c}</ns.Foo>; }", JAVASCRIPT, None),
    ],
)
def test_local_bugs_spare_names_that_cannot_be_replaced_alone(text, language, never_injected):
    parsed = parse_function(text, language)
    for seed in range(100):
        bug = sample_local_bug(parsed.function, np.random.default_rng(seed))
        assert parsed.names[bug.wrong] != never_injected
        parent = parsed.tree.parents[parsed.start + bug.location]
        assert parsed.tree.types[parent] not in language.unswappable_types
        if language is PYTHON:
            compile(parsed.rewritten(text, bug), "text", "exec")


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
    ("text", "language", "name", "occurrence", "visible"),
    [
        # The occurrence counts the reads of the name.
        (NESTED, PYTHON, "rows", 0, "outer rows total first key freely"),  # the iterable of a comprehension
        (NESTED, PYTHON, "row", 1, "outer rows total first key freely row cell"),  # its second loop
        (NESTED, PYTHON, "outer", 0, "outer freely"),  # a default
        (NESTED, PYTHON, "outer", 1, "outer rows total first key freely field"),  # the body of a class
        (NESTED, PYTHON, "field", 0, "outer rows total first key freely field"),  # a default in a class
        (NESTED, PYTHON, "inner", 0, "outer rows total first key freely self given inner"),  # not the class around it
        (NESTED, PYTHON, "first", 0, "outer rows total first key freely"),  # the default of a lambda
        (NESTED, PYTHON, "one", 0, "outer rows total first key freely one two"),
        (NESTED_JAVASCRIPT, JAVASCRIPT, "rows", 1, "rows start late use"),  # `late` is used outside its block
        (NESTED_JAVASCRIPT, JAVASCRIPT, "row", 0, "rows start late use row inner"),
        (NESTED_JAVASCRIPT, JAVASCRIPT, "given", 0, "rows start late use given"),
        (NESTED_JAVASCRIPT, JAVASCRIPT, "late", 0, "rows start late use"),
    ],
)
def test_names_visible_from_a_node(text, language, name, occurrence, visible):
    parsed = parse_function(text, language)
    function = parsed.function
    nested = NestedFunctions(function, [Slice(0, len(function))])
    reads = [node for node in np.nonzero(function.roles == Role.READ)[0] if parsed.name_at(node) == name]
    is_visible = nested.visible_from(int(reads[occurrence]))[function.variables]
    assert {parsed.name_at(node) for node in function.variables[is_visible]} - {"mark"} == set(visible.split())


@pytest.mark.parametrize("similarity_weight", [0.0, 4.0])
@pytest.mark.parametrize(("text", "language"), [(NESTED, PYTHON), (NESTED_JAVASCRIPT, JAVASCRIPT)])
def test_injected_names_are_visible(text, language, similarity_weight):
    parsed = parse_function(text, language)
    nested = NestedFunctions(parsed.function, [Slice(0, len(parsed.function))])
    for seed in range(200):
        location, wrong = sample_local_bug(parsed.function, np.random.default_rng(seed), similarity_weight)
        assert wrong in parsed.function.values[nested.visible_from(location)]


def test_the_innermost_function_owns_a_node():
    function = Function(np.zeros(4, np.int16), np.arange(4), np.zeros(4, np.int8), np.zeros(4, np.int32))
    nested = NestedFunctions(function, [Slice(0, 4), Slice(1, 2), Slice(3, 1)])
    assert nested.owners.tolist() == [0, 1, 1, 3]


def test_an_inner_function_is_taken_if_the_outer_one_is_too_long():
    slices = [Slice(0, 100), Slice(10, 30), Slice(15, 5), Slice(50, 40)]
    assert outermost_within(slices, 100) == [Slice(0, 100)]
    assert outermost_within(slices, 99) == [Slice(10, 30), Slice(50, 40)]
    assert outermost_within(slices, 39) == [Slice(10, 30)]
