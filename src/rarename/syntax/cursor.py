"""The nodes before the name at a cursor, as a model reads them, and the names that fit there.

The word at the cursor is replaced by a dummy name and the text is completed until the parser accepts it. The nodes
before the dummy name are the context. If the text continues after the cursor, they are those of the finished text. If
it ends there, what is still open may become anything: the parents of a first operand are unknown (`a` of `a + b`,
`a.b`, `a()`), so are nodes that the tree puts before the cursor although their text comes later (a function before its
decorators), and `try` may get a `finally`. A name that is a statement by itself is taken for a call.

Of 1,731 names in Python's standard library, 40 % have exactly the nodes of the finished text; of 2,640 names in npm
packages 46 % do. The others only lack or add such parents: every node that ends before the cursor is there.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rarename.errors import ParseError, UsageError
from rarename.syntax.language import Language
from rarename.syntax.traversal import IDENTIFIER_ROLES, Role, Traversal

CALL = "()"  # follows a name that is a statement by itself: alone it would do nothing, so it is taken for a call
ONE_LINE_STRING = r"\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?"  # in both languages: a regular expression
MAX_TAIL_CHARS = 5_000  # the longest part of a broken statement that is kept
_MAX_PARSED_CHARS = 200_000  # the limit for all attempts to end one statement

_SIMILAR_ROLES: dict[Role, frozenset[Role]] = {
    Role.ATTRIBUTE: frozenset({Role.ATTRIBUTE, Role.FUNCTION}),
    Role.WRITE: frozenset({Role.WRITE, Role.PARAMETER, Role.READ}),
    Role.PARAMETER: frozenset({Role.PARAMETER}),
    Role.KEYWORD: frozenset({Role.KEYWORD, Role.PARAMETER}),
}
"""For roles without a scope: the roles of names in the text that may be meant as well."""
_IS_CLOSED = re.compile(r"[ \t]*(?:[(\[`]|\??\.|=(?![=>]))")
"""What follows a name that is already called, has an attribute or is assigned to."""


@dataclass(frozen=True)
class SplitSource:
    """A text that is split at the cursor, without the word at the cursor."""

    before: str
    after: str
    dummy: str  # a name that occurs nowhere in the text; it replaces the word
    line: int  # of the cursor, from 1

    def error(self, detail: str) -> ParseError:
        """The error for a cursor where no name can be."""
        return ParseError("no name to complete", detail, self.line)


@dataclass(frozen=True)
class LaterBindings:
    """Names that the text after the cursor binds for the whole file, when that text had to be left out."""

    definitions: frozenset[str] = frozenset()  # functions, classes and modules
    variables: frozenset[str] = frozenset()  # functions above can read them because they run later


@dataclass(frozen=True)
class CompletedSource:
    """A text that the parser accepts, with a dummy name at the cursor."""

    text: str
    traversal: Traversal
    language: Language
    parses_with_suffix: bool  # whether the text after the cursor is the user's own; otherwise it is made up
    later: LaterBindings = LaterBindings()


@dataclass(frozen=True)
class VisibleNames:
    """The names that a variable can refer to at a node."""

    bound: frozenset[str] = frozenset()  # bound in the text, read without a binding, or in code that was left out
    builtins: frozenset[str] = frozenset()  # builtins and globals, which need no binding
    is_known: bool = False  # whether no other name is possible; any name is after an `import *`
    unused_targets: frozenset[str] = frozenset()  # bound for this expression, not used in it yet: `[‸ for x in y]`


@dataclass(frozen=True)
class ModuleName:
    """A module name at the cursor."""

    prefix: str  # the part before the word, as `os.` of `import os.‸`
    known: frozenset[str] | None = None  # all modules that are possible here, prefix included; None if unknown


@dataclass(frozen=True)
class CursorSupport:
    """How one language completes unfinished text and resolves names in it."""

    name_char: str  # a character of a name: a regular expression
    non_code: str  # strings and comments, roughly: a regular expression
    statement_end: re.Pattern[str]  # what follows a complete statement
    lexer: Callable[[str], Any]
    """Reads the text before the cursor; has `enclosing`, `is_after_operand`, `is_bare_name` and `starts_argument`."""
    complete_prefix: Callable[[Any, str, Language], tuple[str, Traversal]]
    """The text before the cursor, completed, from its lexer and the dummy name."""
    later_bindings: Callable[[str, Language], LaterBindings]  # of the text after the cursor
    visible_names: Callable[[CompletedSource, Sequence[Role], int], VisibleNames]  # at a node
    keywords: Callable[[CompletedSource, Role, int], frozenset[str]]  # that cannot be the name of a node with a role
    argument_names: Callable[[Traversal, Sequence[Role], int], frozenset[str]] = lambda *_: frozenset()
    """The names by which the argument at a node can be passed."""
    module_at: Callable[[Traversal, int, SplitSource], ModuleName | None] = lambda *_: None  # that a node names


@dataclass(frozen=True)
class Cursor:
    """What is known about a position in a source text that is being edited."""

    traversal: Traversal  # the nodes before the name, in pre-order, as the finished text has them, without spans
    roles: list[Role]  # of these nodes
    next_type: str  # of the node at the cursor
    parent: int  # of that node
    role: Role  # of that node
    word: str  # the part of the name that is left of the cursor
    in_scope: frozenset[str]
    """The names that a variable can refer to if it is read, deleted or declared `global` here. Of a private name, and
    of a key or tag that may be a variable, only the names in the text. Empty where scope does not apply."""
    bound_names: frozenset[str]  # those in scope that the text itself has; the others are builtins and globals
    is_scope_known: bool  # no other name is possible: false where scope does not apply, and after an `import *`
    unused_targets: frozenset[str]  # those in scope for this expression that it does not use yet: `[‸ for x in y]`
    same_role_names: frozenset[str]  # where scope does not apply: the names that the text has in a similar role
    keywords: frozenset[str]  # the words of the language that cannot be a name here
    is_open: bool  # the name may yet become a call or get an attribute: neither follows it
    argument_names: frozenset[str] = frozenset()
    """The names by which an argument can be passed here, as in `f(name=…)`; empty where no argument starts."""
    module: ModuleName | None = None  # that is named here


def at_cursor(text: str, language: Language, line: int, column: int) -> Cursor:
    """What a model reads at a cursor, and which names are possible there.

    Lines and columns count from 1, columns in characters; the cursor is before that character. The text may be
    unfinished and broken before and after the cursor. The text after the cursor only determines the shape of the tree;
    remove it to be sure that it has no influence. Raises UsageError for a position outside the text, and ParseError
    where no name can be: in a string, a comment or a number, or directly after an operand.

    >>> from rarename.syntax import PYTHON
    >>> cursor = at_cursor("def area(width, height):\\n    return width * he", PYTHON, 2, 22)
    >>> cursor.next_type, cursor.word, cursor.traversal.types[-2:], cursor.traversal.values[-1]
    ('NameLoad', 'he', ['BinOpMult', 'NameLoad'], 'width')
    >>> "height" in cursor.in_scope
    True
    """
    global _latest
    if language.cursor is None:
        problem = f"no names can be completed in {language.name}: it has no syntax trees"
        raise UsageError(f"{problem}; choose another language")
    split, word = _split(_normalized(text, language), language.cursor().name_char, line, column)
    if word[:1].isdigit():
        raise split.error("the cursor is in a number")
    if (latest := _latest) is None or latest[0] is not language or latest[1] != split:
        _latest = latest = language, split, _at_split(split, language)
    return replace(latest[2], word=word)


_latest: tuple[Language, SplitSource, Cursor] | None = None  # while a name is typed, only the word changes


def _at_split(split: SplitSource, language: Language) -> Cursor:
    """What is known at a cursor where no letter of a name is typed yet."""
    assert language.cursor is not None
    support = language.cursor()
    lexer = support.lexer(split.before)
    if lexer.enclosing:
        raise split.error(f"the cursor is in {lexer.enclosing}")
    if lexer.is_after_operand:
        raise split.error("an operator or a separator must come first")
    source = _completed(split, lexer, language, support)
    tree = source.traversal
    roles = language.roles(tree)
    node = _dummy_node(tree, split, support)
    role = roles[node]
    if role not in IDENTIFIER_ROLES:
        raise split.error("the cursor is in a string")
    visible = support.visible_names(source, roles, node)
    keywords = support.keywords(source, role, node)
    if role == Role.READ and visible.is_known and not source.parses_with_suffix:
        left_out = _names_in(split.before, support) - _names_in(source.text, support) - keywords
        visible = replace(visible, bound=visible.bound | left_out)
    is_argument = role == Role.KEYWORD or (role == Role.READ and lexer.starts_argument)
    return Cursor(
        traversal=Traversal(tree.types[:node], tree.values[:node], tree.parents[:node]),
        roles=roles[:node],
        next_type=tree.types[node],
        parent=tree.parents[node],
        role=role,
        word="",
        in_scope=visible.bound | visible.builtins,
        bound_names=visible.bound,
        is_scope_known=visible.is_known,
        unused_targets=visible.unused_targets,
        same_role_names=frozenset() if visible.is_known else _same_role_names(tree, roles, node),
        keywords=keywords,
        is_open=not _IS_CLOSED.match(split.after),
        argument_names=support.argument_names(tree, roles, node) if is_argument else frozenset(),
        module=support.module_at(tree, node, split),
    )


def num_attempts(length: int, most: int) -> int:
    """The number of endings to try for a statement of some length: at least two, fewer if it is long.

    >>> [num_attempts(length, most=16) for length in (100, 50_000, 5_000_000)]
    [16, 4, 2]
    """
    return max(2, min(most, _MAX_PARSED_CHARS // max(length, 1)))


def _normalized(text: str, language: Language) -> str:
    """The text without a byte order mark, with `\\n` after each line and `?` for what UTF-8 cannot hold."""
    text = re.sub(language.line_break.decode(), "\n", text.removeprefix("\ufeff"))
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _split(text: str, name_char: str, line: int, column: int) -> tuple[SplitSource, str]:
    lines = text.split("\n")
    if not 1 <= line <= len(lines):
        raise UsageError(f"no line {line}: the text has {len(lines)} line{'s' * (len(lines) > 1)}")
    start = sum(len(each) + 1 for each in lines[: line - 1])
    num_columns = len(lines[line - 1].rstrip("\r")) + 1
    if not 1 <= column <= num_columns:
        raise UsageError(f"no column {column}: line {line} has columns 1 to {num_columns}")
    cursor = start + column - 1
    first = cursor
    while first > start and re.match(name_char, text[first - 1]):
        first -= 1
    word, after = text[first:cursor], re.sub(rf"\A{name_char}+", "", text[cursor:])
    dummy = "Cursor_" if word[:1].isupper() else "cursor_"  # in JSX a capital makes a difference
    dummy += "_" * max(map(len, re.findall(rf"{dummy}_*+", text)), default=0)
    return SplitSource(text[:first], after, dummy, line), word


def _completed(split: SplitSource, lexer: Any, language: Language, support: CursorSupport) -> CompletedSource:
    """A text that parses; in the worst case the dummy name alone."""
    if split.after.strip():
        call = CALL if lexer.is_bare_name and support.statement_end.match(split.after) else ""
        text = f"{split.before}{split.dummy}{call}{split.after}"
        try:
            return CompletedSource(text, language.parse(text, False), language, parses_with_suffix=True)
        except ParseError:
            pass
    text, traversal = support.complete_prefix(lexer, split.dummy, language)
    later = support.later_bindings(split.after, language)
    return CompletedSource(text, traversal, language, parses_with_suffix=False, later=later)


def _dummy_node(traversal: Traversal, split: SplitSource, support: CursorSupport) -> int:
    """The node that holds the dummy name; it may be a part of the value, as in `import a.‸`."""
    values = traversal.values
    if split.dummy in values:
        return values.index(split.dummy)
    for node, value in enumerate(values):
        if value is not None and split.dummy in value and support.module_at(traversal, node, split):
            return node
    raise split.error("the tree does not keep the name at the cursor")


def _names_in(text: str, support: CursorSupport) -> set[str]:
    """The names in the code of a text, except attributes; keywords are among them."""
    name = f"{support.name_char}+"
    words = re.findall(rf"{support.non_code}|(?<!\.)\.[ \t]*{name}|({name})", text, re.DOTALL)
    return {word for word in words if word and not word[0].isdigit()}


def _same_role_names(tree: Traversal, roles: Sequence[Role], node: int) -> frozenset[str]:
    similar = _SIMILAR_ROLES.get(roles[node], frozenset())
    names = (name for name, role in zip(tree.values, roles, strict=True) if role in similar)
    return frozenset(name for name in names if name and name != tree.values[node])
