"""Findings for people (text), for programs (JSON), and for the places where code is reviewed (SARIF, GitHub)."""

import hashlib
import json
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from rarename._version import __version__
from rarename.assist.diagnostics import CODE, Finding, Report
from rarename.discovery import Skipped

TITLE = "variable misuse"
SUMMARY = "A variable is used where another one seems to belong."
CAUTION = "A trained model judges it: it may be wrong, and says how sure it is."

_MAX_SHOWN = 160
"""Of a source line, in characters."""


def as_text(report: Report, *, with_source: bool = False) -> str:
    """A line for each finding, on a terminal with its source; last a line that sums up."""
    lines: list[str] = []
    for finding in report.findings:
        lines.append(
            f"{finding.path}:{finding.line}:{finding.column}: {CODE} {finding.message} ({finding.confidence:.2f}) "
            f"[{finding.function}]"
        )
        if with_source:
            lines += _underlined(finding)
    return "\n".join([*lines, summary(report)]) + "\n"


def summary(report: Report) -> str:
    """How much was found, looked at and skipped, in one line."""
    text = (
        f"{_counted(len(report.findings), 'finding')} in {_counted(report.num_functions, 'function')}, "
        f"{_counted(report.num_files, 'file')}"
    )
    if report.num_silenced:
        text += f"; {report.num_silenced:,} silenced"
    if report.skipped:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in report.reasons().items())
        text += f"; {len(report.skipped):,} skipped ({reasons})"
    return text


def as_json(report: Report) -> str:
    """One object: findings, what was skipped, and a summary. Confidences have four digits."""
    content = {
        "findings": [
            {
                "path": finding.path,
                "line": finding.line,
                "column": finding.column,
                "end_line": finding.end_line,
                "end_column": finding.end_column,
                "function": finding.function,
                "name": finding.name,
                "suggestion": finding.suggestion,
                "confidence": round(finding.confidence, 4),
            }
            for finding in report.findings
        ],
        "skipped": [
            {"path": entry.path, "line": entry.line, "reason": entry.explanation} for entry in report.skipped
        ],
        "summary": {
            "files": report.num_files,
            "functions": report.num_functions,
            "findings": len(report.findings),
            "silenced": report.num_silenced,
            "skipped": len(report.skipped),
            "min_confidence": report.min_confidence,
            "seconds": round(report.seconds, 3),
        },
    }  # fmt: skip
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def as_github(report: Report) -> str:
    """Workflow commands, which GitHub shows as annotations of the changed lines."""
    lines = []
    for finding in report.findings:
        properties = {
            "file": finding.path,
            "line": finding.line,
            "endLine": finding.end_line,
            "col": finding.column,
            "endColumn": finding.end_column,
            "title": f"{CODE} {TITLE}",
        }
        told = ",".join(f"{key}={_escaped(str(value), is_property=True)}" for key, value in properties.items())
        message = f"{finding.message} ({finding.confidence:.2f}) [{finding.function}]"
        lines.append(f"::warning {told}::{_escaped(message)}\n")
    return "".join(lines)


def as_sarif(report: Report) -> str:
    """A log of SARIF 2.1.0, with a fix for each finding that one edit can mend."""
    log = {
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "rarename",
                        "version": __version__,
                        "rules": [
                            {
                                "id": CODE,
                                "name": "VariableMisuse",
                                "shortDescription": {"text": SUMMARY},
                                "fullDescription": {"text": f"{SUMMARY} {CAUTION}"},
                                "help": {"text": f"NullProgress a line with a comment: noqa: {CODE}"},
                                "defaultConfiguration": {"level": "warning"},
                            }
                        ],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": report.exit_code != 2,
                        "exitCode": report.exit_code,
                        "toolExecutionNotifications": [_notification(entry) for entry in report.skipped],
                    }
                ],
                "results": _results(report.findings),
            }
        ],
    }
    return json.dumps(log, indent=1, ensure_ascii=False) + "\n"


