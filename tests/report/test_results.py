"""Reading result files: what is none is named, the rest goes on."""

import json

import pytest

from rarename.report.results import read_results


def test_a_result_is_read(results):
    results.add("ordered", 100, 0.3)
    (result,), left_out = read_results(results.folder)
    assert left_out == []
    assert (result.path, result.strategy, result.size) == ("misuse-python/ordered-100-250-0.json", "ordered", 100)
    assert result.score("by_rarity", "both rare", "joint_accuracy") == pytest.approx(0.15)
    assert result.score("by_rarity", "no such group", "joint_accuracy") is None
    assert result.recipe == 1


def test_full_anonymization_keeps_no_name(results):
    results.add("full", 1000, 0.3)
    (result,), _ = read_results(results.folder)
    assert result.size == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"format": "rare', "is no JSON: Unterminated string"),
        ("[1, 2]", 'is no result of rarename: it has no "format": "rarename-result"'),
        ('{"format": "coco"}', "is no result of rarename"),
        ('{"format": "rarename-result", "version": 2}', "is of version 2; this rarename reads version 1"),
        ('{"format": "rarename-result", "version": 1}', "has no experiment"),
        ("[" * 100_000, "is no JSON"),
        ("\udcff", "is no JSON"),
    ],
)
def test_a_damaged_or_foreign_file_is_named(results, text, reason):
    results.add("ordered", 100, 0.3)
    path = results.folder / "misuse-python" / "other.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    found, (left_out,) = read_results(results.folder)
    assert len(found) == 1
    assert left_out.path == "misuse-python/other.json"
    assert left_out.reason.startswith(reason)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"strategy": None}, "has no strategy"),
        ({"strategy": 7}, "has 7 as strategy; expected str"),
        ({"seed": "0"}, "has '0' as seed; expected a number"),
        ({"vocabulary_size": -1}, "has the vocabulary size -1"),
        ({"task": "misuse", "scores": {}}, "has neither scores nor embeddings"),
        ({"scores": {"joint_accuracy": float("nan")}}, "has no number in scores.joint_accuracy"),
    ],
)
def test_a_wrong_field_is_named(results, changes, reason):
    path = results.add("ordered", 100, 0.3)
    content = json.loads(path.read_text()) | changes
    path.write_text(json.dumps(content))
    assert [each.reason for each in read_results(results.folder)[1]] == [reason]


def test_an_unknown_task_is_named(results):
    path = results.add("ordered", 100, 0.3)
    path.write_text(path.read_text().replace('"task": "misuse"', '"task": "summaries"'))
    (left_out,) = read_results(results.folder)[1]
    assert left_out.reason == "has the task 'summaries'; expected one of misuse, completion"


def test_a_report_among_the_results_is_passed_over(results):
    results.add("ordered", 100, 0.3)
    (results.folder / "results.json").write_text('{"format": "rarename-report", "version": 1}')
    found, left_out = read_results(results.folder)
    assert (len(found), left_out) == (1, [])
