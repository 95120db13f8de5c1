"""Output formats of a check: text for people, JSON for programs, others for code review and test reports.

Every text from a file passes through `rarename.printable`.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from rarename._version import __version__
from rarename.assist.diagnostics import CODE, UNUSED, CheckResult, Diagnostic
from rarename.discovery import Skipped
from rarename.printable import escaped

_MAX_SOURCE_CHARS = 160
_MAX_HASHED_CHARS = 2_000
_ESCAPES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY_ESCAPES = str.maketrans({":": "%3A", ",": "%2C"})
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_SUMMARY = "A variable is used where another one seems to belong."
_CAUTION = "This is the prediction of a trained model. It may be wrong; its confidence is the model's own estimate."
_UNUSED = "A comment suppresses a finding that is not there."
_UNUSED_RULE = {
    "id": UNUSED,
    "name": "UnusedSuppression",
    "shortDescription": {"text": _UNUSED},
    "fullDescription": {"text": _UNUSED},
    "help": {"text": "Remove the comment."},
    "defaultConfiguration": {"level": "note"},
}
_RULE = {
    "id": CODE,
    "name": "VariableMisuse",
    "shortDescription": {"text": _SUMMARY},
    "fullDescription": {"text": f"{_SUMMARY} {_CAUTION}"},
    "help": {"text": f"Suppress a line with a comment: noqa: {CODE}"},
    "defaultConfiguration": {"level": "warning"},
}

_TITLES = {CODE: "variable misuse", UNUSED: "unused suppression"}

Format = Callable[[CheckResult], str]


def text_line(diagnostic: Diagnostic) -> str:
    """A diagnostic in one line."""
    shown = diagnostic.printable()
    return f"{shown.path}:{shown.line}:{shown.column}: {shown.code} {_described(shown)}\n"


def full_text(diagnostic: Diagnostic) -> str:
    """A diagnostic with its source line."""
    return text_line(diagnostic) + "".join(f"{line}\n" for line in _underlined(diagnostic.printable()))


def alternatives_text(diagnostic: Diagnostic) -> str:
    """What else is likely in the function of a diagnostic."""
    return "".join(
        f"    next: {each.line}:{each.column} {each.name!r} → {each.suggestion!r} ({each.confidence:.2f})\n"
        for each in diagnostic.printable().alternatives
    )


def as_text(result: CheckResult) -> str:
    """One line per diagnostic, and a summary."""
    return "".join(map(text_line, result.findings)) + summary(result) + "\n"


def as_full(result: CheckResult) -> str:
    """As text, with the source line of each diagnostic."""
    return "".join(map(full_text, result.findings)) + summary(result) + "\n"


def _described(diagnostic: Diagnostic) -> str:
    if diagnostic.code == UNUSED:
        return diagnostic.message
    return f"{diagnostic.message} ({diagnostic.confidence:.2f}) [{diagnostic.function}]"


def statistics(result: CheckResult) -> str:
    """The number of diagnostics by code and by suggested change, most frequent first."""
    counts = Counter(
        (each.code, f"{each.name!r} → {each.suggestion!r}" if each.code == CODE else each.message)
        for each in map(Diagnostic.printable, result.findings)
    )
    width = len(str(max(counts.values(), default=0)))
    return "".join(f"{count:>{width}} {code} {what}\n" for (code, what), count in counts.most_common())


def explain(code: str) -> str:
    """What a rule means, how sure it is, and how to silence it."""
    return _EXPLANATIONS[code]


_EXPLANATIONS = {
    CODE: f"""{CODE} variable-misuse

{_SUMMARY} A line was copied and one name was not changed, or a list is used where its element was meant.

{_CAUTION} A confidence of 0.95 does not mean that 95 of 100 findings are bugs: real bugs are rare, so most findings
in clean code are false alarms. The card of each model has its false alarms in clean functions and what it found among
real bugs; each finding names its model. --min-confidence moves the threshold.

A repair is never safe: read it, then apply it with --fix --unsafe-fixes, or see it with --diff --unsafe-fixes.

Silence it:
  on a line          # noqa: {CODE}                          // noqa: {CODE}
  on the next line   # rarename-ignore-next-line {CODE}      // rarename-ignore-next-line {CODE}
  in a file          # rarename-ignore-file {CODE}           // rarename-ignore-file {CODE}
  in many files      per-file-ignores in rarename.toml or in [tool.rarename] of pyproject.toml
  all old findings   --baseline FILE --write-baseline, then --baseline FILE
""",
    UNUSED: f"""{UNUSED} unused-suppression

