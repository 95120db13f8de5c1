"""Diagnostics as text, JSON, SARIF and GitHub's workflow commands."""

import argparse
import json
import shutil
import subprocess
import tarfile
from dataclasses import replace

import jsonschema
import pytest

from rarename._version import __version__
from rarename.assist import CheckResult, Diagnostic
from rarename.assist.diagnostics import Alternative
from rarename.assist.formats import (
    FORMATS,
    alternatives_text,
    as_full,
    as_github,
    as_json,
    as_sarif,
    as_text,
    describe_skipped,
    summary,
)
from rarename.cli.check import add_arguments
from rarename.discovery import Skipped

SOURCE = "        total += measure(sample) for line in buffer"
DIAGNOSTIC = Diagnostic(
    "src/loader.py", 127, 26, 127, 32, "Loader.read", "sample", "line", 0.94321, source=SOURCE, fix="line",
    alternatives=(Alternative(127, 8, "total", "size", 0.03123),),
)  # fmt: skip
MESSAGE = "'sample' may be misused here; 'line' fits better (0.94)"
SKIPPED = [Skipped("src/old.py", 3, "Python 2 only", "Missing parentheses"), Skipped("src/link.py", None, "link")]


def result_of(*diagnostics, skipped=(), num_files=31, num_suppressed=0):
    return CheckResult(list(diagnostics), list(skipped), num_files, 212, num_suppressed, 0.9, 1.23456)


def sarif_run(*diagnostics, **settings):
    log = json.loads(as_sarif(result_of(*diagnostics, **settings)))
    assert log.keys() == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    [run] = log["runs"]
    return run


def test_the_command_offers_every_format():
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    assert [parser.parse_args([".", "--output-format", name]).output_format for name in FORMATS] == list(FORMATS)


def test_exit_codes():
    assert result_of(DIAGNOSTIC).exit_code == 1
    assert result_of().exit_code == result_of(skipped=SKIPPED).exit_code == 0
    assert result_of(num_files=0, skipped=SKIPPED).exit_code == 2


def test_text():
    assert as_text(result_of(DIAGNOSTIC)) == (
        f"src/loader.py:127:26: RN001 {MESSAGE} [Loader.read]\n1 finding in 212 functions, 31 files\n"
    )


@pytest.mark.parametrize(
    ("source", "column", "num_blanks"),
    [
        (SOURCE, 26, 31),
        ("\tx = sample", 6, 11),
        ("'中文', sample", 7, 14),  # wide characters take two columns
        ("'e\u0301', sample", 7, 11),  # combining ones take none
        ("x" * 400 + " sample", 402, 86),  # long lines are cut
    ],
)
def test_carets_are_under_the_name(source, column, num_blanks):
    diagnostic = replace(DIAGNOSTIC, source=source, column=column, end_column=column + len("sample"))
    line, carets = as_full(result_of(diagnostic)).splitlines()[1:3]
    assert carets == " " * num_blanks + "^^^^^^"
    assert line.startswith("127 | ") and "sample" in line and len(line) <= 170


def test_the_summary_counts_what_was_skipped_by_reason():
    skipped = [*SKIPPED, replace(SKIPPED[1], path="b.py")]
    assert summary(result_of(skipped=skipped, num_files=1, num_suppressed=2)) == (
        "0 findings in 212 functions, 1 file; 2 suppressed; 3 skipped (2 link, 1 Python 2 only)"
    )


def test_skipped_entries_are_listed_up_to_a_limit():
    lines = ["src/old.py:3: skipped: Python 2 only: Missing parentheses", "src/link.py: skipped: link"]
    assert describe_skipped(SKIPPED, 5) == describe_skipped(SKIPPED, 2) == lines
    assert describe_skipped(SKIPPED * 3, 1) == [lines[0], "5 more skipped; --output-format json lists them all"]


def test_text_can_show_the_next_candidates():
    assert alternatives_text(DIAGNOSTIC) == "    next: 127:8 'total' → 'size' (0.03)\n"


def test_json():
    """Its names are those of a `CheckResult` and of its parts."""
    assert json.loads(as_json(result_of(DIAGNOSTIC, skipped=SKIPPED))) == {
        "findings": [{
            "code": "RN001", "model": "",
            "path": "src/loader.py", "line": 127, "column": 26, "end_line": 127, "end_column": 32,
            "function": "Loader.read", "name": "sample", "suggestion": "line", "confidence": 0.9432,
            "alternatives": [
                {"line": 127, "column": 8, "name": "total", "suggestion": "size", "confidence": 0.0312},
            ],
        }],
        "skipped": [
            {"path": "src/old.py", "line": 3, "reason": "Python 2 only", "detail": "Missing parentheses"},
            {"path": "src/link.py", "line": None, "reason": "link", "detail": ""},
        ],
        "summary": {
            "files": 31, "functions": 212, "findings": 1, "suppressed": 0, "in_baseline": 0, "fixed": 0, "skipped": 2,
            "min_confidence": 0.9, "seconds": 1.235,
        },
    }  # fmt: skip