FORMATS: dict[str, Callable[[Report], str]] = {
    "text": as_text,
    "json": as_json,
    "sarif": as_sarif,
    "github": as_github,
}


def describe_skipped(skipped: list[Skipped], limit: int) -> list[str]:
    """A line for each thing that was skipped, and one for how many more there are."""
    lines = [
        f"{entry.path}{f':{entry.line}' if entry.line else ''}: skipped: {' '.join(entry.explanation.split())}"
        for entry in skipped[:limit]
    ]
    more = len(skipped) - limit
    return [*lines, f"{more:,} more skipped; --format json lists them all"] if more > 0 else lines


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _underlined(finding: Finding) -> list[str]:
    """The source line, and a caret under each character of the finding."""
    first = finding.column - 1
    last = finding.end_column - 1 if finding.end_line == finding.line else len(finding.source)
    source = finding.source.replace("\t", " ")
    source = "".join(char if char.isprintable() else "?" for char in source)
    if last > _MAX_SHOWN:  # show the part that it is about
        cut = max(0, first - _MAX_SHOWN // 2)
        source, first, last = source[cut:], first - cut, last - cut
    before, marked = source[:first], source[first:last]
    return [f"    {source[:_MAX_SHOWN].rstrip()}", f"    {' ' * _width(before)}{'^' * max(1, _width(marked))}"]


def _width(text: str) -> int:
    """How many columns of a terminal a text takes: Chinese characters take two, combining accents none."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _escaped(text: str, *, is_property: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if is_property else text


def _results(findings: list[Finding]) -> list[dict[str, Any]]:
    seen: Counter[tuple[str, str]] = Counter()
    results = []
    for finding in findings:
        # Not the line's number: the finding stays the same when lines are added above it.
        told = "\0".join((finding.function, finding.name, finding.suggestion, finding.source.strip()))
        number = seen[finding.path, told]
        seen[finding.path, told] += 1
        fingerprint = hashlib.sha256(f"{told}\0{number}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
        region = {
            "startLine": finding.line,
            "startColumn": finding.column,
            "endLine": finding.end_line,
            "endColumn": finding.end_column,
        }
        artifact = {"uri": _uri(finding.path)}
        result: dict[str, Any] = {
            "ruleId": CODE,
            "ruleIndex": 0,
            "level": "warning",
            "message": {"text": f"{finding.message} ({finding.confidence:.2f})"},
            "locations": [
                {
                    "physicalLocation": {"artifactLocation": artifact, "region": region},
                    "logicalLocations": [{"fullyQualifiedName": finding.function, "kind": "function"}],
                }
            ],
            "partialFingerprints": {"rarename/v1": fingerprint},
            "rank": round(100 * finding.confidence, 2),
            "properties": {
                "confidence": round(finding.confidence, 4),
                "name": finding.name,
                "suggestion": finding.suggestion,
            },
        }
        if finding.replacement is not None:
            replacement = {"deletedRegion": region, "insertedContent": {"text": finding.replacement}}
            result["fixes"] = [
                {
                    "description": {"text": f"Replace {finding.name!r} by {finding.suggestion!r}"},
                    "artifactChanges": [{"artifactLocation": artifact, "replacements": [replacement]}],
                }
            ]
        results.append(result)
    return results


def _notification(entry: Skipped) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(entry.path)}}
    if entry.line:
        place["region"] = {"startLine": entry.line}
    return {
        "level": "note",
        "message": {"text": f"skipped: {entry.explanation}"},
        "locations": [{"physicalLocation": place}],
    }


def _uri(path: str) -> str:
    """A path as a URI: relative to the current folder where it lies below it."""
    pure = PurePath(path)
    if pure.is_absolute():
        try:
            pure = pure.relative_to(Path.cwd())
        except ValueError:
            return pure.as_uri()
    return quote(pure.as_posix())
