"""Output formats of a check: text for people, JSON for programs, SARIF and GitHub annotations for code review."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from rarename._version import __version__
from rarename.assist.diagnostics import CODE, CheckResult, Diagnostic
from rarename.discovery import Skipped

TITLE = "variable misuse"
SUMMARY = "A variable is used where another one seems to belong."
CAUTION = "This is the prediction of a trained model. It may be wrong; its confidence is the model's own estimate."

_MAX_SOURCE_CHARS = 160


def as_text(result: CheckResult, *, with_source: bool = False) -> str:
    """One line per diagnostic, optionally with its source, and a summary."""
    lines: list[str] = []
    for each in result.diagnostics:
        where = f"{each.path}:{each.line}:{each.column}"
        lines.append(f"{where}: {CODE} {each.message} ({each.confidence:.2f}) [{each.function}]")
        if with_source:
            lines += _underlined(each)
    return "\n".join([*lines, summary(result)]) + "\n"


def summary(result: CheckResult) -> str:
    """What was found, checked and skipped, in one line."""
    text = (
        f"{_count(len(result.diagnostics), 'finding')} in {_count(result.num_functions, 'function')}, "
        f"{_count(result.num_files, 'file')}"
    )
    if result.num_suppressed:
        text += f"; {result.num_suppressed:,} suppressed"
    if result.skipped:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in result.skip_reasons().items())
        text += f"; {len(result.skipped):,} skipped ({reasons})"
    return text


def as_json(result: CheckResult) -> str:
    """One object with findings, skipped files and a summary. Confidences have four digits."""
    keys = ("path", "line", "column", "end_line", "end_column", "function", "name", "suggestion")
    content = {
        "findings": [
            {key: getattr(each, key) for key in keys} | {"confidence": round(each.confidence, 4)}
            for each in result.diagnostics
        ],
        "skipped": [{"path": entry.path, "line": entry.line, "reason": entry.explanation} for entry in result.skipped],
        "summary": {
            "files": result.num_files,
            "functions": result.num_functions,
            "findings": len(result.diagnostics),
            "suppressed": result.num_suppressed,
            "skipped": len(result.skipped),
            "min_confidence": result.threshold,
            "seconds": round(result.seconds, 3),
        },
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def as_github(result: CheckResult) -> str:
    """Workflow commands, which GitHub shows as annotations."""
    lines = []
    for each in result.diagnostics:
        properties = {
            "file": each.path,
            "line": each.line,
            "endLine": each.end_line,
            "col": each.column,
            "endColumn": each.end_column,
            "title": f"{CODE} {TITLE}",
        }
        joined = ",".join(f"{key}={_escape(str(value), is_property=True)}" for key, value in properties.items())
        message = f"{each.message} ({each.confidence:.2f}) [{each.function}]"
        lines.append(f"::warning {joined}::{_escape(message)}\n")
    return "".join(lines)


def as_sarif(result: CheckResult) -> str:
    """A log in SARIF 2.1.0, with a fix for each diagnostic that one edit can fix."""
    rule = {
        "id": CODE,
        "name": "VariableMisuse",
        "shortDescription": {"text": SUMMARY},
        "fullDescription": {"text": f"{SUMMARY} {CAUTION}"},
        "help": {"text": f"Suppress a line with a comment: noqa: {CODE}"},
        "defaultConfiguration": {"level": "warning"},
    }
    invocation = {
        "executionSuccessful": result.exit_code != 2,
        "exitCode": result.exit_code,
        "toolExecutionNotifications": [_notification(entry) for entry in result.skipped],
    }
    run = {
        "tool": {"driver": {"name": "rarename", "version": __version__, "rules": [rule]}},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": _sarif_results(result.diagnostics),
    }
    schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=False) + "\n"


FORMATS: dict[str, Callable[[CheckResult], str]] = {
    "text": as_text,
    "json": as_json,
    "sarif": as_sarif,
    "github": as_github,
}


def describe_skipped(skipped: list[Skipped], limit: int) -> list[str]:
    """One line for each skipped entry up to a limit, and one for the number of further ones."""
    lines = [
        f"{entry.path}{f':{entry.line}' if entry.line else ''}: skipped: {' '.join(entry.explanation.split())}"
        for entry in skipped[:limit]
    ]
    num_more = len(skipped) - limit
    return [*lines, f"{num_more:,} more skipped; --output-format json lists them all"] if num_more > 0 else lines


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _underlined(diagnostic: Diagnostic) -> list[str]:
    """The source line, with carets under the name."""
    from rich.cells import cell_len

    start = diagnostic.column - 1
    is_one_line = diagnostic.end_line == diagnostic.line
    end = diagnostic.end_column - 1 if is_one_line else len(diagnostic.source)
    source = "".join(char if char.isprintable() else "?" for char in diagnostic.source.replace("\t", " "))
    if end > _MAX_SOURCE_CHARS:  # show the part around the name
        cut = max(0, start - _MAX_SOURCE_CHARS // 2)
        source, start, end = source[cut:], start - cut, end - cut
    carets = "^" * max(1, cell_len(source[start:end]))
    return [f"    {source[:_MAX_SOURCE_CHARS].rstrip()}", f"    {' ' * cell_len(source[:start])}{carets}"]


def _escape(text: str, *, is_property: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if is_property else text


def _sarif_results(diagnostics: list[Diagnostic]) -> list[dict[str, Any]]:
    num_seen: Counter[tuple[str, str]] = Counter()
    results = []
    for each in diagnostics:
        # Without the line number: the fingerprint stays the same when lines are added above.
        content = "\0".join((each.function, each.name, each.suggestion, each.source.strip()))
        hashed = hashlib.sha256(f"{content}\0{num_seen[each.path, content]}".encode("utf-8", "surrogatepass"))
        num_seen[each.path, content] += 1
        region = {
            "startLine": each.line,
            "startColumn": each.column,
            "endLine": each.end_line,
            "endColumn": each.end_column,
        }
        artifact = {"uri": _uri(each.path)}
        location = {
            "physicalLocation": {"artifactLocation": artifact, "region": region},
            "logicalLocations": [{"fullyQualifiedName": each.function, "kind": "function"}],
        }
        confidence = {"confidence": round(each.confidence, 4), "name": each.name, "suggestion": each.suggestion}
        result: dict[str, Any] = {
            "ruleId": CODE,
            "ruleIndex": 0,
            "level": "warning",
            "message": {"text": f"{each.message} ({each.confidence:.2f})"},
            "locations": [location],
            "partialFingerprints": {"rarename/v1": hashed.hexdigest()[:32]},
            "rank": round(100 * each.confidence, 2),
            "properties": confidence,
        }
        if each.fix is not None:
            replacement = {"deletedRegion": region, "insertedContent": {"text": each.fix}}
            change = {"artifactLocation": artifact, "replacements": [replacement]}
            description = {"text": f"Replace {each.name!r} by {each.suggestion!r}"}
            result["fixes"] = [{"description": description, "artifactChanges": [change]}]
        results.append(result)
    return results


def _notification(entry: Skipped) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": _uri(entry.path)}}
    if entry.line:
        location["region"] = {"startLine": entry.line}
    message = {"text": f"skipped: {entry.explanation}"}
    return {"level": "note", "message": message, "locations": [{"physicalLocation": location}]}


def _uri(path: str) -> str:
    """A path as a URI, relative to the current folder if it is inside."""
    pure = PurePath(path)
    if pure.is_absolute():
        try:
            pure = pure.relative_to(Path.cwd())
        except ValueError:
            return pure.as_uri()
    return quote(pure.as_posix())
