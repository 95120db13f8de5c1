"""Findings as text, JSON, SARIF and GitHub's workflow commands."""

import json
import re
from dataclasses import replace
from urllib.parse import unquote

import pytest

from rarename._version import __version__
from rarename.assist import CheckResult, Diagnostic
from rarename.assist.formats import FORMATS, as_github, as_json, as_sarif, as_text, describe_skipped, summary
from rarename.cli import check as command
from rarename.discovery import Skipped

FINDING = Diagnostic(
    path="src/loader.py",
    line=127,
    column=26,
    end_line=127,
    end_column=32,
    function="Loader.read",
    name="sample",
    suggestion="line",
    confidence=0.94321,
    source="        total += measure(sample) for line in buffer",
    fix="line",
)
SKIPS = [Skipped("src/old.py", 3, "Python 2 only", "Missing parentheses"), Skipped("src/link.py", None, "link")]


def report(*findings, skipped=(), num_files=31, num_suppressed=0):
    return CheckResult(list(findings), list(skipped), num_files, 212, num_suppressed, 0.9, 1.23456)


def test_the_command_offers_every_format():
    import argparse

    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    [option] = [action for action in parser._actions if action.dest == "output_format"]
    assert tuple(option.choices) == tuple(FORMATS)


def test_text():
    assert as_text(report(FINDING)) == (
        "src/loader.py:127:26: RN001 'sample' may be misused here; 'line' fits better (0.94) [Loader.read]\n"
        "1 finding in 212 functions, 31 files\n"
    )


def test_text_on_a_terminal_shows_the_place():
    assert as_text(report(FINDING), with_source=True).splitlines()[1:3] == [
        "            total += measure(sample) for line in buffer",
        "                             ^^^^^^",
    ]


@pytest.mark.parametrize(
    ("source", "column", "end", "shown"),
    [
        ("\tx = sample", 6, 12, "         ^^^^^^"),
        ("'中文', sample", 7, 13, " " * 12 + "^^^^^^"),  # wide characters take two columns
        ("'e\u0301', sample", 7, 13, " " * 9 + "^^^^^^"),  # combining ones take none
        ("x" * 400 + " sample", 402, 408, " " * 84 + "^^^^^^"),  # long lines are cut
    ],
)
def test_carets_stand_under_the_name(source, column, end, shown):
    finding = replace(FINDING, source=source, column=column, end_column=end)
    line, carets = as_text(report(finding), with_source=True).splitlines()[1:3]
    assert carets == shown
    assert "sample" in line and len(line) <= 170


def test_the_summary_says_what_was_skipped_and_why():
    assert summary(report(skipped=[*SKIPS, replace(SKIPS[1], path="b.py")], num_files=1, num_suppressed=2)) == (
        "0 findings in 212 functions, 1 file; 2 suppressed; 3 skipped (2 link, 1 Python 2 only)"
    )


def test_skips_are_told_up_to_a_limit():
    assert describe_skipped(SKIPS, 5) == [
        "src/old.py:3: skipped: Python 2 only: Missing parentheses",
        "src/link.py: skipped: link",
    ]
    assert describe_skipped(SKIPS * 3, 1)[1:] == ["5 more skipped; --output-format json lists them all"]


def test_json():
    content = json.loads(as_json(report(FINDING, skipped=SKIPS)))
    assert list(content) == ["findings", "skipped", "summary"]
    assert content["findings"] == [
        {
            "path": "src/loader.py", "line": 127, "column": 26, "end_line": 127, "end_column": 32,
            "function": "Loader.read", "name": "sample", "suggestion": "line", "confidence": 0.9432,
        }
    ]  # fmt: skip
    assert content["skipped"] == [
        {"path": "src/old.py", "line": 3, "reason": "Python 2 only: Missing parentheses"},
        {"path": "src/link.py", "line": None, "reason": "link"},
    ]
    assert content["summary"] == {
        "files": 31, "functions": 212, "findings": 1, "suppressed": 0, "skipped": 2, "min_confidence": 0.9,
        "seconds": 1.235,
    }  # fmt: skip


def test_github():
    assert as_github(report(FINDING)) == (
        "::warning file=src/loader.py,line=127,endLine=127,col=26,endColumn=32,title=RN001 variable misuse::"
        "'sample' may be misused here; 'line' fits better (0.94) [Loader.read]\n"
    )
    assert as_github(report()) == ""


def test_github_is_escaped():
    told = as_github(report(replace(FINDING, path="a,b:c%d\n.py", function="f%\r\n::error::g")))
    assert told.count("\n") == 1
    assert "file=a%2Cb%3Ac%25d%0A.py," in told
    assert told.endswith("[f%25%0D%0A::error::g]\n")


# --- SARIF ------------------------------------------------------------------------------------------------


