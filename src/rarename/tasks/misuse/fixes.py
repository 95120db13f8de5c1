"""Real fixes: functions of which a commit changed one variable name, as JSON Lines.

Each line is an object with `before_function` and `after_function` (the texts), `wrong` and `right` (the names), `repo`,
`tier`, and where the wrong name stands in the text: `line` and `column` (from 1, in UTF-8 bytes), or `offset` (in
UTF-16 units).
"""

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rarename.encoding import Encoding
from rarename.errors import ParseError, UsageError
from rarename.reading import check_shape, open_regular
from rarename.syntax import Language, Role, Traversal
from rarename.syntax.functions import functions, outermost
from rarename.tasks.misuse.functions import Function
from rarename.tasks.misuse.injection import InjectedBug
from rarename.tasks.misuse.similarity import character_bigrams
from rarename.time_limit import time_limit

MAX_BYTES, MAX_LINE_BYTES = 1_000_000_000, 20_000_000  # of a file, uncompressed, and of one fix
MAX_FAULTS = 1_000  # lines that are no fixes, each of which is reported

_SHAPE = {"before_function": str, "after_function": str, "wrong": str, "right": str}
_POSITION = range(2**31)
_OPTIONAL = {"tier": str} | dict.fromkeys(("line", "column", "offset"), _POSITION)


@dataclass(frozen=True)
class Fix:
    """One real fix. `text` can be parsed: a method of an object stands in one."""

    repo: str
    text: str  # with the wrong name
    fixed_text: str
    wrong: str
    right: str
    traversal: Traversal = field(repr=False)  # of the text
    roles: list[Role] = field(repr=False)
    node: int  # the node that holds the wrong name

    def example(self, language: Language, encoding: Encoding) -> tuple[Function, InjectedBug] | None:
        """The fixed function, and the fix undone; None if the wrong name occurs nowhere else in the function."""
        values = [*self.traversal.values]
        values[self.node] = self.right
        fixed = replace(self.traversal, values=values)
        slices = functions(fixed, language)
        start, length = next(each for each in outermost(slices) if each.start <= self.node < sum(each))
        function = Function.of_file(fixed, self.roles, language, encoding).function_at(start, length)
        function = replace(function, bigrams=character_bigrams(values[start : start + length]))
        same = [node for node in function.variables.tolist() if values[start + node] == self.wrong]
        location = self.node - start
        return (function, InjectedBug(location, int(function.values[same[0]]))) if same else None


@dataclass
class Fixes:
    """The fixes of a file that can be used, and why others cannot."""

    fixes: list[Fix]
    skipped: Counter[str]


def read_fixes(path: Path, language: Language, tiers: Container[str] = "A", splits: Mapping[str, str] | None = None,
               split: str = "") -> Fixes:  # fmt: skip
    """Read the fixes of some tiers. With `splits`, only those of projects in a split are read."""
    result, num_faults = Fixes([], Counter()), 0
    for number, line in _lines(path):
        try:
            row = json.loads(line)
            check_shape(row, _SHAPE)
            check_shape(row, {key: shape for key, shape in _OPTIONAL.items() if key in row})
            if row.get("language", language.name) != language.name:
                result.skipped["of another language"] += 1
            elif row.get("tier", "A") in tiers and (splits is None or splits.get(str(row.get("repo"))) == split):
                with time_limit(row["before_function"], language):
                    result.fixes.append(parse_fix(row, language))
        except ParseError as error:
            result.skipped[error.reason] += 1
        except (ValueError, RecursionError) as error:
            result.skipped[f"{path}, line {number}: {error}"] += 1
            num_faults += 1
            if num_faults > MAX_FAULTS:
                raise UsageError(
                    f"{path} has more than {MAX_FAULTS:,} lines that are no fixes; the last: {error}"
                ) from None
    return result


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    number = num_bytes = 0
    try:
        with open_regular(path) as raw, gzip.open(raw) if raw.peek(2)[:2] == b"\x1f\x8b" else raw as file:
            while line := file.readline(MAX_LINE_BYTES + 1):
                number, num_bytes = number + 1, num_bytes + len(line)
                if len(line) > MAX_LINE_BYTES or num_bytes > MAX_BYTES:
                    raise ValueError(
                        f"line {number}: over {MAX_LINE_BYTES:,} bytes, or {MAX_BYTES:,} with those before"
                    )
                if line.strip():
                    yield number, line.decode()
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


def parse_fix(row: Mapping[str, Any], language: Language) -> Fix:
    """One line of a file; raises ParseError if it cannot be used."""
    prefix = suffix = ""
    try:
        traversal = language.parse(row["before_function"], False)
    except ParseError:
        if language.name != "javascript":
            raise
        prefix, suffix = "({", "})"  # a method is a program only inside an object
        traversal = language.parse(prefix + row["before_function"] + suffix, False)
    text, fixed_text = (prefix + row[name] + suffix for name in ("before_function", "after_function"))
    line, column = _position(row)
    wanted = (line, column + len(prefix) * (line == 1))
    roles = language.roles(traversal)
    starts = functions(traversal, language)
    for node, value in enumerate(traversal.values):
        if value == row["wrong"] and roles[node] == Role.READ and traversal.span(node)[:2] == wanted:
            if not any(each.start <= node < sum(each) for each in starts):
                break
            return Fix(str(row.get("repo", "")), text, fixed_text, row["wrong"], row["right"], traversal, roles, node)
    raise ParseError("the wrong name is not a variable that a function reads")


def _position(row: Mapping[str, Any]) -> tuple[int, int]:
    """Line, from 1, and column, from 0 in UTF-8 bytes, of the wrong name."""
    try:
        if "line" in row:
            return int(row["line"]), int(row["column"]) - 1
        text = row["before_function"].encode("utf-16-le", "surrogatepass")[: 2 * int(row["offset"])]
        before = text.decode("utf-16-le", "surrogatepass")
    except (KeyError, TypeError) as error:
        raise ValueError(f"a fix needs line and column, or offset: {error}") from error
    return before.count("\n") + 1, len(before.rpartition("\n")[2].encode("utf-8", "surrogatepass"))
