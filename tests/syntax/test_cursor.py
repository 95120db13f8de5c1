"""What is known at a cursor in both languages: on examples, against finished files, and at every position of a text."""

import random
import sysconfig
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from unittest.mock import Mock

import pytest

from rarename.errors import ParseError, UsageError
from rarename.syntax import JAVASCRIPT, PYTHON, TOKENS, Language, Role
from rarename.syntax.cursor import Cursor, at_cursor
from rarename.syntax.lines import Lines

STDLIB = Path(sysconfig.get_paths()["stdlib"])
PACKAGES = Path(__file__).parents[2] / ".cache" / "acorn" / "node_modules"
"""Real JavaScript, if the comparison with acorn has downloaded it."""
MARK = "‸"


def at_mark(text: str, language: Language) -> Cursor:
    """The cursor at the mark in a text."""
    before, after = text.split(MARK)
    return at_cursor(before + after, language, before.count("\n") + 1, len(before) - before.rfind("\n"))


def shown(cursor: Cursor, num_nodes: int) -> str:
    """The last nodes before the cursor, and the type at it: `Type:value Type > NextType`."""
    nodes = list(zip(cursor.traversal.types, cursor.traversal.values, strict=True))[-num_nodes:]
    return " ".join(t if v is None else f"{t}:{v}" for t, v in nodes) + f" > {cursor.next_type}"


def test_the_word_is_the_part_of_the_name_left_of_the_cursor() -> None:
    assert at_mark("x = a.fo‸o(1)", PYTHON).word == "fo"
    assert at_mark("x = a.‸foo", PYTHON).word == ""
    assert at_mark("x = $a‸", JAVASCRIPT).word == "$a"
    assert at_mark("x = ‸", PYTHON).word == ""
    assert at_mark("größ‸", PYTHON).word == "größ"


def test_further_letters_of_a_name_are_not_parsed_again() -> None:
    parse = Mock(wraps=PYTHON.parse)
    python = replace(PYTHON, parse=parse)
    first = at_mark("def f(other):\n    return ‸\n", python)
    num_parses = parse.call_count
    assert num_parses > 0
    assert at_mark("def f(other):\n    return oth‸\n", python) == replace(first, word="oth")
    assert parse.call_count == num_parses
    assert "others" in at_mark("def f(others):\n    return oth‸\n", python).in_scope
    assert parse.call_count > num_parses


def test_a_byte_order_mark_does_not_count() -> None:
    assert shown(at_cursor("\ufeffx = ", PYTHON, 1, 5), 2) == "Assign NameStore:x > NameLoad"


def test_attributes_have_no_scope() -> None:
    for language in (PYTHON, JAVASCRIPT):
        cursor = at_mark("x = a.‸", language)
        assert (cursor.in_scope, cursor.bound_names, cursor.is_scope_known) == (frozenset(), frozenset(), False)


def test_bound_names_do_not_include_builtins() -> None:
    cursor = at_mark("def f(a):\n  print(other)\n  return ‸", PYTHON)
    assert cursor.bound_names == {"f", "a", "print", "other"}
    assert "len" in cursor.in_scope
    cursor = at_mark("function f(a) { return ‸ }", JAVASCRIPT)
    assert cursor.bound_names == {"f", "a", "arguments"}
    assert "Math" in cursor.in_scope


def test_any_name_is_possible_after_a_star_import() -> None:
    assert at_mark("from a import b\nx = ‸", PYTHON).is_scope_known
    cursor = at_mark("from a import *\nx = 1\ny = ‸", PYTHON)
    assert not cursor.is_scope_known
    assert {"x", "len"} <= cursor.in_scope
    assert at_mark("import * as a from 'b'; ‸", JAVASCRIPT).is_scope_known


def test_keywords_cannot_be_names() -> None:
    read, written, attribute = (at_mark(text, PYTHON).keywords for text in ("x = ‸", "for ‸", "x.‸"))
    assert {"class", "in", "return"} <= read & written & attribute
    assert not {"None", "True", "False", "print", "match"} & read
    assert {"None", "True", "False"} <= written & attribute
    read, written, attribute = (at_mark(text, JAVASCRIPT).keywords for text in ("x = ‸", "let ‸", "x.‸"))
    assert {"class", "this", "function"} <= read & written
    assert not {"null", "true", "false", "undefined", "async"} & read
    assert {"null", "true", "false"} <= written
    assert not attribute  # `promise.catch`