def test_github_commands_are_escaped():
    region = "line=127,endLine=127,col=26,endColumn=32,title=RN001 variable misuse"
    expected = f"::warning file=src/loader.py,{region}::{MESSAGE} [Loader.read]\n"
    assert as_github(result_of(DIAGNOSTIC)) == expected
    odd = replace(DIAGNOSTIC, path="a,b:c%d\n.py", function="f%\r\n::error::g")
    expected = f"::warning file=a%2Cb%3Ac%25d%250A.py,{region}::{MESSAGE} [f%25%250D%250A::error::g]\n"
    assert as_github(result_of(odd)) == expected
    assert as_github(result_of()) == ""


def test_sarif():
    """The objects and keys are those of the schema of SARIF 2.1.0."""
    run = sarif_run(DIAGNOSTIC, skipped=SKIPPED)
    assert run.keys() == {"tool", "columnKind", "invocations", "results"}
    assert run["columnKind"] == "unicodeCodePoints"
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("rarename", __version__)
    rule, unused = driver["rules"]
    assert unused["id"] == "RN100"
    texts = [rule.pop(key)["text"] for key in ("shortDescription", "fullDescription", "help")]
    assert all(texts) and texts[1].startswith(texts[0])
    assert rule == {"id": "RN001", "name": "VariableMisuse", "defaultConfiguration": {"level": "warning"}}
    region = {"startLine": 127, "startColumn": 26, "endLine": 127, "endColumn": 32}
    artifact = {"artifactLocation": {"uri": "src/loader.py"}}
    [result] = run["results"]
    assert len(result.pop("partialFingerprints")["rarename/v1"]) == 32
    replacement = {"deletedRegion": region, "insertedContent": {"text": "line"}}
    changes = [artifact | {"replacements": [replacement]}]
    function = {"fullyQualifiedName": "Loader.read", "kind": "function"}
    assert result == {
        "ruleId": "RN001", "ruleIndex": 0, "level": "warning", "message": {"text": MESSAGE}, "rank": 94.32,
        "locations": [{"physicalLocation": artifact | {"region": region}, "logicalLocations": [function]}],
        "properties": {"confidence": 0.9432, "name": "sample", "suggestion": "line", "model": ""},
        "fixes": [{"description": {"text": "Replace 'sample' by 'line'"}, "artifactChanges": changes}],
    }  # fmt: skip
    old = {"artifactLocation": {"uri": "src/old.py"}, "region": {"startLine": 3}}
    [invocation] = run["invocations"]
    first, second = invocation.pop("toolExecutionNotifications")
    message = {"text": "skipped: Python 2 only: Missing parentheses"}
    assert first == {"level": "note", "message": message, "locations": [{"physicalLocation": old}]}
    assert second["locations"] == [{"physicalLocation": {"artifactLocation": {"uri": "src/link.py"}}}]
    assert invocation == {"executionSuccessful": True, "exitCode": 1}


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("npm"), reason="the schema is in a package of npm")
def test_sarif_is_valid_by_the_schema_of_the_standard(tmp_path):
    subprocess.run(["npm", "pack", "--silent", "@microsoft/jest-sarif@1.0.0-beta.0"], cwd=tmp_path, check=True)
    [archive] = tmp_path.glob("*.tgz")
    with tarfile.open(archive) as tar:
        schema = json.load(tar.extractfile("package/lib/schemas/sarif-2.1.0-rtm.5.json"))
    validator = jsonschema.validators.validator_for(schema)(schema)
    odd = replace(DIAGNOSTIC, path="a\x1b\n::error::\udcff.py", function="f\u202e", fix=None)
    unused = replace(DIAGNOSTIC, code="RN100", name="# noqa: RN001", suggestion="", fix=None)
    for result in (result_of(DIAGNOSTIC, odd, unused, skipped=SKIPPED), result_of(num_files=0)):
        log = json.loads(as_sarif(result))
        validator.validate(log)
    log["runs"][0]["invocations"][0]["exitCode"] = "0"
    assert not validator.is_valid(log)


def test_sarif_without_files_diagnostics_or_a_fix():
    run = sarif_run(num_files=0)
    assert run["results"] == []
    assert run["invocations"][0]["executionSuccessful"] is False
    assert "fixes" not in sarif_run(replace(DIAGNOSTIC, fix=None))["results"][0]


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("a b/ä#1%.py", "a%20b/%C3%A4%231%25.py"),
        ("{here}/src/m.py", "src/m.py"),
        ("/elsewhere/ä.py", "file:///elsewhere/%C3%A4.py"),
        ("../m.py", "../m.py"),
        ("<stdin>", "%3Cstdin%3E"),
        ("a:b.py", "a%3Ab.py"),
    ],
)
def test_paths_become_uris(tmp_path, monkeypatch, path, uri):
    monkeypatch.chdir(tmp_path)
    [result] = sarif_run(replace(DIAGNOSTIC, path=path.format(here=tmp_path)))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_a_fingerprint_depends_on_neither_line_nor_confidence():
    moved = replace(DIAGNOSTIC, line=200, end_line=200, confidence=0.99)
    others = [replace(DIAGNOSTIC, **{name: "other"}) for name in ("function", "name", "suggestion", "source")]
    results = sarif_run(DIAGNOSTIC, moved, *others)["results"] + sarif_run(moved)["results"]
    first, *rest, alone = (result["partialFingerprints"]["rarename/v1"] for result in results)
    assert alone == first
    assert len({first, *rest}) == 6  # the second of two equal diagnostics has its own