{_UNUSED} Reported on request (--report-unused-noqa), only for comments that name {CODE}. Remove the comment.
""",
}


def summary(result: CheckResult) -> str:
    """What was found, checked and skipped, in one line."""
    counts = {"finding": len(result.findings), "function": result.num_functions, "file": result.num_files}
    found, *checked = (f"{count:,} {noun}{'' if count == 1 else 's'}" for noun, count in counts.items())
    text = f"{found} in {', '.join(checked)}"
    if result.num_fixed:
        text += f"; {result.num_fixed:,} fixed"
    if result.num_in_baseline:
        text += f"; {result.num_in_baseline:,} in the baseline"
    if result.num_suppressed:
        text += f"; {result.num_suppressed:,} suppressed"
    if result.skipped:
        reasons = Counter(entry.reason for entry in result.skipped).most_common()
        text += f"; {len(result.skipped):,} skipped ({', '.join(f'{count:,} {reason}' for reason, count in reasons)})"
    return text


def as_json(result: CheckResult) -> str:
    """One object with findings, skipped files and a summary. Confidences have four digits."""
    content = {
        "findings": [_as_dict(each) for each in result.findings],
        "skipped": [
            vars(entry) | {key: escaped(getattr(entry, key)) for key in ("path", "reason", "detail")}
            for entry in result.skipped
        ],
        "summary": result.summary,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


_KEYS = ("code", "path", "line", "column", "end_line", "end_column", "function", "name", "suggestion", "model")


def _as_dict(diagnostic: Diagnostic) -> dict[str, Any]:
    shown = diagnostic.printable()
    others = [each._asdict() | {"confidence": round(each.confidence, 4)} for each in shown.alternatives]
    confidence = round(shown.confidence, 4)
    return {key: getattr(shown, key) for key in _KEYS} | {"confidence": confidence, "alternatives": others}


def json_line(diagnostic: Diagnostic) -> str:
    """A diagnostic as an object in one line."""
    return json.dumps(_as_dict(diagnostic), ensure_ascii=False) + "\n"


def as_json_lines(result: CheckResult) -> str:
    """One object per line, for each diagnostic: the `findings` of JSON."""
    return "".join(map(json_line, result.findings))


def as_gitlab(result: CheckResult) -> str:
    """A Code Quality report of GitLab."""
    issues = [
        {
            "description": f"{each.code} {_described(each)}",
            "check_name": each.code,
            "fingerprint": hashed,
            "severity": "minor" if each.code == CODE else "info",
            "location": {
                "path": _relative(each.path),
                "positions": {
                    "begin": {"line": each.line, "column": each.column},
                    "end": {"line": each.end_line, "column": each.end_column},
                },
            },
        }
        for each, hashed in _with_fingerprints(result.findings, with_path=True)
    ]
    return json.dumps(issues, indent=1, ensure_ascii=False) + "\n"


def as_junit(result: CheckResult) -> str:
    """A report of JUnit: a failed test for each diagnostic, or one passed test."""
    from xml.sax.saxutils import escape, quoteattr  # imports much of the standard library

    cases = []
    for each in map(Diagnostic.printable, result.findings):
        name = quoteattr(f"{each.code} {each.function} line {each.line}")
        detail = f"{each.path}:{each.line}:{each.column}: {_described(each)}"
        path = quoteattr(each.path)
        cases.append(f'    <testcase classname={path} name={name} file={path} line="{each.line}">')
        cases.append(f"      <failure message={quoteattr(each.message)}>{escape(detail)}</failure>\n    </testcase>")
    counts = f'tests="{len(result.findings) or 1}" failures="{len(result.findings)}" errors="0"'
    body = "\n".join(cases or ['    <testcase classname="rarename" name="check"/>'])
    suite = f'  <testsuite name="rarename" {counts}>\n{body}\n  </testsuite>'
    return f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites name="rarename" {counts}>\n{suite}\n</testsuites>\n'


def github_line(diagnostic: Diagnostic) -> str:
    """A diagnostic as a workflow command, which GitHub shows as an annotation."""
    shown = diagnostic.printable()
    path = _relative(shown.path).translate(_ESCAPES | _PROPERTY_ESCAPES)
    message = _described(shown).translate(_ESCAPES)
    region = f"line={shown.line},endLine={shown.end_line},col={shown.column},endColumn={shown.end_column}"
    return f"::warning file={path},{region},title={shown.code} {_TITLES[shown.code]}::{message}\n"


def as_github(result: CheckResult) -> str:
    """Workflow commands, one for each diagnostic."""
    return "".join(map(github_line, result.findings))


def as_sarif(result: CheckResult) -> str:
    """A log in SARIF 2.1.0, with a fix for each diagnostic that one edit can fix."""
    invocation = {
        "executionSuccessful": result.exit_code != 2,
        "exitCode": result.exit_code,
        "toolExecutionNotifications": [_notification(entry, result) for entry in result.skipped],
    }
    run = {
        "tool": {"driver": {"name": "rarename", "version": __version__, "rules": [_RULE, _UNUSED_RULE]}},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": _sarif_results(result),
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=False) + "\n"


FORMATS: dict[str, Format] = {
    "text": as_text,
    "full": as_full,
    "json": as_json,
    "json-lines": as_json_lines,
    "github": as_github,
    "gitlab": as_gitlab,
    "junit": as_junit,
    "sarif": as_sarif,
}

PARTS: dict[str, Callable[[Diagnostic], str]] = {
    "text": text_line,
    "full": full_text,
    "json-lines": json_line,
    "github": github_line,
}
"""The formats whose findings are written as they are found, each as one part."""


def describe_skipped(skipped: list[Skipped], limit: int) -> list[str]:
    """One line for each skipped entry up to a limit, and one for the number of further ones."""
    lines = []
    for entry in skipped[:limit]:
        where = f"{entry.path}:{entry.line}" if entry.line else entry.path
        lines.append(escaped(f"{where}: skipped: {' '.join(entry.explanation.split())}"))
    if len(skipped) > limit:
        lines.append(f"{len(skipped) - limit:,} more skipped; --output-format json lists them all")
    return lines


def _underlined(diagnostic: Diagnostic) -> list[str]:
    """The source line, with carets under the name."""
    from rich.cells import cell_len

    start = diagnostic.column - 1
    end = diagnostic.end_column - 1 if diagnostic.end_line == diagnostic.line else len(diagnostic.source)
    source = diagnostic.source.replace("\t", " ")
    if end > _MAX_SOURCE_CHARS:  # show the part around the name
        cut = max(0, start - _MAX_SOURCE_CHARS // 2)
        source, start, end = source[cut:], start - cut, end - cut
    before, name, after = escaped(source[:start]), escaped(source[start:end]), escaped(source[end:_MAX_SOURCE_CHARS])
    margin = f"{diagnostic.line} | "  # also keeps the log of a workflow from reading a source line as a command
    carets = "^" * max(1, cell_len(name))
    return [margin + f"{before}{name}{after}".rstrip(), f"{' ' * (len(margin) + cell_len(before))}{carets}"]


def _sarif_results(result: CheckResult) -> list[dict[str, Any]]:
    results = []
    for each, hashed in _with_fingerprints(result.findings):
        artifact = {"uri": _uri(each.path, result)}
        region = {"startLine": each.line, "startColumn": each.column}
        region |= {"endLine": each.end_line, "endColumn": each.end_column}
        location = {
            "physicalLocation": {"artifactLocation": artifact, "region": region},
            "logicalLocations": [{"fullyQualifiedName": each.function, "kind": "function"}],
        }
        entry: dict[str, Any] = {
            "ruleId": each.code,
            "ruleIndex": 0 if each.code == CODE else 1,
            "level": "warning" if each.code == CODE else "note",
            "message": {"text": f"{each.message} ({each.confidence:.2f})" if each.code == CODE else each.message},
            "locations": [location],
            "partialFingerprints": {"rarename/v1": hashed},
            "rank": round(100 * each.confidence, 2),
            "properties": {
                "confidence": round(each.confidence, 4),
                "name": each.name,
                "suggestion": each.suggestion,
                "model": each.model,
            },
        }
        if each.fix is not None:
            replacement = {"deletedRegion": region, "insertedContent": {"text": each.fix}}
            change = {"artifactLocation": artifact, "replacements": [replacement]}
            description = {"text": f"Replace {each.name!r} by {each.suggestion!r}"}
            entry["fixes"] = [{"description": description, "artifactChanges": [change]}]
        results.append(entry)
    return results


def _with_fingerprints(diagnostics: list[Diagnostic], with_path: bool = False) -> Iterator[tuple[Diagnostic, str]]:
    """Each diagnostic, escaped, and a hash that stays the same when lines are added above."""
    num_seen: Counter[tuple[str, str]] = Counter()
    for each in diagnostics:
        content = "\0".join((each.function, each.name, each.suggestion, each.source.strip()[:_MAX_HASHED_CHARS]))
        counted = f"{content}\0{num_seen[each.path, content]}" + f"\0{_relative(each.path)}" * with_path
        num_seen[each.path, content] += 1
        yield each.printable(), hashlib.sha256(counted.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _notification(entry: Skipped, result: CheckResult) -> dict[str, Any]:
    region = {"region": {"startLine": entry.line}} if entry.line else {}
    location = {"physicalLocation": {"artifactLocation": {"uri": _uri(entry.path, result)}} | region}
    return {"level": "note", "message": {"text": escaped(f"skipped: {entry.explanation}")}, "locations": [location]}


def _relative(path: str) -> str:
    """A path relative to the current folder if it is inside."""
    pure, here = PurePath(path), Path.cwd()
    return pure.relative_to(here).as_posix() if pure.is_relative_to(here) else path


def _uri(path: str, result: CheckResult) -> str:
    """The URI of a file, relative to the current folder if it is inside, with an escape for each byte of its name."""
    pure = PurePath(_relative(result.real_paths.get(path, path)))
    return pure.as_uri() if pure.is_absolute() else quote(os.fsencode(pure.as_posix()))