def check_sarif(log):
    """What the schema of SARIF 2.1.0 requires of the parts that are used, and allows in them."""

    def check(thing, required, allowed=""):
        names, more = set(required.split()), set(allowed.split())
        assert names <= thing.keys() <= names | more, thing

    def location(thing):
        check(thing, "physicalLocation", "logicalLocations")
        check(thing["physicalLocation"], "artifactLocation", "region")
        check(thing["physicalLocation"]["artifactLocation"], "uri")
        assert re.fullmatch(r"[A-Za-z0-9._~!$&'()*+,;=:@/%-]+", thing["physicalLocation"]["artifactLocation"]["uri"])
        region(thing["physicalLocation"].get("region", {"startLine": 1}))
        for logical in thing.get("logicalLocations", []):
            check(logical, "fullyQualifiedName kind")

    def region(thing):
        check(thing, "startLine", "startColumn endLine endColumn")
        assert all(isinstance(number, int) and number >= 1 for number in thing.values())

    check(log, "version runs", "$schema")
    assert log["version"] == "2.1.0"
    for run in log["runs"]:
        check(run, "tool", "results invocations columnKind")
        assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
        check(run["tool"], "driver")
        check(run["tool"]["driver"], "name", "version rules")
        for rule in run["tool"]["driver"]["rules"]:
            check(rule, "id", "name shortDescription fullDescription help defaultConfiguration")
            for part in ("shortDescription", "fullDescription", "help"):
                check(rule[part], "text")
        for invocation in run["invocations"]:
            check(invocation, "executionSuccessful", "exitCode toolExecutionNotifications")
            for notification in invocation["toolExecutionNotifications"]:
                check(notification, "message", "level locations")
                assert notification["level"] in ("none", "note", "warning", "error")
                check(notification["message"], "text")
                for place in notification["locations"]:
                    location(place)
        for result in run["results"]:
            check(
                result, "message", "ruleId ruleIndex level locations partialFingerprints rank properties fixes"
            )  # fmt: skip
            assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
            assert result["level"] in ("none", "note", "warning", "error")
            assert 0 <= result["rank"] <= 100
            assert all(isinstance(text, str) for text in result["partialFingerprints"].values())
            for place in result["locations"]:
                location(place)
            for fix in result.get("fixes", []):
                check(fix, "artifactChanges", "description")
                for change in fix["artifactChanges"]:
                    check(change, "artifactLocation replacements")
                    for replacement in change["replacements"]:
                        check(replacement, "deletedRegion", "insertedContent")
                        region(replacement["deletedRegion"])
                        check(replacement["insertedContent"], "text")


def test_sarif():
    log = json.loads(as_sarif(report(FINDING, skipped=SKIPS)))
    check_sarif(log)
    [run] = log["runs"]
    assert run["tool"]["driver"]["name"] == "rarename"
    assert run["tool"]["driver"]["version"] == __version__
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["RN001"]
    [result] = run["results"]
    assert (result["ruleId"], result["level"]) == ("RN001", "warning")
    assert result["message"]["text"] == "'sample' may be misused here; 'line' fits better (0.94)"
    region = {"startLine": 127, "startColumn": 26, "endLine": 127, "endColumn": 32}
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "src/loader.py"},
        "region": region,
    }
    assert result["properties"]["confidence"] == 0.9432
    [replacement] = result["fixes"][0]["artifactChanges"][0]["replacements"]
    assert replacement == {"deletedRegion": region, "insertedContent": {"text": "line"}}
    [invocation] = run["invocations"]
    assert invocation["executionSuccessful"] is True
    old, link = invocation["toolExecutionNotifications"]
    assert old["message"]["text"] == "skipped: Python 2 only: Missing parentheses"
    assert old["locations"][0]["physicalLocation"]["region"] == {"startLine": 3}
    assert "region" not in link["locations"][0]["physicalLocation"]


def test_sarif_of_nothing():
    log = json.loads(as_sarif(report(num_files=0)))
    check_sarif(log)
    assert log["runs"][0]["results"] == []
    assert log["runs"][0]["invocations"][0]["executionSuccessful"] is False


def test_no_fix_where_one_edit_cannot_mend_it():
    log = json.loads(as_sarif(report(replace(FINDING, fix=None))))
    check_sarif(log)
    assert "fixes" not in log["runs"][0]["results"][0]


def uri(path):
    result = json.loads(as_sarif(report(replace(FINDING, path=path))))["runs"][0]["results"][0]
    return result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]


def test_paths_become_uris(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert uri("a b/ä#1%.py") == "a%20b/%C3%A4%231%25.py"
    assert unquote(uri("a b/ä#1%.py")) == "a b/ä#1%.py"
    assert uri(str(tmp_path / "src" / "m.py")) == "src/m.py"
    assert uri("/elsewhere/ä.py") == "file:///elsewhere/%C3%A4.py"
    assert uri("../m.py") == "../m.py"
    assert uri("<stdin>") == "%3Cstdin%3E"
    assert uri("a:b.py") == "a%3Ab.py"


def fingerprints(*findings):
    results = json.loads(as_sarif(report(*findings)))["runs"][0]["results"]
    return [result["partialFingerprints"]["rarename/v1"] for result in results]


def test_a_fingerprint_outlives_lines_above_and_surer_models():
    [first] = fingerprints(FINDING)
    assert fingerprints(replace(FINDING, line=200, end_line=200, confidence=0.99)) == [first]
    assert fingerprints(replace(FINDING, suggestion="buffer")) != [first]
    again = fingerprints(FINDING, replace(FINDING, line=300, end_line=300))
    assert again[0] == first != again[1]


def test_exit_codes():
    assert report(FINDING).exit_code == 1
    assert report().exit_code == report(skipped=SKIPS).exit_code == 0
    assert report(num_files=0, skipped=SKIPS).exit_code == 2