def test_a_name_is_open_until_it_is_called_has_an_attribute_or_is_assigned_to() -> None:
    texts = ("x = ‸", "f(‸)  # why", "x = ‸ + 1", "x = f'{‸}'", "x = [‸ for y in z]", "f(‸, 1)", "x = ‸ == 1")
    assert all(at_mark(text, PYTHON).is_open for text in texts)
    assert not any(at_mark(text, PYTHON).is_open for text in ("x = ‸(1)", "x = ‸.y", "x = ‸[0]", "‸ = 1"))
    texts = ("f(‸) /* why */;", "x = `${‸}`", "<a b={‸} />", "x = ‸ ?? 1", "‸ => 1")
    assert all(at_mark(text, JAVASCRIPT).is_open for text in texts)
    assert not any(at_mark(text, JAVASCRIPT).is_open for text in ("x = ‸?.y", "x = ‸`y`", "x = ‸ (1)", "‸ = 1"))


@pytest.mark.parametrize(
    ("language", "text"),
    [
        *((PYTHON, text) for text in ("load(path)‸", "rows[0]‸", "x = {}‸", "x = 'a'‸", "x = rows[0]na‸", "f'{a}'‸")),
        *((PYTHON, text) for text in ("for row i‸", "x = load ‸", "import os a‸", "f(1 ‸)", "x = None ‸", "f'{a ‸}'")),
        (PYTHON, "x = ...‸"),
        *(
            (JAVASCRIPT, text)
            for text in ("rows[0]‸", "x = 'a'‸", "x = `a`‸", '<p title="a"‸', "load(path)‸", "(a)na‸")
        ),
    ],
)
def test_no_name_directly_after_an_operand(language: Language, text: str) -> None:
    with pytest.raises(ParseError, match=r"no name to complete: an operator or a separator must come first$"):
        at_mark(text, language)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        *((PYTHON, text) for text in ("f'{a == ‸}'", "f'{f(a=‸)}'", "x = ..., ‸", "x = ...\n‸")),
        *((PYTHON, text) for text in ("print ‸", "match ‸:\n    case 1: pass", "f(a\n  ‸", "x = not ‸", "x = a if ‸")),
        *((JAVASCRIPT, text) for text in ("if (found)‸", "{}‸", "while (found)na‸", "for await (const a of b)‸")),
    ],
)
def test_names_where_a_statement_or_an_operand_may_begin(language: Language, text: str) -> None:
    assert at_mark(text, language).role == Role.READ


def test_a_position_outside_the_text_is_an_error() -> None:
    text = "ab\r\nc"
    with pytest.raises(UsageError, match=r"^no line 3: the text has 2 lines$"):
        at_cursor(text, PYTHON, 3, 1)
    with pytest.raises(UsageError, match=r"^no line 0: the text has 1 line$"):
        at_cursor("", PYTHON, 0, 1)
    for language in (PYTHON, JAVASCRIPT):
        with pytest.raises(UsageError, match=r"^no column 4: line 1 has columns 1 to 3$"):
            at_cursor(text, language, 1, 4)
        assert at_cursor(text, language, 1, 3).word == "ab"


def test_tokens_cannot_be_completed() -> None:
    with pytest.raises(
        UsageError, match=r"^no names can be completed in tokens: it has no syntax trees; choose another language$"
    ):
        at_cursor("a", TOKENS, 1, 1)


class NamePosition(NamedTuple):
    """A name in a finished text."""

    node: int
    role: Role
    line: int
    column: int
    before: str


