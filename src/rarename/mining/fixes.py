"""Fixes of a misused variable among the hunks of a commit.

A hunk counts if one name of its code was replaced by another and nothing else was changed, comments aside. The syntax
trees of the file before and after then decide: the name is a variable, both names are bound in the function, and the
function changed nowhere else.
"""

import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rarename.discovery import is_minified, printable
from rarename.errors import ParseError
from rarename.mining.history import MAX_HUNK_CHARS, MAX_HUNK_LINES, Hunk, Patch
from rarename.syntax import Language, Role, Span, Traversal
from rarename.syntax.functions import Slice, functions, qualified_name
from rarename.syntax.lines import Lines
from rarename.syntax.traversal import VARIABLE_ROLES
from rarename.tasks.misuse.fixes import parse_fix
from rarename.time_limit import time_limit

MAX_NODES = 1000  # a fix has the outermost function up to this size
MAX_REPEATS = 4  # places of a commit with the same change; more are a renaming
MAX_CHANGES = 20  # places of a commit where one name changed; more are a refactoring
MAX_REMOVED = 50  # lines that a commit with a fix of tier A removes, in all files of the language

_TOKEN = re.compile(r"[\w$]+|[^\s\w$]")
_ATTRIBUTE = re.compile(r"(?<!\.\.)\.\s*\Z")  # comes before an attribute, but not `...` before a name
_SAYS_FIX = re.compile(
    r"\b(?:fix(?:e[sd]|ing)?|bug ?fix(?:es)?|hotfix|bug|typos?|wrong(?:ly)?|incorrect(?:ly)?|correct(?:s|ed)?"
    r"|mistake\w*|broken|oops|whoops|regression|crash\w*|\w*error)\b(?! ?#?\d{3})",
    re.IGNORECASE,
)
_SAYS_MORE = re.compile(
    r"\b(?:and|tests?|some|more|various|bugs|issues|add\w*|support\w*|refactor\w*|clean\w*|simplif\w*|renam\w*|review\w*"
    r"|merge|revert\w*)\b",
    re.IGNORECASE,
)
_SAYS_OTHER = re.compile(r"\b(?:refactor|renam|clean|simplif|revert)", re.IGNORECASE)
_IS_TEST = re.compile(r"(?:^|[/_.-])(?i:tests?|testing|specs?|conftest|qunit)(?=[/_.-])|(?:Spec|Test)s?\.\w+$")
_BINDING = (Role.WRITE, Role.PARAMETER)


class Change(NamedTuple):
    """One name that was replaced by another, and where it begins in the removed and in the added text."""

    starts: tuple[int, int]
    wrong: str
    right: str


def changes(removed: str, added: str, language: Language) -> list[Change] | None:
    """The names that differ between two texts; None if anything else differs.

    >>> from rarename.syntax import PYTHON
    >>> changes("f(a, b)  # old", "f(a,\\n  c)", PYTHON)
    [Change(starts=(5, 7), wrong='b', right='c')]
    >>> changes("f(a, 1)", "f(a, 2)", PYTHON)
    """
    comment = "|".join(f"{re.escape(mark)}.*" for mark in language.comments)
    tokens = [
        list(_TOKEN.finditer(re.sub(comment, lambda found: " " * len(found[0]), text))) for text in (removed, added)
    ]
    if len(tokens[0]) != len(tokens[1]):
        return None
    result = []
    for old, new in zip(*tokens, strict=True):
        if old[0] != new[0]:
            if not (_is_name(old[0]) and _is_name(new[0])):
                return None
            result.append(Change((old.start(), new.start()), old[0], new[0]))
    return result


def _is_name(token: str) -> bool:
    return token.replace("$", "_").isidentifier()


@dataclass(frozen=True)
class Candidate:
    """A hunk in which one name changed."""

    commit: str
    hunk: Hunk
    change: Change
    repeats: int  # places of the commit with the same change
    num_removed: int  # lines of the commit


