"""Comments that suppress diagnostics: on a line, on the next line, or in a whole file."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rarename.syntax import Language

_CODES = r"(?P<codes>[\w,\s]*)"
_COMMENT = re.compile(
    r"rarename-ignore-(?P<scope>next-line|file)\b" + _CODES
    + r"|rarename\s*:\s*(?P<file>noqa)\b(?:\s*:" + _CODES.replace("codes", "file_codes") + ")?"
    + r"|(?<![\w-])noqa\b(?:\s*:" + _CODES.replace("codes", "line_codes") + ")?",
    re.IGNORECASE,
)  # fmt: skip
_MAX_CHARS = 500  # of a comment that are shown: a hostile one may suppress thousands of things
_CODE = re.compile(r"\b(?:[A-Za-z]+[0-9]+|[A-Z]{1,4})\b")


@dataclass(frozen=True)
class Suppression:
    """A comment that suppresses diagnostics."""

    line: int
    column: int  # of the comment; both count from 1
    text: str  # of the comment
    target: int | None  # the line whose diagnostics it suppresses; None for the whole file
    codes: tuple[str, ...]  # or their beginnings; empty for all codes
    source: str = ""  # the text of its line

    def covers(self, line: int, code: str) -> bool:
        """Whether it suppresses the diagnostics with a code on a line."""
        return self.target in (None, line) and (not self.codes or any(code.startswith(each) for each in self.codes))

    def names(self, code: str) -> bool:
        """Whether it names the code itself, so that no other linter has use for it."""
        return code in self.codes


def suppressions(text: str, language: Language) -> list[Suppression]:
    """The comments of a text that suppress diagnostics, from top to bottom.

    >>> from rarename.syntax import PYTHON
    >>> text = "a  # noqa\\nb = '# noqa'\\nc  # noqa: E501, RN001\\n"
    >>> [(each.target, each.codes) for each in suppressions(text, PYTHON)]
    [(1, ()), (3, ('E501', 'RN001'))]
    """
    return list(_suppressions(text, language)) if re.search("noqa|rarename-ignore", text, re.IGNORECASE) else []


def suppressed_codes(found: Iterable[Suppression]) -> dict[int | None, set[str]]:
    """What is suppressed on each line, and under None in the whole file: codes, their beginnings, or "" for all."""
    codes: dict[int | None, set[str]] = defaultdict(set)
    for each in found:
        codes[each.target].update(each.codes or [""])
    return codes


def _suppressions(text: str, language: Language) -> Iterator[Suppression]:
    for comment in language.find_comments(text):
        for found in _COMMENT.finditer(comment.text):
            stop = found.start()
            while stop and comment.text[stop - 1].isspace():
                stop -= 1
            if not comment.text.endswith(language.comments, 0, stop):
                continue  # a comment that only mentions it
            listed = found["codes"] or found["file_codes"] or found["line_codes"] or ""
            codes = tuple(code.upper() for code in _CODE.findall(listed))
            is_file = (found["scope"] or "").lower() == "file" or found["file"]
            target = None if is_file else comment.end_line + 1 if found["scope"] else comment.line
            yield Suppression(comment.line, comment.column, comment.text[:_MAX_CHARS], target, codes)