class Finished:
    """A file that parses, and names in it to complete."""

    def __init__(self, path: Path, language: Language) -> None:
        self.path, self.language = path, language
        self.text = language.decode(path.read_bytes()).removeprefix("\ufeff").replace("\r\n", "\n")
        self.tree = language.parse(self.text, False)
        self.roles = language.roles(self.tree)
        self.ends = [tuple(self.tree.span(node)[2:]) for node in range(len(self.tree))]

    def positions(self, rng: random.Random, num_positions: int) -> list[NamePosition]:
        """Some names that are read, and some attributes."""
        lines = Lines(self.text.encode(), self.language)
        wanted = (Role.READ, Role.ATTRIBUTE)
        nodes = [node for node, role in enumerate(self.roles) if role in wanted and self.tree.span(node).line]
        nodes = [node for node in nodes if not self._is_shorthand(node)]
        found = []
        for node in rng.sample(nodes, min(num_positions, len(nodes))):
            span = self.tree.span(node)
            before = lines.data[: lines.slice(span).start].decode()
            if before[-1:] not in ("'", '"'):  # a key in quotes is a string
                column = lines.characters(span.line, span.column) + 1
                found.append(NamePosition(node, self.roles[node], span.line, column, before))
        return found

    def _is_shorthand(self, node: int) -> bool:
        """Whether a name is the key or the value in `{name}`: the text is both, and may become either."""
        key = node if self.roles[node] == Role.ATTRIBUTE else self.tree.parents[node]
        value = min(key + 1, len(self.tree) - 1)
        is_pair = self.roles[key] == Role.ATTRIBUTE and self.tree.parents[value] == key != value
        return is_pair and self.tree.span(key) == self.tree.span(value)

    def has_prefix(self, cursor: Cursor, node: int) -> bool:
        """Whether the nodes at the cursor are those before a node of the finished text."""
        ours, tree = cursor.traversal, self.tree
        return (
            list(ours.types) == list(tree.types[:node])
            and list(ours.values) == list(tree.values[:node])
            and list(ours.parents) == list(tree.parents[:node])
        )

    def knows_all(self, cursor: Cursor, position: NamePosition) -> bool:
        """Whether the nodes that end before the cursor are there, in their order.

        What is still open there may become something else: an operand, an argument, a target.
        """
        span = self.tree.span(position.node)
        done = [
            _plain(self.tree.types[node], self.tree.values[node])
            for node in range(position.node)
            if (0, 0) < self.ends[node] <= (span.line, span.column)
        ]
        ours = iter(map(_plain, cursor.traversal.types, cursor.traversal.values))
        return all(node in ours for node in done)


def _plain(type_: str, value: str | None) -> tuple[str, str | None]:
    """A node without the context in its type: `a, b‸` may yet be read or written."""
    for context in ("Load", "Store", "Del"):
        type_ = type_.removesuffix(context)
    return type_, value


def finished_files(language: Language, rng: random.Random, num_files: int) -> list[Finished]:
    """Real files of moderate size."""
    if language is PYTHON:
        paths = [path for path in sorted(STDLIB.rglob("*.py")) if "site-packages" not in path.parts]
    else:
        if not PACKAGES.is_dir():
            pytest.skip("real JavaScript is there when the comparison with acorn has run once")
        paths = [path for path in sorted(PACKAGES.rglob("*.js")) if path.is_file() and ".min." not in path.name]
    files = []
    for path in rng.sample(paths, len(paths)):
        if len(files) == num_files:
            break
        if 500 < path.stat().st_size < 30_000:
            try:
                files.append(Finished(path, language))
            except ParseError:
                continue
    return files


NUM_FILES, NUM_POSITIONS = 40, 8


@pytest.mark.parametrize(
    ("language", "least_read", "least_attribute"),
    [(PYTHON, 0.28, 0.40), (JAVASCRIPT, 0.28, 0.50)],
    ids=["python", "javascript"],
)
def test_a_text_that_ends_at_the_cursor_has_all_nodes_that_end_before_it(
    language: Language, least_read: float, least_attribute: float
) -> None:
    """Only a part of the names has exactly the nodes of the finished text.

    Some nodes before the name depend on the text after the cursor: the call and the attribute of `name.more()`, the
    operator after an operand, the assignment to a target, `finally`, later keys of a dict, the body of a function
    before its decorators.
    """
    rng = random.Random(2021)
    num, num_equal = Counter[Role](), Counter[Role]()
    for file in finished_files(language, rng, NUM_FILES):
        for position in file.positions(rng, NUM_POSITIONS):
            cursor = at_cursor(position.before, language, position.line, position.column)
            assert file.knows_all(cursor, position), (file.path, position.line, position.column)
            num[position.role] += 1
            num_equal[position.role] += file.has_prefix(cursor, position.node)
    assert num_equal[Role.READ] >= least_read * num[Role.READ] > 0
    assert num_equal[Role.ATTRIBUTE] >= least_attribute * num[Role.ATTRIBUTE] > 0