def candidates(patch: Patch, language: Language) -> list[Candidate]:
    """The hunks of a commit that may be a fix."""
    found: list[tuple[Hunk, Change]] = []
    pairs: Counter[tuple[str, str]] = Counter()
    for hunk in patch.hunks:
        removed, added = "".join(hunk.removed), "".join(hunk.added)
        is_long = max(len(hunk.removed), len(hunk.added)) > MAX_HUNK_LINES
        if removed and not is_long and max(len(removed), len(added)) <= MAX_HUNK_CHARS:
            changed = changes(removed, added, language) or []
            pairs.update((change.wrong, change.right) for change in changed)
            if len(changed) == 1 and not _ATTRIBUTE.search(removed[: changed[0].starts[0]]):
                found.append((hunk, changed[0]))
    if len(found) > MAX_CHANGES:
        return []
    rows = [(hunk, change, pairs[change.wrong, change.right]) for hunk, change in found]
    return [Candidate(patch.commit, *row, patch.num_removed) for row in rows if row[-1] <= MAX_REPEATS]


def fix_in(
    candidate: Candidate, before: bytes, after: bytes, subject: str, language: Language
) -> dict[str, Any] | None:
    """The fields of a fix. None if a candidate is no fix; raises ParseError if one of the files cannot be parsed."""
    hunk, names = candidate.hunk, candidate.change[1:]
    if names[0].encode() not in after or names[1].encode() not in before:
        return None  # a new name, or one that is gone: not worth parsing
    old = _Part(before, hunk.lines[0], len(hunk.removed), language)
    new = _Part(after, hunk.lines[1], len(hunk.added), language)
    changed = changes(old.block, new.block, language) or []
    if len(changed) != 1 or is_minified(old.text):
        return None
    with time_limit(old.text):  # functions may be nested thousands of levels deep
        return _row(candidate, changed[0], old, new, subject)


def _row(candidate: Candidate, change: Change, old: "_Part", new: "_Part", subject: str) -> dict[str, Any] | None:
    (starts, wrong, right), hunk, language = change, candidate.hunk, old.language
    node, new_node = old.variable_at(starts[0]), new.variable_at(starts[1])
    if node is None or new_node is None:
        return None
    slices = [
        (function, new_function)
        for function, new_function in zip(old.functions_around(node), new.functions_around(new_node), strict=False)
        if _is_only_difference(old.tree, function, new.tree, new_function, node)
        and all(old.is_bound(name, function, node) for name in (wrong, right))
    ]
    if not slices:
        return None
    function, new_function = next((each for each in slices if each[0].length <= MAX_NODES), slices[-1])
    text, line, column, offset = old.source(function, node)
    roles = {name: old.roles_of(name, function, node) for name in (wrong, right)}
    row = {
        "path": printable(hunk.path),
        "function": qualified_name(old.tree, old.roles, function.start, language),
        "language": language.name,
        "tier": _tier(node, roles[wrong], roles[right], subject, candidate),
        "is_test": bool(_IS_TEST.search(hunk.path)),
        "wrong": wrong,
        "right": right,
        "before_function": text,
        "after_function": new.source(new_function, new_node)[0],
        "line": line,
        "column": column,
        "offset": offset,
    }
    with suppress(ParseError):  # some functions cannot be parsed alone
        parse_fix(row, language)
        return row
    return None


def _tier(node: int, wrong: dict[int, Role], right: dict[int, Role], subject: str, candidate: Candidate) -> str:
    """A for what is nearly always a mistake (`docs/mine.md` has the measurements), else B.

    The roles are those of the two names elsewhere in the function, by node.
    """
    if candidate.repeats > 1 or _SAYS_OTHER.search(subject):
        return "B"
    if Role.READ not in wrong.values() or min(each for each in right if right[each] in _BINDING) > node:
        return "B"
    if Role.READ not in right.values():  # without the fix the variable is never read
        return "A"
    is_fix = _SAYS_FIX.search(subject) and not _SAYS_MORE.search(subject)
    return "A" if is_fix and candidate.num_removed <= MAX_REMOVED else "B"


