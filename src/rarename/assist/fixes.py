"""Repairs written into files. A file is replaced as a whole or not at all, and keeps its encoding and line ends."""

import os
import re
import shutil
from collections.abc import Sequence
from difflib import diff_bytes, unified_diff
from pathlib import Path

from rarename.assist.diagnostics import Diagnostic
from rarename.assist.suppressions import suppressions
from rarename.errors import ParseError
from rarename.io import remove_parts, replacing
from rarename.syntax import Language
from rarename.syntax.lines import Lines


class FixError(ParseError):
    """A file stays as it is, because the change is not certain to be right."""


def fixed(content: bytes, diagnostics: Sequence[Diagnostic], language: Language) -> bytes:
    """The content of a file with its diagnostics fixed; raises FixError if the result would not parse."""
    text = language.decode(content)
    lines = Lines(text.encode("utf-8"), language)
    data = lines.data
    edits = []
    for each in diagnostics:
        assert each.fix is not None
        if each.line > lines.count or lines.line(each.line) != each.source or each.end_line != each.line:
            raise FixError("changed since it was checked", line=each.line)
        start, stop = (lines.offset(each.line, column - 1) for column in (each.column, each.end_column))
        if data[start:stop].decode("utf-8") != each.name:
            raise FixError("changed since it was checked", line=each.line)
        edits.append((start, stop, each.fix.encode("utf-8")))
    for start, stop, new in sorted(edits, reverse=True):
        data = data[:start] + new + data[stop:]
    return _encoded(data.decode("utf-8"), content, language)


def with_noqa(content: bytes, diagnostics: Sequence[Diagnostic], language: Language) -> tuple[bytes, list[Diagnostic]]:
    """The content of a file with comments that suppress diagnostics, and those for which no comment has a place."""
    text, left = language.decode(content), []
    for each in sorted(diagnostics, key=lambda each: each.line, reverse=True):  # lines above keep their numbers
        for line, candidate in _with_comment(text, each, language):
            if _is_same_code(text, candidate, language) and any(
                comment.covers(line, each.code) for comment in suppressions(candidate, language)
            ):
                text = candidate
                break
        else:
            left.append(each)
    return _encoded(text, content, language), left


def diff(old: bytes, new: bytes, path: str) -> bytes:
    """The change of a file as a patch that `git apply` and `patch -p1` apply, in the encoding of the file."""
    # A patch has lines that end with a line feed, whatever the language takes for a line.
    before, after = (re.findall(rb"[^\n]*\n|[^\n]+", content) for content in (old, new))
    from_name, to_name = (_quoted(os.fsencode(f"{side}/{path}")) for side in "ab")
    lines = diff_bytes(unified_diff, before, after, from_name, to_name)
    return b"".join(line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in lines)


def _quoted(name: bytes) -> bytes:
    """The name of a file as git writes it in a patch.

    >>> _quoted(b"a/b c.py"), _quoted(b"a/\\n.py")
    (b'a/b c.py\\t', b'"a/\\\\012.py"')
    """
    quoted = re.sub(rb'[^ -~]|["\\]', lambda found: b"\\%03o" % ord(found[0]), name)
    return b'"' + quoted + b'"' if quoted != name else name + b"\t" * (b" " in name)


def replace_file(path: Path, old: bytes, new: bytes) -> None:
    """Replace the content of a file, and keep its permissions; raises FixError if it is no longer the old content."""
    remove_parts(path)
    with replacing(path) as temporary:
        temporary.write_bytes(new)
        shutil.copymode(path, temporary)
        if path.read_bytes() != old:
            raise FixError("changed since it was checked")


def _encoded(text: str, content: bytes, language: Language) -> bytes:
    try:
        result = text.encode(language.encoding(content))
        if language.decode(result) != text:
            raise FixError("the new text reads differently in the encoding of the file")
        language.parse(text, False)
        language.check_scopes(text)
    except UnicodeEncodeError as error:
        raise FixError("the encoding of the file lacks a character", error.reason) from None
    except FixError:
        raise
    except ParseError as error:
        raise FixError("does not parse after the change", error.detail, error.line) from None
    return result


def _with_comment(text: str, diagnostic: Diagnostic, language: Language) -> list[tuple[int, str]]:
    """The text with a comment at the end of the line or on the line before, and where the line is then."""
    data = text.encode("utf-8")
    lines = Lines(data, language)
    start = lines.offset(diagnostic.line, 0)
    source = lines.line(diagnostic.line)
    stop = start + len(source.encode("utf-8"))
    mark, indent = language.comments[0], source[: len(source) - len(source.lstrip())]
    end = next((end for end in (b"\r\n", b"\n", b"\r") if data[stop:].startswith(end)), b"\n")
    same_line = f"{source.rstrip()}  {mark} noqa: {diagnostic.code}".encode()
    line_before = f"{indent}{mark} rarename-ignore-next-line {diagnostic.code}".encode() + end
    return [
        (diagnostic.line, (data[:start] + same_line + data[stop:]).decode("utf-8")),
        (diagnostic.line + 1, (data[:start] + line_before + data[start:]).decode("utf-8")),
    ]


def _is_same_code(text: str, other: str, language: Language) -> bool:
    try:
        before, after = (language.parse(each, False) for each in (text, other))
    except ParseError:
        return False
    return (before.types, before.values) == (after.types, after.values)
