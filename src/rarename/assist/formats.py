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

_MAX_SOURCE_CHARS = 160
_ESCAPES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY_ESCAPES = str.maketrans({":": "%3A", ",": "%2C"})
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_SUMMARY = "A variable is used where another one seems to belong."
_CAUTION = "This is the prediction of a trained model. It may be wrong; its confidence is the model's own estimate."
_RULE = {
    "id": CODE,
    "name": "VariableMisuse",
    "shortDescription": {"text": _SUMMARY},
    "fullDescription": {"text": f"{_SUMMARY} {_CAUTION}"},
    "help": {"text": f"Suppress a line with a comment: noqa: {CODE}"},
    "defaultConfiguration": {"level": "warning"},
}

Format = Callable[[CheckResult], str]


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
    counts = {"finding": len(result.diagnostics), "function": result.num_functions, "file": result.num_files}
    found, *checked = (f"{count:,} {noun}{'' if count == 1 else 's'}" for noun, count in counts.items())
    text = f"{found} in {', '.join(checked)}"
    if result.num_suppressed:
        text += f"; {result.num_suppressed:,} suppressed"
    if result.skipped:
        reasons = Counter(entry.reason for entry in result.skipped).most_common()
        text += f"; {len(result.skipped):,} skipped ({', '.join(f'{count:,} {reason}' for reason, count in reasons)})"
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
        path = each.path.translate(_ESCAPES | _PROPERTY_ESCAPES)
        message = f"{each.message} ({each.confidence:.2f}) [{each.function}]".translate(_ESCAPES)
        region = f"line={each.line},endLine={each.end_line},col={each.column},endColumn={each.end_column}"
        lines.append(f"::warning file={path},{region},title={CODE} variable misuse::{message}\n")
    return "".join(lines)


def as_sarif(result: CheckResult) -> str:
    """A log in SARIF 2.1.0, with a fix for each diagnostic that one edit can fix."""
    invocation = {
        "executionSuccessful": result.exit_code != 2,
        "exitCode": result.exit_code,
        "toolExecutionNotifications": [_notification(entry) for entry in result.skipped],
    }
    run = {
        "tool": {"driver": {"name": "rarename", "version": __version__, "rules": [_RULE]}},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": _sarif_results(result.diagnostics),
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=False) + "\n"


FORMATS: dict[str, Format] = {"text": as_text, "json": as_json, "sarif": as_sarif, "github": as_github}


def describe_skipped(skipped: list[Skipped], limit: int) -> list[str]:
    """One line for each skipped entry up to a limit, and one for the number of further ones."""
    lines = []
    for entry in skipped[:limit]:
        where = f"{entry.path}:{entry.line}" if entry.line else entry.path
        lines.append(f"{where}: skipped: {' '.join(entry.explanation.split())}")
    if len(skipped) > limit:
        lines.append(f"{len(skipped) - limit:,} more skipped; --output-format json lists them all")
    return lines


def _underlined(diagnostic: Diagnostic) -> list[str]:
    """The source line, with carets under the name."""
    from rich.cells import cell_len

    start = diagnostic.column - 1
    end = diagnostic.end_column - 1 if diagnostic.end_line == diagnostic.line else len(diagnostic.source)
    source = "".join(char if char.isprintable() else "?" for char in diagnostic.source.replace("\t", " "))
    if end > _MAX_SOURCE_CHARS:  # show the part around the name
        cut = max(0, start - _MAX_SOURCE_CHARS // 2)
        source, start, end = source[cut:], start - cut, end - cut
    carets = "^" * max(1, cell_len(source[start:end]))
    return [f"    {source[:_MAX_SOURCE_CHARS].rstrip()}", f"    {' ' * cell_len(source[:start])}{carets}"]


def _sarif_results(diagnostics: list[Diagnostic]) -> list[dict[str, Any]]:
    num_seen: Counter[tuple[str, str]] = Counter()
    results = []
    for each in diagnostics:
        # Without the line number: the fingerprint stays the same when lines are added above.
        content = "\0".join((each.function, each.name, each.suggestion, each.source.strip()))
        hashed = hashlib.sha256(f"{content}\0{num_seen[each.path, content]}".encode("utf-8", "surrogatepass"))
        num_seen[each.path, content] += 1
        artifact = {"uri": _uri(each.path)}
        region = {"startLine": each.line, "startColumn": each.column}
        region |= {"endLine": each.end_line, "endColumn": each.end_column}
        location = {
            "physicalLocation": {"artifactLocation": artifact, "region": region},
            "logicalLocations": [{"fullyQualifiedName": each.function, "kind": "function"}],
        }
        result: dict[str, Any] = {
            "ruleId": CODE,
            "ruleIndex": 0,
            "level": "warning",
            "message": {"text": f"{each.message} ({each.confidence:.2f})"},
            "locations": [location],
            "partialFingerprints": {"rarename/v1": hashed.hexdigest()[:32]},
            "rank": round(100 * each.confidence, 2),
            "properties": {"confidence": round(each.confidence, 4), "name": each.name, "suggestion": each.suggestion},
        }
        if each.fix is not None:
            replacement = {"deletedRegion": region, "insertedContent": {"text": each.fix}}
            change = {"artifactLocation": artifact, "replacements": [replacement]}
            description = {"text": f"Replace {each.name!r} by {each.suggestion!r}"}
            result["fixes"] = [{"description": description, "artifactChanges": [change]}]
        results.append(result)
    return results


def _notification(entry: Skipped) -> dict[str, Any]:
    region = {"region": {"startLine": entry.line}} if entry.line else {}
    location = {"physicalLocation": {"artifactLocation": {"uri": _uri(entry.path)}} | region}
    return {"level": "note", "message": {"text": f"skipped: {entry.explanation}"}, "locations": [location]}


def _uri(path: str) -> str:
    """A path as a URI, relative to the current folder if it is inside."""
    pure, here = PurePath(path), Path.cwd()
    if pure.is_relative_to(here):
        pure = pure.relative_to(here)
    return pure.as_uri() if pure.is_absolute() else quote(pure.as_posix())