class _Part:
    """A parsed file, and the block of its lines that a hunk is about."""

    def __init__(self, content: bytes, line: int, count: int, language: Language) -> None:
        self.language = language
        self.text = language.decode(content).removeprefix("\ufeff").replace("\r\n", "\n")
        with time_limit(self.text, language):
            self.tree = language.parse(self.text, False)
            self.roles = language.roles(self.tree)
        self.line, self.block = line, "\n".join(self.text.split("\n")[line - 1 : line - 1 + count])

    def variable_at(self, start: int) -> int | None:
        """The node that reads a variable at an index of the block."""
        text, spans = self.block[:start], self.tree.spans
        assert spans is not None
        line, column = self.line + text.count("\n"), len(text[text.rfind("\n") + 1 :].encode())
        nodes = np.nonzero((spans[:, 0] == line) & (spans[:, 1] == column))[0].tolist()
        return next((node for node in nodes if self.roles[node] == Role.READ), None)

    def functions_around(self, node: int) -> list[Slice]:
        """The functions that a node is in, the outermost first."""
        return [each for each in functions(self.tree, self.language) if each.start <= node < each.start + each.length]

    def roles_of(self, name: str, function: Slice, except_node: int) -> dict[int, Role]:
        """The roles of a variable in a function, by node."""
        roles, values = self.roles, self.tree.values
        nodes = [node for node in range(function.start, function.start + function.length) if values[node] == name]
        return {node: roles[node] for node in nodes if roles[node] in VARIABLE_ROLES and node != except_node}

    def is_bound(self, name: str, function: Slice, except_node: int) -> bool:
        return any(role in _BINDING for role in self.roles_of(name, function, except_node).values())

    def source(self, function: Slice, node: int) -> tuple[str, int, int, int]:
        """The text of a function without its indentation, and where a node stands in it.

        Line and column count from 1, the column in UTF-8 bytes; the offset counts UTF-16 units.
        """
        spans = [self.tree.span(node) for node in range(function.start, function.start + function.length)]
        spans = [span for span in spans if span.line]
        first, last = min(span[:2] for span in spans), max(span[2:] for span in spans)
        parent = self.tree.span(self.tree.parents[function.start])
        is_method = parent[2:] == first  # its name is the node around the function
        lines = Lines(self.text.encode(), self.language)
        code = lines.slice(Span(*(parent[:2] if is_method else first), *last))
        start = code.start
        if is_method or self.tree.values[function.start] is not None:
            prefix = re.search(rf"(?:{self.language.function_prefix})?\Z".encode(), lines.data[:start])
            start = prefix.start() if prefix else start
        indent = re.search(rb"(?:^|\n)([ \t]*)\Z", lines.data[:start])

        def text(stop: int) -> str:
            data = lines.data[start:stop]
            return (data.replace(b"\n" + indent[1], b"\n") if indent else data).decode()

        before = text(lines.slice(self.tree.span(node)).start)
        column = len(before[before.rfind("\n") + 1 :].encode()) + 1
        return text(code.stop), before.count("\n") + 1, column, len(before.encode("utf-16-le")) // 2


def _is_only_difference(old: Traversal, function: Slice, new: Traversal, new_function: Slice, node: int) -> bool:
    """Whether two functions have the same tree, but for the value of one node."""
    (start, length), (new_start, new_length) = function, new_function
    if length != new_length or old.types[start : start + length] != new.types[new_start : new_start + length]:
        return False
    values = zip(old.values[start : start + length], new.values[new_start : new_start + length], strict=True)
    return [index for index, (one, other) in enumerate(values) if one != other] == [node - start]
