"""Cursor: what is known at a place in a source text that somebody is typing."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rarename.errors import ParseError, UsageError
from rarename.syntax.language import Language
from rarename.syntax.traversal import IDENTIFIER_ROLES, Role, Traversal
from rarename.syntax.unfinished import javascript, python
from rarename.syntax.unfinished.mended import CALL, Later, Mended, Module, Place, Scope

_ALIKE: dict[Role, frozenset[Role]] = {
    Role.ATTRIBUTE: frozenset({Role.ATTRIBUTE, Role.FUNCTION}),
    Role.WRITE: frozenset({Role.WRITE, Role.PARAMETER, Role.READ}),
    Role.PARAMETER: frozenset({Role.PARAMETER}),
    Role.KEYWORD: frozenset({Role.KEYWORD, Role.PARAMETER}),
}
"""Where scope says nothing, the roles in which the text has names that may stand in a role, too."""

_STRING = r"\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?"
"""A string of one line, in both languages: a regular expression."""

_CLOSED = re.compile(r"[ \t]*(?:[(\[`]|\??\.|=(?![=>]))")
"""What follows a name that is called, has an attribute or is assigned to already."""


@dataclass(frozen=True)
class Cursor:
    """What is known at a place in a source text that somebody is typing."""

    traversal: Traversal
    """The nodes before the name at the cursor, in pre-order, as the finished text has them. They have no spans."""
    roles: list[Role]
    """The roles of these nodes."""
    next_type: str
    """The type of the node at the cursor."""
    parent: int
    """The parent of that node."""
    role: Role
    """Its role."""
    word: str
    """What stands of the name already, left of the cursor."""
    in_scope: frozenset[str]
    """The names that a variable that is read here can mean, or one that is deleted or declared `global`; empty where
    scope says nothing. Of a private name, and of a key or tag that may be a variable as well, the ones of the text."""
    own_names: frozenset[str]
    """Of these the ones that the text itself has; the others are builtins and globals."""
    is_scope_known: bool
    """Whether no other name can be meant: false where scope says nothing, and once there is an `import *`."""
    expected: frozenset[str]
    """Of the names in scope those that are bound for what stands here, and not used yet: `x` of `[‸ for x in y]`."""
    alike: frozenset[str]
    """Where scope says nothing, the names that the text has in a role like this one."""
    reserved: frozenset[str]
    """The words of the language that cannot be a name here."""
    is_open: bool
    """Whether the name may yet become a call, or get an attribute: neither follows it."""
    argument_names: frozenset[str] = frozenset()
    """The names by which an argument can be passed here, as in `f(name=…)`; empty where none begins."""
    module: Module | None = None
    """What is known of the module that is named here; None where no name has dots."""


@dataclass(frozen=True)
class _Way:
    """How one language is mended and scoped."""

    letter: str
    """A character of a name: a regular expression."""
    skipped: str
    """Strings and comments, roughly: a regular expression."""
    scan: Callable[[str], Any]
    """What is open at the end of a text."""
    statement_end: re.Pattern[str]
    cut: Callable[[Any, str, Language], tuple[str, Traversal]]
    """The text up to the cursor, made complete, from what is open there and the made-up name."""
    names_bound_in: Callable[[str, Language], Later]
    in_scope: Callable[[Mended, Sequence[Role], int], Scope]
    reserved: Callable[[Mended, Role, int], frozenset[str]]
    """The words that cannot be the name of a node, by its role."""
    argument_names: Callable[[Traversal, Sequence[Role], int], frozenset[str]] = lambda *_: frozenset()
    """The names by which the argument at a node can be passed."""
    module_at: Callable[[Traversal, int, Place], Module | None] = lambda *_: None
    """The module that a node names."""


_WAYS = {
    "python": _Way(
        letter=r"\w",
        skipped=rf"#[^\n]*|[rRbBuUfFtT]{{0,2}}(?:\"{{3}}.*?\"{{3}}|'{{3}}.*?'{{3}}|{_STRING})",
        scan=python.Scan,
        statement_end=python.STATEMENT_END,
        cut=python.cut,
        names_bound_in=python.names_bound_in,
        in_scope=python.in_scope,
        reserved=python.reserved,
        argument_names=python.argument_names,
        module_at=python.module_at,
    ),
    "javascript": _Way(
        letter=r"[\w$]",
        skipped=rf"//[^\n]*|/\*.*?(?:\*/|\Z)|`(?:[^`\\]|\\.)*+`?|{_STRING}",
        scan=javascript.Scan,
        statement_end=javascript.STATEMENT_END,
        cut=javascript.cut,
        names_bound_in=javascript.names_bound_in,
        in_scope=javascript.in_scope,
        reserved=javascript.reserved,
    ),
}


def at_cursor(text: str, language: Language, line: int, column: int) -> Cursor:
    """What a model would read at a cursor, and what may stand there.

    The line counts from 1, the column too, in characters: the cursor stands before that character. The text may be
    unfinished and broken, before the cursor and behind it. What follows the cursor only helps to tell the shape of
    the tree; cut it away to be sure that nothing is known of it. Raises UsageError for a place outside the text
    and ParseError where no name can stand: in a string, a comment or a number, or behind an operand.

    >>> from rarename.syntax import PYTHON
    >>> cursor = at_cursor("def area(width, height):\\n    return width * he", PYTHON, 2, 22)
    >>> cursor.next_type, cursor.word, cursor.traversal.types[-2:], cursor.traversal.values[-1]
    ('NameLoad', 'he', ['BinOpMult', 'NameLoad'], 'width')
    >>> "height" in cursor.in_scope
    True
    """
    if language.name not in _WAYS:
        raise UsageError(f"no names can be completed in {language.name}; choose one of {', '.join(_WAYS)}")
    way = _WAYS[language.name]
    place, word = _split(_clean(text, language), way.letter, line, column)
    if word[:1].isdigit():
        raise place.nothing("the cursor stands in a number")
    scan = way.scan(place.before)
    if scan.enclosing:
        raise place.nothing(f"the cursor stands in {scan.enclosing}")
    if scan.is_behind_operand:
        raise place.nothing("an operator or a separator must come first")
    mended = _mended(place, scan, language, way)
    tree = mended.traversal
    roles = language.roles(tree)
    node = _node_of(tree, place, way)
    module = way.module_at(tree, node, place)
    role, parent = roles[node], tree.parents[node]
    if role not in IDENTIFIER_ROLES:
        raise place.nothing("the cursor stands in a string")
    scope = way.in_scope(mended, roles, node)
    reserved = way.reserved(mended, role, node)
    if role == Role.READ and scope.is_known and not mended.is_whole:
        left_out = _names_in(place.before, way) - _names_in(mended.text, way) - reserved
        scope = replace(scope, own=scope.own | left_out)
    is_argument = role == Role.KEYWORD or (role == Role.READ and scan.begins_argument)
    return Cursor(
        traversal=Traversal(tree.types[:node], tree.values[:node], tree.parents[:node]),
        roles=roles[:node],
        next_type=tree.types[node],
        parent=parent,
        role=role,
        word=word,
        in_scope=scope.own | scope.given,
        own_names=scope.own,
        is_scope_known=scope.is_known,
        expected=scope.expected,
        alike=frozenset() if scope.is_known else _alike(tree, roles, node),
        reserved=reserved,
        is_open=not _CLOSED.match(place.after),
        argument_names=way.argument_names(tree, roles, node) if is_argument else frozenset(),
        module=module,
    )


def _alike(tree: Traversal, roles: Sequence[Role], node: int) -> frozenset[str]:
    """The names that stand elsewhere in a role like that of a node."""
    alike = _ALIKE.get(roles[node], frozenset())
    named = (name for name, role in zip(tree.values, roles, strict=True) if role in alike)
    return frozenset(name for name in named if name and name != tree.values[node])


def _mended(place: Place, scan: Any, language: Language, way: _Way) -> Mended:
    """A text that parses; in the worst case one that holds the made-up name and nothing else."""
    if place.after.strip():
        call = CALL if scan.is_bare and way.statement_end.match(place.after) else ""
        whole = f"{place.before}{place.name}{call}{place.after}"
        try:
            return Mended(whole, language.parse(whole, False), is_whole=True)
        except ParseError:
            pass
    text, traversal = way.cut(scan, place.name, language)
    return Mended(text, traversal, is_whole=False, later=way.names_bound_in(place.after, language))


def _names_in(text: str, way: _Way) -> set[str]:
    """The names in the code of a text, without those behind a dot; words of the language are among them."""
    words = re.findall(rf"{way.skipped}|(?<!\.)\.[ \t]*{way.letter}+|({way.letter}+)", text, re.DOTALL)
    return {word for word in words if word and not word[0].isdigit()}


def _clean(text: str, language: Language) -> str:
    """The text without a byte order mark, its lines ended alike; what UTF-8 cannot hold becomes a question mark."""
    text = re.sub(language.line_break.decode(), "\n", text.removeprefix("\ufeff"))
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _split(text: str, letter: str, line: int, column: int) -> tuple[Place, str]:
    """The text cut at the cursor, and the word left of it."""
    lines = text.split("\n")
    if not 1 <= line <= len(lines):
        raise UsageError(f"no line {line}: the text has {len(lines)} line{'s' * (len(lines) > 1)}")
    start = sum(len(each) + 1 for each in lines[: line - 1])
    num_columns = len(lines[line - 1].rstrip("\r")) + 1
    if not 1 <= column <= num_columns:
        raise UsageError(f"no column {column}: line {line} has columns 1 to {num_columns}")
    cursor = start + column - 1
    first = cursor
    while first > start and re.match(letter, text[first - 1]):
        first -= 1
    last = re.compile(f"{letter}*").match(text, cursor)
    assert last is not None
    word = text[first:cursor]
    return Place(text[:first], text[last.end() :], _unused_name(text, word), line), word


def _unused_name(text: str, word: str) -> str:
    """A name that is not in the text. It begins with a capital if the word does: JSX makes a difference."""
    name = "Cursor_" if word[:1].isupper() else "cursor_"
    while name in text:
        name += "_"
    return name


def _node_of(traversal: Traversal, place: Place, way: _Way) -> int:
    """The node of the made-up name; it may be a part of the value, as in `import a.‸`."""
    values = traversal.values
    try:
        return values.index(place.name)
    except ValueError:
        pass
    for node, value in enumerate(values):
        if value is not None and place.name in value and way.module_at(traversal, node, place):
            return node
    raise place.nothing("the tree does not keep the name that stands at the cursor")