@pytest.mark.parametrize("language", [PYTHON, JAVASCRIPT], ids=lambda language: language.name)
def test_a_text_that_continues_after_the_cursor_has_exactly_the_nodes_of_the_finished_text(language: Language) -> None:
    rng = random.Random(2022)
    for file in finished_files(language, rng, NUM_FILES // 3):
        for position in file.positions(rng, NUM_POSITIONS):
            cursor = at_cursor(file.text, language, position.line, position.column)
            assert file.has_prefix(cursor, position.node), (file.path, position.line, position.column)
            value = file.tree.values[position.node]
            is_scoped = position.role == Role.READ
            assert bool(cursor.in_scope) == is_scoped
            assert (cursor.next_type, cursor.role) == (file.tree.types[position.node], position.role), value


PYTHON_TEXT = """\
import os
from a import (b, c as d)

@d.e(1)
class A(b, m=1):
    x: int = {'k': [1, 2], **d}

    async def f(self, y, *z, k=lambda q: q + 1, **w) -> int:
        try:
            with open(f"{y!r:>{z}} {{}}") as g, h: print(g)
        except (E, F) as e:
            raise G from e
        finally:
            return [i async for i, j in y if i] if x else await z[1:2, ...]

print "old", x
match x:
    case {'a': [p, *q], **r} if p: pass
"""

JAVASCRIPT_TEXT = """\
import a, {b as c} from 'm';
export default class A extends B {
  static #x = /[/]'/g;
  get y() { return this.#x ?? `a${b.c(d => ({e, f: [1, ...g]}))} $`; }
}
function* f(a, {b = 1, ...c}) {
  for (const [k, v] of m) { if (k) continue; else yield k ? v : -1; }
  label: do { switch (x) { case 1: break label; default: y() } } while (0)
  try { throw new E } catch { var z = async () => { await w } }
  x = )
  return <A b="c" {...d}>it's {e}<br/></A>
}
(function () { a.b[0]?.c() })()
"""


@pytest.mark.parametrize(("text", "language"), [(PYTHON_TEXT, PYTHON), (JAVASCRIPT_TEXT, JAVASCRIPT)])
def test_positions_all_over_a_text_have_a_result(text: str, language: Language) -> None:
    """With the rest of the text, without it, and with a part of it missing."""
    rng = random.Random(3)
    for line, content in enumerate(text.split("\n"), 1):
        start = sum(map(len, text.split("\n")[: line - 1])) + line - 1
        for column in range(1 + line % 2, len(content) + 2, 2):
            cut = start + column - 1
            for broken in (text, text[:cut], text[:cut] + text[cut + rng.randrange(40) :]):
                try:
                    cursor = at_cursor(broken, language, line, column)
                except ParseError as error:
                    assert error.reason == "no name to complete" and error.line == line
                else:
                    assert len(cursor.roles) == len(cursor.traversal)
                    assert cursor.traversal.types[0] == language.root_type


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("(" * 5_000, PYTHON),
        ("x = " + "a + " * 20_000, PYTHON),
        ("".join(" " * depth + "if a:\n" for depth in range(150)) + " " * 150, PYTHON),
        ("print a\n" * 5_000, PYTHON),
        ('f"{' * 200, PYTHON),
        ("(" * 5_000, JAVASCRIPT),
        ("a => {" * 2_000, JAVASCRIPT),
        ("a ? " * 2_000, JAVASCRIPT),
        ("<a>" * 500 + "{", JAVASCRIPT),
        ("`${" * 1_000, JAVASCRIPT),
        ("a(b[c], {d: e});" * 5_000, JAVASCRIPT),
    ],
    ids=lambda value: str(value)[:12],
)
def test_hostile_text_ends_in_time(text: str, language: Language) -> None:
    start = time.process_time()
    cursor = at_cursor(text, language, text.count("\n") + 1, len(text) - text.rfind("\n"))
    assert cursor.role == Role.READ
    assert time.process_time() - start < 10
